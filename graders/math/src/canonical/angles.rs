//! Sines and cosines. An angle is split into a multiple of π/12, whose values are known, and
//! multiples of other angles, which are expanded.

use num_traits::ToPrimitive as _;

use super::Stop;
use super::field::{Field, Fraction, Relation};
use super::roots;
use super::scalar::{read, written};
use super::terms::{Monomial, Terms};
use crate::number::Rational;
use crate::tree::{Constant, Expr, Function};

/// Maximum number of additions of angles that are expanded.
const MAX_ADDITIONS: u64 = 6;

/// A trigonometric function of an angle in lowest terms.
pub(super) fn circular(
    function: Function,
    angle: &Fraction,
    field: &Field<'_>,
) -> Result<Fraction, Stop> {
    let (cosine, sine) = point(angle, field)?;
    match function {
        Function::Sin => Ok(sine),
        Function::Cos => Ok(cosine),
        Function::Tan => field.divided(&sine, &cosine),
        Function::Cot => field.divided(&cosine, &sine),
        Function::Sec => field.inverse(&cosine),
        _ => field.inverse(&sine),
    }
}

/// Cosine and sine of an angle in lowest terms.
pub(super) fn point(angle: &Fraction, field: &Field<'_>) -> Result<(Fraction, Fraction), Stop> {
    let Some(terms) = angle.as_terms() else {
        return whole(angle, field);
    };
    let mut total = (Fraction::int(1), Fraction::int(0));
    let mut additions = 0;
    for (monomial, coefficient) in terms.iter() {
        if let Some(twelfths) = twelfths(monomial, coefficient, field)? {
            total = added(&total, &known(twelfths, field)?, field)?;
            continue;
        }
        let count = coefficient.num().to_i64().ok_or(Stop::TooLarge)?;
        additions += count.unsigned_abs();
        if additions > MAX_ADDITIONS || !is_plain(monomial, field)? {
            return whole(angle, field);
        }
        let one = Rational::integer(coefficient.den().clone());
        let one = Terms::term(monomial.clone(), one.recip().ok_or(Stop::TooLarge)?);
        let (cosine, sine) = pair(&Fraction::of(one), field)?;
        let sine = if count < 0 {
            field.negative(&sine)?
        } else {
            sine
        };
        for _ in 0..count.unsigned_abs() {
            total = added(&total, &(cosine.clone(), sine.clone()), field)?;
        }
    }
    Ok(total)
}

/// Whether a part of an angle contains only symbols and numbers. The sine of a sum of sines would
/// become long.
fn is_plain(monomial: &Monomial, field: &Field<'_>) -> Result<bool, Stop> {
    for (generator, _) in &monomial.0 {
        let known = field.known(*generator)?;
        if !matches!(known.expr, Expr::Symbol(_) | Expr::Constant(_)) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Cosine and sine of an angle that is not split.
fn whole(angle: &Fraction, field: &Field<'_>) -> Result<(Fraction, Fraction), Stop> {
    if !field.is_negative(&angle.num)? {
        return pair(angle, field);
    }
    let (cosine, sine) = pair(&field.negative(angle)?, field)?;
    Ok((cosine, field.negative(&sine)?))
}

/// Cosine and sine as generators, with `sin² = 1 - cos²`.
fn pair(angle: &Fraction, field: &Field<'_>) -> Result<(Fraction, Fraction), Stop> {
    let angle = written(angle, field)?;
    let value = |function| Expr::Call(function, vec![angle.clone()]);
    let cosine = field.free(value(Function::Cos))?;
    let square = field.product(&cosine.num, &cosine.num)?;
    let relation = Relation {
        index: 2,
        value: Terms::int(1).minus(&square, field.budget)?,
    };
    Ok((
        cosine,
        field.one(value(Function::Sin), false, Some(relation))?,
    ))
}

/// Cosine and sine of a sum.
fn added(
    a: &(Fraction, Fraction),
    b: &(Fraction, Fraction),
    field: &Field<'_>,
) -> Result<(Fraction, Fraction), Stop> {
    let cosine = field.minus(&field.times(&a.0, &b.0)?, &field.times(&a.1, &b.1)?)?;
    let sine = field.plus(&field.times(&a.0, &b.1)?, &field.times(&a.1, &b.0)?)?;
    Ok((cosine, sine))
}

/// The number of twelfths of π, from 0 to 23, if the angle is a whole number of them.
fn twelfths(
    monomial: &Monomial,
    coefficient: &Rational,
    field: &Field<'_>,
) -> Result<Option<i64>, Stop> {
    let [(generator, 1)] = monomial.0.as_slice() else {
        return Ok(None);
    };
    if field.known(*generator)?.expr != Expr::Constant(Constant::Pi) {
        return Ok(None);
    }
    let twelfths = coefficient
        .mul(&Rational::small(12))
        .ok_or(Stop::TooLarge)?;
    Ok(twelfths.to_i64().map(|twelfths| twelfths.rem_euclid(24)))
}

/// Cosine and sine of a number of twelfths of π.
fn known(twelfths: i64, field: &Field<'_>) -> Result<(Fraction, Fraction), Stop> {
    Ok((sine(twelfths + 6, field)?, sine(twelfths, field)?))
}

/// The sine of a number of twelfths of π.
fn sine(twelfths: i64, field: &Field<'_>) -> Result<Fraction, Stop> {
    let root = |square: i64, by: i64| -> Result<Fraction, Stop> {
        let root = roots::number(&Rational::small(square), &Rational::ratio(1, 2), field)?;
        field.times(&root, &Fraction::ratio(1, by))
    };
    let place = twelfths.rem_euclid(24);
    let (place, negative) = if place < 12 {
        (place, false)
    } else {
        (place - 12, true)
    };
    let value = match place.min(12 - place) {
        0 => Fraction::int(0),
        1 => field.minus(&root(6, 4)?, &root(2, 4)?)?,
        2 => Fraction::ratio(1, 2),
        3 => root(2, 2)?,
        4 => root(3, 2)?,
        5 => field.plus(&root(6, 4)?, &root(2, 4)?)?,
        _ => Fraction::int(1),
    };
    if negative {
        field.negative(&value)
    } else {
        Ok(value)
    }
}

/// An inverse function of a value in lowest terms. The arc cosine is `π/2` minus the arc sine.
pub(super) fn inverse(
    function: Function,
    value: &Fraction,
    field: &Field<'_>,
) -> Result<Fraction, Stop> {
    let pi = read(&Expr::Constant(Constant::Pi), field)?;
    if function == Function::Arccos {
        let half = field.times(&pi, &Fraction::ratio(1, 2))?;
        return field.minus(&half, &inverse(Function::Arcsin, value, field)?);
    }
    if constant(value, field)? {
        for place in -6..=6 {
            let at = if function == Function::Arcsin {
                sine(place, field)?
            } else if place.abs() == 6 {
                continue;
            } else {
                let (cosine, sine) = known(place, field)?;
                field.lowest(&field.divided(&sine, &cosine)?)?
            };
            if at == *value {
                return field.times(&pi, &Fraction::ratio(place, 12));
            }
        }
    }
    if field.is_negative(&value.num)? {
        let own = inverse(function, &field.negative(value)?, field)?;
        return field.negative(&own);
    }
    let value = written(value, field)?;
    field.free(Expr::Call(function, vec![value]))
}

/// Whether a value contains only numbers and their roots.
fn constant(value: &Fraction, field: &Field<'_>) -> Result<bool, Stop> {
    for generator in value
        .num
        .generators()
        .into_iter()
        .chain(value.den.generators())
    {
        let known = field.known(generator)?;
        if !matches!(&known.expr, Expr::Power(pair) if pair.0.as_number().is_some()) {
            return Ok(false);
        }
    }
    Ok(true)
}

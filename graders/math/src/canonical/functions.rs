//! Canonical values of functions: exponentials and logarithms in primes and monomials, absolute
//! values, and the trigonometric functions in the sine and cosine of one angle.

use num_traits::ToPrimitive as _;

use super::Stop;
use super::angles;
use super::field::{Field, Fraction};
use super::roots::{self, absolute, factors};
use super::scalar::{all, read, written};
use super::terms::{Monomial, Terms};
use crate::number::Rational;
use crate::tree::{Constant, Expr, Function};

/// The value of a function.
pub(super) fn call(
    function: Function,
    items: &[Expr],
    field: &Field<'_>,
) -> Result<Fraction, Stop> {
    match (function, items) {
        (Function::Ln, [value]) => logarithm(&lowest(value, field)?, field),
        (Function::Ln, [value, base]) => {
            let value = logarithm(&lowest(value, field)?, field)?;
            field.divided(&value, &logarithm(&lowest(base, field)?, field)?)
        }
        (Function::Abs, [value]) => size(&lowest(value, field)?, field),
        (
            Function::Sin
            | Function::Cos
            | Function::Tan
            | Function::Cot
            | Function::Sec
            | Function::Csc,
            [angle],
        ) => angles::circular(function, &lowest(angle, field)?, field),
        (Function::Arcsin | Function::Arccos | Function::Arctan, [value]) => {
            angles::inverse(function, &lowest(value, field)?, field)
        }
        (Function::Sinh | Function::Cosh | Function::Tanh, [value]) => {
            let value = lowest(value, field)?;
            let e = Expr::Constant(Constant::E);
            let up = exponential(&e, &value, field)?;
            let down = field.inverse(&up)?;
            let sum = field.plus(&up, &down)?;
            let difference = field.minus(&up, &down)?;
            let two = Fraction::int(2);
            match function {
                Function::Sinh => field.divided(&difference, &two),
                Function::Cosh => field.divided(&sum, &two),
                _ => field.divided(&difference, &sum),
            }
        }
        (Function::Gcd | Function::Lcm | Function::Min | Function::Max, items) => {
            let mut items = all(items, field)?;
            items.sort();
            items.dedup();
            field.free(Expr::Call(function, items))
        }
        (function, items) => field.free(Expr::Call(function, all(items, field)?)),
    }
}

fn lowest(expr: &Expr, field: &Field<'_>) -> Result<Fraction, Stop> {
    field.lowest(&read(expr, field)?)
}

/// `base ^ exponent`, for an exponent that is not a number.
pub(super) fn exponential(
    base: &Expr,
    exponent: &Fraction,
    field: &Field<'_>,
) -> Result<Fraction, Stop> {
    let value = lowest(base, field)?;
    if value.is_zero() {
        // `0^|x|` is 1 at 0.
        return field.free(Expr::power(Expr::int(0), written(exponent, field)?));
    }
    let number = value.as_constant().filter(|number| !number.is_negative());
    let Some(terms) = exponent.as_terms() else {
        let power = Expr::power(written(&value, field)?, written(exponent, field)?);
        return field.one(power, number.is_some(), None);
    };
    let mut total = Fraction::int(1);
    for (monomial, coefficient) in terms.iter() {
        let part = if matches!(base, Expr::Constant(Constant::E)) {
            natural(monomial, coefficient, field)?
        } else if let Some(number) = &number {
            let mut product = Fraction::int(1);
            for (prime, count) in factors(number, field)? {
                let own = coefficient
                    .mul(&Rational::small(count))
                    .ok_or(Stop::TooLarge)?;
                let own = raised(&Fraction::constant(prime), true, monomial, &own, field)?;
                product = field.times(&product, &own)?;
            }
            product
        } else {
            raised(&value, false, monomial, coefficient, field)?
        };
        total = field.times(&total, &part)?;
    }
    Ok(total)
}

/// `e ^ (coefficient · monomial)`.
fn natural(
    monomial: &Monomial,
    coefficient: &Rational,
    field: &Field<'_>,
) -> Result<Fraction, Stop> {
    for (generator, exponent) in &monomial.0 {
        let known = field.known(*generator)?;
        match &known.expr {
            // Euler's formula.
            Expr::Constant(Constant::I) => {
                let angle = Terms::term(monomial.without(*generator), coefficient.clone());
                let (cosine, sine) = angles::point(&Fraction::of(angle), field)?;
                let i = Fraction::of(Terms::generator(*generator, 1));
                return field.plus(&cosine, &field.times(&i, &sine)?);
            }
            // `e^{x ln 2}` is `2^x`.
            Expr::Call(Function::Ln, items) if *exponent == 1 => {
                if let [base @ (Expr::Number(_) | Expr::Symbol(_))] = items.as_slice() {
                    let number = matches!(base, Expr::Number(_));
                    let rest = monomial.without(*generator);
                    return raised(&read(base, field)?, number, &rest, coefficient, field);
                }
            }
            _ => {}
        }
    }
    let e = read(&Expr::Constant(Constant::E), field)?;
    raised(&e, true, monomial, coefficient, field)
}

/// `base ^ (coefficient · monomial)`: a power of the generator `base ^ monomial`.
fn raised(
    base: &Fraction,
    positive: bool,
    monomial: &Monomial,
    coefficient: &Rational,
    field: &Field<'_>,
) -> Result<Fraction, Stop> {
    if monomial.is_one() {
        return if coefficient.is_integer() {
            field.power(base, coefficient.to_i64().ok_or(Stop::TooLarge)?)
        } else {
            roots::power(base, coefficient, field)
        };
    }
    // Only a power of a positive base is split: `(x^n)^{1/2}` may differ from `x^{n/2}`.
    let (inner, outer) = if positive || coefficient.is_integer() {
        let num = coefficient.num().to_i64().ok_or(Stop::TooLarge)?;
        let den = Rational::integer(coefficient.den().clone());
        (den.recip().ok_or(Stop::TooLarge)?, num)
    } else {
        (coefficient.clone(), 1)
    };
    let exponent = Fraction::of(Terms::term(monomial.clone(), inner));
    let expr = Expr::power(written(base, field)?, written(&exponent, field)?);
    field.power(&field.one(expr, positive, None)?, outer)
}

/// The natural logarithm, split at primes and generators.
fn logarithm(value: &Fraction, field: &Field<'_>) -> Result<Fraction, Stop> {
    let whole = |field: &Field<'_>| {
        let value = written(value, field)?;
        field.free(Expr::Call(Function::Ln, vec![value]))
    };
    if value.is_zero() || value.den.as_single().is_none() {
        return whole(field);
    }
    let content = value.num.content(field.budget)?;
    let rest = value
        .num
        .scaled(&content.recip().ok_or(Stop::TooLarge)?, field.budget)?;
    let mut total = number_logarithm(&content, field)?;
    for (terms, sign) in [(&rest, 1), (&value.den, -1)] {
        let part = match terms.as_single() {
            Some((_, coefficient)) if coefficient.is_negative() => return whole(field),
            Some((monomial, coefficient)) => field.plus(
                &number_logarithm(coefficient, field)?,
                &monomial_logarithm(monomial, field)?,
            )?,
            None => {
                let inner = written(&Fraction::of(terms.clone()), field)?;
                field.free(Expr::Call(Function::Ln, vec![inner]))?
            }
        };
        total = field.plus(&total, &field.times(&part, &Fraction::int(sign))?)?;
    }
    Ok(total)
}

fn number_logarithm(value: &Rational, field: &Field<'_>) -> Result<Fraction, Stop> {
    let mut total = Fraction::int(0);
    for (prime, count) in factors(value, field)? {
        let own = field.one(
            Expr::Call(Function::Ln, vec![Expr::Number(prime)]),
            true,
            None,
        )?;
        total = field.plus(&total, &field.times(&own, &Fraction::int(count))?)?;
    }
    Ok(total)
}

fn monomial_logarithm(monomial: &Monomial, field: &Field<'_>) -> Result<Fraction, Stop> {
    let mut total = Fraction::int(0);
    for (generator, exponent) in &monomial.0 {
        let known = field.known(*generator)?;
        let own = match &known.expr {
            Expr::Constant(Constant::E) => Fraction::int(1),
            Expr::Constant(Constant::I) => return Err(Stop::Unsupported),
            Expr::Power(pair) => {
                let inner = logarithm(&lowest(&pair.0, field)?, field)?;
                field.times(&inner, &read(&pair.1, field)?)?
            }
            other => field.free(Expr::Call(Function::Ln, vec![other.clone()]))?,
        };
        let own = field.times(&own, &Fraction::int(i64::from(*exponent)))?;
        total = field.plus(&total, &own)?;
    }
    Ok(total)
}

/// The absolute value, split at generators.
fn size(value: &Fraction, field: &Field<'_>) -> Result<Fraction, Stop> {
    let upper = terms_size(&value.num, field)?;
    let lower = terms_size(&value.den, field)?;
    field.divided(&upper, &lower)
}

fn terms_size(terms: &Terms, field: &Field<'_>) -> Result<Fraction, Stop> {
    if let Some((monomial, coefficient)) = terms.as_single() {
        let mut total = Fraction::constant(coefficient.abs());
        for (generator, exponent) in &monomial.0 {
            if matches!(field.known(*generator)?.expr, Expr::Constant(Constant::I)) {
                continue;
            }
            let own = absolute(*generator, field)?;
            let own = Fraction::of(Terms::generator(own, 1));
            total = field.times(&total, &field.power(&own, i64::from(*exponent))?)?;
        }
        return Ok(total);
    }
    let mut factor = terms.content(field.budget)?;
    let outside = Fraction::constant(factor.clone());
    if field.is_negative(terms)? {
        factor = factor.neg();
    }
    if factor.is_zero() {
        return Ok(Fraction::int(0));
    }
    let rest = terms.scaled(&factor.recip().ok_or(Stop::TooLarge)?, field.budget)?;
    let inner = written(&Fraction::of(rest), field)?;
    let own = field.free(Expr::Call(Function::Abs, vec![inner]))?;
    field.times(&outside, &own)
}

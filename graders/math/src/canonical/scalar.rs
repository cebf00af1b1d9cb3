//! The canonical form of a number or a function: a quotient of polynomials in symbols, constants,
//! roots of primes and function values. Identities hold where both sides are real, as in
//! [`decide`](crate::decide): `ln(xy)` is `ln x + ln y`.

use super::Stop;
use super::field::{Field, Fraction, Known, Relation};
use super::functions;
use super::roots;
use super::terms::{Monomial, Terms};
use crate::budget::Budget;
use crate::number::Rational;
use crate::tree::charged::copied;
use crate::tree::{Constant, Expr};

/// Largest number of which a canonical form is computed, in bits.
const MAX_BITS: u64 = 2_048;

/// The canonical form of a value.
pub(super) fn canonical(expr: &Expr, budget: &Budget) -> Result<Expr, Stop> {
    if matches!(expr, Expr::Number(_) | Expr::Symbol(_)) {
        return Ok(copied(expr, budget)?);
    }
    let field = Field::new(budget);
    let value = read(expr, &field)?;
    written(&value, &field)
}

/// Whether the difference of two values is 0.
pub(super) fn same(a: &Expr, b: &Expr, budget: &Budget) -> Result<bool, Stop> {
    let field = Field::new(budget);
    let difference = field.minus(&read(a, &field)?, &read(b, &field)?)?;
    Ok(difference.is_zero() || field.lowest(&difference)?.is_zero())
}

/// The difference of two values up to a factor of a number, if it is a polynomial and not a number.
pub(super) fn difference(a: &Expr, b: &Expr, budget: &Budget) -> Result<Option<Expr>, Stop> {
    let field = Field::new(budget);
    let difference = field.minus(&read(a, &field)?, &read(b, &field)?)?;
    let difference = field.lowest(&difference)?;
    if difference.as_terms().is_none() || difference.as_constant().is_some() {
        return Ok(None);
    }
    let content = difference.num.content(budget)?;
    let mut factor = content.recip().ok_or(Stop::TooLarge)?;
    if field.is_negative(&difference.num)? {
        factor = factor.neg();
    }
    let scaled = Fraction::of(difference.num.scaled(&factor, budget)?);
    written(&scaled, &field).map(Some)
}

/// Whether two polynomials in symbols differ by a polynomial whose coefficients are multiples of an
/// integer.
pub(super) fn is_congruent(
    a: &Expr,
    b: &Expr,
    modulus: &Rational,
    budget: &Budget,
) -> Result<bool, Stop> {
    let field = Field::new(budget);
    let difference = field.minus(&read(a, &field)?, &read(b, &field)?)?;
    let Some(terms) = difference.as_terms() else {
        return Ok(false);
    };
    for generator in terms.generators() {
        if !matches!(field.known(generator)?.expr, Expr::Symbol(_)) {
            return Ok(false);
        }
    }
    budget.charge(40 * terms.len() as u64)?;
    let divides = |value: &Rational| {
        value
            .div(modulus)
            .is_some_and(|quotient| quotient.is_integer())
    };
    Ok(terms.iter().all(|(_, coefficient)| divides(coefficient)))
}

/// A value as a quotient of polynomials.
pub(super) fn read(expr: &Expr, field: &Field<'_>) -> Result<Fraction, Stop> {
    field.budget.charge(20)?;
    match expr {
        Expr::Number(value) if value.bits() <= MAX_BITS => {
            field.budget.charge_bytes(value.bits() / 8)?;
            Ok(Fraction::constant(value.clone()))
        }
        Expr::Symbol(_) => field.free(copied(expr, field.budget)?),
        Expr::Constant(Constant::Pi | Constant::E) => field.one(expr.clone(), true, None),
        Expr::Constant(Constant::I) => {
            let square = Relation {
                index: 2,
                value: Terms::int(-1),
            };
            field.one(expr.clone(), false, Some(square))
        }
        Expr::Sum(items) => {
            let mut total = Fraction::int(0);
            for item in items {
                total = field.plus(&total, &read(item, field)?)?;
            }
            Ok(total)
        }
        Expr::Product(items) => {
            let mut total = Fraction::int(1);
            for item in items {
                total = field.times(&total, &read(item, field)?)?;
            }
            Ok(total)
        }
        Expr::Power(pair) => power(&pair.0, &pair.1, field),
        Expr::Call(function, items) => functions::call(*function, items, field),
        Expr::Apply(name, items) => field.free(Expr::Apply(name.clone(), all(items, field)?)),
        Expr::Bound(binder, name, parts) => {
            let parts = all(parts, field)?;
            field.free(Expr::Bound(*binder, name.clone(), parts))
        }
        _ => Err(Stop::Unsupported),
    }
}

/// The canonical forms of arguments.
pub(super) fn all(items: &[Expr], field: &Field<'_>) -> Result<Vec<Expr>, Stop> {
    (items.iter())
        .map(|item| canonical(item, field.budget))
        .collect()
}

fn power(base: &Expr, exponent: &Expr, field: &Field<'_>) -> Result<Fraction, Stop> {
    let raised = field.lowest(&read(exponent, field)?)?;
    let Some(number) = raised.as_constant() else {
        return functions::exponential(base, &raised, field);
    };
    let base = read(base, field)?;
    if number.is_integer() {
        return field.power(&base, number.to_i64().ok_or(Stop::TooLarge)?);
    }
    let base = field.lowest(&base)?;
    roots::power(&base, &number, field)
}

/// The fraction as an expression, in lowest terms.
pub(super) fn written(value: &Fraction, field: &Field<'_>) -> Result<Expr, Stop> {
    let value = field.lowest(value)?;
    let num = terms(&value.num, field)?;
    if value.den.is_one() {
        return Ok(num);
    }
    let den = terms(&value.den, field)?.recip();
    let mut factors = match num {
        one if one.is_int(1) => return Ok(den),
        Expr::Product(factors) => factors,
        other => vec![other],
    };
    factors.push(den);
    factors.sort();
    Ok(Expr::Product(factors))
}

fn terms(all: &Terms, field: &Field<'_>) -> Result<Expr, Stop> {
    let mut items = Vec::with_capacity(all.len());
    for (monomial, coefficient) in all.iter() {
        items.push(term(monomial, coefficient, field)?);
    }
    items.sort();
    Ok(match items.len() {
        0 => Expr::int(0),
        1 => items.pop().unwrap_or(Expr::Ellipsis),
        _ => Expr::Sum(items),
    })
}

fn term(monomial: &Monomial, coefficient: &Rational, field: &Field<'_>) -> Result<Expr, Stop> {
    let mut factors = Vec::with_capacity(monomial.0.len() + 1);
    for (generator, exponent) in &monomial.0 {
        let Known { expr, .. } = field.known(*generator)?;
        crate::tree::charged::charge_copy(&expr, field.budget)?;
        factors.push(raised(expr, *exponent));
    }
    if !coefficient.is_one() || factors.is_empty() {
        factors.push(Expr::Number(coefficient.clone()));
    }
    factors.sort();
    Ok(match factors.len() {
        1 => factors.pop().unwrap_or(Expr::Ellipsis),
        _ => Expr::Product(factors),
    })
}

/// A power of a generator. A power of a power has the product of both exponents: `(2^(1/3))^2` is
/// `2^(2/3)`, and `(e^x)^2` is `e^(2*x)`.
fn raised(base: Expr, exponent: u32) -> Expr {
    if exponent == 1 {
        return base;
    }
    let exponent = Rational::small(i64::from(exponent));
    match base {
        Expr::Power(pair) => Expr::power(pair.0, multiplied(pair.1, exponent)),
        other => Expr::power(other, Expr::Number(exponent)),
    }
}

/// A canonical value times a positive integer.
fn multiplied(value: Expr, factor: Rational) -> Expr {
    let numbers = |items: &[Expr]| items.iter().position(|item| item.as_number().is_some());
    match value {
        Expr::Number(own) => match own.mul(&factor) {
            Some(product) => Expr::Number(product),
            None => Expr::Product(vec![Expr::Number(factor), Expr::Number(own)]),
        },
        Expr::Product(mut items) => {
            let own = numbers(&items).map(|at| items.remove(at));
            match multiplied(own.unwrap_or_else(|| Expr::int(1)), factor) {
                one if one.is_int(1) && items.len() == 1 => items.remove(0),
                one if one.is_int(1) => Expr::Product(items),
                number => {
                    items.push(number);
                    items.sort();
                    Expr::Product(items)
                }
            }
        }
        other => Expr::Product(vec![Expr::Number(factor), other]),
    }
}

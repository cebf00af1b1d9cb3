//! Approximate equations: `\frac{40}{3} \approx 13.33` is `\frac{40}{3}`, but only if the decimal
//! is close to it.

use super::Context;
use super::evaluate::{NoValue, Point, ball};
use crate::budget::Exhausted;
use crate::number::Rational;
use crate::number::ball::Ball;
use crate::tree::{Expr, Relation};

/// Precision at which distances are computed, in bits.
const PREC: u64 = 128;

/// Largest distance that always counts as close, as a share of the value. Intermediate results are
/// often rounded.
const SHARE: (i64, i64) = (1, 100);

/// Maximum number of digits of an approximation.
const MAX_DIGITS: i64 = 60;

/// Whether two values without variables are far from each other: by more than a unit of the last
/// digit of either one, and by more than a hundredth. A decimal before the sign is the answer, so
/// only a unit of its own last digit counts: `13.43 \approx \frac{40}{3}` is false. Values that
/// cannot be computed are not far from each other.
pub(super) fn differ(a: &Expr, b: &Expr, cx: &Context<'_>) -> Result<bool, Exhausted> {
    let point = Point::of_constant(false, PREC);
    let (left, right) = match (
        ball(magnitude(a), &point, cx.budget),
        ball(magnitude(b), &point, cx.budget),
    ) {
        (Ok(left), Ok(right)) => (left, right),
        (Err(NoValue::Exhausted), _) | (_, Err(NoValue::Exhausted)) => return Err(Exhausted),
        _ => return Ok(false),
    };
    // Quantities in two units are not compared.
    if let (Expr::Quantity(_, a), Expr::Quantity(_, b)) = (a, b)
        && a != b
    {
        return Ok(false);
    }
    let beyond = || {
        let distance = left.re.sub(&right.re, PREC)?.abs();
        let mut limits = Vec::new();
        let digits: &[&Expr] = if is_decimal(a) {
            &[a]
        } else {
            let share = Ball::rational(&Rational::ratio(SHARE.0, SHARE.1), PREC)?;
            limits.push(share.mul(&left.re.abs(), PREC)?);
            &[a, b]
        };
        for unit in digits.iter().filter_map(|value| last_digit(value)) {
            limits.push(Ball::rational(&unit, PREC)?);
        }
        for limit in limits {
            if limit.sub(&distance, PREC)?.sign()? >= 0 {
                return Ok(false);
            }
        }
        Ok::<bool, crate::number::ball::BallError>(true)
    };
    Ok(beyond().unwrap_or(false))
}

/// A value without its unit.
fn magnitude(value: &Expr) -> &Expr {
    match value {
        Expr::Quantity(value, _) => value,
        other => other,
    }
}

/// Whether a value is a decimal with digits after its point.
fn is_decimal(value: &Expr) -> bool {
    let unit = last_digit(value);
    unit.is_some_and(|unit| !unit.is_integer())
}

/// The unit of the last digit of a decimal other than zero.
fn last_digit(value: &Expr) -> Option<Rational> {
    let value = magnitude(value).as_number()?;
    let ten = Rational::small(10);
    let mut unit = Rational::small(1);
    let is_multiple = |unit: &Rational| value.div(unit).is_some_and(|count| count.is_integer());
    if value.is_zero() {
        return Some(unit);
    }
    for _ in 0..MAX_DIGITS {
        if is_multiple(&unit) {
            break;
        }
        unit = unit.div(&ten)?;
    }
    for _ in 0..MAX_DIGITS {
        let larger = unit.mul(&ten)?;
        if !is_multiple(&larger) {
            break;
        }
        unit = larger;
    }
    is_multiple(&unit).then_some(unit)
}

/// The first side of `a b ≈ 12`, an approximation of an expression with variables.
pub(super) fn exact_side(expr: &Expr) -> Option<&Expr> {
    match expr {
        Expr::Chain(sides, relations) if relations == &[Relation::Approx] => {
            sides.first().filter(|side| is_open(side))
        }
        _ => None,
    }
}

/// Whether a value has variables.
pub(super) fn is_open(value: &Expr) -> bool {
    value.any(&|part| matches!(part, Expr::Symbol(_) | Expr::Apply(..)))
}

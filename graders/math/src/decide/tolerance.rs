//! What a task allows beyond equality: a tolerance, or rounding to the gold's digits. Nothing by default.

use num_bigint::BigInt;

use super::Context;
use super::evaluate::{NoValue, Point, ball};
use crate::budget::Exhausted;
use crate::number::Rational;
use crate::number::ball::Ball;
use crate::options::{Rounding, Tolerance};
use crate::tree::Expr;

const PREC: u64 = 256;

/// Whether the task accepts `answer` for `gold` although they differ.
pub(crate) fn allows(gold: &Expr, answer: &Expr, cx: &Context<'_>) -> Result<bool, Exhausted> {
    let loose_percent = cx.options.percent == crate::options::Percent::Loose;
    if loose_percent && let Some(equal) = percent(gold, answer, cx)? {
        return Ok(equal);
    }
    let half_unit = || -> Option<Rational> {
        let value = gold.as_number()?;
        if cx.options.rounding != Rounding::Gold {
            return None;
        }
        // A whole number is taken as exact: 2 is not a rounded 1.618.
        let places = decimal_places(value).filter(|places| *places > 0)?;
        Rational::ratio(1, 2).mul(&Rational::small(10).pow(-places, 4_000)?)
    };
    let allowed = match (&cx.options.tolerance, half_unit()) {
        (None, None) => return Ok(false),
        (Some(Tolerance::Absolute(value)), _) => Some((value.clone(), false)),
        (Some(Tolerance::Relative(value)), _) => Some((value.clone(), true)),
        (None, Some(value)) => Some((value, false)),
    };
    let Some((limit, relative)) = allowed else {
        return Ok(false);
    };
    let point = Point { values: Vec::new(), complex: false, prec: PREC, seed: 0 };
    let (left, right) = match (ball(gold, &point, cx.budget), ball(answer, &point, cx.budget)) {
        (Ok(left), Ok(right)) => (left, right),
        (Err(NoValue::Exhausted), _) | (_, Err(NoValue::Exhausted)) => return Err(Exhausted),
        _ => return Ok(false),
    };
    let within = || {
        let distance = left.re.sub(&right.re, PREC)?.abs();
        let mut limit = Ball::rational(&limit, PREC)?;
        if relative {
            limit = limit.mul(&left.re.abs(), PREC)?;
        }
        // An edge is inside: half a unit rounds to the gold.
        let over = distance.sub(&limit, PREC)?;
        Ok::<bool, crate::number::ball::Unknown>(over.contains_zero() || over.sign()? <= 0)
    };
    Ok(within().unwrap_or(false))
}

/// Digits after the point of a terminating decimal; `None` for any other fraction.
fn decimal_places(value: &Rational) -> Option<i64> {
    let mut den = value.den().clone();
    let mut places = [0i64; 2];
    for (count, prime) in places.iter_mut().zip([2u32, 5]) {
        while (&den % prime) == BigInt::from(0) && *count < 400 {
            den /= prime;
            *count += 1;
        }
    }
    (den == BigInt::from(1)).then(|| places.into_iter().max().unwrap_or(0))
}

/// `50` for `50 %` and the other way round.
fn percent(gold: &Expr, answer: &Expr, cx: &Context<'_>) -> Result<Option<bool>, Exhausted> {
    for factor in [Rational::small(100), Rational::ratio(1, 100)] {
        let scaled = Expr::Product(vec![Expr::Number(factor), answer.clone()]);
        let scaled = crate::normal::fold(&scaled, cx.budget)?;
        if super::scalar::same(gold, &scaled, cx.budget)?.0 {
            return Ok(Some(true));
        }
    }
    Ok(None)
}

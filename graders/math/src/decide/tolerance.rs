//! What a task accepts beyond equality: a tolerance, or rounding to the digits of the gold.

use super::Context;
use super::evaluate::{NoValue, Point, ball};
use crate::budget::Exhausted;
use crate::number::Rational;
use crate::number::ball::Ball;
use crate::options::{Rounding, Tolerance};
use crate::tree::Expr;

/// Precision at which distances are computed, in bits.
const PREC: u64 = 256;

/// Decimals of the gold that are searched without a charge.
const FREE_DECIMALS: usize = 16;

/// Whether the task accepts `answer` for `gold` although they differ.
pub(crate) fn allows(gold: &Expr, answer: &Expr, cx: &Context<'_>) -> Result<bool, Exhausted> {
    if percent(gold, answer, cx)? {
        return Ok(true);
    }
    let (limit, relative) = match &cx.options.tolerance {
        Some(Tolerance::Absolute(value)) => (value, false),
        Some(Tolerance::Relative(value)) => (value, true),
        None if cx.options.rounding != Rounding::Exact => return rounds(gold, answer, cx),
        None => return Ok(false),
    };
    let point = Point::of_constant(false, PREC);
    let (left, right) = match (
        ball(gold, &point, cx.budget),
        ball(answer, &point, cx.budget),
    ) {
        (Ok(left), Ok(right)) => (left, right),
        (Err(NoValue::Exhausted), _) | (_, Err(NoValue::Exhausted)) => return Err(Exhausted),
        _ => return Ok(false),
    };
    let within = || {
        let distance = left.re.sub(&right.re, PREC)?.abs();
        let mut limit = Ball::rational(limit, PREC)?;
        if relative {
            limit = limit.mul(&left.re.abs(), PREC)?;
        }
        // The limit itself is accepted.
        let over = distance.sub(&limit, PREC)?;
        Ok::<bool, crate::number::ball::BallError>(over.contains_zero() || over.sign()? <= 0)
    };
    Ok(within().unwrap_or(false))
}

/// Whether the answer, rounded half away from zero to the digits of the gold, is the gold. A gold
/// without a decimal point is exact.
fn rounds(gold: &Expr, answer: &Expr, cx: &Context<'_>) -> Result<bool, Exhausted> {
    let Some(value) = gold.as_number() else {
        return Ok(false);
    };
    let beyond = cx.decimals.len().saturating_sub(FREE_DECIMALS);
    cx.budget.charge(beyond as u64)?;
    let same_size = |own: &Rational| {
        own.num().magnitude() == value.num().magnitude() && own.den() == value.den()
    };
    let written = cx
        .decimals
        .iter()
        .filter(|(own, _)| same_size(own))
        .map(|(_, places)| *places);
    let half = written.max().and_then(|places| {
        let unit = Rational::small(10).pow(places.checked_neg()?, 4_000)?;
        unit.mul(&Rational::ratio(1, 2))
    });
    let Some(half) = half else {
        return Ok(false);
    };
    // Distance of the answer from the gold, positive away from zero.
    let beyond = |answer: &Rational| {
        let distance = answer.sub(value)?;
        Some(match (value.is_zero(), value.is_negative()) {
            (true, _) => distance.abs(),
            (_, true) => distance.neg(),
            _ => distance,
        })
    };
    if let Some(answer) = answer.as_number() {
        let inside = || {
            let beyond = beyond(answer)?;
            Some(!beyond.less(&half.neg())? && beyond.less(&half)?)
        };
        return Ok(inside().unwrap_or(false));
    }
    let point = Point::of_constant(false, PREC);
    let answer = match ball(answer, &point, cx.budget) {
        Ok(answer) => answer,
        Err(NoValue::Exhausted) => return Err(Exhausted),
        Err(_) => return Ok(false),
    };
    // An irrational value is never exactly half a unit away.
    let within = || {
        let distance = answer
            .real()?
            .sub(&Ball::rational(value, PREC)?, PREC)?
            .abs();
        Ball::rational(&half, PREC)?.sub(&distance, PREC)?.sign()
    };
    Ok(within().is_ok_and(|sign| sign > 0))
}

/// `50` for `50 %` and the reverse.
fn percent(gold: &Expr, answer: &Expr, cx: &Context<'_>) -> Result<bool, Exhausted> {
    let Some(factor) = &cx.percent else {
        return Ok(false);
    };
    let scaled = Expr::Product(vec![Expr::Number(factor.clone()), answer.clone()]);
    let scaled = crate::normal::fold(&scaled, cx.budget)?;
    Ok(super::scalar::same(gold, &scaled, cx.budget)?.0)
}

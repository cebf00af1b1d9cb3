//! Unions of arithmetic progressions over the integers: `π/4 + kπ/2` is the union of `π/4 + kπ` and
//! `3π/4 + kπ`. All progressions are written with one common step; what remains are their starts.

use std::ops::Neg as _;

use num_bigint::BigInt;
use num_integer::Integer as _;

use super::affine::{coefficients, mentions};
use super::evaluate::{NoValue, Point, ball};
use super::polynomial::simplest_between;
use super::{Context, real_set, scalar};
use crate::budget::Exhausted;
use crate::normal::fold;
use crate::number::Rational;
use crate::number::ball::Ball;
use crate::tree::Expr;
use crate::tree::charged::{charge_copy, charge_visit, copied, identical, replaced};

/// Most starts of a union with its common step.
const MAX_STARTS: usize = 48;

/// Most digits of a step in units of another one, in bits.
const MAX_RATIO_BITS: u64 = 64;

/// Precision at which a ratio of steps is recognised, in bits.
const PREC: u64 = 192;

/// Steps of finding the simplest rational near a value.
const SIMPLEST_STEPS: u64 = 400;

/// An arithmetic progression over the integers; a single value if the step is 0.
struct Progression {
    start: Expr,
    step: Expr,
}

/// Whether the values of two families with the same parameter are the same sets; false for values
/// that are not progressions.
pub(super) fn same_unions(
    gold: &Expr,
    answer: &Expr,
    parameter: &str,
    cx: &Context<'_>,
) -> Result<bool, Exhausted> {
    let (Some(gold), Some(answer)) = (all_of(gold, parameter, cx)?, all_of(answer, parameter, cx)?)
    else {
        return Ok(false);
    };
    let (gold_values, gold) = split(gold);
    let (answer_values, answer) = split(answer);
    let (Some(first), false) = (gold.first(), answer.is_empty()) else {
        return Ok(false);
    };
    // Steps in units of the first one.
    let mut ratios = Vec::new();
    for progression in gold.iter().chain(&answer) {
        let ratio = Expr::quotient(progression.step.clone(), first.step.clone());
        match rational(&fold(&ratio, cx.budget)?, cx)? {
            Some(ratio) if !ratio.is_zero() => ratios.push(ratio.abs()),
            _ => return Ok(false),
        }
    }
    let Some(common) = common_multiple(&ratios) else {
        return Ok(false);
    };
    let period = fold(
        &Expr::Product(vec![Expr::Number(common.clone()), first.step.clone()]),
        cx.budget,
    )?;
    let (own, others) = ratios.split_at(gold.len().min(ratios.len()));
    let (Some(gold), Some(answer)) = (
        starts(&gold, own, &common, cx)?,
        starts(&answer, others, &common, cx)?,
    ) else {
        return Ok(false);
    };
    Ok(are_within(&gold, &answer, &period, cx)?
        && are_within(&answer, &gold, &period, cx)?
        && are_covered(&gold_values, &answer_values, &answer, &period, cx)?
        && are_covered(&answer_values, &gold_values, &gold, &period, cx)?)
}

/// Single values, and progressions.
fn split(all: Vec<Progression>) -> (Vec<Expr>, Vec<Progression>) {
    let (values, progressions): (Vec<_>, Vec<_>) = all
        .into_iter()
        .partition(|progression| progression.step.is_int(0));
    (
        values.into_iter().map(|value| value.start).collect(),
        progressions,
    )
}

/// The progressions of a value or a list of values.
fn all_of(
    value: &Expr,
    parameter: &str,
    cx: &Context<'_>,
) -> Result<Option<Vec<Progression>>, Exhausted> {
    let items = match value {
        Expr::List(items) => items.as_slice(),
        one => std::slice::from_ref(one),
    };
    let mut all = Vec::new();
    for item in items {
        if !real_set::is_scalar(item) || all.len() > MAX_STARTS {
            return Ok(None);
        }
        match of(item, parameter, cx)? {
            Some(found) => all.extend(found),
            None => return Ok(None),
        }
    }
    Ok(Some(all))
}

/// The progression of a value that is linear in the parameter, or those of its even and odd values
/// if the value contains a power of -1: `(-1)^k π/6 + kπ`.
fn of(
    value: &Expr,
    parameter: &str,
    cx: &Context<'_>,
) -> Result<Option<Vec<Progression>>, Exhausted> {
    charge_visit(value, 2, cx.budget)?;
    if !mentions(value, parameter) {
        let start = copied(value, cx.budget)?;
        return Ok(Some(vec![Progression {
            start,
            step: Expr::int(0),
        }]));
    }
    let alternates = |part: &Expr| match part {
        Expr::Power(pair) => pair.0.is_int(-1) && mentions(&pair.1, parameter),
        _ => false,
    };
    if !value.any(&alternates) {
        return Ok(linear(value, parameter, cx)?.map(|found| vec![found]));
    }
    let mut found = Vec::new();
    for parity in [0, 1] {
        let Some(signed) = with_sign(value, parameter, parity, cx)? else {
            return Ok(None);
        };
        let every_other = Expr::Sum(vec![
            Expr::Product(vec![Expr::int(2), Expr::symbol(parameter)]),
            Expr::int(parity),
        ]);
        let part = fold(
            &replaced(&signed, parameter, &every_other, cx.budget)?,
            cx.budget,
        )?;
        match linear(&part, parameter, cx)? {
            Some(part) => found.push(part),
            None => return Ok(None),
        }
    }
    Ok(Some(found))
}

/// Start and step of a value in which the parameter is only added and multiplied.
fn linear(
    value: &Expr,
    parameter: &str,
    cx: &Context<'_>,
) -> Result<Option<Progression>, Exhausted> {
    let Some((start, step)) = coefficients(value, parameter, cx.budget)? else {
        return Ok(None);
    };
    Ok(Some(Progression {
        start: fold(&start, cx.budget)?,
        step: fold(&step, cx.budget)?,
    }))
}

/// The value with 1 or -1 for powers of -1, for even or odd values of the parameter.
fn with_sign(
    value: &Expr,
    parameter: &str,
    parity: i64,
    cx: &Context<'_>,
) -> Result<Option<Expr>, Exhausted> {
    charge_copy(value, cx.budget)?;
    let is_known = std::cell::Cell::new(true);
    let changed = sign_inside(value, parameter, parity, &is_known, cx)?;
    Ok(is_known.get().then_some(changed))
}

fn sign_inside(
    value: &Expr,
    parameter: &str,
    parity: i64,
    is_known: &std::cell::Cell<bool>,
    cx: &Context<'_>,
) -> Result<Expr, Exhausted> {
    if let Expr::Power(pair) = value
        && pair.0.is_int(-1)
        && mentions(&pair.1, parameter)
    {
        let at = |k: i64| -> Result<Option<i64>, Exhausted> {
            let exponent = replaced(&pair.1, parameter, &Expr::int(k), cx.budget)?;
            Ok(fold(&exponent, cx.budget)?
                .as_number()
                .and_then(Rational::to_i64))
        };
        let parities = [at(parity)?, at(parity + 2)?, at(parity + 4)?];
        let [Some(first), Some(second), Some(third)] = parities else {
            is_known.set(false);
            return Ok(Expr::Ellipsis);
        };
        let [first, second, third] = [first, second, third].map(|value| value.rem_euclid(2));
        is_known.set(is_known.get() && first == second && second == third);
        return Ok(Expr::int(1 - 2 * first));
    }
    value.try_map_children(&mut |child| sign_inside(child, parameter, parity, is_known, cx))
}

/// The least common multiple of positive rationals.
fn common_multiple(ratios: &[Rational]) -> Option<Rational> {
    let (mut num, mut den) = (BigInt::from(1), BigInt::from(0));
    for ratio in ratios {
        num = num.lcm(ratio.num());
        den = den.gcd(ratio.den());
        if num.bits() > 4 * MAX_RATIO_BITS {
            return None;
        }
    }
    Rational::new(num, den)
}

/// The starts of progressions with a common step, `common` times their unit.
fn starts(
    all: &[Progression],
    ratios: &[Rational],
    common: &Rational,
    cx: &Context<'_>,
) -> Result<Option<Vec<Expr>>, Exhausted> {
    let mut found = Vec::new();
    for (progression, ratio) in all.iter().zip(ratios) {
        let count = common.div(ratio).and_then(|count| count.to_i64());
        let Some(count) = count.filter(|count| *count <= MAX_STARTS as i64) else {
            return Ok(None);
        };
        for k in 0..count {
            charge_copy(&progression.start, cx.budget)?;
            charge_copy(&progression.step, cx.budget)?;
            let step = Expr::Product(vec![Expr::int(k), progression.step.clone()]);
            let start = Expr::Sum(vec![progression.start.clone(), step]);
            found.push(fold(&start, cx.budget)?);
        }
        if found.len() > MAX_STARTS {
            return Ok(None);
        }
    }
    Ok(Some(found))
}

/// Whether every start is one of the others, up to a multiple of the period.
fn are_within(
    some: &[Expr],
    others: &[Expr],
    period: &Expr,
    cx: &Context<'_>,
) -> Result<bool, Exhausted> {
    for start in some {
        if !is_within(start, others, period, cx)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn is_within(
    start: &Expr,
    others: &[Expr],
    period: &Expr,
    cx: &Context<'_>,
) -> Result<bool, Exhausted> {
    for other in others {
        if identical(start, other, cx.budget)? {
            return Ok(true);
        }
        let apart = Expr::Sum(vec![start.clone(), other.clone().neg()]);
        charge_copy(&apart, cx.budget)?;
        charge_copy(period, cx.budget)?;
        if is_whole(
            &fold(&Expr::quotient(apart, period.clone()), cx.budget)?,
            cx,
        )? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether every single value is one of the other ones, or a member of the other progressions.
fn are_covered(
    values: &[Expr],
    others: &[Expr],
    starts: &[Expr],
    period: &Expr,
    cx: &Context<'_>,
) -> Result<bool, Exhausted> {
    'values: for value in values {
        for other in others {
            if scalar::same(value, other, cx.budget)?.0 {
                continue 'values;
            }
        }
        if !is_within(value, starts, period, cx)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether a constant is an integer.
fn is_whole(value: &Expr, cx: &Context<'_>) -> Result<bool, Exhausted> {
    Ok(rational(value, cx)?.is_some_and(|value| value.is_integer()))
}

/// The value of a constant that is a rational with a short denominator.
fn rational(value: &Expr, cx: &Context<'_>) -> Result<Option<Rational>, Exhausted> {
    if let Expr::Number(value) = value {
        return Ok(Some(value.clone()).filter(|value| value.bits() <= MAX_RATIO_BITS));
    }
    let point = Point::of_constant(false, PREC);
    let middle = match ball(value, &point, cx.budget) {
        Ok(found) => found.real().ok().and_then(Ball::exact_midpoint),
        Err(NoValue::Exhausted) => return Err(Exhausted),
        Err(_) => None,
    };
    cx.budget.charge(SIMPLEST_STEPS)?;
    let guess = middle.and_then(|middle| {
        let margin = Rational::small(2).pow(-(PREC as i64) / 2, 1_000)?;
        simplest_between(&middle.sub(&margin)?, &middle.add(&margin)?)
    });
    let Some(guess) = guess.filter(|guess| guess.bits() <= MAX_RATIO_BITS) else {
        return Ok(None);
    };
    let same = scalar::same(value, &Expr::Number(guess.clone()), cx.budget)?.0;
    Ok(same.then_some(guess))
}

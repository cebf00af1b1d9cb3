//! Values with units, numerals in a base, times of day, dates and ratios.

use super::rule::Rule;
use super::{Context, real_set, same as same_answers};
use crate::budget::Exhausted;
use crate::normal::fold;
use crate::options::Units;
use crate::parse::unit::{Measure, Unit, measure};
use crate::tree::charged::charge_copy;
use crate::tree::{Constant, Date, Expr};

/// Whether two values are equal if at least one of them is of these kinds; `None` otherwise.
pub(crate) fn same(
    gold: &Expr,
    answer: &Expr,
    cx: &Context<'_>,
) -> Result<Option<bool>, Exhausted> {
    match (gold, answer) {
        (Expr::Quantity(a, a_unit), Expr::Quantity(b, b_unit)) => {
            let equal = quantities(a, a_unit, b, b_unit, cx)?;
            cx.set_rule(Rule::Unit);
            Ok(Some(equal))
        }
        (Expr::Quantity(a, unit), b) => quantity_and_value(a, unit, b, true, cx).map(Some),
        (a, Expr::Quantity(b, unit)) => quantity_and_value(b, unit, a, false, cx).map(Some),
        (Expr::Based(a, a_base), Expr::Based(b, b_base)) => {
            cx.set_rule(Rule::Base);
            let digits = |text: &str| text.trim_start_matches('0').to_owned();
            Ok(Some(a_base == b_base && digits(a) == digits(b)))
        }
        (Expr::Based(..), other) | (other, Expr::Based(..)) if real_set::is_scalar(other) => {
            cx.set_rule(Rule::Base);
            Ok(Some(false))
        }
        (Expr::Time(a), Expr::Time(b)) => {
            cx.set_rule(Rule::Time);
            Ok(Some(a == b))
        }
        (Expr::Date(a), Expr::Date(b)) => {
            cx.set_rule(Rule::Time);
            // `01/02/2024` is either of two days, but it equals another ambiguous text only if both
            // are the same.
            let equal = match (a.ambiguous, b.ambiguous) {
                (true, false) => same_day(*b, *a),
                (false, true) => same_day(*a, *b),
                _ => a == b,
            };
            Ok(Some(equal))
        }
        (Expr::Time(time), other) => time_as_ratio(*time, other, true, cx),
        (other, Expr::Time(time)) => time_as_ratio(*time, other, false, cx),
        (Expr::Ratio(a), Expr::Ratio(b)) => {
            let equal = ratios(a, b, cx)?;
            cx.set_rule(Rule::Ratio);
            Ok(Some(equal))
        }
        (Expr::Ratio(parts), other) | (other, Expr::Ratio(parts)) if real_set::is_scalar(other) => {
            let [a, b] = parts.as_slice() else {
                return Ok(Some(false));
            };
            let value = fold(&Expr::quotient(a.clone(), b.clone()), cx.budget)?;
            let equal = if matches!(gold, Expr::Ratio(_)) {
                cx.same_values(&value, other)?
            } else {
                cx.same_values(other, &value)?
            };
            if cx.rule() != Rule::Tolerance {
                cx.set_rule(Rule::Ratio);
            }
            Ok(Some(equal))
        }
        _ => Ok(None),
    }
}

/// `11:21` may be a time or a ratio. Compared with a ratio or a value, it is a ratio.
fn time_as_ratio(
    time: u32,
    other: &Expr,
    time_is_gold: bool,
    cx: &Context<'_>,
) -> Result<Option<bool>, Exhausted> {
    if !(matches!(other, Expr::Ratio(_)) || real_set::is_scalar(other)) || !time.is_multiple_of(60)
    {
        return Ok(None);
    }
    let part = |value: u32| Expr::int(i64::from(value));
    let ratio = Expr::Ratio(vec![part(time / 3_600), part(time / 60 % 60)]);
    if time_is_gold {
        same(&ratio, other, cx)
    } else {
        same(other, &ratio, cx)
    }
}

fn ratios(a: &[Expr], b: &[Expr], cx: &Context<'_>) -> Result<bool, Exhausted> {
    let (Some((a_first, a_rest)), Some((b_first, b_rest))) = (a.split_first(), b.split_first())
    else {
        return Ok(false);
    };
    if a.len() != b.len() || a.iter().chain(b).any(|part| !real_set::is_scalar(part)) {
        return Ok(a.len() == b.len() && super::collection::ordered(a, b, cx)?);
    }
    for (a_next, b_next) in a_rest.iter().zip(b_rest) {
        let left = fold(
            &Expr::Product(vec![a_first.clone(), b_next.clone()]),
            cx.budget,
        )?;
        let right = fold(
            &Expr::Product(vec![b_first.clone(), a_next.clone()]),
            cx.budget,
        )?;
        if !cx.same_values(&left, &right)? {
            return Ok(false);
        }
    }
    // 0:0 is not a ratio.
    let all_zero = |parts: &[Expr]| parts.iter().all(|part| part.is_int(0));
    Ok(!all_zero(a) && !all_zero(b))
}

/// Whether `day` is one of the two days that an ambiguous date may be.
fn same_day(day: Date, open: Date) -> bool {
    let open = Date {
        ambiguous: false,
        ..open
    };
    day == open || day == open.swapped()
}

fn quantities(
    a: &Expr,
    a_unit: &str,
    b: &Expr,
    b_unit: &str,
    cx: &Context<'_>,
) -> Result<bool, Exhausted> {
    if cx.options.units == Units::Ignore {
        return same_answers(a, b, cx);
    }
    cx.budget.charge(4 * (a_unit.len() + b_unit.len()) as u64)?;
    match (measure(a_unit), measure(b_unit)) {
        (Measure::Units(a_units), Measure::Units(b_units)) => {
            for own in &a_units {
                for other in &b_units {
                    if own.dimensions == other.dimensions
                        && let Some(b) = converted(b, other, own, cx)?
                        && same_answers(a, &b, cx)?
                    {
                        return Ok(true);
                    }
                }
            }
            Ok(false)
        }
        (Measure::Words(a_words), Measure::Words(b_words)) => {
            if !same_words(&a_words, &b_words) {
                return Ok(false);
            }
            same_answers(a, b, cx)
        }
        _ => Ok(false),
    }
}

/// Converts a value from one unit to another of the same dimensions; `None` if the factor is too
/// large.
fn converted(
    value: &Expr,
    from: &Unit,
    to: &Unit,
    cx: &Context<'_>,
) -> Result<Option<Expr>, Exhausted> {
    if from == to {
        return Ok(Some(value.clone()));
    }
    let Some(scale) = from.scale.div(&to.scale) else {
        return Ok(None);
    };
    let mut factors = vec![Expr::Number(scale)];
    let half_turns = i64::from(from.half_turns) - i64::from(to.half_turns);
    if half_turns != 0 {
        factors.push(Expr::power(
            Expr::Constant(Constant::Pi),
            Expr::int(half_turns),
        ));
    }
    let shifted = !from.zero.is_zero() || !to.zero.is_zero();
    factors.push(if shifted {
        Expr::Sum(vec![value.clone(), Expr::Number(from.zero.clone())])
    } else {
        value.clone()
    });
    let product = Expr::Product(factors);
    let all = if shifted {
        Expr::Sum(vec![product, Expr::Number(to.zero.neg())])
    } else {
        product
    };
    fold(&all, cx.budget).map(Some)
}

/// Whether two descriptions are the same words up to plurals.
fn same_words(a: &str, b: &str) -> bool {
    let stem = |word: &str| word.strip_suffix('s').unwrap_or(word).to_owned();
    let stems = |text: &str| text.split_whitespace().map(stem).collect::<Vec<_>>();
    stems(a) == stems(b)
}

/// Compares a quantity with a value without a unit. Units are compared only if both sides have one.
/// An angle in degrees also equals its value in radians.
fn quantity_and_value(
    value: &Expr,
    unit: &str,
    other: &Expr,
    quantity_is_gold: bool,
    cx: &Context<'_>,
) -> Result<bool, Exhausted> {
    let ordered = |value: &Expr| {
        if quantity_is_gold {
            same_answers(value, other, cx)
        } else {
            same_answers(other, value, cx)
        }
    };
    if matches!(other, Expr::Product(_)) {
        charge_copy(other, cx.budget)?;
    }
    // `10 m` without markup is read as ten times m.
    if let Some((number, letter)) = number_and_letters(other)
        && let (Measure::Units(_), Measure::Units(_)) = (measure(unit), measure(&letter))
    {
        let equal = quantities(value, unit, &number, &letter, cx)?;
        cx.set_rule(Rule::Unit);
        return Ok(equal);
    }
    let equal = ordered(value)?;
    if !equal && matches!(unit, "°" | "degrees" | "degree") && real_set::is_scalar(other) {
        let radians = fold(
            &Expr::Product(vec![
                value.clone(),
                Expr::Constant(Constant::Pi),
                Expr::Number(crate::number::Rational::ratio(1, 180)),
            ]),
            cx.budget,
        )?;
        let equal =
            other.any(&|part| matches!(part, Expr::Constant(Constant::Pi))) && ordered(&radians)?;
        cx.set_rule(Rule::Unit);
        return Ok(equal);
    }
    if cx.rule() != Rule::Tolerance {
        cx.set_rule(Rule::Unit);
    }
    Ok(equal)
}

/// A number and the unit that the other factors may spell, if these are single letters with powers,
/// as in `3 m/s`.
fn number_and_letters(expr: &Expr) -> Option<(Expr, String)> {
    let Expr::Product(items) = expr else {
        return None;
    };
    if items.len() > 6 {
        return None;
    }
    let mut numbers = Vec::new();
    let mut unit = String::new();
    for item in items {
        if !item.any(&|part| matches!(part, Expr::Symbol(_) | Expr::Apply(..))) {
            numbers.push(item.clone());
            continue;
        }
        let (base, power) = match item {
            Expr::Power(pair) => (&pair.0, pair.1.as_number()?.to_i64()?),
            other => (other, 1),
        };
        match base {
            Expr::Symbol(letter) if letter.len() == 1 => {
                unit.push_str(&format!("{letter}^{{{power}}} "));
            }
            _ => return None,
        }
    }
    let number = if numbers.len() > 1 {
        Expr::Product(numbers)
    } else {
        numbers.pop()?
    };
    Some((number, unit))
}

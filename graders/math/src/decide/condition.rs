//! Conditions of answers: `x + 3, x ≠ 3`, `kπ, k ∈ ℤ`, `n/2 if n is even`. Two answers with
//! conditions are the same only if the conditions are. Next to an answer without one, a condition
//! counts if it restricts the answer:
//!
//! - that an index runs from 0 or 1, or that a parameter is an integer, real or arbitrary, does not
//!   ([`index`]), except for a parameter of a function;
//! - the natural domain does not: `1/(x - 3)` and the other answer have no value at 3 either. This
//!   is found by evaluating both outside of the set that the condition allows;
//! - a condition on the value itself does not if the value satisfies it: `x = 5, x > 0`;
//! - what does not mention the variables of the value does not;
//! - everything else does.

use std::collections::BTreeSet;
use std::rc::Rc;

use super::evaluate::{NoValue, Point, ball};
use super::real_set::{self, Limit, RealSet};
use super::{Context, index, normal_inside, rename, scalar, statement};
use crate::budget::Exhausted;
use crate::normal::fold;
use crate::number::Rational;
use crate::number::ball::BallError;
use crate::tree::charged::{copied, replaced};
use crate::tree::{Condition, Expr, Relation, SetOp};

/// Precision at which a value is evaluated outside of its condition.
const PREC: u64 = 128;

/// Most intervals between the parts of a condition.
const MAX_GAPS: usize = 6;

/// What a condition is to a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scope {
    /// The value has no value elsewhere, or satisfies the condition.
    Natural,
    /// It excludes some of the values.
    Restricted,
}

/// Whether two values have the same condition, or each one only its natural domain.
pub(super) fn same(
    (a, a_condition): (&Expr, &Condition),
    (b, b_condition): (&Expr, &Condition),
    cx: &Context<'_>,
) -> Result<bool, Exhausted> {
    if let (Some((a_name, a_start)), Some((b_name, b_start))) =
        (index::range(a_condition), index::range(b_condition))
    {
        return Ok(a_start.agrees(b_start)
            && index::is_term(a, a_name)
            && index::is_term(b, b_name));
    }
    if let (Some(a), Some(b)) = (set(a_condition, cx)?, set(b_condition, cx)?)
        && real_set::same(&a, &b, cx)?
    {
        return Ok(true);
    }
    if let (Some(a), Some(b)) = (without_fillers(a_condition), without_fillers(b_condition)) {
        return Ok(a == b);
    }
    Ok(scope(a_condition, a, Some(b), cx)? == Some(Scope::Natural)
        && scope(b_condition, b, Some(a), cx)? == Some(Scope::Natural))
}

/// The words of a condition on divisibility that say what it is: `n is an odd integer` is `n odd`.
/// `None` for other conditions.
fn without_fillers(condition: &str) -> Option<Vec<&str>> {
    const FILLERS: [&str; 16] = [
        "is", "are", "be", "a", "an", "any", "all", "every", "each", "for", "where", "with",
        "when", "if", "integer", "integers",
    ];
    let words: Vec<&str> = condition
        .split(' ')
        .filter(|word| !FILLERS.contains(word))
        .collect();
    let divides = words.iter().any(|word| matches!(*word, "odd" | "even"));
    divides.then_some(words)
}

/// Whether a condition restricts a value, next to another one without a condition.
pub(super) fn restricts(
    condition: &Condition,
    value: &Expr,
    other: Option<&Expr>,
    cx: &Context<'_>,
) -> Result<bool, Exhausted> {
    if index::range(condition).is_some_and(|(name, _)| index::is_term(value, name)) {
        return Ok(false);
    }
    Ok(match scope(condition, value, other, cx)? {
        Some(scope) => scope == Scope::Restricted,
        None => words_restrict(condition, value),
    })
}

/// What a condition on one real variable is to a value; `None` for other conditions.
fn scope(
    condition: &Condition,
    value: &Expr,
    other: Option<&Expr>,
    cx: &Context<'_>,
) -> Result<Option<Scope>, Exhausted> {
    let Some(set) = set(condition, cx)? else {
        return Ok(None);
    };
    let Some(Expr::Symbol(name)) = &set.subject else {
        return Ok(None);
    };
    let is_name = |part: &Expr| matches!(part, Expr::Symbol(own) if own == name);
    // A set of numbers is restricted by every condition on them.
    if is_set_of_numbers(value) {
        return Ok(None);
    }
    let solved = match value {
        Expr::Chain(sides, relations) => statement::solved(sides, relations),
        _ => None,
    };
    if let Some(solved) = &solved
        && solved.names.iter().any(is_name)
    {
        return holds(&set, solved.value, cx);
    }
    let parts = parts(value);
    if !parts.iter().any(|part| part.any(&is_name)) {
        return Ok(None);
    }
    let others = other.map(self::parts).unwrap_or_default();
    let Some(places) = outside(&set, cx)? else {
        return Ok(None);
    };
    for place in places {
        if !has_no_value(&parts, name, &place, cx)? && !has_no_value(&others, name, &place, cx)? {
            return Ok(Some(Scope::Restricted));
        }
    }
    Ok(Some(Scope::Natural))
}

/// Whether an answer is an inequality.
fn is_set_of_numbers(value: &Expr) -> bool {
    match value {
        Expr::Chain(_, relations) => relations.iter().any(|relation| relation.is_order()),
        _ => false,
    }
}

/// The parts of an answer that depend on its variables: the right side of a definition, both sides
/// of another equation.
fn parts(value: &Expr) -> Vec<&Expr> {
    match value {
        Expr::Chain(sides, relations) => match statement::solved(sides, relations) {
            Some(solved) if solved.names.iter().all(is_defined) => vec![solved.value],
            _ => sides.iter().collect(),
        },
        other => vec![other],
    }
}

/// Whether the side of an equation is the name of what it defines: `y`, `f(x)`.
fn is_defined(side: &Expr) -> bool {
    matches!(side, Expr::Symbol(_) | Expr::Apply(..))
}

/// A name and its value, if a condition of a value that contains the name defines it: `\lfloor \phi
/// n \rfloor, where \phi = 2`.
pub(super) fn definition<'e>(
    value: &Expr,
    condition: &'e Condition,
) -> Option<(&'e str, &'e Expr)> {
    let Some(Expr::Chain(sides, relations)) = condition.statement() else {
        return None;
    };
    let ([Expr::Symbol(name), defined], [Relation::Equal]) =
        (sides.as_slice(), relations.as_slice())
    else {
        return None;
    };
    let is_name = |part: &Expr| matches!(part, Expr::Symbol(own) if own == name);
    let own = matches!(value, Expr::Chain(sides, _) if sides.first().is_some_and(is_name));
    (!own && value.any(&is_name) && !defined.any(&is_name) && real_set::is_scalar(defined))
        .then_some((&**name, defined))
}

/// The real numbers that a condition allows; `None` if it is about anything else.
fn set(condition: &Condition, cx: &Context<'_>) -> Result<Option<RealSet>, Exhausted> {
    let Some(stated) = condition.statement() else {
        return Ok(None);
    };
    let stated = normal_inside(stated, cx)?;
    let is_equation =
        matches!(&stated, Expr::Chain(_, relations) if relations.contains(&Relation::Equal));
    if is_equation {
        return Ok(None);
    }
    Ok(real_set::of(&stated, cx)?.filter(|set| set.within.is_none()))
}

/// Whether a number satisfies a condition; `None` if this is not a number.
fn holds(set: &RealSet, value: &Expr, cx: &Context<'_>) -> Result<Option<Scope>, Exhausted> {
    if !rename::symbols(value).is_empty() || !real_set::is_scalar(value) {
        return Ok(None);
    }
    let point = Expr::Set(vec![copied(value, cx.budget)?]);
    let Some(point) = real_set::of(&point, cx)? else {
        return Ok(None);
    };
    let Some(common) = real_set::combined(SetOp::Intersection, set, &point, cx)? else {
        return Ok(None);
    };
    Ok(Some(if common.parts.is_empty() {
        Scope::Restricted
    } else {
        Scope::Natural
    }))
}

/// Some numbers outside of a set, in every gap between its parts; `None` if it has too many.
fn outside(set: &RealSet, cx: &Context<'_>) -> Result<Option<Vec<Expr>>, Exhausted> {
    if set.parts.is_empty() || set.parts.len() > MAX_GAPS {
        return Ok(None);
    }
    let number = |num, den| Expr::Number(Rational::ratio(num, den));
    let mut places = Vec::new();
    let mut low: Option<&Limit> = None;
    let ends = set.parts.iter().map(|part| Some(&part.low)).chain([None]);
    let highs = set.parts.iter().map(|part| Some(&part.high)).chain([None]);
    for (high, next) in ends.zip(highs) {
        let beside = |end: &Expr, sign: i64| -> Result<Vec<Expr>, Exhausted> {
            [(1, 7), (1, 1), (11, 3), (40, 1)]
                .into_iter()
                .map(|(num, den)| {
                    Ok(Expr::Sum(vec![
                        copied(end, cx.budget)?,
                        number(sign * num, den),
                    ]))
                })
                .collect()
        };
        match (low, high) {
            // `x ≠ 3`
            (Some(Limit::At(low, false)), Some(Limit::At(high, false)))
                if scalar::same(low, high, cx.budget)?.0 =>
            {
                places.push(copied(low, cx.budget)?);
            }
            (Some(Limit::At(low, _)), Some(Limit::At(high, _))) => {
                for (num, den) in [(1, 7), (1, 2), (13, 14)] {
                    let share = |end: &Expr, num| -> Result<Expr, Exhausted> {
                        Ok(Expr::Product(vec![
                            number(num, den),
                            copied(end, cx.budget)?,
                        ]))
                    };
                    places.push(Expr::Sum(vec![share(low, den - num)?, share(high, num)?]));
                }
            }
            (None, Some(Limit::At(high, _))) => places.extend(beside(high, -1)?),
            (Some(Limit::At(low, _)), None) => places.extend(beside(low, 1)?),
            _ => {}
        }
        // The ends of the set that do not belong to it.
        for end in [low, high].into_iter().flatten() {
            if let Limit::At(end, false) = end {
                places.push(copied(end, cx.budget)?);
            }
        }
        low = next;
    }
    Ok(Some(places))
}

/// Whether some part of an answer has no real value where a variable is at a place, or an equation
/// is false there.
fn has_no_value(
    parts: &[&Expr],
    name: &str,
    place: &Expr,
    cx: &Context<'_>,
) -> Result<bool, Exhausted> {
    let is_rational = fold(place, cx.budget)?.as_number().is_some();
    let mut constants = Vec::with_capacity(parts.len());
    for part in parts {
        let part = normal_inside(&replaced(part, name, place, cx.budget)?, cx)?;
        if !real_set::is_scalar(&part) {
            return Ok(false);
        }
        let symbols = rename::symbols(&part);
        // Fractions of 4 have exact balls, so that `b - b` is exactly 0.
        let free: Vec<(&str, Rational)> = (3..)
            .zip(&symbols)
            .map(|(at, name)| (*name, Rational::ratio(2 * at + 1, 4)))
            .collect();
        let is_constant = free.is_empty();
        let point = Point::new(Rc::from(free), false, PREC);
        match ball(&part, &point, cx.budget) {
            Err(NoValue::AtPoint(BallError::Undefined) | NoValue::NoRow) => return Ok(true),
            // `tan x` at `π/2`
            Err(NoValue::AtPoint(BallError::Straddles)) if !is_rational => return Ok(true),
            Err(NoValue::Exhausted) => return Err(Exhausted),
            _ => {}
        }
        if is_constant {
            constants.push(part);
        }
    }
    // `xy = 1` is false at `x = 0`.
    Ok(match constants.as_slice() {
        [left, right] if parts.len() == 2 => !scalar::same(left, right, cx.budget)?.0,
        _ => false,
    })
}

/// [`restricts`] for a condition in words or on several variables.
fn words_restrict(condition: &str, value: &Expr) -> bool {
    const UNRESTRICTIVE: [&str; 7] = [
        "In Integers",
        "In Reals",
        "NotEqual",
        "integer",
        "real",
        "constant",
        "arbitrary",
    ];
    // `n is an odd integer`
    const RESTRICTIVE: [&str; 7] = [
        "odd",
        "even",
        "prime",
        "composite",
        "divisible",
        "multiple",
        "square",
    ];
    let words: BTreeSet<&str> = condition.split(|c: char| !c.is_alphanumeric()).collect();
    let mentions = |value: &Expr| {
        value.any(&|part| matches!(part, Expr::Symbol(name) if words.contains(&**name)))
    };
    // For a set of numbers every condition on its variables counts.
    if is_set_of_numbers(value) {
        return mentions(value);
    }
    // For a definition only the variables of its right side count. Other equations are curves, of
    // which an inequality selects a part.
    let is_order = ["Less", "Greater", "<", ">", r"\le", r"\ge", "≤", "≥"]
        .iter()
        .any(|word| condition.contains(word));
    let own = match value {
        Expr::Chain(sides, _)
            if is_order && !matches!(sides.first(), Some(Expr::Symbol(_) | Expr::Apply(..))) =>
        {
            value
        }
        Expr::Chain(sides, _) => sides.last().unwrap_or(value),
        other => other,
    };
    let weak = UNRESTRICTIVE.iter().any(|word| condition.contains(word))
        && !RESTRICTIVE.iter().any(|word| words.contains(word))
        && !is_parameter_of_function(condition, value);
    !weak && mentions(own)
}

/// Whether a condition says that a parameter of a function is an integer: `f(x) = cx, c ∈ ℤ`.
fn is_parameter_of_function(condition: &str, value: &Expr) -> bool {
    let Some((name, _)) = condition.split_once(" In Integers") else {
        return false;
    };
    let is_name = |part: &Expr| matches!(part, Expr::Symbol(own) if **own == *name);
    match value {
        Expr::Chain(sides, _) => match sides.first() {
            Some(Expr::Apply(_, arguments)) => {
                !index::is_index(name) && !arguments.iter().any(|argument| argument.any(&is_name))
            }
            _ => false,
        },
        _ => false,
    }
}

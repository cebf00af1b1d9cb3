//! Piecewise definitions as functions: which row applies at a point.

use std::ops::Neg as _;

use super::evaluate::{NoValue, Point, ball};
use super::real_set::is_infinite;
use crate::budget::{Budget, Exhausted};
use crate::number::ball::Ball;
use crate::number::complex::Complex;
use crate::tree::charged::charge_copy;
use crate::tree::{End, Expr, Function, NamedSet, Relation, SetOp};

/// Words of the row that applies if no other does.
const OTHERWISE: [&str; 8] = [
    "if otherwise",
    "in all other cases",
    "otherwise",
    "else",
    "elsewhere",
    "in other cases",
    "for all other x",
    "sonst",
];

/// Whether an expression is a piecewise definition of which each row is a value with a condition
/// that can be decided at a point.
pub(super) fn is_function(expr: &Expr) -> bool {
    let Expr::Cases(rows) = expr else {
        return false;
    };
    let last = rows.len().saturating_sub(1);
    let is_value = |value: &Expr| super::real_set::is_scalar(value) || is_function(value);
    let row_is_read = |(at, row): (usize, &Vec<Expr>)| match row.as_slice() {
        [value, condition @ (Expr::Chain(..) | Expr::SetOp(..))] => {
            is_value(value) && is_decidable(condition)
        }
        [value, Expr::Text(words) | Expr::Word(words)] => {
            at == last
                && is_value(value)
                && OTHERWISE.contains(&words.trim_end_matches('.').to_lowercase().as_str())
        }
        _ => false,
    };
    rows.len() > 1 && rows.iter().enumerate().all(row_is_read)
}

/// Whether a condition can be decided at a point.
fn is_decidable(condition: &Expr) -> bool {
    match condition {
        Expr::Chain(sides, relations) => {
            sides.iter().all(super::real_set::is_scalar)
                && relations.iter().all(|relation| {
                    relation.is_order() || matches!(relation, Relation::Equal | Relation::NotEqual)
                })
        }
        Expr::SetOp(SetOp::Union | SetOp::Intersection, parts) => parts.iter().all(is_decidable),
        _ => false,
    }
}

/// A condition with inequalities and equations in place of sets: `x ∈ (0, 1]` is `0 < x ≤ 1`. That
/// an index is an integer is left out next to another condition.
pub(super) fn condition(part: &Expr, budget: &Budget) -> Result<Expr, Exhausted> {
    charge_copy(part, budget)?;
    Ok(match part {
        Expr::Chain(sides, relations) => match (sides.as_slice(), relations.as_slice()) {
            ([subject, set], [Relation::In]) => {
                within(subject, set).unwrap_or_else(|| part.clone())
            }
            // `n ≡ 1 (mod 2)`
            ([subject, Expr::Call(Function::Residue, class)], [Relation::Congruent])
                if let [rest, modulus] = class.as_slice() =>
            {
                let apart = Expr::Sum(vec![subject.clone(), rest.clone().neg()]);
                let rest = Expr::Call(Function::Mod, vec![apart, modulus.clone()]);
                Expr::Chain(vec![rest, Expr::int(0)], vec![Relation::Equal])
            }
            _ => part.clone(),
        },
        Expr::SetOp(op @ (SetOp::Union | SetOp::Intersection), parts) => {
            let is_range = |part: &&Expr| *op == SetOp::Intersection && is_range_of_index(part);
            let kept = parts.iter().filter(|part| !is_range(part));
            let kept: Vec<Expr> = kept
                .map(|part| condition(part, budget))
                .collect::<Result<_, _>>()?;
            match <[Expr; 1]>::try_from(kept) {
                Ok([one]) => one,
                Err(kept) if kept.is_empty() => part.clone(),
                Err(kept) => Expr::SetOp(*op, kept),
            }
        }
        _ => part.clone(),
    })
}

fn is_range_of_index(part: &Expr) -> bool {
    match part {
        Expr::Chain(sides, relations) => match (sides.as_slice(), relations.as_slice()) {
            ([Expr::Symbol(name), Expr::Named(set)], [Relation::In]) => {
                super::index::is_index(name)
                    && matches!(
                        set,
                        NamedSet::Naturals
                            | NamedSet::PositiveIntegers
                            | NamedSet::NonnegativeIntegers
                            | NamedSet::Integers
                    )
            }
            _ => false,
        },
        _ => false,
    }
}

/// `subject ∈ set` without a set, if it is a finite set or made of intervals.
fn within(subject: &Expr, set: &Expr) -> Option<Expr> {
    match set {
        Expr::Bracket(open, ends, close) => {
            let [low, high] = ends.as_slice() else {
                return None;
            };
            let relation = |end: &End| match end {
                End::Square => Some(Relation::LessEqual),
                End::Round => Some(Relation::Less),
                End::Angle => None,
            };
            let (open, close) = (relation(open)?, relation(close)?);
            let (mut sides, mut relations) = (Vec::new(), Vec::new());
            if is_infinite(low) != Some(false) {
                sides.push(low.clone());
                relations.push(open);
            }
            sides.push(subject.clone());
            if is_infinite(high) != Some(true) {
                sides.push(high.clone());
                relations.push(close);
            }
            (!relations.is_empty()).then_some(Expr::Chain(sides, relations))
        }
        Expr::SetOp(op @ (SetOp::Union | SetOp::Intersection), parts) => {
            let parts = parts.iter().map(|part| within(subject, part));
            Some(Expr::SetOp(*op, parts.collect::<Option<_>>()?))
        }
        Expr::Set(members) => {
            let one = |member: &Expr| {
                Expr::Chain(vec![subject.clone(), member.clone()], vec![Relation::Equal])
            };
            match members.as_slice() {
                [member] => Some(one(member)),
                members => Some(Expr::SetOp(SetOp::Union, members.iter().map(one).collect())),
            }
        }
        _ => None,
    }
}

/// The value of the first row whose condition is true at a point.
pub(super) fn value<'a>(
    rows: &'a [Vec<Expr>],
    point: &Point<'a>,
    budget: &Budget,
) -> Result<Complex, NoValue> {
    let sign = |difference: &Ball| Ok(difference.sign()?);
    let at = row(rows, point, budget, &sign)?;
    let value = rows.get(at).and_then(|row| row.first());
    ball(value.ok_or(NoValue::Unsupported)?, point, budget)
}

/// The index of the first row whose condition is true at a point, where `sign` is the sign of a
/// difference.
pub(super) fn row<'a>(
    rows: &'a [Vec<Expr>],
    point: &Point<'a>,
    budget: &Budget,
    sign: &dyn Fn(&Ball) -> Result<i8, NoValue>,
) -> Result<usize, NoValue> {
    for (at, row) in rows.iter().enumerate() {
        let applies = match row.as_slice() {
            [_, condition @ (Expr::Chain(..) | Expr::SetOp(..))] => {
                is_true(condition, point, budget, sign)?
            }
            [_, _] => true,
            _ => return Err(NoValue::Unsupported),
        };
        if applies {
            return Ok(at);
        }
    }
    Err(NoValue::NoRow)
}

fn is_true<'a>(
    condition: &'a Expr,
    point: &Point<'a>,
    budget: &Budget,
    sign: &dyn Fn(&Ball) -> Result<i8, NoValue>,
) -> Result<bool, NoValue> {
    budget.charge(2)?;
    match condition {
        Expr::Chain(sides, relations) => chain_is_true(sides, relations, point, budget, sign),
        Expr::SetOp(op, parts) => {
            // A union is true if one part is.
            let decisive = *op == SetOp::Union;
            for part in parts {
                if is_true(part, point, budget, sign)? == decisive {
                    return Ok(decisive);
                }
            }
            Ok(!decisive)
        }
        _ => Err(NoValue::Unsupported),
    }
}

fn chain_is_true<'a>(
    sides: &'a [Expr],
    relations: &[Relation],
    point: &Point<'a>,
    budget: &Budget,
    sign: &dyn Fn(&Ball) -> Result<i8, NoValue>,
) -> Result<bool, NoValue> {
    for (pair, relation) in sides.windows(2).zip(relations) {
        let [left, right] = pair else {
            return Err(NoValue::Unsupported);
        };
        let (left, right) = (ball(left, point, budget)?, ball(right, point, budget)?);
        let difference = left.sub(&right, point.prec)?;
        let sign = sign(difference.real()?)?;
        let holds = match relation {
            Relation::Less => sign < 0,
            Relation::LessEqual => sign <= 0,
            Relation::Greater => sign > 0,
            Relation::GreaterEqual => sign >= 0,
            Relation::Equal => sign == 0,
            Relation::NotEqual => sign != 0,
            _ => return Err(NoValue::Unsupported),
        };
        if !holds {
            return Ok(false);
        }
    }
    Ok(true)
}

//! Inequalities, chains, intervals, set-builders and their combinations in one form: a sorted union
//! of intervals over the reals with exact, open or closed ends.

mod algebra;
mod inequality;

use super::Context;
use crate::budget::Exhausted;
use crate::normal::fold;
use crate::tree::{Constant, End, Expr, NamedSet, Relation, SetOp};
use algebra::{normalised, united};
use inequality::inequality;

pub(crate) use algebra::{combined, same};

/// One end of an interval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Limit {
    /// Minus infinity as a lower end, plus infinity as an upper end.
    Infinite,
    /// A value, and whether it belongs to the interval.
    At(Expr, bool),
}

/// A non-empty interval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Interval {
    pub(crate) low: Limit,
    pub(crate) high: Limit,
}

/// A union of intervals, and the name of its elements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RealSet {
    pub(crate) subject: Option<Expr>,
    pub(crate) parts: Vec<Interval>,
    /// A further condition on the elements, such as membership in the integers.
    pub(crate) within: Option<NamedSet>,
}

/// `None` if there is no result, an error if the budget is exhausted.
type Attempt<T> = Result<Option<T>, Exhausted>;

impl RealSet {
    fn new(parts: Vec<Interval>) -> Self {
        Self {
            subject: None,
            parts,
            within: None,
        }
    }

    fn all() -> Self {
        Self::new(vec![Interval {
            low: Limit::Infinite,
            high: Limit::Infinite,
        }])
    }
}

pub(super) fn is_infinite(expr: &Expr) -> Option<bool> {
    match expr {
        Expr::Constant(Constant::Infinity) => Some(true),
        Expr::Product(items) if items.iter().any(|item| is_infinite(item).is_some()) => {
            let negative = items
                .iter()
                .filter(|item| {
                    item.as_number()
                        .is_some_and(crate::number::Rational::is_negative)
                })
                .count();
            Some(negative % 2 == 0)
        }
        _ => None,
    }
}

fn low_limit(expr: Expr, closed: bool) -> Option<Limit> {
    match is_infinite(&expr) {
        Some(false) => Some(Limit::Infinite),
        Some(true) => None,
        None => Some(Limit::At(expr, closed)),
    }
}

fn high_limit(expr: Expr, closed: bool) -> Option<Limit> {
    match is_infinite(&expr) {
        Some(true) => Some(Limit::Infinite),
        Some(false) => None,
        None => Some(Limit::At(expr, closed)),
    }
}

/// The set that an expression describes; `None` if it does not describe one.
pub(crate) fn of(expr: &Expr, cx: &Context<'_>) -> Attempt<RealSet> {
    cx.budget.charge(20)?;
    match expr {
        Expr::Bracket(open, items, close) => {
            let [low, high] = items.as_slice() else {
                return Ok(None);
            };
            if *open == End::Angle {
                return Ok(None);
            }
            let low = low_limit(fold(low, cx.budget)?, *open == End::Square);
            let high = high_limit(fold(high, cx.budget)?, *close == End::Square);
            match (low, high) {
                (Some(low), Some(high)) => {
                    normalised(RealSet::new(vec![Interval { low, high }]), cx)
                }
                _ => Ok(None),
            }
        }
        Expr::Set(items) => {
            let mut parts = Vec::with_capacity(items.len());
            for item in items {
                let value = fold(item, cx.budget)?;
                if !is_scalar(&value) {
                    return Ok(None);
                }
                parts.push(Interval {
                    low: Limit::At(value.clone(), true),
                    high: Limit::At(value, true),
                });
            }
            normalised(RealSet::new(parts), cx)
        }
        Expr::Named(NamedSet::Reals) => Ok(Some(RealSet::all())),
        Expr::Named(NamedSet::Empty) => Ok(Some(RealSet::new(Vec::new()))),
        Expr::SetOp(SetOp::Union, items) => {
            let mut sets = Vec::with_capacity(items.len());
            for item in items {
                match part(item, cx)? {
                    Some(set) => sets.push(set),
                    None => return Ok(None),
                }
            }
            united(sets, cx)
        }
        Expr::SetOp(op, items) => {
            let mut items = items.iter();
            let Some(mut total) = items
                .next()
                .map(|item| part(item, cx))
                .transpose()?
                .flatten()
            else {
                return Ok(None);
            };
            for item in items {
                let Some(next) = part(item, cx)? else {
                    return Ok(None);
                };
                let Some(both) = combined(*op, &total, &next, cx)? else {
                    return Ok(None);
                };
                total = both;
            }
            Ok(Some(total))
        }
        // `\{x | x < 3\} - \{1\}`
        Expr::Sum(items) => {
            let ([first, Expr::Product(second)] | [Expr::Product(second), first]) =
                items.as_slice()
            else {
                return Ok(None);
            };
            let [sign, second] = second.as_slice() else {
                return Ok(None);
            };
            if !sign.is_int(-1) || is_scalar(second) || is_scalar(first) {
                return Ok(None);
            }
            match (of(first, cx)?, of(second, cx)?) {
                (Some(first), Some(second)) => combined(SetOp::Difference, &first, &second, cx),
                _ => Ok(None),
            }
        }
        Expr::SetBuilder(member, conditions) => {
            let (member, mut total) = match &**member {
                Expr::Chain(sides, relations) if relations == &[Relation::In] => {
                    let [member, set] = sides.as_slice() else {
                        return Ok(None);
                    };
                    match of_domain(set, cx)? {
                        Some(set) => (member, set),
                        None => return Ok(None),
                    }
                }
                member => (member, RealSet::all()),
            };
            if !matches!(member, Expr::Symbol(_)) {
                return Ok(None);
            }
            for condition in conditions {
                let Some(next) = of(condition, cx)? else {
                    return Ok(None);
                };
                if next
                    .subject
                    .as_ref()
                    .is_some_and(|subject| subject != member)
                {
                    return Ok(None);
                }
                match combined(SetOp::Intersection, &total, &next, cx)? {
                    Some(both) => total = both,
                    None => return Ok(None),
                }
            }
            total.subject = None;
            Ok(Some(total))
        }
        Expr::Chain(sides, relations) => chain(sides, relations, cx),
        // `(-∞, 1), (2, ∞)`: at least one is certainly an interval, not a point.
        Expr::List(items)
            if items.iter().all(|item| matches!(item, Expr::Bracket(..)))
                && items.iter().any(is_interval) =>
        {
            of(&Expr::SetOp(SetOp::Union, items.clone()), cx)
        }
        Expr::List(items) => {
            // `x > 0, x < 3`
            let mut total: Option<RealSet> = None;
            for item in items {
                match item {
                    Expr::Chain(_, relations) if !relations.contains(&Relation::Equal) => {}
                    _ => return Ok(None),
                }
                let Some(next) = of(item, cx)? else {
                    return Ok(None);
                };
                total = Some(match total {
                    None => next,
                    Some(so_far) => match combined(SetOp::Intersection, &so_far, &next, cx)? {
                        Some(both) => both,
                        None => return Ok(None),
                    },
                });
            }
            Ok(total)
        }
        _ => Ok(None),
    }
}

/// A part of a union: `x = 1` in a union with `x > 2` is one point.
fn part(expr: &Expr, cx: &Context<'_>) -> Attempt<RealSet> {
    if let Expr::Chain(sides, relations) = expr
        && relations == &[Relation::Equal]
        && let [name @ Expr::Symbol(_), value] = sides.as_slice()
        && is_scalar(value)
    {
        let found = of(&Expr::Set(vec![value.clone()]), cx)?;
        return Ok(found.map(|found| RealSet {
            subject: Some(name.clone()),
            ..found
        }));
    }
    of(expr, cx)
}

/// Whether two values in brackets are certainly an interval: an end is infinite, or the brackets
/// differ.
fn is_interval(expr: &Expr) -> bool {
    match expr {
        Expr::Bracket(open, items, close) => {
            items.len() == 2
                && (open != close || items.iter().any(|item| is_infinite(item).is_some()))
        }
        _ => false,
    }
}

/// A set to the right of `∈`. `ℤ`, `ℕ` and `ℚ` become a condition on the reals.
fn of_domain(set: &Expr, cx: &Context<'_>) -> Attempt<RealSet> {
    match set {
        Expr::Named(named @ (NamedSet::Integers | NamedSet::Naturals | NamedSet::Rationals)) => {
            let mut all = RealSet::all();
            all.within = Some(*named);
            Ok(Some(all))
        }
        other => of(other, cx),
    }
}

/// Whether an expression is a number or a function of variables.
pub(crate) fn is_scalar(expr: &Expr) -> bool {
    matches!(
        expr,
        Expr::Number(_)
            | Expr::Constant(_)
            | Expr::Symbol(_)
            | Expr::Sum(_)
            | Expr::Product(_)
            | Expr::Power(_)
            | Expr::Call(..)
            | Expr::Apply(..)
            | Expr::Bound(..)
    )
}

fn chain(sides: &[Expr], relations: &[Relation], cx: &Context<'_>) -> Attempt<RealSet> {
    match (sides, relations) {
        ([member, set], [Relation::In]) => {
            let Some(mut found) = of_domain(set, cx)? else {
                return Ok(None);
            };
            found.subject = Some(fold(member, cx.budget)?);
            Ok(Some(found))
        }
        ([member, set], [Relation::NotIn]) => {
            let Some(set) = of(set, cx)? else {
                return Ok(None);
            };
            let found = combined(SetOp::Difference, &RealSet::all(), &set, cx)?;
            let subject = fold(member, cx.budget)?;
            Ok(found.map(|found| RealSet {
                subject: Some(subject),
                ..found
            }))
        }
        (_, relations)
            if relations.iter().all(|relation| {
                relation.is_order() || matches!(relation, Relation::NotEqual | Relation::Equal)
            }) && relations
                .iter()
                .any(|relation| *relation != Relation::Equal) =>
        {
            let mut total: Option<RealSet> = None;
            for (pair, relation) in sides.windows(2).zip(relations) {
                let [left, right] = pair else {
                    return Ok(None);
                };
                let Some(next) = inequality(left, *relation, right, cx)? else {
                    return Ok(None);
                };
                total = Some(match total {
                    None => next,
                    Some(so_far) => match combined(SetOp::Intersection, &so_far, &next, cx)? {
                        Some(both) => both,
                        None => return Ok(None),
                    },
                });
            }
            Ok(total)
        }
        _ => Ok(None),
    }
}

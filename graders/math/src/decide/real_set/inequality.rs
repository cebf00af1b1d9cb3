//! One inequality as a union of half-lines: solved if it has a name on one side, is linear in one
//! symbol, or bounds an absolute value.

use std::ops::Neg as _;

use super::super::{Context, rename, scalar, statement};
use super::{Attempt, Interval, Limit, RealSet, high_limit, is_scalar, low_limit, normalised};
use crate::normal::fold;
use crate::number::Rational;
use crate::tree::charged::replaced;
use crate::tree::{Expr, Function, Relation};

/// The set of one inequality. `None` if it is neither linear in one symbol, nor solved for a name,
/// nor a bound of an absolute value.
pub(super) fn inequality(
    left: &Expr,
    relation: Relation,
    right: &Expr,
    cx: &Context<'_>,
) -> Attempt<RealSet> {
    let (left, right) = (fold(left, cx.budget)?, fold(right, cx.budget)?);
    if !is_scalar(&left) || !is_scalar(&right) {
        return Ok(None);
    }
    if let (Expr::Call(Function::Abs, inner), Some(value)) = (&left, right.as_number())
        && let [Expr::Symbol(_)] = inner.as_slice()
    {
        return absolute(inner.first(), relation, value, cx);
    }
    if let (Some(value), Expr::Call(Function::Abs, inner)) = (left.as_number(), &right)
        && let [Expr::Symbol(_)] = inner.as_slice()
    {
        return absolute(inner.first(), relation.reversed(), value, cx);
    }
    let (subject, relation, value) = if statement::is_name(&left) && !has_symbol(&right, &left) {
        (left, relation, right)
    } else if statement::is_name(&right) && !has_symbol(&left, &right) {
        (right, relation.reversed(), left)
    } else {
        match linear(&left, &right, cx)? {
            Some((subject, value, negative)) => {
                let relation = if negative {
                    relation.reversed()
                } else {
                    relation
                };
                (subject, relation, value)
            }
            None => return Ok(None),
        }
    };
    let parts = half_lines(relation, value);
    Ok(parts.map(|parts| RealSet {
        subject: Some(subject),
        ..RealSet::new(parts)
    }))
}

fn half_lines(relation: Relation, value: Expr) -> Option<Vec<Interval>> {
    let below = |value, closed| {
        high_limit(value, closed).map(|high| Interval {
            low: Limit::Infinite,
            high,
        })
    };
    let above = |value, closed| {
        low_limit(value, closed).map(|low| Interval {
            low,
            high: Limit::Infinite,
        })
    };
    Some(match relation {
        Relation::Less => vec![below(value, false)?],
        Relation::LessEqual => vec![below(value, true)?],
        Relation::Greater => vec![above(value, false)?],
        Relation::GreaterEqual => vec![above(value, true)?],
        Relation::NotEqual => vec![below(value.clone(), false)?, above(value, false)?],
        Relation::Equal => vec![Interval {
            low: low_limit(value.clone(), true)?,
            high: high_limit(value, true)?,
        }],
        _ => return None,
    })
}

/// `|x| < c` and the like, for a number `c >= 0`.
fn absolute(
    subject: Option<&Expr>,
    relation: Relation,
    value: &Rational,
    cx: &Context<'_>,
) -> Attempt<RealSet> {
    if value.is_negative() {
        return Ok(None);
    }
    let (low, high) = (Expr::Number(value.neg()), Expr::Number(value.clone()));
    let parts = match relation {
        Relation::Less | Relation::LessEqual => {
            let closed = relation == Relation::LessEqual;
            vec![Interval {
                low: Limit::At(low, closed),
                high: Limit::At(high, closed),
            }]
        }
        Relation::Greater | Relation::GreaterEqual => {
            let closed = relation == Relation::GreaterEqual;
            vec![
                Interval {
                    low: Limit::Infinite,
                    high: Limit::At(low, closed),
                },
                Interval {
                    low: Limit::At(high, closed),
                    high: Limit::Infinite,
                },
            ]
        }
        _ => return Ok(None),
    };
    let set = RealSet {
        subject: subject.cloned(),
        ..RealSet::new(parts)
    };
    normalised(set, cx)
}

fn has_symbol(expr: &Expr, name: &Expr) -> bool {
    expr.any(&|part| part == name)
}

/// The symbol of `left - right`, the value at which the difference vanishes, and whether its
/// coefficient is negative. `None` unless the difference is linear in one symbol with rational
/// coefficients.
fn linear(left: &Expr, right: &Expr, cx: &Context<'_>) -> Attempt<(Expr, Expr, bool)> {
    let difference = fold(
        &Expr::Sum(vec![left.clone(), right.clone().neg()]),
        cx.budget,
    )?;
    let mut symbol: Option<Expr> = None;
    let one_symbol = std::cell::Cell::new(true);
    difference.any(&|part| {
        if !matches!(
            part,
            Expr::Symbol(_) | Expr::Number(_) | Expr::Sum(_) | Expr::Product(_) | Expr::Power(_)
        ) {
            one_symbol.set(false);
        }
        false
    });
    let names = rename::symbols(&difference);
    if names.len() == 1 {
        symbol = names.first().copied().map(Expr::symbol);
    }
    let Some(Expr::Symbol(name)) = symbol.filter(|_| one_symbol.get()) else {
        return Ok(None);
    };
    let at = |value: i64| -> Attempt<Rational> {
        let substituted = replaced(&difference, &name, &Expr::int(value), cx.budget)?;
        Ok(fold(&substituted, cx.budget)?.as_number().cloned())
    };
    let (Some(at0), Some(at1), Some(at2), Some(at7)) = (at(0)?, at(1)?, at(2)?, at(7)?) else {
        return Ok(None);
    };
    let slope = at1.sub(&at0);
    let Some(slope) = slope.filter(|slope| !slope.is_zero()) else {
        return Ok(None);
    };
    let predicted = |n: i64| slope.mul(&Rational::small(n))?.add(&at0);
    if predicted(2).as_ref() != Some(&at2) || predicted(7).as_ref() != Some(&at7) {
        return Ok(None);
    }
    // Two more points than a line needs: a denominator or a square makes the prediction fail. An
    // identity test then confirms it.
    let line = Expr::Sum(vec![
        Expr::Product(vec![
            Expr::Number(slope.clone()),
            Expr::Symbol(name.clone()),
        ]),
        Expr::Number(at0.clone()),
    ]);
    if !scalar::same(&difference, &fold(&line, cx.budget)?, cx.budget)?.0 {
        return Ok(None);
    }
    Ok(at0
        .neg()
        .div(&slope)
        .map(|root| (Expr::Symbol(name), Expr::Number(root), slope.is_negative())))
}

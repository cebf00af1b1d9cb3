//! Expands plus-minus signs: `1 ± √2` is a list of two values. The signs of one value are chosen
//! together, those of the components of a tuple independently.

use std::borrow::Cow;
use std::ops::Neg as _;

use crate::budget::{Budget, Exhausted};
use crate::tree::Expr;
use crate::tree::charged::{charge_copy, charge_visit, copied};

/// Most values of one expansion.
const MAX_VALUES: usize = 64;

fn has_signs(expr: &Expr) -> bool {
    expr.any(&|part| matches!(part, Expr::PlusMinus { .. }))
}

/// The tree with every sign chosen: all upper ones or all lower ones.
fn chosen(expr: &Expr, upper: bool, budget: &Budget) -> Result<Expr, Exhausted> {
    charge_copy(expr, budget)?;
    fn choose(expr: &Expr, upper: bool) -> Expr {
        match expr {
            Expr::PlusMinus { upper_minus, term } => {
                let inner = choose(term, upper);
                if *upper_minus == upper {
                    inner.neg()
                } else {
                    inner
                }
            }
            other => other.map_children(&mut |child| choose(child, upper)),
        }
    }
    Ok(choose(expr, upper))
}

fn both(expr: &Expr, budget: &Budget) -> Result<Vec<Expr>, Exhausted> {
    Ok(vec![
        chosen(expr, true, budget)?,
        chosen(expr, false, budget)?,
    ])
}

fn values(expr: &Expr, budget: &Budget) -> Result<Vec<Expr>, Exhausted> {
    charge_visit(expr, 1, budget)?;
    Ok(match expanded(expr, budget)? {
        Cow::Owned(Expr::List(items)) => items,
        Cow::Owned(other) => vec![other],
        Cow::Borrowed(other) => vec![copied(other, budget)?],
    })
}

/// The first values of all items, in order.
fn first_values(items: &[Expr], budget: &Budget) -> Result<Vec<Expr>, Exhausted> {
    let mut all = Vec::new();
    for item in items {
        if all.len() >= MAX_VALUES {
            break;
        }
        all.extend(values(item, budget)?);
    }
    all.truncate(MAX_VALUES);
    Ok(all)
}

/// The first tuples of one choice for each component; the choice for the last component changes
/// first.
fn tuples(items: &[Expr], budget: &Budget) -> Result<Vec<Vec<Expr>>, Exhausted> {
    let choices = items
        .iter()
        .map(|item| values(item, budget))
        .collect::<Result<Vec<_>, _>>()?;
    let count = choices
        .iter()
        .fold(1, |count: usize, of| (count * of.len()).min(MAX_VALUES));
    let mut tuples = Vec::with_capacity(count);
    for number in 0..count {
        let mut rest = number;
        let mut tuple = Vec::with_capacity(items.len());
        for of in choices.iter().rev() {
            if let Some(choice) = of.get(rest % of.len().max(1)) {
                tuple.push(copied(choice, budget)?);
            }
            rest /= of.len().max(1);
        }
        tuple.reverse();
        tuples.push(tuple);
    }
    Ok(tuples)
}

/// The tree with its plus-minus signs expanded.
pub(crate) fn expanded<'a>(expr: &'a Expr, budget: &Budget) -> Result<Cow<'a, Expr>, Exhausted> {
    if !has_signs(expr) {
        return Ok(Cow::Borrowed(expr));
    }
    let chosen_together = |part: &Expr| {
        matches!(
            part,
            Expr::PlusMinus {
                upper_minus: true,
                ..
            }
        )
    };
    Ok(Cow::Owned(match expr {
        Expr::List(items) => Expr::List(first_values(items, budget)?),
        Expr::Set(items) => Expr::Set(first_values(items, budget)?),
        // `(±1, ∓2)`: the signs of all components are chosen together.
        Expr::Bracket(..) if expr.any(&chosen_together) => Expr::List(both(expr, budget)?),
        Expr::Bracket(open, items, close) => Expr::List(
            tuples(items, budget)?
                .into_iter()
                .map(|tuple| Expr::Bracket(*open, tuple, *close))
                .collect(),
        ),
        other => Expr::List(both(other, budget)?),
    }))
}

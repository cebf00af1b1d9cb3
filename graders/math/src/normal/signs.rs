//! Expands plus-minus signs: `1 ± √2` is a list of two values. The signs of one value are chosen
//! together, those of the components of a tuple independently.

use std::borrow::Cow;
use std::ops::Neg as _;

use crate::tree::Expr;

/// Most values of one expansion.
const MAX_VALUES: usize = 64;

fn has_signs(expr: &Expr) -> bool {
    expr.any(&|part| matches!(part, Expr::PlusMinus { .. }))
}

/// The tree with every sign chosen: all upper ones or all lower ones.
fn chosen(expr: &Expr, upper: bool) -> Expr {
    match expr {
        Expr::PlusMinus { upper_minus, term } => {
            let inner = chosen(term, upper);
            if *upper_minus == upper {
                inner.neg()
            } else {
                inner
            }
        }
        other => other.map_children(&mut |child| chosen(child, upper)),
    }
}

fn values(expr: &Expr) -> Vec<Expr> {
    match expanded(expr) {
        Cow::Owned(Expr::List(items)) => items,
        other => vec![other.into_owned()],
    }
}

/// The tree with its plus-minus signs expanded.
pub(crate) fn expanded(expr: &Expr) -> Cow<'_, Expr> {
    if !has_signs(expr) {
        return Cow::Borrowed(expr);
    }
    Cow::Owned(match expr {
        Expr::List(items) => Expr::List(items.iter().flat_map(values).take(MAX_VALUES).collect()),
        Expr::Set(items) => Expr::Set(items.iter().flat_map(values).take(MAX_VALUES).collect()),
        // `(±1, ∓2)`: the signs of all components are chosen together.
        Expr::Bracket(..)
            if expr.any(&|part| {
                matches!(
                    part,
                    Expr::PlusMinus {
                        upper_minus: true,
                        ..
                    }
                )
            }) =>
        {
            Expr::List(vec![chosen(expr, true), chosen(expr, false)])
        }
        Expr::Bracket(open, items, close) => {
            let mut tuples: Vec<Vec<Expr>> = vec![Vec::new()];
            for item in items {
                let choices = values(item);
                tuples = tuples
                    .iter()
                    .flat_map(|tuple| {
                        choices.iter().map(|choice| {
                            let mut longer = tuple.clone();
                            longer.push(choice.clone());
                            longer
                        })
                    })
                    .take(MAX_VALUES)
                    .collect();
            }
            Expr::List(
                tuples
                    .into_iter()
                    .map(|tuple| Expr::Bracket(*open, tuple, *close))
                    .collect(),
            )
        }
        other => Expr::List(vec![chosen(other, true), chosen(other, false)]),
    })
}

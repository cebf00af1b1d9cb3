//! Expands plus-minus signs: `1 ± √2` is a list of two values. The signs of one value, and those of
//! the components of a tuple, are chosen independently: `±1 ± √2` are four values. They are chosen
//! together if one of them is `∓`, or if they are on both sides of an equation.

use std::borrow::Cow;
use std::ops::Neg as _;

use crate::budget::{Budget, Exhausted};
use crate::tree::Expr;
use crate::tree::charged::{charge_copy, charge_visit, copied};

/// Maximum number of values of one expansion.
const MAX_VALUES: usize = 64;

fn has_signs(expr: &Expr) -> bool {
    expr.any(&|part| matches!(part, Expr::PlusMinus { .. }))
}

fn is_minus_plus(expr: &Expr) -> bool {
    matches!(
        expr,
        Expr::PlusMinus {
            upper_minus: true,
            ..
        }
    )
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

/// Most signs of one value that are chosen independently.
const MAX_SIGNS: usize = 4;

const _: () = assert!(1 << MAX_SIGNS <= MAX_VALUES);

/// The number of signs in a tree.
fn signs_of(expr: &Expr) -> usize {
    usize::from(matches!(expr, Expr::PlusMinus { .. }))
        + expr.children().map(signs_of).sum::<usize>()
}

/// Whether the signs of a value or statement are independent.
fn are_independent(expr: &Expr) -> bool {
    let side = match expr {
        Expr::Chain(sides, _) => {
            let mut signed = sides.iter().filter(|side| has_signs(side));
            match (signed.next(), signed.next()) {
                (Some(side), None) => side,
                _ => return false,
            }
        }
        other => other,
    };
    (2..=MAX_SIGNS).contains(&signs_of(side)) && !side.any(&is_minus_plus)
}

/// The tree with every combination of its signs; the last sign changes first.
fn combinations(expr: &Expr, budget: &Budget) -> Result<Vec<Expr>, Exhausted> {
    fn choose(expr: &Expr, choice: usize, next: &mut usize) -> Expr {
        match expr {
            Expr::PlusMinus { term, .. } => {
                *next -= 1;
                let lower = choice >> *next & 1 == 1;
                let inner = choose(term, choice, next);
                if lower { inner.neg() } else { inner }
            }
            other => other.map_children(&mut |child| choose(child, choice, next)),
        }
    }
    let signs = signs_of(expr);
    (0..1 << signs)
        .map(|choice| {
            charge_copy(expr, budget)?;
            Ok(choose(expr, choice, &mut signs.clone()))
        })
        .collect()
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
    Ok(Cow::Owned(match expr {
        Expr::List(items) => Expr::List(first_values(items, budget)?),
        // A condition applies to all values.
        Expr::Where(inner, condition) => Expr::Where(
            Box::new(expanded(inner, budget)?.into_owned()),
            condition.clone(),
        ),
        Expr::Set(items) => Expr::Set(first_values(items, budget)?),
        // `(±1, ∓2)`: the signs of all components are chosen together.
        Expr::Bracket(..) if expr.any(&is_minus_plus) => Expr::List(both(expr, budget)?),
        Expr::Bracket(open, items, close) => Expr::List(
            tuples(items, budget)?
                .into_iter()
                .map(|tuple| Expr::Bracket(*open, tuple, *close))
                .collect(),
        ),
        other if are_independent(other) => Expr::List(combinations(other, budget)?),
        other => Expr::List(both(other, budget)?),
    }))
}

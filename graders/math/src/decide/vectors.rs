//! Vectors in other notations than components: sums of unit vectors, and points with a letter.

use super::rule::Rule;
use super::{Context, collection};
use crate::budget::Exhausted;
use crate::normal::fold;
use crate::tree::charged::copied;
use crate::tree::{Constant, End, Expr};

/// Whether two vectors are equal if one is a sum of unit vectors or has a letter; `None` otherwise.
pub(crate) fn same(
    gold: &Expr,
    answer: &Expr,
    cx: &Context<'_>,
) -> Result<Option<bool>, Exhausted> {
    let equal = match (gold, answer) {
        (Expr::Apply(letter, items), Expr::Bracket(_, other, _)) if is_point(letter) => {
            collection::ordered(items, other, cx)?
        }
        (Expr::Bracket(_, other, _), Expr::Apply(letter, items)) if is_point(letter) => {
            collection::ordered(other, items, cx)?
        }
        (tuple @ (Expr::Bracket(..) | Expr::Matrix(_)), sum) => {
            match unit_sum(sum, width(tuple), cx)? {
                Some(vector) => super::same_objects(tuple, &vector, cx)?,
                None => return Ok(None),
            }
        }
        (sum, tuple @ (Expr::Bracket(..) | Expr::Matrix(_))) => {
            match unit_sum(sum, width(tuple), cx)? {
                Some(vector) => super::same_objects(&vector, tuple, cx)?,
                None => return Ok(None),
            }
        }
        _ => return Ok(None),
    };
    cx.set_rule(Rule::Tuple);
    Ok(Some(equal))
}

/// Whether letters before brackets name a point.
fn is_point(letter: &str) -> bool {
    let mut bytes = letter.bytes();
    bytes.next().is_some_and(|first| first.is_ascii_uppercase()) && bytes.all(|byte| byte == b'\'')
}

fn width(tuple: &Expr) -> usize {
    match tuple {
        Expr::Bracket(_, items, _) => items.len(),
        Expr::Matrix(rows) => rows.iter().map(Vec::len).sum(),
        _ => 0,
    }
}

/// The axis of a unit vector, from 0.
fn axis(expr: &Expr) -> Option<usize> {
    match expr {
        Expr::Constant(Constant::I) => Some(0),
        Expr::Symbol(name) => {
            let letter = ["hat{", "vec{", "widehat{"]
                .iter()
                .find_map(|mark| name.strip_prefix(mark)?.strip_suffix('}'));
            match letter.unwrap_or(name) {
                "i" => Some(0),
                "j" => Some(1),
                "k" => Some(2),
                _ => None,
            }
        }
        _ => None,
    }
}

/// `3i + 4j` as `(3, 4)`, with `width` components.
fn unit_sum(sum: &Expr, width: usize, cx: &Context<'_>) -> Result<Option<Expr>, Exhausted> {
    if !(2..=3).contains(&width) {
        return Ok(None);
    }
    let terms = match sum {
        Expr::Sum(items) => items.as_slice(),
        one @ (Expr::Product(_) | Expr::Symbol(_)) => std::slice::from_ref(one),
        _ => return Ok(None),
    };
    let mut components = vec![Vec::new(); width];
    let mut other_than_i = false;
    for term in terms {
        let factors = match term {
            Expr::Product(items) => items.as_slice(),
            one => std::slice::from_ref(one),
        };
        let mut along = None;
        let mut coefficient = Vec::new();
        for factor in factors {
            match axis(factor) {
                Some(axis) if along.is_none() => {
                    along = Some(axis);
                    other_than_i |= !matches!(factor, Expr::Constant(Constant::I));
                }
                Some(_) => return Ok(None),
                None => coefficient.push(copied(factor, cx.budget)?),
            }
        }
        match along.and_then(|axis| components.get_mut(axis)) {
            Some(component) => component.push(Expr::Product(coefficient)),
            None => return Ok(None),
        }
    }
    // `3i` alone is a complex number.
    if !other_than_i {
        return Ok(None);
    }
    let items: Result<Vec<Expr>, Exhausted> = components
        .into_iter()
        .map(|parts| fold(&Expr::Sum(parts), cx.budget))
        .collect();
    Ok(Some(Expr::Bracket(End::Round, items?, End::Round)))
}

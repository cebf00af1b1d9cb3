//! Piecewise definitions as functions: which row applies at a point.

use super::evaluate::{NoValue, Point, ball};
use crate::budget::Budget;
use crate::number::ball::Ball;
use crate::number::complex::Complex;
use crate::tree::{Expr, Relation};

/// Words of the row that applies if no other does.
const OTHERWISE: [&str; 6] = [
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
    let row_is_read = |(at, row): (usize, &Vec<Expr>)| match row.as_slice() {
        [value, Expr::Chain(sides, relations)] => {
            super::real_set::is_scalar(value)
                && sides.iter().all(super::real_set::is_scalar)
                && relations.iter().all(|relation| {
                    relation.is_order() || matches!(relation, Relation::Equal | Relation::NotEqual)
                })
        }
        [value, Expr::Text(words) | Expr::Word(words)] => {
            at == last
                && super::real_set::is_scalar(value)
                && OTHERWISE.contains(&words.trim_end_matches('.').to_lowercase().as_str())
        }
        _ => false,
    };
    rows.len() > 1 && rows.iter().enumerate().all(row_is_read)
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
            [_, Expr::Chain(sides, relations)] => is_true(sides, relations, point, budget, sign)?,
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

//! The second reading of `exact ≈ decimal`: the decimal is the answer.

use crate::tree::{Expr, Relation};

/// `\frac{40}{3} \approx 13.33` as `13.33 \approx \frac{40}{3}`, and the same after names. Only for
/// decimals with a point: of two whole numbers each could be a guess.
pub(super) fn reversed(expr: &Expr) -> Option<Expr> {
    let Expr::Chain(sides, relations) = expr else {
        return None;
    };
    let (Relation::Approx, before) = relations.split_last()? else {
        return None;
    };
    let [names @ .., exact, decimal] = sides.as_slice() else {
        return None;
    };
    if before.contains(&Relation::Approx) || !is_exact(exact) || !is_decimal(decimal) {
        return None;
    }
    let mut sides = names.to_vec();
    sides.extend([decimal.clone(), exact.clone()]);
    Some(Expr::Chain(sides, relations.clone()))
}

/// Whether a value without variables is written with an operation: another decimal is not exact.
fn is_exact(value: &Expr) -> bool {
    let free = |part: &Expr| matches!(part, Expr::Symbol(_) | Expr::Apply(..) | Expr::Text(_));
    let operation =
        |part: &Expr| matches!(part, Expr::Power(_) | Expr::Call(..) | Expr::Constant(_));
    !value.any(&free) && value.any(&operation)
}

fn is_decimal(value: &Expr) -> bool {
    match value {
        Expr::Number(value) => !value.is_integer(),
        Expr::Quantity(value, _) | Expr::Percent(value) => is_decimal(value),
        Expr::Product(items) => {
            matches!(items.as_slice(), [sign, value] if sign.is_int(-1) && is_decimal(value))
        }
        _ => false,
    }
}

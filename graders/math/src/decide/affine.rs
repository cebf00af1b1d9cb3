//! Expressions in which a name is only added and multiplied by others, as `start + step * name`.

use crate::budget::{Budget, Exhausted};
use crate::tree::Expr;
use crate::tree::charged::charge_copy;

/// Start and step of an expression, not folded; `None` if it is not linear in the name by its
/// form.
pub(super) fn coefficients(
    value: &Expr,
    name: &str,
    budget: &Budget,
) -> Result<Option<(Expr, Expr)>, Exhausted> {
    charge_copy(value, budget)?;
    Ok(match value {
        constant if !mentions(constant, name) => Some((constant.clone(), Expr::int(0))),
        Expr::Symbol(_) => Some((Expr::int(0), Expr::int(1))),
        Expr::Sum(terms) => {
            let (mut starts, mut steps) = (Vec::new(), Vec::new());
            for term in terms {
                let Some((start, step)) = coefficients(term, name, budget)? else {
                    return Ok(None);
                };
                starts.push(start);
                steps.push(step);
            }
            Some((Expr::Sum(starts), Expr::Sum(steps)))
        }
        Expr::Product(factors) => {
            let varies = |factor: &&Expr| mentions(factor, name);
            let mut varying = factors.iter().filter(varies);
            let (Some(factor), None) = (varying.next(), varying.next()) else {
                return Ok(None);
            };
            let Some((start, step)) = coefficients(factor, name, budget)? else {
                return Ok(None);
            };
            let times = |part| {
                let constants = factors.iter().filter(|factor| !varies(factor));
                Expr::Product(constants.cloned().chain([part]).collect())
            };
            Some((times(start), times(step)))
        }
        _ => None,
    })
}

/// Whether a name occurs in an expression.
pub(super) fn mentions(expr: &Expr, name: &str) -> bool {
    expr.any(&|part| matches!(part, Expr::Symbol(own) if **own == *name))
}

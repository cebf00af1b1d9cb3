//! Names that may be exchanged without saying something else: constants of integration, parameters, runs of capitals.

use crate::tree::Expr;

/// The answer with the gold's name for the constant of integration, where each has one of its own: `x² + K` for `x² + C`.
pub(crate) fn with_constant_of(gold: &Expr, answer: &Expr) -> Option<Expr> {
    const USUAL: [&str; 8] = ["C", "K", "c", "k", "C_{1}", "C_{0}", "const", "constant"];
    let own = |expr: &Expr| -> Option<String> {
        let Expr::Sum(items) = expr else {
            return None;
        };
        let named = items.iter().find_map(|item| match item {
            Expr::Symbol(name) if USUAL.contains(&&**name) => Some(name.to_string()),
            _ => None,
        })?;
        let mentions = |item: &&Expr| item.any(&|part| matches!(part, Expr::Symbol(name) if **name == *named));
        (items.iter().filter(mentions).count() == 1).then_some(named)
    };
    let (own, other) = (own(gold)?, own(answer)?);
    let absent = |expr: &Expr, name: &str| !expr.any(&|part| matches!(part, Expr::Symbol(own) if **own == *name));
    (own != other && absent(gold, &other) && absent(answer, &own))
        .then(|| answer.substitute(&other, &Expr::symbol(&own)))
}

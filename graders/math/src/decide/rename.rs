//! Names that may be replaced without a change of meaning: constants of integration, runs of
//! capitals, `C(n, k)`.

use crate::tree::Expr;

/// Usual names of a constant of integration.
pub(super) const CONSTANTS: [&str; 8] = ["C", "K", "c", "k", "C_{1}", "C_{0}", "const", "constant"];

/// The answer with the name that the gold has for the constant of integration, if each side has a
/// name that occurs once: `x² + K` becomes `x² + C`.
pub(crate) fn with_constant_of(gold: &Expr, answer: &Expr) -> Option<Expr> {
    let own = |expr: &Expr| -> Option<String> {
        let Expr::Sum(items) = expr else {
            return None;
        };
        let named = items.iter().find_map(|item| match item {
            Expr::Symbol(name) if CONSTANTS.contains(&&**name) => Some(name.to_string()),
            _ => None,
        })?;
        let mentions =
            |item: &&Expr| item.any(&|part| matches!(part, Expr::Symbol(name) if **name == *named));
        (items.iter().filter(mentions).count() == 1).then_some(named)
    };
    let (own, other) = (own(gold)?, own(answer)?);
    let absent = |expr: &Expr, name: &str| {
        !expr.any(&|part| matches!(part, Expr::Symbol(own) if **own == *name))
    };
    (own != other && absent(gold, &other) && absent(answer, &own))
        .then(|| answer.substitute(&other, &Expr::symbol(&own)))
}

/// The expression with runs of capitals that the other side does not contain as products: `MR²`
/// becomes `M R²`.
pub(crate) fn with_runs_split(expr: &Expr, other: &Expr) -> Option<Expr> {
    let known = |name: &str| other.any(&|part| matches!(part, Expr::Symbol(own) if **own == *name));
    let is_run = |name: &str| {
        (2..=4).contains(&name.len())
            && name.bytes().all(|byte| byte.is_ascii_uppercase())
            && !known(name)
    };
    if !expr.any(&|part| matches!(part, Expr::Symbol(name) if is_run(name))) {
        return None;
    }
    fn split(expr: &Expr, is_run: &dyn Fn(&str) -> bool) -> Expr {
        let factors = |name: &str| {
            (0..name.len())
                .filter_map(|at| name.get(at..=at))
                .map(Expr::symbol)
                .collect::<Vec<_>>()
        };
        match expr {
            Expr::Symbol(name) if is_run(name) => Expr::Product(factors(name)),
            // A power belongs to the last letter.
            Expr::Power(pair) => match &pair.0 {
                Expr::Symbol(name) if is_run(name) => {
                    let mut factors = factors(name);
                    if let Some(last) = factors.pop() {
                        factors.push(Expr::power(last, pair.1.clone()));
                    }
                    Expr::Product(factors)
                }
                base => Expr::power(split(base, is_run), split(&pair.1, is_run)),
            },
            other => other.map_children(&mut |child| split(child, is_run)),
        }
    }
    Some(split(expr, &is_run))
}

/// The expression with `C(n, k)` and `P(n, k)` as numbers of combinations and permutations.
pub(crate) fn with_choices(expr: &Expr) -> Option<Expr> {
    let chosen = |expr: &Expr| match expr {
        Expr::Apply(letter, items) => match items.as_slice() {
            [n, k] => crate::parse::choices(letter, n.clone(), k.clone()),
            _ => None,
        },
        _ => None,
    };
    fn replaced(expr: &Expr, chosen: &dyn Fn(&Expr) -> Option<Expr>) -> Expr {
        chosen(expr).unwrap_or_else(|| expr.map_children(&mut |child| replaced(child, chosen)))
    }
    expr.any(&|part| chosen(part).is_some())
        .then(|| replaced(expr, &chosen))
}

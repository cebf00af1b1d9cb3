//! Names that may be replaced without a change of meaning: constants of integration, runs of
//! capitals, `C(n, k)`.

use std::cell::OnceCell;
use std::collections::BTreeSet;

use crate::budget::{Budget, Exhausted};
use crate::tree::Expr;
use crate::tree::charged::{copied, replaced};

/// The names of all symbols in an expression.
pub(super) fn symbols(expr: &Expr) -> BTreeSet<&str> {
    fn collect<'a>(expr: &'a Expr, names: &mut BTreeSet<&'a str>) {
        if let Expr::Symbol(name) = expr {
            names.insert(name);
        }
        for child in expr.children() {
            collect(child, names);
        }
    }
    let mut names = BTreeSet::new();
    collect(expr, &mut names);
    names
}

/// Usual names of a constant of integration.
pub(super) const CONSTANTS: [&str; 8] = ["C", "K", "c", "k", "C_{1}", "C_{0}", "const", "constant"];

/// The answer with the name that the gold has for the constant of integration, if each side has a
/// name that occurs once: `x² + K` becomes `x² + C`.
pub(crate) fn with_constant_of(
    gold: &Expr,
    answer: &Expr,
    budget: &Budget,
) -> Result<Option<Expr>, Exhausted> {
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
    let (Some(own), Some(other)) = (own(gold), own(answer)) else {
        return Ok(None);
    };
    let absent = |expr: &Expr, name: &str| {
        !expr.any(&|part| matches!(part, Expr::Symbol(own) if **own == *name))
    };
    if own == other || !absent(gold, &other) || !absent(answer, &own) {
        return Ok(None);
    }
    replaced(answer, &other, &Expr::symbol(&own), budget).map(Some)
}

/// The expression with runs of capitals that the other side does not contain as products: `MR²`
/// becomes `M R²`.
pub(crate) fn with_runs_split(expr: &Expr, other: &Expr) -> Option<Expr> {
    let others = OnceCell::new();
    let known = |name: &str| others.get_or_init(|| symbols(other)).contains(name);
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
pub(crate) fn with_choices(expr: &Expr, budget: &Budget) -> Result<Option<Expr>, Exhausted> {
    fn chosen(expr: &Expr) -> Option<(&str, &Expr, &Expr)> {
        match expr {
            Expr::Apply(letter, items) if matches!(&**letter, "C" | "P" | "A") => {
                match items.as_slice() {
                    [n, k] => Some((letter, n, k)),
                    _ => None,
                }
            }
            _ => None,
        }
    }
    fn with_numbers(expr: &Expr, budget: &Budget) -> Result<Expr, Exhausted> {
        let number = match chosen(expr) {
            Some((letter, n, k)) => {
                crate::parse::choices(letter, copied(n, budget)?, copied(k, budget)?)
            }
            None => None,
        };
        match number {
            Some(number) => Ok(number),
            None => expr.try_map_children(&mut |child| with_numbers(child, budget)),
        }
    }
    if !expr.any(&|part| chosen(part).is_some()) {
        return Ok(None);
    }
    with_numbers(expr, budget).map(Some)
}

//! Residue classes and congruences.

use super::Context;
use super::rule::Rule;
use crate::budget::Exhausted;
use crate::canonical;
use crate::tree::{Expr, Function, Relation};

/// A congruence in one form, before anything is computed: `x ≡ 8 mod 5` and `x = 8 (mod 5)` as `x ≡
/// 8 (mod 5)`.
pub(crate) fn in_one_form(sides: &[Expr], relations: &[Relation]) -> Option<Expr> {
    let ([subject, last], [relation]) = (sides, relations) else {
        return None;
    };
    let remainder =
        |item: &Expr| matches!(item, Expr::Call(Function::Mod, items) if items.len() == 2);
    let class = |mut terms: Vec<Expr>, remainder: &Expr| {
        let Expr::Call(_, parts) = remainder else {
            return None;
        };
        terms.extend(parts.first().cloned());
        Some(Expr::Call(
            Function::Residue,
            vec![Expr::Sum(terms), parts.get(1)?.clone()],
        ))
    };
    let class = match (last, relation) {
        (Expr::Call(Function::Residue, _), Relation::Equal) => last.clone(),
        (call, Relation::Congruent) if remainder(call) => class(Vec::new(), call)?,
        // `3k + 1 mod 9`: the modulus applies to the whole side.
        (Expr::Sum(items), Relation::Congruent) => {
            let at = items.iter().position(remainder)?;
            let mut terms = items.clone();
            let call = terms.swap_remove(at);
            class(terms, &call)?
        }
        _ => return None,
    };
    Some(Expr::Chain(
        vec![subject.clone(), class],
        vec![Relation::Congruent],
    ))
}

/// Whether two residue classes of polynomials have congruent coefficients: `x² + 1 (mod 2)` and `(x
/// + 1)² (mod 2)`.
pub(super) fn same_classes(
    gold: &Expr,
    answer: &Expr,
    cx: &Context<'_>,
) -> Result<bool, Exhausted> {
    let (Expr::Call(Function::Residue, a), Expr::Call(Function::Residue, b)) = (gold, answer)
    else {
        return Ok(false);
    };
    let ([a, Expr::Number(modulus)], [b, Expr::Number(other)]) = (a.as_slice(), b.as_slice())
    else {
        return Ok(false);
    };
    let equal = modulus == other
        && modulus.is_integer()
        && !modulus.is_zero()
        && canonical::is_congruent(a, b, modulus, cx.budget)?;
    if equal {
        cx.set_rule(Rule::SameTree);
    }
    Ok(equal)
}

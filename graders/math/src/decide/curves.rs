//! Equations of curves with denominators: `y = 1/x` and `xy = 1`.

use std::collections::BTreeMap;

use super::affine::coefficients;
use super::{Context, rename, scalar};
use crate::budget::Exhausted;
use crate::normal::fold;
use crate::number::Rational;
use crate::tree::Expr;
use crate::tree::charged::{charge_copy, replaced, substituted};

/// Most different denominators, and their highest power.
const MAX_DENOMINATORS: usize = 3;
const MAX_POWER: i64 = 4;

/// The difference of two sides without denominators, and whether it had any; `None` if a
/// denominator is not linear in one name, or the curve has points at which it is 0.
pub(super) fn without_denominators(
    difference: &Expr,
    cx: &Context<'_>,
) -> Result<Option<(Expr, bool)>, Exhausted> {
    charge_copy(difference, cx.budget)?;
    let terms = match difference {
        Expr::Sum(terms) => terms.as_slice(),
        one => std::slice::from_ref(one),
    };
    // The highest power of each denominator.
    let mut powers: BTreeMap<&Expr, i64> = BTreeMap::new();
    for factor in terms.iter().flat_map(factors) {
        if let Some((base, power)) = denominator(factor) {
            let highest = powers.entry(base).or_default();
            *highest = power.max(*highest);
            if power > MAX_POWER || powers.len() > MAX_DENOMINATORS {
                return Ok(None);
            }
        }
    }
    if powers.is_empty() {
        return Ok(Some((difference.clone(), false)));
    }
    let mut cleared = Vec::with_capacity(terms.len());
    for term in terms {
        charge_copy(term, cx.budget)?;
        let mut rest = powers.clone();
        let mut kept = Vec::new();
        for factor in factors(term) {
            match denominator(factor) {
                Some((base, power)) => {
                    rest.entry(base).and_modify(|left| *left -= power);
                }
                None => kept.push(factor.clone()),
            }
        }
        for (base, power) in rest.into_iter().filter(|(_, power)| *power != 0) {
            charge_copy(base, cx.budget)?;
            kept.push(Expr::power(base.clone(), Expr::int(power)));
        }
        cleared.push(Expr::Product(kept));
    }
    let cleared = fold(&Expr::Sum(cleared), cx.budget)?;
    let is_rational = |part: &Expr| match part {
        Expr::Power(pair) => pair.1.as_number().is_some_and(|power| {
            power.is_integer() && (!power.is_negative() || !has_symbol(&pair.0))
        }),
        Expr::Sum(_) | Expr::Product(_) | Expr::Number(_) | Expr::Symbol(_) | Expr::Constant(_) => {
            true
        }
        _ => false,
    };
    if cleared.any(&|part| !is_rational(part)) {
        return Ok(None);
    }
    for base in powers.keys() {
        if !is_avoided(&cleared, base, cx)? {
            return Ok(None);
        }
    }
    Ok(Some((cleared, true)))
}

fn factors(term: &Expr) -> &[Expr] {
    match term {
        Expr::Product(factors) => factors,
        one => std::slice::from_ref(one),
    }
}

fn has_symbol(expr: &Expr) -> bool {
    expr.any(&|part| matches!(part, Expr::Symbol(_)))
}

/// The base and the power of a factor that divides by names.
fn denominator(factor: &Expr) -> Option<(&Expr, i64)> {
    let Expr::Power(pair) = factor else {
        return None;
    };
    let power = pair.1.as_number().and_then(Rational::to_i64)?;
    (power < 0 && has_symbol(&pair.0)).then(|| (&pair.0, power.saturating_neg()))
}

/// Whether a polynomial is a constant other than 0 wherever a denominator is 0.
fn is_avoided(polynomial: &Expr, base: &Expr, cx: &Context<'_>) -> Result<bool, Exhausted> {
    let names = rename::symbols(base);
    let mut names = names.iter();
    let (Some(name), None) = (names.next(), names.next()) else {
        return Ok(false);
    };
    let Some((start, step)) = coefficients(base, name, cx.budget)? else {
        return Ok(false);
    };
    let (start, step) = (fold(&start, cx.budget)?, fold(&step, cx.budget)?);
    let root = match (start.as_number(), step.as_number()) {
        (Some(start), Some(step)) => start.neg().div(step),
        _ => None,
    };
    let Some(root) = root else {
        return Ok(false);
    };
    let there = replaced(polynomial, name, &Expr::Number(root), cx.budget)?;
    let there = fold(&there, cx.budget)?;
    let zero = Expr::int(0);
    let constant = fold(
        &substituted(&there, &|_| Some(&zero), cx.budget)?,
        cx.budget,
    )?;
    let is_zero = constant.as_number().is_none_or(Rational::is_zero);
    Ok(!is_zero && scalar::same(&there, &constant, cx.budget)?.0)
}

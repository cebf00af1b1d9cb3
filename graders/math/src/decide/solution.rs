//! General solutions, in which arbitrary constants may be written otherwise: `x²/2 + C` and
//! `(x² + C)/2`, `C_1 e^x + C_2 e^-x` and `C_1 e^-x + C_2 e^x`, `y² = x² + C` and `x² - y² = C`.
//!
//! A solution that is linear in its constants is a function `f_0` plus all combinations of
//! functions `f_i`. Two of them are the same set if each `g_i` and `g_0 - f_0` are combinations of
//! the `f_i`. The coefficients are computed from values at a few points, and the combination is
//! compared as a function.

use std::collections::BTreeSet;
use std::ops::Neg as _;

use super::affine::{coefficients, mentions};
use super::evaluate::{NoValue, Point, ball};
use super::parameters::{solved, stem};
use super::{Context, normal, real_set, rename, scalar, statement};
use crate::budget::Exhausted;
use crate::normal::fold;
use crate::number::Rational;
use crate::tree::charged::{charge_copy, replaced, substituted};
use crate::tree::{Constant, Expr, Function, Relation};

/// Names of an independent variable.
const VARIABLES: [&str; 11] = ["x", "t", "y", "z", "u", "v", "w", "s", "r", "theta", "phi"];

/// Most constants.
const MAX_CONSTANTS: usize = 3;

/// Values of the variables from which coefficients are computed, tried in order.
const PLACES: [(i64, i64); 7] = [(0, 1), (1, 1), (2, 1), (1, 2), (3, 1), (5, 3), (-1, 1)];

/// Precision of the values that show that a coefficient exists, in bits.
const PREC: u64 = 128;

/// Whether two answers are the same general solution.
pub(super) fn same(gold: &Expr, answer: &Expr, cx: &Context<'_>) -> Result<bool, Exhausted> {
    if let (Some(gold), Some(answer)) = (level(gold, cx)?, level(answer, cx)?) {
        return same_levels(&gold, &answer, cx);
    }
    let ((a_name, a_value), (b_name, b_value)) = (solved(gold), solved(answer));
    if !real_set::is_scalar(a_value) || !real_set::is_scalar(b_value) {
        return Ok(false);
    }
    let renamed = match (a_name, b_name) {
        (Some(a), Some(b)) => statement::renamed(a, b, b_value, cx.budget)?,
        _ => {
            charge_copy(b_value, cx.budget)?;
            Some(b_value.clone())
        }
    };
    let Some(b_value) = renamed else {
        return Ok(false);
    };
    let (own, others) = (constants(a_value), constants(&b_value));
    let count = own.len();
    if count != others.len() || !(1..=MAX_CONSTANTS).contains(&count) {
        return Ok(false);
    }
    let rest = |value, constants: &[String]| -> BTreeSet<String> {
        let names = rename::symbols(value).into_iter().map(str::to_owned);
        names.filter(|name| !constants.contains(name)).collect()
    };
    let variables = rest(a_value, &own);
    let unknowns = variables
        .iter()
        .filter(|name| VARIABLES.contains(&name.as_str()));
    if variables != rest(&b_value, &others) || unknowns.count() != 1 {
        return Ok(false);
    }
    // `v(t) = V e^(-t / RC)` and `Q = Ct` have constants of nature.
    let is_free = variables.len() == 1 && [a_name, b_name].into_iter().all(is_unknown);
    let (Some(gold), Some(answer)) = (
        Solution::of(a_value, &own, cx)?,
        Solution::of(&b_value, &others, cx)?,
    ) else {
        return Ok(is_free && same_otherwise(a_value, &own, &b_value, &others, cx)?);
    };
    let is_added = gold
        .basis
        .iter()
        .all(|part| matches!(part, Expr::Number(_)));
    if count == 1 && !is_added && !is_free {
        return Ok(false);
    }
    gold.is_same(&answer, &variables, cx)
}

/// Whether a solution is given without a name or for an unknown: `y`, `x(t)`.
fn is_unknown(name: Option<&Expr>) -> bool {
    match name {
        Some(Expr::Symbol(name) | Expr::Apply(name, _)) => {
            VARIABLES.contains(&&**name) || matches!(&**name, "f" | "g" | "h" | "F" | "G")
        }
        Some(_) => false,
        None => true,
    }
}

/// The arbitrary constants of a value: `C`, `C_1`, `c_1`, or `A` and `B` next to exponential
/// functions and waves.
fn constants(value: &Expr) -> Vec<String> {
    let names = rename::symbols(value);
    let usual = |name: &&&str| matches!(stem(name), ("C", _) | ("c", true));
    let found: Vec<String> = names
        .iter()
        .filter(usual)
        .map(|name| (*name).to_owned())
        .collect();
    if !found.is_empty() {
        return found;
    }
    let is_wave = |part: &Expr| match part {
        Expr::Power(pair) => pair.0 == Expr::Constant(Constant::E),
        Expr::Call(Function::Sin | Function::Cos | Function::Sinh | Function::Cosh, _) => true,
        _ => false,
    };
    if names.contains("A") && names.contains("B") && value.any(&is_wave) {
        vec!["A".to_owned(), "B".to_owned()]
    } else {
        Vec::new()
    }
}

/// A solution that is linear in its constants.
struct Solution {
    particular: Expr,
    /// The function that each constant is multiplied by.
    basis: Vec<Expr>,
}

impl Solution {
    fn of(value: &Expr, constants: &[String], cx: &Context<'_>) -> Result<Option<Self>, Exhausted> {
        charge_copy(value, cx.budget)?;
        let mut particular = value.clone();
        let mut basis = Vec::with_capacity(constants.len());
        for constant in constants {
            let Some((start, step)) = coefficients(&particular, constant, cx.budget)? else {
                return Ok(None);
            };
            if constants.iter().any(|name| mentions(&step, name)) {
                return Ok(None);
            }
            basis.push(fold(&step, cx.budget)?);
            particular = fold(&start, cx.budget)?;
        }
        Ok(Some(Self { particular, basis }))
    }

    fn is_same(
        &self,
        other: &Self,
        variables: &BTreeSet<String>,
        cx: &Context<'_>,
    ) -> Result<bool, Exhausted> {
        if !self.is_permuted(other, variables, cx)? && !self.is_mixed(other, variables, cx)? {
            return Ok(false);
        }
        if scalar::same(&self.particular, &other.particular, cx.budget)?.0 {
            return Ok(true);
        }
        let apart = difference(&other.particular, &self.particular, cx)?;
        Ok(self.combination(&apart, variables, cx)?.is_some())
    }

    /// Whether the functions of the other solution are multiples of these, in any order.
    fn is_permuted(
        &self,
        other: &Self,
        variables: &BTreeSet<String>,
        cx: &Context<'_>,
    ) -> Result<bool, Exhausted> {
        let mut free: Vec<&Expr> = self.basis.iter().collect();
        'functions: for function in &other.basis {
            for (at, own) in free.iter().enumerate() {
                let own = std::slice::from_ref(*own);
                if let Some(factors) = combination(own, function, variables, cx)?
                    && let [factor] = factors.as_slice()
                    && !is_zero(factor, cx)?
                {
                    free.swap_remove(at);
                    continue 'functions;
                }
            }
            return Ok(false);
        }
        Ok(true)
    }

    /// Whether both functions of the other solution are combinations of these two, and conversely.
    fn is_mixed(
        &self,
        other: &Self,
        variables: &BTreeSet<String>,
        cx: &Context<'_>,
    ) -> Result<bool, Exhausted> {
        let [first, second] = other.basis.as_slice() else {
            return Ok(false);
        };
        let (Some(first), Some(second)) = (
            self.combination(first, variables, cx)?,
            self.combination(second, variables, cx)?,
        ) else {
            return Ok(false);
        };
        let ([a, b], [c, d]) = (first.as_slice(), second.as_slice()) else {
            return Ok(false);
        };
        Ok(!is_zero(&determinant([[a, b], [c, d]], cx)?, cx)?)
    }

    fn combination(
        &self,
        function: &Expr,
        variables: &BTreeSet<String>,
        cx: &Context<'_>,
    ) -> Result<Option<Vec<Expr>>, Exhausted> {
        combination(&self.basis, function, variables, cx)
    }
}

fn difference(a: &Expr, b: &Expr, cx: &Context<'_>) -> Result<Expr, Exhausted> {
    charge_copy(a, cx.budget)?;
    charge_copy(b, cx.budget)?;
    fold(&Expr::Sum(vec![a.clone(), b.clone().neg()]), cx.budget)
}

fn determinant([[a, b], [c, d]]: [[&Expr; 2]; 2], cx: &Context<'_>) -> Result<Expr, Exhausted> {
    for entry in [a, b, c, d] {
        charge_copy(entry, cx.budget)?;
    }
    let product = |a: &Expr, b: &Expr| Expr::Product(vec![a.clone(), b.clone()]);
    fold(
        &Expr::Sum(vec![product(a, d), product(b, c).neg()]),
        cx.budget,
    )
}

fn is_zero(value: &Expr, cx: &Context<'_>) -> Result<bool, Exhausted> {
    Ok(scalar::same(value, &Expr::int(0), cx.budget)?.0)
}

/// The constant coefficients with which a function is a combination of one or two others; `None` if
/// it is not.
fn combination(
    basis: &[Expr],
    function: &Expr,
    variables: &BTreeSet<String>,
    cx: &Context<'_>,
) -> Result<Option<Vec<Expr>>, Exhausted> {
    let mut rows: Vec<Vec<Expr>> = Vec::new();
    for place in 0..PLACES.len() {
        // A value of each function, the function to be combined last.
        let mut row = Vec::with_capacity(basis.len() + 1);
        for part in basis.iter().chain([function]) {
            match value_at(part, place, variables, cx)? {
                Some(value) => row.push(value),
                None => break,
            }
        }
        if row.len() != basis.len() + 1 {
            continue;
        }
        let found = match (rows.as_slice(), row.as_slice()) {
            ([], [own, value]) => quotient(value, own, cx)?.map(|factor| vec![factor]),
            ([first], [c, d, f]) => {
                let [a, b, e] = first.as_slice() else {
                    return Ok(None);
                };
                let below = determinant([[a, b], [c, d]], cx)?;
                let left = determinant([[e, b], [f, d]], cx)?;
                let right = determinant([[a, e], [c, f]], cx)?;
                match (quotient(&left, &below, cx)?, quotient(&right, &below, cx)?) {
                    (Some(left), Some(right)) => Some(vec![left, right]),
                    _ => None,
                }
            }
            ([], [_, _, _]) => {
                rows.push(row);
                continue;
            }
            _ => return Ok(None),
        };
        let Some(factors) = found else {
            continue;
        };
        let terms = factors.iter().zip(basis).map(|(factor, part)| {
            charge_copy(factor, cx.budget)?;
            charge_copy(part, cx.budget)?;
            Ok(Expr::Product(vec![factor.clone(), part.clone()]))
        });
        let combined = Expr::Sum(terms.collect::<Result<_, Exhausted>>()?);
        let combined = fold(&combined, cx.budget)?;
        let equal = scalar::same(function, &combined, cx.budget)?.0;
        return Ok(equal.then_some(factors));
    }
    Ok(None)
}

/// The quotient of two constants; `None` if the second one may be 0.
fn quotient(a: &Expr, b: &Expr, cx: &Context<'_>) -> Result<Option<Expr>, Exhausted> {
    match ball(b, &Point::of_constant(false, PREC), cx.budget) {
        Ok(value) if !value.contains_zero() => {
            charge_copy(a, cx.budget)?;
            charge_copy(b, cx.budget)?;
            Ok(Some(fold(
                &Expr::quotient(a.clone(), b.clone()),
                cx.budget,
            )?))
        }
        Err(NoValue::Exhausted) => Err(Exhausted),
        _ => Ok(None),
    }
}

/// The exact value of a function at a place; `None` if it has none.
fn value_at(
    function: &Expr,
    place: usize,
    variables: &BTreeSet<String>,
    cx: &Context<'_>,
) -> Result<Option<Expr>, Exhausted> {
    let values: Vec<(&str, Expr)> = variables
        .iter()
        .enumerate()
        .map(|(at, name)| {
            let (num, den) = PLACES.get(place).copied().unwrap_or((1, 1));
            // Parameters differ from the variable and from each other.
            let value = if VARIABLES.contains(&name.as_str()) {
                Rational::ratio(num, den)
            } else {
                Rational::small(2 + i64::try_from(at).unwrap_or(0))
            };
            (name.as_str(), Expr::Number(value))
        })
        .collect();
    let value = |name: &str| {
        values
            .iter()
            .find(|(own, _)| *own == name)
            .map(|(_, value)| value)
    };
    let value = fold(&substituted(function, &value, cx.budget)?, cx.budget)?;
    match ball(&value, &Point::of_constant(false, PREC), cx.budget) {
        Ok(_) => Ok(Some(value)),
        Err(NoValue::Exhausted) => Err(Exhausted),
        Err(_) => Ok(None),
    }
}

/// Compares solutions that are not linear in their only constant, with other multiples of it:
/// `1/(x + C)` and `1/(x - C)`.
fn same_otherwise(
    gold: &Expr,
    own: &[String],
    answer: &Expr,
    others: &[String],
    cx: &Context<'_>,
) -> Result<bool, Exhausted> {
    let ([own], [other]) = (own, others) else {
        return Ok(false);
    };
    for (num, den) in [(-1, 1), (2, 1), (1, 2), (-2, 1), (-1, 2)] {
        let multiple = Expr::Product(vec![
            Expr::Number(Rational::ratio(num, den)),
            Expr::symbol(own),
        ]);
        let written = normal(&replaced(answer, other, &multiple, cx.budget)?, cx)?;
        if scalar::same(gold, &written, cx.budget)?.0 {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The function that is constant on each curve of an implicit solution, which has one constant:
/// `x² - y²` for `y² = x² + C`; `None` for other answers.
fn level(expr: &Expr, cx: &Context<'_>) -> Result<Option<Expr>, Exhausted> {
    let Expr::Chain(sides, relations) = expr else {
        return Ok(None);
    };
    let ([left, right], [Relation::Equal]) = (sides.as_slice(), relations.as_slice()) else {
        return Ok(None);
    };
    if !real_set::is_scalar(left) || !real_set::is_scalar(right) {
        return Ok(None);
    }
    let apart = difference(left, right, cx)?;
    let found = constants(&apart);
    let [constant] = found.as_slice() else {
        return Ok(None);
    };
    let names = rename::symbols(&apart);
    if names.iter().filter(|name| VARIABLES.contains(name)).count() != 2 || names.len() != 3 {
        return Ok(None);
    }
    let Some((start, step)) = coefficients(&apart, constant, cx.budget)? else {
        return Ok(None);
    };
    if mentions(&step, constant) {
        return Ok(None);
    }
    fold(&Expr::quotient(start, step), cx.budget).map(Some)
}

/// Whether two functions have the same level curves because one is linear in the other.
fn same_levels(gold: &Expr, answer: &Expr, cx: &Context<'_>) -> Result<bool, Exhausted> {
    let variables: BTreeSet<String> = rename::symbols(gold)
        .into_iter()
        .map(str::to_owned)
        .collect();
    if !rename::symbols(answer)
        .into_iter()
        .eq(variables.iter().map(String::as_str))
    {
        return Ok(false);
    }
    for place in 0..PLACES.len() {
        if let (Some(a), Some(b)) = (
            value_at(gold, place, &variables, cx)?,
            value_at(answer, place, &variables, cx)?,
        ) {
            let (a, b) = (difference(gold, &a, cx)?, difference(answer, &b, cx)?);
            return scalar::proportional(&a, &b, false, cx.budget);
        }
    }
    Ok(false)
}

//! Expressions that name the quantity that is asked for.

use std::collections::BTreeSet;

use crate::number::Rational;
use crate::tree::{Expr, Function, Name};

/// Whether an expression with names of variables is the quantity that is asked for, because its
/// value is a constant: `m + n = 42`, `100a + 10b + c = 42`, `ab = 6`, `gcd(a, b) = 3`,
/// `sin A = 3/5`, `|z| = 5`. `2x = 6`, `x + 2 = 5`, `sin x = 1/2` and `|x| = 3` are equations to
/// solve.
pub(super) fn is_quantity(expr: &Expr, value: &Expr) -> bool {
    match expr {
        Expr::Sum(terms) => {
            is_total(terms) && matches!(value, Expr::Number(_) | Expr::Quantity(..))
        }
        Expr::Product(factors) => are_variables(factors) && is_closed(value),
        Expr::Call(function, items) => is_measure(*function, items) && is_closed(value),
        _ => false,
    }
}

fn is_closed(value: &Expr) -> bool {
    let is_value = matches!(value, Expr::Quantity(..)) || super::real_set::is_scalar(value);
    is_value && !value.any(&|part| matches!(part, Expr::Symbol(_) | Expr::Apply(..)))
}

/// Whether terms are multiples of different variables.
fn is_total(terms: &[Expr]) -> bool {
    let variable = |factor: &Expr| match factor {
        Expr::Symbol(name) => Some(name.clone()),
        Expr::Call(Function::Abs, items) => match items.as_slice() {
            [Expr::Symbol(name)] => Some(name.clone()),
            _ => None,
        },
        Expr::Power(pair) if pair.1.as_number().is_some_and(is_natural) => match &pair.0 {
            Expr::Symbol(name) => Some(name.clone()),
            _ => None,
        },
        _ => None,
    };
    let in_term = |term: &Expr| match term {
        Expr::Product(factors) => match factors.as_slice() {
            [Expr::Number(_), factor] => variable(factor),
            _ => None,
        },
        factor => variable(factor),
    };
    let names: Option<BTreeSet<Name>> = terms.iter().map(in_term).collect();
    names.is_some_and(|names| names.len() > 1 && names.len() == terms.len())
}

/// Whether factors are different names, or divide by them: `ab`, `a/b`. `xy = 6` is a curve.
fn are_variables(factors: &[Expr]) -> bool {
    let name = |factor: &Expr| match factor {
        Expr::Symbol(name) if !matches!(&**name, "x" | "y" | "z") => Some(name.clone()),
        _ => None,
    };
    let variable = |factor: &Expr| match factor {
        Expr::Power(pair) if pair.1.is_int(-1) => name(&pair.0),
        factor => name(factor),
    };
    let names: Option<BTreeSet<Name>> = factors.iter().map(variable).collect();
    names.is_some_and(|names| names.len() > 1 && names.len() == factors.len())
}

/// Whether a function of names is a property of what they name: of numbers, of an angle of a
/// figure, of a complex number.
fn is_measure(function: Function, items: &[Expr]) -> bool {
    let symbol = |item: &Expr| matches!(item, Expr::Symbol(_));
    let letter_in = |item: &Expr, letters: &[&str]| {
        matches!(item, Expr::Symbol(name)
            if letters.contains(&name.split_once("_{").map_or(&**name, |(stem, _)| stem)))
    };
    let angle = |item: &Expr| match item {
        Expr::Symbol(name) => {
            name.starts_with(|c: char| c.is_ascii_uppercase()) || letter_in(item, &ANGLES)
        }
        Expr::Apply(name, _) => &**name == "angle",
        _ => false,
    };
    match function {
        Function::Gcd | Function::Lcm | Function::Max | Function::Min => {
            items.len() > 1 && items.iter().all(symbol)
        }
        Function::Det => items.iter().all(symbol),
        Function::Abs | Function::Arg | Function::Re | Function::Im => {
            items.iter().all(|item| letter_in(item, &["z", "w"]))
        }
        Function::Sin
        | Function::Cos
        | Function::Tan
        | Function::Cot
        | Function::Sec
        | Function::Csc => items.iter().all(|item| match item {
            Expr::Sum(terms) => terms.iter().all(angle),
            one => angle(one),
        }),
        _ => false,
    }
}

/// Names of angles.
const ANGLES: [&str; 7] = ["alpha", "beta", "gamma", "delta", "theta", "phi", "psi"];

fn is_natural(value: &Rational) -> bool {
    value.is_integer() && !value.is_negative()
}

//! Answers that differ only in the names of parameters: `π/4 + nπ` and `π/4 + kπ`,
//! `(3 + 2t, 5 - t)` and `(3 + 2s, 5 - s)`, `C_1 e^t + C_2 e^-t` and `A e^t + B e^-t`.
//!
//! A name is a parameter only where the form of the answer shows it: both sides depend on it
//! linearly, and all other names are the same.

use std::collections::BTreeSet;

use super::family::Family;
use super::{
    Context, condition, family, lines, normal, rename, same as same_answers, solution, statement,
};
use crate::budget::Exhausted;
use crate::normal::fold;
use crate::tree::charged::{charge_visit, substituted};
use crate::tree::{Constant, Expr, NamedSet};

/// Names of a parameter that runs through the integers.
const INTEGERS: [&str; 5] = ["k", "n", "m", "l", "j"];

/// Names of an unknown of a trigonometric equation.
const VARIABLES: [&str; 8] = ["x", "y", "z", "t", "theta", "phi", "alpha", "beta"];

/// Names of a parameter of a line or a curve.
const CURVE: [&str; 11] = [
    "t", "s", "u", "r", "k", "m", "n", "lambda", "mu", "tau", "alpha",
];

/// Names of the constants of a general solution, without their indices.
const CONSTANTS: [&str; 11] = ["C", "c", "K", "k", "A", "B", "D", "a", "b", "alpha", "beta"];

/// Names of a coefficient of an unknown function.
const COEFFICIENTS: [&str; 17] = [
    "a", "b", "c", "d", "k", "m", "n", "p", "q", "r", "A", "B", "C", "K", "alpha", "beta", "lambda",
];

/// Names of unknown functions.
const FUNCTIONS: [&str; 8] = ["f", "g", "h", "F", "G", "H", "P", "Q"];

/// Most parameters of one answer.
const MAX_PARAMETERS: usize = 3;

/// Most other names in a general solution.
const MAX_OTHERS: usize = 3;

/// Steps of collecting the names of a node.
const COLLECT_STEPS: u64 = 4;

/// Whether two answers are the same after the parameters of one are renamed.
pub(super) fn same(gold: &Expr, answer: &Expr, cx: &Context<'_>) -> Result<bool, Exhausted> {
    charge_visit(gold, COLLECT_STEPS, cx.budget)?;
    charge_visit(answer, COLLECT_STEPS, cx.budget)?;
    if let Some(equal) = same_as_family(gold, answer, cx)? {
        return Ok(equal);
    }
    let (Some(gold), Some(answer)) = (unconditional(gold, cx)?, unconditional(answer, cx)?) else {
        return Ok(false);
    };
    if let Some(equal) = same_families(gold, answer, cx)? {
        return Ok(equal);
    }
    Ok(same_renamed(gold, answer, cx)?
        || solution::same(gold, answer, cx)?
        || lines::same(gold, answer, cx)?)
}

fn same_renamed(gold: &Expr, answer: &Expr, cx: &Context<'_>) -> Result<bool, Exhausted> {
    let (own, others) = (rename::symbols(gold), rename::symbols(answer));
    let Some(Renaming { from, to, form }) = parameters((gold, &own), (answer, &others)) else {
        return Ok(false);
    };
    for name in &to {
        if !is_linear(gold, name, form == Form::Periodic, cx)? {
            return Ok(false);
        }
    }
    for order in orders(to.len()) {
        let new = |name: &str| {
            let at = from.iter().position(|own| *own == name)?;
            to.get(*order.get(at)?).copied()
        };
        let names: Vec<(&str, Expr)> = from
            .iter()
            .filter_map(|name| Some((*name, Expr::symbol(new(name)?))))
            .collect();
        let value = |name: &str| {
            let found = names.iter().find(|(own, _)| *own == name);
            found.map(|(_, value)| value)
        };
        let renamed = substituted(answer, &value, cx.budget)?;
        if same_answers(gold, &normal(&renamed, cx)?, cx)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Compares a family with a set of integers and an answer that leaves the set out; `None` if they
/// are not such answers.
fn same_as_family(gold: &Expr, answer: &Expr, cx: &Context<'_>) -> Result<Option<bool>, Exhausted> {
    let (given, other) = match (family::of(gold, cx.budget)?, family::of(answer, cx.budget)?) {
        (Some(given), None) => (given, answer),
        (None, Some(given)) => (given, gold),
        (Some(given), Some(other)) => {
            return Ok(given.is_over_other_set(&other).then_some(false));
        }
        (None, None) => return Ok(None),
    };
    if is_continuous(gold, cx)? || is_continuous(answer, cx)? {
        return Ok(Some(false));
    }
    let known = rename::symbols(given.value());
    let new = rename::symbols(other);
    let mut unknown = new.iter().filter(|name| {
        (!known.contains(**name) || given.is_parameter(name))
            && !given.is_subject(name)
            && INTEGERS.contains(name)
    });
    let (Some(parameter), None) = (unknown.next(), unknown.next()) else {
        return Ok(None);
    };
    if !given.is_over(NamedSet::Integers) || !is_linear(other, parameter, true, cx)? {
        return Ok(None);
    }
    let implied = given.of_same_set(other, parameter);
    family::same(&given, &implied, cx).map(Some)
}

/// Compares two families of angles that both leave the set of their parameter out: `x = π/4 + nπ/2`
/// and `x = π/4 + kπ, x = 3π/4 + kπ`; `None` if they are not. A value without a name may be a
/// formula in `n`, such as `(n - 2)π`, unless the other side has several values.
fn same_families(gold: &Expr, answer: &Expr, cx: &Context<'_>) -> Result<Option<bool>, Exhausted> {
    let parameter = |expr: &Expr| {
        let names = rename::symbols(expr);
        let mut found = names.iter().filter(|name| INTEGERS.contains(name));
        let only = found.next().filter(|_| names.len() <= 2)?;
        found.next().is_none().then(|| (*only).to_owned())
    };
    let is_family = |expr: &Expr| {
        let is_angle = |value: &Expr| {
            value.any(&|part| matches!(part, Expr::Constant(Constant::Pi)))
                && super::real_set::is_scalar(value)
        };
        match expr {
            Expr::List(items) => {
                items.len() > 1 && items.iter().any(|item| is_angle(solved(item).1))
            }
            _ => {
                let (name, value) = solved(expr);
                is_angle(value)
                    && matches!(name, Some(Expr::Symbol(name)) if VARIABLES.contains(&&**name))
            }
        }
    };
    if !is_family(gold) && !is_family(answer) {
        return Ok(None);
    }
    let (Some(own), Some(other)) = (parameter(gold), parameter(answer)) else {
        return Ok(None);
    };
    let (gold, answer) = (
        Family::over_integers(gold, &own),
        Family::over_integers(answer, &other),
    );
    if !gold.is_angle() || !answer.is_angle() {
        return Ok(None);
    }
    family::same(&gold, &answer, cx).map(Some)
}

/// Whether an answer is periodic only by its form: its parameter is real, as in `kπ, k ∈ ℝ`.
pub(super) fn is_continuous(expr: &Expr, cx: &Context<'_>) -> Result<bool, Exhausted> {
    let Some(given) = family::of(expr, cx.budget)? else {
        return Ok(false);
    };
    let value = given.value();
    let has_pi = value.any(&|part| matches!(part, Expr::Constant(Constant::Pi)));
    Ok(has_pi
        && given.is_over(NamedSet::Reals)
        && INTEGERS.contains(&given.parameter())
        && is_linear(value, given.parameter(), true, cx)?)
}

/// An answer without a condition that only says which values its parameters take.
fn unconditional<'e>(expr: &'e Expr, cx: &Context<'_>) -> Result<Option<&'e Expr>, Exhausted> {
    Ok(match expr {
        Expr::Where(inner, given) => {
            (!condition::restricts(given, inner, None, cx)?).then_some(&**inner)
        }
        other => Some(other),
    })
}

/// The value of a solved equation, with its name.
pub(super) fn solved(expr: &Expr) -> (Option<&Expr>, &Expr) {
    if let Expr::Chain(sides, relations) = expr
        && let Some(solved) = statement::solved(sides, relations)
        && let [name] = solved.names
    {
        return (Some(name), solved.value);
    }
    (None, expr)
}

/// The parameters of an answer, and the names that the gold has for them in any order.
struct Renaming<'a> {
    from: Vec<&'a str>,
    to: Vec<&'a str>,
    /// The form that shows that they are parameters; otherwise they are constants.
    form: Form,
}

/// The parameters of two answers; `None` if they have none, or differ in other names.
fn parameters<'a>(
    (gold, own): (&'a Expr, &BTreeSet<&'a str>),
    (answer, others): (&'a Expr, &BTreeSet<&'a str>),
) -> Option<Renaming<'a>> {
    let to: Vec<&str> = own.difference(others).copied().collect();
    let from: Vec<&str> = others.difference(own).copied().collect();
    if to.len() == from.len() && !to.is_empty() && to.len() <= MAX_PARAMETERS {
        let all = |names: &[&str]| to.iter().chain(&from).all(|name| names.contains(name));
        let form = (form(gold), form(answer));
        let fits = match form {
            (Form::Periodic, Form::Periodic) => to.len() == 1 && all(&INTEGERS),
            (Form::Curve, Form::Curve) => to.len() == 1 && all(&CURVE),
            (Form::Function, Form::Function) => all(&COEFFICIENTS),
            _ => false,
        };
        if fits {
            let form = form.0;
            return Some(Renaming { from, to, form });
        }
    }
    // The constants of a general solution, of which some may have the same names.
    let constants = |names: &BTreeSet<&'a str>| -> Vec<&'a str> {
        let indexed = names.iter().any(|name| stem(name).1);
        let is_constant = |name: &&&str| {
            let (stem, has_index) = stem(name);
            CONSTANTS.contains(&stem) && (has_index || !indexed)
        };
        names.iter().filter(is_constant).copied().collect()
    };
    let (to, from) = (constants(own), constants(others));
    let rest = |names: &BTreeSet<&'a str>, without: &[&str]| -> Vec<&'a str> {
        let kept = names.iter().filter(|name| !without.contains(*name));
        kept.copied().collect()
    };
    let variables = rest(own, &to);
    let usual = |names: &[&str]| {
        names
            .iter()
            .all(|name| matches!(stem(name), ("C", _) | ("c", true)))
    };
    let other_case =
        matches!((to.as_slice(), from.as_slice()), ([a], [b]) if a.eq_ignore_ascii_case(b));
    let swapped = to == from && to.len() > 1;
    let fits = to.len() == from.len()
        && (1..=MAX_PARAMETERS).contains(&to.len())
        && variables == rest(others, &from)
        && (1..=if swapped { 1 } else { MAX_OTHERS }).contains(&variables.len())
        && (usual(&to) || usual(&from) || other_case);
    let form = Form::Other;
    fits.then_some(Renaming { from, to, form })
}

/// The letter of a name, and whether it has a number as its index: `C_1`, `c1`.
pub(super) fn stem(name: &str) -> (&str, bool) {
    match name.split_once("_{") {
        Some((stem, index)) => {
            let digits = index.trim_end_matches('}');
            let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
            if is_number {
                (stem, true)
            } else {
                (name, false)
            }
        }
        None => (name, false),
    }
}

/// The form of an answer with parameters.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// `π/4 + nπ`, `x = 3k + 1`.
    Periodic,
    /// `(3 + 2t, 5 - t)`, `x = 1 + 2t, y = 3 - t`.
    Curve,
    /// `f(x) = ax + b`.
    Function,
    Other,
}

fn form(expr: &Expr) -> Form {
    let of_curve = |items: &[Expr]| {
        let component = |item: &Expr| super::real_set::is_scalar(solved(item).1);
        if items.len() > 1 && items.iter().all(component) {
            Form::Curve
        } else {
            Form::Other
        }
    };
    match solved(expr) {
        (Some(Expr::Apply(name, items)), _)
            if FUNCTIONS.contains(&&**name) && matches!(items.as_slice(), [Expr::Symbol(_)]) =>
        {
            Form::Function
        }
        (_, Expr::List(items) | Expr::Bracket(_, items, _)) => of_curve(items),
        (Some(Expr::Symbol(name)), value)
            if !name.contains('_') && super::real_set::is_scalar(value) =>
        {
            Form::Periodic
        }
        (None, value)
            if super::real_set::is_scalar(value)
                && value.any(&|part| matches!(part, Expr::Constant(Constant::Pi))) =>
        {
            Form::Periodic
        }
        _ => Form::Other,
    }
}

/// Whether every value in an answer is linear in a name, with a step that is a constant if
/// `constant`: `kπ`, but not `kx`.
fn is_linear(expr: &Expr, name: &str, constant: bool, cx: &Context<'_>) -> Result<bool, Exhausted> {
    match solved(expr).1 {
        Expr::List(items) | Expr::Bracket(_, items, _) => {
            for item in items {
                if !is_linear(item, name, constant, cx)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        value if super::real_set::is_scalar(value) => {
            let value = fold(value, cx.budget)?;
            let varies = |term: &Expr| {
                let own = rename::symbols(term);
                own.contains(name) && own.len() > 1
            };
            let terms = match &value {
                Expr::Sum(terms) => terms.as_slice(),
                other => std::slice::from_ref(other),
            };
            Ok(!(constant && terms.iter().any(varies))
                && family::progression(&value, name, cx)?.is_some())
        }
        _ => Ok(false),
    }
}

/// All orders of up to three things.
fn orders(count: usize) -> Vec<Vec<usize>> {
    match count {
        1 => vec![vec![0]],
        2 => vec![vec![0, 1], vec![1, 0]],
        _ => vec![
            vec![0, 1, 2],
            vec![0, 2, 1],
            vec![1, 0, 2],
            vec![1, 2, 0],
            vec![2, 0, 1],
            vec![2, 1, 0],
        ],
    }
}

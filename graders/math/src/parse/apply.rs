//! Names before brackets: which letters are functions, points, or numbers of combinations, and
//! their arguments.

use std::ops::Neg as _;

use super::bracket;
use super::expression::{Parsed, no_parse};
use super::literal;
use super::script::exponent;
use super::token::{Kind, Shape, Tokens};
use crate::tree::{End, Expr, Function};

/// Whether a letter before brackets is a function, unless the brackets contain a product.
pub(crate) fn applies(name: &str) -> bool {
    let letter = name.split(['_', '\'']).next().unwrap_or(name);
    matches!(letter, "f" | "g" | "h" | "F" | "G" | "H" | "phi" | "psi") || name.ends_with('\'')
}

/// Whether brackets make another letter a function, a probability or a point: `P(3)`, `x(t)`,
/// `C(10, 3)`, `P(A | B)`, `P(X > 3)`, `E[X]`, but not `P(1 + r)`.
pub(crate) fn names_application(input: Tokens<'_, '_>, letter: &str) -> bool {
    /// Most tokens in the brackets.
    const MAX_TOKENS: usize = 24;
    if input.spaced() {
        return false;
    }
    let shape = match input.first() {
        Some(Kind::Open(shape @ Shape::End(End::Round))) => shape,
        Some(Kind::Open(shape @ Shape::End(End::Square))) if is_probability(letter) => shape,
        _ => return false,
    };
    let capital = letter.bytes().all(|byte| byte.is_ascii_uppercase());
    let close = Some(Kind::Close(shape));
    if shape == Shape::End(End::Square) {
        return true;
    }
    if input.kind(2) == close {
        return match input.kind(1) {
            Some(Kind::Number { .. } | Kind::Text(_)) => capital,
            Some(Kind::Word(argument)) if argument.len() == 1 => {
                capital
                    || matches!(
                        (letter, argument),
                        (
                            "x" | "y" | "z" | "u" | "v" | "r" | "s" | "p" | "q" | "w",
                            "t"
                        )
                    )
                    || matches!(
                        (letter, argument),
                        ("y" | "u" | "v" | "p" | "q" | "r" | "s" | "w", "x") | ("a" | "b", "n")
                    )
            }
            _ => false,
        };
    }
    let mut depth = 0usize;
    let mut divided = false;
    for at in 1..MAX_TOKENS {
        match input.kind(at) {
            Some(Kind::Open(_)) => depth += 1,
            Some(Kind::Close(_)) if depth == 0 => return capital && divided,
            Some(Kind::Close(_)) => depth -= 1,
            Some(Kind::Comma | Kind::Command("cup" | "cap")) if depth == 0 => divided = true,
            Some(Kind::Bar) if depth == 0 => divided |= is_probability(letter),
            // No product has a statement or words as a factor.
            Some(Kind::Relation(_)) if depth == 0 && at > 1 => return true,
            Some(Kind::Text(_)) if depth == 0 => divided = true,
            None => return false,
            _ => {}
        }
    }
    false
}

/// Whether a letter before brackets may be a probability or an expected value.
pub(crate) fn is_probability(letter: &str) -> bool {
    matches!(letter, "P" | "E")
}

/// The number of combinations (`C`) or permutations (`P`, `A`) of k out of n.
pub(crate) fn choices(letter: &str, n: Expr, k: Expr) -> Option<Expr> {
    match letter {
        "C" => Some(Expr::Call(Function::Binomial, vec![n, k])),
        "P" | "A" => {
            let factorial = |of: Expr| Expr::Call(Function::Factorial, vec![of]);
            let rest = Expr::Sum(vec![n.clone(), k.neg()]);
            Some(Expr::quotient(factorial(n), factorial(rest)))
        }
        _ => None,
    }
}

/// `C_3` or `P_3` after a script with the total.
pub(crate) fn choosing<'t, 'a>(input: Tokens<'t, 'a>) -> Parsed<'t, 'a> {
    let (rest, n) = exponent(input.skip(1))?;
    match chosen_of(rest, Some(&n)) {
        Some((rest, chosen)) => Ok((rest, chosen)),
        None => no_parse(),
    }
}

/// `C_3` or `C3` after the total.
pub(crate) fn chosen_of<'t, 'a>(
    input: Tokens<'t, 'a>,
    from: Option<&Expr>,
) -> Option<(Tokens<'t, 'a>, Expr)> {
    let Some(Kind::Word(letter @ ("C" | "P"))) = input.first() else {
        return None;
    };
    let (rest, k) = match input.kind(1)? {
        Kind::Underscore => exponent(input.skip(2)).ok()?,
        Kind::Number { text, point } if !input.skip(1).spaced() => {
            (input.skip(2), literal::number(text, point)?)
        }
        _ => return None,
    };
    choices(letter, from?.clone(), k).map(|chosen| (rest, chosen))
}

/// `name(…)`, from the bracket on.
pub(crate) fn apply<'t, 'a>(input: Tokens<'t, 'a>, name: &str) -> Parsed<'t, 'a> {
    let (rest, (arguments, given)) = if is_probability(name) {
        bracket::conditional(input)?
    } else {
        let (rest, arguments) = bracket::items(input)?;
        (rest, (arguments, false))
    };
    let name = if given {
        format!("{name} given")
    } else {
        name.to_owned()
    };
    Ok((rest, Expr::Apply(name.into(), arguments)))
}

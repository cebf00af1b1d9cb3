//! Rows of piecewise definitions: a value and its condition, which may consist of several joined by
//! commas and words.

use super::answer::{Join, trimmed};
use super::expression::statement;
use super::text;
use super::token::{Kind, Tokens};
use crate::tree::{Expr, Function, Relation, SetOp};

/// A cell, and what is written between it and the cell before it, unless that is a new column.
pub(crate) type Cell = (Option<Join>, Expr);

/// The value of a row and its condition; the cells as they are if they are no such row.
pub(crate) fn row(cells: Vec<Cell>) -> Vec<Expr> {
    let conditions = match cells.split_first() {
        Some(((_, value), rest)) if !matches!(value, Expr::Chain(..)) => condition(rest),
        _ => None,
    };
    let mut cells = cells.into_iter().map(|(_, cell)| cell);
    match conditions {
        Some(condition) => cells.next().into_iter().chain([condition]).collect(),
        None => cells.collect(),
    }
}

/// The condition that cells after a value form; `None` if they are several columns.
fn condition(cells: &[Cell]) -> Option<Expr> {
    let mut alternatives: Vec<Vec<Expr>> = Vec::new();
    let mut rest = cells;
    while let Some(((join, cell), after)) = rest.split_first() {
        rest = after;
        let stated = match (cell, after.first()) {
            (Expr::Symbol(name), Some((None, Expr::Text(words) | Expr::Word(words)))) => {
                rest = after.get(1..)?;
                parity(name, words)?
            }
            (Expr::Text(words), _) => in_words(words).unwrap_or_else(|| cell.clone()),
            _ => cell.clone(),
        };
        match (join, alternatives.last_mut()) {
            (None, None) => alternatives.push(vec![stated]),
            (Some(join), Some(last)) => match another_value(last, &stated) {
                Some(value) => alternatives.push(vec![value]),
                None if join.as_word() == Join::Or => alternatives.push(vec![stated]),
                None => last.push(stated),
            },
            _ => return None,
        }
    }
    (!alternatives.is_empty()).then(|| united(alternatives))
}

/// `x = 1, 2` and `x = 1 and x = 2` are two values of `x`.
fn another_value(before: &[Expr], next: &Expr) -> Option<Expr> {
    let [Expr::Chain(sides, relations)] = before else {
        return None;
    };
    let ([name, _], [Relation::Equal]) = (sides.as_slice(), relations.as_slice()) else {
        return None;
    };
    match next {
        Expr::Number(_) | Expr::Product(_) => Some(Expr::Chain(
            vec![name.clone(), next.clone()],
            vec![Relation::Equal],
        )),
        Expr::Chain(sides, relations)
            if relations == &[Relation::Equal] && sides.first() == Some(name) =>
        {
            Some(next.clone())
        }
        _ => None,
    }
}

/// `n is even`, `n odd`
fn in_words(words: &str) -> Option<Expr> {
    let words = words.trim();
    let words = ["if ", "for ", "when ", "where "]
        .iter()
        .find_map(|lead| words.strip_prefix(lead))
        .unwrap_or(words);
    let (name, rest) = words.split_once(' ')?;
    (name.len() == 1 && name.bytes().all(|byte| byte.is_ascii_lowercase()))
        .then(|| parity(name, rest))
        .flatten()
}

fn parity(name: &str, words: &str) -> Option<Expr> {
    let words = words.trim().trim_end_matches(['.', ',']).to_lowercase();
    let words = words.strip_prefix("is ").unwrap_or(&words).trim();
    let rest = match words.strip_prefix("an ").unwrap_or(words) {
        "even" | "even number" | "even integer" => 0,
        "odd" | "odd number" | "odd integer" => 1,
        _ => return None,
    };
    let half = Expr::Call(Function::Mod, vec![Expr::symbol(name), Expr::int(2)]);
    Some(Expr::Chain(
        vec![half, Expr::int(rest)],
        vec![Relation::Equal],
    ))
}

/// A definition by cases in a sentence: `n if n is even, 2n if n is odd`, `x if x > 0, and -x
/// otherwise`. `None` if some piece is none.
pub(crate) fn in_sentence(pieces: &[Tokens<'_, '_>], source: &str) -> Option<Expr> {
    let rows: Option<Vec<Vec<Expr>>> = pieces
        .iter()
        .map(|piece| row_in_sentence(*piece, source))
        .collect();
    rows.filter(|rows| rows.len() > 1).map(Expr::Cases)
}

/// `n if n is even`, `-x otherwise`
fn row_in_sentence(piece: Tokens<'_, '_>, source: &str) -> Option<Vec<Expr>> {
    let piece = trimmed(piece);
    let begins_condition = |word: &str| {
        let first = word.split_whitespace().next();
        matches!(first, Some("if" | "when" | "for" | "otherwise" | "else"))
    };
    let at = piece.run().iter().position(|token| match token.kind {
        Kind::Word(word) | Kind::Text(word) => begins_condition(word),
        _ => false,
    })?;
    let (left, value) = statement(nom::Input::take(&piece, at)).ok()?;
    if !left.is_empty() || matches!(value, Expr::Chain(..)) {
        return None;
    }
    let condition = piece.skip(at);
    let words = text::comparable(condition.text(source));
    if matches!(words.as_str(), "otherwise" | "else") {
        return Some(vec![value, Expr::Text("otherwise".into())]);
    }
    let stated = match statement(condition.skip(1)) {
        Ok((left, stated @ Expr::Chain(..))) if left.is_empty() => stated,
        _ => in_words(&words)?,
    };
    Some(vec![value, stated])
}

/// The union of the alternatives, of which each is an intersection.
pub(crate) fn united(mut alternatives: Vec<Vec<Expr>>) -> Expr {
    let together = |mut alternative: Vec<Expr>| match alternative.len() {
        1 => alternative.pop().unwrap_or(Expr::Ellipsis),
        _ => Expr::SetOp(SetOp::Intersection, alternative),
    };
    match alternatives.len() {
        1 => together(alternatives.pop().unwrap_or_default()),
        _ => Expr::SetOp(
            SetOp::Union,
            alternatives.into_iter().map(together).collect(),
        ),
    }
}

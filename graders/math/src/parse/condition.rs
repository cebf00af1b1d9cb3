//! Conditions that an answer holds under: the words that begin one, and a form in which two can be compared.

use super::expression::statement;
use super::text;
use super::token::{Kind, Shape, Tokens};
use crate::tree::Relation;

/// The first word of a piece, if it begins a condition.
pub(crate) fn condition_word<'a>(piece: Tokens<'_, 'a>) -> Option<&'a str> {
    let word = match piece.first()? {
        Kind::Word(word) | Kind::Text(word) => word,
        Kind::Command("forall") => return Some("for"),
        _ => return None,
    };
    let first = word.split_whitespace().next()?.to_lowercase();
    matches!(first.as_str(), "where" | "for" | "with" | "when" | "if" | "provided" | "such" | "assuming" | "given")
        .then_some(word)
}

/// A condition in a form in which two can be compared: what it states, or its words.
pub(crate) fn condition(tokens: Tokens<'_, '_>, source: &str) -> String {
    let introduces = |kind: Option<Kind<'_>>| match kind {
        Some(Kind::Word(words) | Kind::Text(words)) => words.split_whitespace().all(|word| {
            matches!(
                word.to_lowercase().as_str(),
                "for" | "all" | "any" | "every" | "each" | "where" | "with" | "when" | "if"
            )
        }),
        Some(Kind::Command("forall")) => true,
        _ => false,
    };
    let mut rest = tokens;
    while introduces(rest.first()) {
        rest = rest.skip(1);
    }
    match statement(rest) {
        Ok((left, stated)) if left.is_empty() => stated.shown(400),
        _ => text::comparable(rest.text(source)),
    }
}

/// A piece that ends in brackets around a membership, as in `kπ (k ∈ ℤ)`: what stands before and what is inside.
pub(crate) fn bracketed_condition<'t, 'a>(piece: Tokens<'t, 'a>) -> Option<(Tokens<'t, 'a>, Tokens<'t, 'a>)> {
    let run = piece.run();
    if !matches!(run.last()?.kind, Kind::Close(_)) {
        return None;
    }
    let open = run.iter().rposition(|token| matches!(token.kind, Kind::Open(_)))?;
    let inside = run.get(open + 1..run.len() - 1)?;
    let states = |token: &super::token::Token<'_>| matches!(token.kind, Kind::Relation(relation) if relation == Relation::In || relation == Relation::NotEqual || relation.is_order());
    let member = inside.iter().any(states);
    let closes = inside.iter().any(|token| matches!(token.kind, Kind::Close(_) | Kind::Bar | Kind::Colon));
    let round = matches!(run.get(open)?.kind, Kind::Open(Shape::End(_)));
    (open > 0 && member && !closes && round)
        .then(|| (nom::Input::take(&piece, open), nom::Input::take(&piece.skip(open + 1), inside.len())))
}

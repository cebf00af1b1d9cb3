//! Where an answer is language and not mathematics: whether tokens are words, and what the words are.

use super::call;
use super::names;
use super::text;
use super::token::{Kind, Tokens};
use crate::tree::{Expr, NamedSet};

/// Whether a piece begins like a sentence: two words side by side, or a word no formula begins with.
pub(crate) fn begins_sentence(piece: Tokens<'_, '_>) -> bool {
    let unknown = |kind: Option<Kind<'_>>| match kind {
        Some(Kind::Word(word)) => {
            word.chars().count() > 1 && names::function_name(word).is_none() && names::value(word).is_none()
        }
        _ => false,
    };
    if let Some(Kind::Word(word)) = piece.first()
        && is_function_word(word)
    {
        return true;
    }
    let long = |kind: Option<Kind<'_>>| matches!(kind, Some(Kind::Word(word)) if word.chars().count() > 3);
    unknown(piece.first()) && unknown(piece.kind(1)) && (long(piece.first()) || long(piece.kind(1)))
}

/// Whether a piece is nothing but words.
pub(crate) fn is_prose(piece: Tokens<'_, '_>) -> bool {
    let mut words = 0;
    for token in piece.run() {
        match token.kind {
            Kind::Word(word) => {
                if names::function_name(word).is_some() && word.len() > 2
                    || names::value(word).is_some()
                    || matches!(word, "sqrt" | "inf" | "infinity" | "oo" | "infty")
                {
                    return false;
                }
                words += usize::from(word.chars().count() > 1 || !word.is_ascii());
            }
            Kind::Text(_) => words += 1,
            Kind::Styled(_) | Kind::Stray(_) | Kind::Minus | Kind::Prime | Kind::Bang | Kind::Colon | Kind::Newline => {
            }
            _ => return false,
        }
    }
    // Single letters among short words are factors: `2 xy` has a number, `xy z` has none.
    let all_short = piece.run().iter().all(|token| match token.kind {
        Kind::Word(word) => word.len() <= 3 && call::is_product(word),
        _ => false,
    });
    words > 0 && !(all_short && piece.run().len() > 1)
}

/// A piece as words, if it has any.
pub(crate) fn words(piece: Tokens<'_, '_>, source: &str) -> Option<Expr> {
    if let (Some(Kind::Word(word)), 1) = (piece.first(), piece.run().len()) {
        return Some(Expr::Word(word.into()));
    }
    let has_words = piece.run().iter().any(|token| match token.kind {
        Kind::Word(word) => word.chars().count() > 2 || !word.is_ascii(),
        Kind::Text(_) => true,
        _ => false,
    });
    if !has_words {
        return None;
    }
    let plain = text::comparable(piece.text(source));
    if matches!(plain.as_str(), "all real numbers" | "all reals" | "set of all real numbers") {
        return Some(Expr::Named(NamedSet::Reals));
    }
    (!plain.is_empty()).then(|| Expr::Text(plain.into()))
}

/// Whether a word is one of those sentences are made of, which no formula contains.
pub(crate) fn is_function_word(word: &str) -> bool {
    matches!(
        word.to_lowercase().as_str(),
        "is" | "are"
            | "was"
            | "were"
            | "the"
            | "of"
            | "there"
            | "this"
            | "that"
            | "these"
            | "those"
            | "it"
            | "we"
            | "be"
            | "has"
            | "have"
            | "not"
            | "than"
            | "as"
            | "by"
            | "from"
            | "on"
            | "at"
            | "its"
            | "they"
            | "you"
            | "any"
            | "every"
            | "each"
            | "no"
            | "none"
            | "such"
            | "only"
            | "only_if"
            | "iff"
            | "unless"
            | "since"
            | "because"
            | "then"
            | "if"
            | "when"
            | "where"
            | "for"
            | "with"
            | "which"
            | "who"
            | "what"
    )
}

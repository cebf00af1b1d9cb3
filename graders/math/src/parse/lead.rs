//! Words before an answer that do not change it.

use super::answer::{Join, split};
use super::token::{Kind, Tokens};

/// The tokens of `both 2 and 3` and `either 2 or 3` without the first word.
pub(super) fn without_lead<'t, 'a>(tokens: Tokens<'t, 'a>) -> Tokens<'t, 'a> {
    let join = match tokens.first() {
        Some(Kind::Word(word) | Kind::Text(word)) if word.eq_ignore_ascii_case("both") => Join::And,
        Some(Kind::Word(word) | Kind::Text(word)) if word.eq_ignore_ascii_case("either") => {
            Join::Or
        }
        _ => return tokens,
    };
    let (_, joins) = split(tokens);
    if joins.last() == Some(&join) {
        tokens.skip(1)
    } else {
        tokens
    }
}

/// Skips words that introduce a statement without changing it.
pub(super) fn leading_words<'t, 'a>(piece: Tokens<'t, 'a>) -> (Tokens<'t, 'a>, Option<&'a str>) {
    match piece.first() {
        Some(Kind::Word(word) | Kind::Text(word))
            if matches!(
                word.to_lowercase().as_str(),
                "only" | "then" | "so" | "thus" | "hence" | "therefore" | "all" | "either"
            ) =>
        {
            (piece.skip(1), Some(word))
        }
        _ => (piece, None),
    }
}

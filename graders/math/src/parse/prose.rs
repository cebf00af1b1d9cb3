//! Answers in words: whether tokens are words, and their text.

use super::call;
use super::names;
use super::text;
use super::token::{Kind, Tokens};
use crate::tree::{Expr, NamedSet};

/// Longest text that may name the set of real numbers, in bytes.
const LONGEST_NAME_OF_REALS: usize = 60;

/// Whether a piece begins like a sentence: with two words, or with a word that does not begin a
/// formula.
pub(crate) fn begins_sentence(piece: Tokens<'_, '_>) -> bool {
    let unknown = |kind: Option<Kind<'_>>| match kind {
        Some(Kind::Word(word)) => {
            word.chars().count() > 1
                && names::function_name(word).is_none()
                && names::value(word).is_none()
        }
        _ => false,
    };
    if let Some(Kind::Word(word)) = piece.first()
        && is_function_word(word)
        && !is_operand(piece)
    {
        return true;
    }
    let long =
        |kind: Option<Kind<'_>>| matches!(kind, Some(Kind::Word(word)) if word.chars().count() > 3);
    unknown(piece.first()) && unknown(piece.kind(1)) && (long(piece.first()) || long(piece.kind(1)))
}

/// Whether the first token, letters such as `at`, is followed by an operator.
pub(crate) fn is_operand(piece: Tokens<'_, '_>) -> bool {
    let operator = matches!(
        piece.kind(1),
        Some(
            Kind::Caret
                | Kind::Underscore
                | Kind::Plus
                | Kind::Minus
                | Kind::Slash
                | Kind::Times
                | Kind::Relation(_)
        )
    );
    let tight = piece.run().get(1).is_some_and(|token| !token.spaced) || piece.kind(2).is_some();
    operator && tight && matches!(piece.first(), Some(Kind::Word(word)) if word.len() < 3)
}

/// Whether a piece consists of letters and operators, as in `-kx`, `ad-bc`, `AB:CD`: the letters
/// are factors or names of segments.
fn is_formula(piece: Tokens<'_, '_>) -> bool {
    let run = piece.run();
    let operator =
        |kind: Kind<'_>| matches!(kind, Kind::Minus | Kind::Bang | Kind::Colon | Kind::Prime);
    let joined = run.iter().any(|token| operator(token.kind));
    // `don't` is one word.
    let elided = run.windows(3).any(|three| match three {
        [before, mark, after] => {
            matches!(before.kind, Kind::Word(_))
                && mark.kind == Kind::Prime
                && matches!(after.kind, Kind::Word(_))
                && !after.spaced
        }
        _ => false,
    });
    joined
        && !elided
        && run.iter().all(|token| match token.kind {
            Kind::Word(word) => {
                let segment = word.len() < 4 && word.bytes().all(|b| b.is_ascii_uppercase());
                (call::is_product(word) || segment)
                    && (word.len() < 2 || !text::is_plain(&word.to_lowercase()))
            }
            Kind::Styled(_) => true,
            kind => operator(kind),
        })
}

/// Whether a piece consists of words only.
pub(crate) fn is_prose(piece: Tokens<'_, '_>) -> bool {
    let mut words = 0;
    // `right triangle` are words, `triangle ABC` is a name.
    let long = |kind: Kind<'_>| matches!(kind, Kind::Word(word) if word.len() > 3 && names::value(word).is_none());
    let among_words = piece.run().iter().any(|token| long(token.kind));
    for token in piece.run() {
        match token.kind {
            Kind::Word(word) => {
                let shape =
                    matches!(word, "triangle" | "square" | "diamond" | "top") && among_words;
                if names::function_name(word).is_some() && word.len() > 2
                    || names::value(word).is_some() && !shape
                    || matches!(word, "sqrt" | "inf" | "infinity" | "oo" | "infty")
                {
                    return false;
                }
                words += usize::from(word.chars().count() > 1 || !word.is_ascii());
            }
            Kind::Text(_) => words += 1,
            Kind::Styled(_)
            | Kind::Stray(_)
            | Kind::Minus
            | Kind::Prime
            | Kind::Bang
            | Kind::Colon
            | Kind::Newline => {}
            _ => return false,
        }
    }
    // Only short words are factors: `2 xy` has a number, `xy z` has none.
    let all_short = piece.run().iter().all(|token| match token.kind {
        Kind::Word(word) => word.len() <= 3 && call::is_product(word),
        _ => false,
    });
    words > 0 && !(all_short && piece.run().len() > 1) && !is_formula(piece)
}

/// A piece as words; `None` if it has none.
pub(crate) fn words(piece: Tokens<'_, '_>, source: &str) -> Option<Expr> {
    if let (Some(Kind::Word(word)), 1) = (piece.first(), piece.run().len()) {
        return Some(Expr::Word(word.into()));
    }
    let has_words = piece.run().iter().any(|token| match token.kind {
        Kind::Word(word) => word.chars().count() > 2 || !word.is_ascii() || is_function_word(word),
        Kind::Text(_) => true,
        _ => false,
    });
    if !has_words {
        return None;
    }
    let plain = text::plain_words(piece.text(source));
    if plain.len() <= LONGEST_NAME_OF_REALS
        && matches!(
            text::comparable(&plain).as_str(),
            "all real numbers" | "all reals" | "set of all real numbers"
        )
    {
        return Some(Expr::Named(NamedSet::Reals));
    }
    (!plain.is_empty()).then(|| Expr::Text(plain.into()))
}

/// Whether a word is a function word of a sentence, which formulas do not contain.
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
            | "to"
            | "per"
            | "vs"
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

#[cfg(test)]
mod tests {
    use super::super::read;
    use crate::tree::Expr;

    fn is_text(text: &str) -> bool {
        matches!(
            read(text).map(|reading| reading.expr),
            Some(Expr::Text(_) | Expr::Word(_))
        )
    }

    #[test]
    fn reads_letters_with_operators_as_formulas() {
        for text in [
            "-kx",
            "-xyz",
            "-mgh",
            "ad-bc",
            "AB-CD",
            "AB:CD",
            r"s=ut+\frac12at^2",
            "at+b",
            "v=u+at",
            r"ad-\mathbf{b}",
        ] {
            assert!(read(text).is_some() && !is_text(text), "{text}");
        }
    }

    #[test]
    fn reads_words_with_dashes_as_text() {
        for text in [
            "right-angled",
            "-apple",
            "-yes",
            "don't know",
            "x-axis",
            "yes - no",
            "non-negative",
            "yes!",
        ] {
            assert!(is_text(text), "{text}");
        }
    }
}

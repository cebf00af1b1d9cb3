//! Options of a multiple choice, recognised by their marks before the grammar.

use super::answer::{Join, connective, trimmed};
use super::names;
use super::prose::is_prose;
use super::text;
use super::token::{Kind, Shape, Tokens};
use crate::tree::{End, Expr};

/// `(B) Berta`, `B. Berta`, `B) Berta`, `B: Berta`, `B Berta`.
pub(crate) fn choice(tokens: Tokens<'_, '_>, source: &str) -> Option<Expr> {
    let is_letter = |kind: Option<Kind<'_>>| match kind {
        Some(Kind::Word(word) | Kind::Styled(word) | Kind::Text(word)) if word.len() == 1 => {
            word.chars().next().filter(char::is_ascii_uppercase)
        }
        _ => None,
    };
    let round = Shape::End(End::Round);
    // `\text{(A) }5` and `\textbf{(A)}\ 5`: the braces remain as a group.
    let grouped = tokens.first() == Some(Kind::Open(Shape::Group))
        && tokens.kind(1) == Some(Kind::Open(round))
        && tokens.kind(3) == Some(Kind::Close(round))
        && tokens.kind(4) == Some(Kind::Close(Shape::Group));
    let (letter, width) = match (tokens.first(), is_letter(tokens.kind(1)), tokens.kind(2)) {
        _ if grouped => (is_letter(tokens.kind(2))?, 5),
        (Some(Kind::Open(shape)), Some(letter), Some(Kind::Close(_))) if shape == round => {
            (letter, 3)
        }
        _ => {
            let letter = is_letter(tokens.first())?;
            match tokens.kind(1)? {
                Kind::Stray('.') | Kind::Close(Shape::End(End::Round)) => (letter, 2),
                // `A:5` and `A : 5` are ratios.
                Kind::Colon
                    if letter <= LAST_LETTER
                        && tokens.run().get(1).is_some_and(|token| !token.spaced)
                        && tokens.skip(2).spaced()
                        && !tokens
                            .skip(2)
                            .run()
                            .iter()
                            .any(|token| token.kind == Kind::Colon) =>
                {
                    (letter, 2)
                }
                // `A folding chair` is not a choice: after a bare letter the text of an option must
                // be a name.
                Kind::Word(word)
                    if word.len() > 2
                        && word.starts_with(|c: char| c.is_ascii_uppercase())
                        && is_prose(tokens.skip(1))
                        && connective(tokens.run().get(1)?).is_none() =>
                {
                    (letter, 1)
                }
                _ => return None,
            }
        }
    };
    let rest = trimmed(tokens.skip(width));
    if rest.is_empty() {
        return Some(Expr::Choice(letter, "".into()));
    }
    // `(A) or (B)` and `A. B.` offer several options. Whether words such as `or` are the text of
    // one option is decided with the gold.
    let marks = |kind: Option<Kind<'_>>| {
        matches!(
            kind,
            None | Some(Kind::Stray('.') | Kind::Close(Shape::End(End::Round)) | Kind::Comma)
        )
    };
    // `B. A and C`: an option about other options.
    let about_others = width > 1
        && rest.run().len() > 2
        && is_letter(rest.first()).is_some()
        && is_letter(rest.run().last().map(|token| token.kind)).is_some()
        && rest
            .run()
            .iter()
            .all(|token| match is_letter(Some(token.kind)) {
                Some(other) => other != letter,
                None => matches!(connective(token), Some(Join::And | Join::Comma)),
            })
        && rest
            .run()
            .iter()
            .any(|token| connective(token) == Some(Join::And));
    if about_others {
        return Some(Expr::Choice(letter, rest.text(source).trim().into()));
    }
    let joins = rest.run().iter().any(|token| {
        matches!(
            connective(token),
            Some(Join::And | Join::Or | Join::Wedge | Join::Vee)
        )
    });
    let offers = is_letter(rest.first()).is_some() && marks(rest.kind(1))
        || rest.run().first().is_some_and(|token| {
            matches!(
                connective(token),
                Some(Join::And | Join::Or | Join::Wedge | Join::Vee)
            )
        })
        || joins && is_letter(rest.run().last().map(|token| token.kind)).is_some()
        || rest.run().windows(2).any(|two| match two {
            [letter, mark] => {
                let option = Kind::Close(Shape::End(End::Round));
                is_letter(Some(letter.kind)).is_some()
                    && (mark.kind == option || mark.kind == Kind::Stray('.'))
            }
            _ => false,
        });
    if offers {
        return None;
    }
    // `(A)(B)` and `(A) + 1` are not choices with a text.
    let text_like = width != 3 && width != 1
        || matches!(
            rest.first(),
            Some(Kind::Word(_) | Kind::Text(_) | Kind::Number { .. })
        ) && rest.spaced()
        || width == 3 && letter <= LAST_LETTER && begins_option(rest);
    let text = rest.text(source);
    text_like.then(|| {
        let option_text = if is_prose(rest) {
            text::cased(text)
        } else {
            text.trim().to_owned()
        };
        Expr::Choice(letter, option_text.into())
    })
}

/// Last letter of an option with mathematics as its text.
const LAST_LETTER: char = 'J';

/// Whether mathematics after `(A)` is the text of an option and not a factor or term.
fn begins_option(rest: Tokens<'_, '_>) -> bool {
    let begins = match rest.first() {
        Some(Kind::Command(name)) => {
            names::value(name).is_some()
                || names::function_name(name).is_some()
                || matches!(name, "frac" | "sqrt")
        }
        Some(Kind::Minus) => rest.run().get(1).is_some_and(|token| !token.spaced),
        Some(Kind::Open(Shape::End(_))) => {
            !matches!(rest.kind(1), Some(Kind::Word(word)) if word.len() == 1)
        }
        Some(Kind::Currency(_) | Kind::Fraction(..) | Kind::Open(Shape::Set)) => true,
        _ => false,
    };
    begins && rest.spaced()
}

#[cfg(test)]
mod tests {
    use super::super::read;
    use crate::tree::Expr;

    fn letter(text: &str) -> Option<char> {
        match read(text)?.expr {
            Expr::Choice(letter, _) => Some(letter),
            Expr::Symbol(name) => name.chars().next().filter(|_| name.len() == 1),
            _ => None,
        }
    }

    #[test]
    fn reads_marked_letter_with_any_text() {
        for text in [
            r"(C) \frac12",
            r"\mathrm{C)}\ 3",
            "C. None of these",
            "C. A and B",
            "C: 5",
            r"\text{C. 5}",
            "(C) (1,2)",
            "(C) -3",
        ] {
            assert_eq!(letter(text), Some('C'), "{text}");
        }
    }

    #[test]
    fn rejects_joined_letters() {
        for text in [
            "C or D",
            "(C) and (D)",
            "C. D",
            "C: 5, D: 6",
            "(C)(D)",
            "(C) + 1",
            "C:5",
            r"(C) \cup (D)",
        ] {
            assert_eq!(letter(text), None, "{text}");
        }
    }
}

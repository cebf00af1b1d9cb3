//! Options of a multiple choice, recognised by their shape before any grammar.

use super::answer::{Join, connective, trimmed};
use super::prose::is_prose;
use super::text;
use super::token::{Kind, Shape, Tokens};
use crate::tree::{End, Expr};

/// `(B) Berta`, `B. Berta`, `B) Berta`, `B Berta`.
pub(crate) fn choice(tokens: Tokens<'_, '_>, source: &str) -> Option<Expr> {
    let is_letter = |kind: Option<Kind<'_>>| match kind {
        Some(Kind::Word(word) | Kind::Styled(word) | Kind::Text(word)) if word.len() == 1 => {
            word.chars().next().filter(char::is_ascii_uppercase)
        }
        _ => None,
    };
    let round = Shape::End(End::Round);
    // `\text{(A) }5` and `\textbf{(A)}\ 5`: the words' braces stay as a group.
    let grouped = tokens.first() == Some(Kind::Open(Shape::Group))
        && tokens.kind(1) == Some(Kind::Open(round))
        && tokens.kind(3) == Some(Kind::Close(round))
        && tokens.kind(4) == Some(Kind::Close(Shape::Group));
    let (letter, width) = match (tokens.first(), is_letter(tokens.kind(1)), tokens.kind(2)) {
        _ if grouped => (is_letter(tokens.kind(2))?, 5),
        (Some(Kind::Open(shape)), Some(letter), Some(Kind::Close(_))) if shape == round => (letter, 3),
        _ => {
            let letter = is_letter(tokens.first())?;
            match tokens.kind(1)? {
                Kind::Stray('.') | Kind::Close(Shape::End(End::Round)) => (letter, 2),
                // `A stopped clock` is no choice: the text of an option after a bare letter is a name.
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
    // `(A) or (B)` and `A. B.` offer both; whether words such as `or` are the option's own is judged with the gold at hand.
    let marks = |kind: Option<Kind<'_>>| {
        matches!(kind, None | Some(Kind::Stray('.') | Kind::Close(Shape::End(End::Round)) | Kind::Comma))
    };
    let joins = rest.run().iter().any(|token| matches!(connective(token), Some(Join::And | Join::Or)));
    let offers = is_letter(rest.first()).is_some() && marks(rest.kind(1))
        || rest.run().first().is_some_and(|token| matches!(connective(token), Some(Join::And | Join::Or)))
        || joins && is_letter(rest.run().last().map(|token| token.kind)).is_some()
        || rest.run().windows(2).any(|two| match two {
            [letter, mark] => {
                let option = Kind::Close(Shape::End(End::Round));
                is_letter(Some(letter.kind)).is_some() && (mark.kind == option || mark.kind == Kind::Stray('.'))
            }
            _ => false,
        });
    if offers {
        return None;
    }
    // `(A)(B)` or `(A) + 1` are no choices with a text.
    let text_like = width != 3 && width != 1
        || matches!(rest.first(), Some(Kind::Word(_) | Kind::Text(_) | Kind::Number { .. })) && rest.spaced();
    text_like.then(|| Expr::Choice(letter, text::comparable(rest.text(source)).into()))
}

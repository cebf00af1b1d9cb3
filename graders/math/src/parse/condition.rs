//! Conditions of an answer: the words that begin one, and a form in which two can be compared.

use super::apply::is_probability;
use super::bracket::listed;
use super::expression::statement;
use super::text;
use super::token::{Kind, Shape, Tokens};
use crate::number::Rational;
use crate::tree::{Condition, Expr, Relation};

/// The first word of a piece, if it begins a condition.
pub(crate) fn condition_word<'a>(piece: Tokens<'_, 'a>) -> Option<&'a str> {
    let word = match piece.first()? {
        Kind::Word(word) | Kind::Text(word) => word,
        Kind::Command("forall") => return Some("for"),
        _ => return None,
    };
    // `15\text{ at }x = 2`
    if word.trim() == "at" {
        let place = statement(piece.skip(1));
        let is_place = matches!(place, Ok((left, Expr::Chain(_, relations)))
            if left.is_empty() && relations == [Relation::Equal]);
        return is_place.then_some(word);
    }
    // `\text{, where }`
    let first = word
        .split_whitespace()
        .map(|word| word.trim_matches(','))
        .find(|word| !word.is_empty())?
        .to_lowercase();
    matches!(
        first.as_str(),
        "where" | "for" | "with" | "when" | "if" | "provided" | "such" | "assuming" | "given"
    )
    .then_some(word)
}

/// A condition in a comparable form: the statement it contains, or its words.
pub(crate) fn condition(tokens: Tokens<'_, '_>, source: &str) -> Box<Condition> {
    let introduces = |kind: Option<Kind<'_>>| match kind {
        Some(Kind::Word(words) | Kind::Text(words)) => words.split_whitespace().all(|word| {
            matches!(
                word.trim_matches(',').to_lowercase().as_str(),
                "" | "at"
                    | "for"
                    | "all"
                    | "any"
                    | "every"
                    | "each"
                    | "where"
                    | "with"
                    | "when"
                    | "if"
            )
        }),
        Some(Kind::Command("forall")) => true,
        _ => false,
    };
    let mut rest = tokens;
    while introduces(rest.first()) {
        rest = rest.skip(1);
    }
    Box::new(match statement(rest) {
        Ok((left, stated)) if left.is_empty() => Condition::of(stated),
        _ => match listed(rest) {
            // `k = 0, ±1, ±2, …`, `x ≠ 1, x ≠ 2`
            Ok((left, items)) if left.is_empty() && (enumerates(&items) || relate(&items)) => {
                Condition::of(Expr::List(items))
            }
            _ => Condition::in_words(text::comparable(rest.text(source))),
        },
    })
}

/// Whether each item relates a name to something: `x > 0, x ≠ 1`.
fn relate(items: &[Expr]) -> bool {
    items.iter().all(|item| {
        matches!(item, Expr::Chain(sides, relations)
            if sides.iter().any(|side| matches!(side, Expr::Symbol(_)))
                && relations.iter().all(|relation| is_restriction(*relation)))
    })
}

/// Whether a relation restricts a variable.
pub(crate) fn is_restriction(relation: Relation) -> bool {
    relation.is_order() || matches!(relation, Relation::NotEqual | Relation::In)
}

/// Whether the items are the values of a name that runs through integers: `n = 1, 2, 3, …`, `k = 0,
/// ±1, ±2, …`, `k = 0, 1, 2`.
pub(crate) fn enumerates(items: &[Expr]) -> bool {
    let Some((Expr::Chain(sides, relations), rest)) = items.split_first() else {
        return false;
    };
    let ([Expr::Symbol(_), first], [Relation::Equal]) = (sides.as_slice(), relations.as_slice())
    else {
        return false;
    };
    let integer = |item: &Expr| match item {
        Expr::PlusMinus { term, .. } => term.as_number().and_then(Rational::to_i64),
        Expr::Number(value) => value.to_i64(),
        _ => None,
    };
    let (last, before) = match rest.split_last() {
        Some((Expr::Ellipsis, before)) => (None, before),
        Some((last, [before @ .., Expr::Ellipsis])) => (Some(last), before),
        _ => (None, rest),
    };
    let mut values = [first].into_iter().chain(before).map(integer);
    let Some(Some(start)) = values.next() else {
        return false;
    };
    !before.is_empty()
        && (start + 1..)
            .zip(values)
            .all(|(next, value)| value == Some(next))
        && !matches!(last, Some(Expr::Chain(..) | Expr::Text(_) | Expr::Word(_)))
}

/// The value and the condition of a piece that ends in a condition in brackets, as in `kπ (k ∈ ℤ)`.
pub(crate) fn bracketed_condition<'t, 'a>(
    piece: Tokens<'t, 'a>,
) -> Option<(Tokens<'t, 'a>, Tokens<'t, 'a>)> {
    let run = piece.run();
    if !matches!(run.last()?.kind, Kind::Close(_)) {
        return None;
    }
    let open = run
        .iter()
        .rposition(|token| matches!(token.kind, Kind::Open(_)))?;
    let inside = run.get(open + 1..run.len() - 1)?;
    // `P(X > 3)` is a probability.
    if let Some(Kind::Word(name) | Kind::Styled(name) | Kind::Command(name)) =
        run.get(open.checked_sub(1)?).map(|token| token.kind)
        && (is_probability(name) || name == "Pr")
        && !run.get(open)?.spaced
    {
        return None;
    }
    let states = |token: &super::token::Token<'_>| match token.kind {
        Kind::Relation(Relation::In | Relation::NotEqual) => true,
        Kind::Relation(relation) => relation.is_order(),
        _ => false,
    };
    let member = inside.iter().any(states);
    let closes = inside
        .iter()
        .any(|token| matches!(token.kind, Kind::Close(_) | Kind::Bar | Kind::Colon));
    let enumerated = matches!(
        (
            inside.get(1).map(|token| token.kind),
            inside.get(3).map(|token| token.kind)
        ),
        (Some(Kind::Relation(Relation::Equal)), Some(Kind::Comma))
    );
    let round = matches!(run.get(open)?.kind, Kind::Open(Shape::End(_)));
    (open > 0 && (member || enumerated) && !closes && round).then(|| {
        (
            nom::Input::take(&piece, open),
            nom::Input::take(&piece.skip(open + 1), inside.len()),
        )
    })
}

/// Whether a condition is followed by another value, as in `if n is even, 6 otherwise` and `with 6
/// left over`. Then the value before it is not the whole answer.
pub(crate) fn has_more_values(tokens: Tokens<'_, '_>, source: &str) -> bool {
    /// Longest condition that is searched, in bytes.
    const MAX_BYTES: usize = 2_000;
    const ELSE: &str = "otherwise else elsewhere remainder remaining leftover respectively";
    let raw = tokens.text(source);
    if raw.len() > MAX_BYTES {
        return true;
    }
    let mut plain = raw
        .to_lowercase()
        .replace("if and only if", "iff")
        .replace(['{', '}', '$', '~'], " ");
    for command in ["\\text", "\\textbf", "\\mathrm", "\\quad", "\\,"] {
        plain = plain.replace(command, " ");
    }
    let words: Vec<&str> = plain
        .split(|c: char| c.is_whitespace() || matches!(c, ',' | ';' | '.'))
        .filter(|word| !word.is_empty())
        .collect();
    let conditional = |word: &str| matches!(word, "if" | "when" | "for" | "where" | "given");
    let number = |word: &str| !word.is_empty() && word.bytes().all(|b| b.is_ascii_digit());
    let has_else = words
        .iter()
        .any(|word| ELSE.split(' ').any(|other| other == *word))
        || words.windows(2).any(|pair| pair == ["left", "over"])
        || plain.contains("否则");
    let counts = words.first() == Some(&"with")
        && words.iter().any(|word| number(word))
        && !plain.contains(['=', '<', '>', '≤', '≥', '≠', '\\', '∈']);
    let second_value = words.windows(3).any(|three| match three {
        [before, value, after] => {
            before.len() > 1
                && before.bytes().all(|b| b.is_ascii_alphabetic())
                && number(value)
                && conditional(after)
        }
        _ => false,
    });
    // `6 if n is odd` after the first condition
    let separated = plain
        .replace(" and ", ",")
        .replace(" but ", ",")
        .replace(" or ", ",");
    let another = separated.split([',', ';']).skip(1).any(|part| {
        let mut words = part.split_whitespace();
        let begins = part.trim_start();
        let mut front = begins.chars();
        let named = front.next().is_some_and(char::is_alphabetic)
            && front.as_str().trim_start().starts_with('=');
        let value = named
            || begins
                .starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '\\' | '.'));
        value && words.next().is_some() && words.any(conditional)
    });
    has_else || counts || second_value || another
}

#[cfg(test)]
mod tests {
    use super::super::read;
    use crate::tree::Expr;

    fn is_conditional(text: &str) -> bool {
        matches!(
            read(text).map(|reading| reading.expr),
            Some(Expr::Where(..))
        )
    }

    #[test]
    fn condition_extends_to_end() {
        for text in [
            "5 if n > 3",
            r"5\text{ for all n}",
            r"5\text{ if and only if n>3}",
            r"x = k\pi \text{ where } k \in \mathbb{Z}",
        ] {
            assert!(is_conditional(text), "{text}");
        }
    }

    #[test]
    fn rejects_condition_with_second_value() {
        for text in [
            r"5\text{ if n is even, 7 otherwise}",
            r"5\text{ when even, 7 when odd}",
            r"5\text{ for cats, 7 for dogs}",
            r"5\text{ given n=2, else 7}",
            r"5\text{ with 7 left over}",
            r"5\text{ with remainder 7}",
            r"x=5\text{ if a>0, x=7 if a<0}",
        ] {
            assert!(!is_conditional(text), "{text}");
        }
    }
}

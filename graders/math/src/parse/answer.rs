//! Parses a whole answer: one value, several values, statements joined by words, a choice, or
//! words.
//!
//! Splits the tokens at separators outside of all brackets and parses each piece once. A piece that
//! is not mathematics is read as words.

use super::bracket::closes_reversed;
use super::condition::{bracketed_condition, condition, condition_word, has_more_values};
use super::expression::statement;
use super::joined::joined;
use super::lead::{leading_words, without_lead};
use super::option_mark::choice;
use super::piecewise;
use super::prose::{begins_sentence, is_prose, words};
use super::quantity;
use super::text;
use super::token::{Kind, Shape, Token, Tokens};
use super::unit;
use crate::tree::{End, Expr, Relation};

/// How two pieces are joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Join {
    Comma,
    Semicolon,
    And,
    Or,
    /// `∧`
    Wedge,
    /// `∨`
    Vee,
}

impl Join {
    /// The word for a logical operator.
    pub(crate) fn as_word(self) -> Self {
        match self {
            Self::Wedge => Self::And,
            Self::Vee => Self::Or,
            other => other,
        }
    }
}

/// Most conditions before a statement, as in `\forall x > 0, \exists y, …`.
const MAX_QUANTIFIERS: usize = 4;

/// Reads a whole answer.
pub(crate) fn answer<'t, 'a>(tokens: Tokens<'t, 'a>, source: &'a str) -> Option<Expr> {
    quantified(tokens, source, MAX_QUANTIFIERS)
}

fn quantified<'t, 'a>(tokens: Tokens<'t, 'a>, source: &'a str, quantifiers: usize) -> Option<Expr> {
    let untrimmed = tokens;
    let tokens = trimmed(tokens);
    if tokens.is_empty() {
        return None;
    }
    if let Some(choice) = choice(tokens, source) {
        return Some(choice);
    }
    // A quotation mark at the end may mean inches or seconds.
    if let Some(whole) = quantity::whole(untrimmed, source) {
        return Some(whole);
    }
    let tokens = without_lead(tokens);
    if let Some(parts) = labelled_parts(tokens, source) {
        return Some(parts);
    }
    let (pieces, joins) = split(tokens);
    // `\forall n > 4, 2^n \ge n^2`: the condition is first.
    if pieces.len() > 1
        && let Some((first, rest)) = pieces.split_first()
        && first.first() == Some(Kind::Command("forall"))
    {
        let from = rest.first()?.run().first()?.start;
        let tail = tokens.run().iter().position(|token| token.start >= from)?;
        let inner = quantified(tokens.skip(tail), source, quantifiers.checked_sub(1)?)?;
        return Some(Expr::Where(Box::new(inner), condition(*first, source)));
    }
    if let Some(cases) = piecewise::in_sentence(&pieces, source) {
        return Some(cases);
    }
    let whole_as_words = || words(tokens, source);
    let mut items: Vec<Expr> = Vec::with_capacity(pieces.len());
    for (at, piece) in pieces.iter().enumerate() {
        let piece = trimmed(*piece);
        if piece.is_empty() {
            return whole_as_words();
        }
        if condition_word(piece).is_some()
            && let Some(last) = items.pop()
        {
            // A condition extends to the end, including commas.
            let from = piece.run().first()?.start;
            let tail = tokens.run().iter().position(|token| token.start >= from)?;
            if has_more_values(tokens.skip(tail), source) {
                return whole_as_words();
            }
            items.push(Expr::Where(
                Box::new(last),
                condition(tokens.skip(tail), source),
            ));
            return joined(items, joins.get(..at.saturating_sub(1)).unwrap_or_default());
        }
        match element(piece, source) {
            Some(item) => items.push(item),
            None => return whole_as_words(),
        }
    }
    joined(items, &joins)
}

/// `(a) 5 (b) 6`: the answers to the parts of a question, with their labels.
fn labelled_parts<'t, 'a>(tokens: Tokens<'t, 'a>, source: &'a str) -> Option<Expr> {
    const ORDERS: [[&str; 6]; 4] = [
        ["a", "b", "c", "d", "e", "f"],
        ["A", "B", "C", "D", "E", "F"],
        ["i", "ii", "iii", "iv", "v", "vi"],
        ["1", "2", "3", "4", "5", "6"],
    ];
    let label = |at: usize| match (tokens.kind(at)?, tokens.kind(at + 1)?, tokens.kind(at + 2)?) {
        (
            Kind::Open(Shape::End(End::Round)),
            Kind::Word(name)
            | Kind::Styled(name)
            | Kind::Number {
                text: name,
                point: None,
            },
            Kind::Close(Shape::End(End::Round)),
        ) => Some(name),
        _ => None,
    };
    let first = label(0)?;
    let order = ORDERS.iter().find(|order| order.first() == Some(&first))?;
    let mut starts = vec![0];
    for at in 3..tokens.run().len() {
        if order
            .get(starts.len())
            .is_some_and(|next| label(at) == Some(next))
            && tokens.skip(at).spaced()
        {
            starts.push(at);
        }
    }
    if starts.len() < 2 {
        return None;
    }
    let ends = starts.iter().skip(1).copied().chain([tokens.run().len()]);
    let parts = starts
        .iter()
        .zip(ends)
        .zip(order)
        .map(|((start, end), name)| {
            let piece = trimmed(nom::Input::take(
                &tokens.skip(start + 3),
                end.checked_sub(start + 3)?,
            ));
            let value = element(piece, source)?;
            Some(Expr::Chain(
                vec![Expr::symbol(&format!("({name})")), value],
                vec![Relation::Equal],
            ))
        });
    Some(Expr::List(parts.collect::<Option<_>>()?))
}

/// The tokens without separators, full stops and layout at either end.
pub(crate) fn trimmed<'t, 'a>(tokens: Tokens<'t, 'a>) -> Tokens<'t, 'a> {
    // A question mark stays: `7?` asks and is no answer.
    let noise = |kind: Option<Kind<'_>>| {
        matches!(
            kind,
            Some(
                Kind::Stray('.' | '"' | '\u{201d}' | '\u{201c}' | '，' | '#')
                    | Kind::Comma
                    | Kind::Semicolon
                    | Kind::Newline
                    | Kind::Command("therefore" | "because")
            )
        )
    };
    let mut rest = tokens;
    while noise(rest.first()) {
        rest = rest.skip(1);
    }
    let mut len = rest.run().len();
    while len > 0 && (noise(rest.kind(len - 1)) || rest.kind(len - 1) == Some(Kind::Colon)) {
        len -= 1;
    }
    nom::Input::take(&rest, len)
}

pub(crate) fn connective(token: &Token<'_>) -> Option<Join> {
    let word = match token.kind {
        Kind::Comma => return Some(Join::Comma),
        Kind::Semicolon | Kind::Newline => return Some(Join::Semicolon),
        Kind::Command("and") => return Some(Join::Wedge),
        Kind::Command("or") => return Some(Join::Vee),
        Kind::Word(word) | Kind::Text(word) => word,
        _ => return None,
    };
    let word = word.trim_matches(|c: char| !c.is_alphanumeric());
    if word.len() > 6 {
        return None;
    }
    let is_one_of = |words: &[&str]| words.iter().any(|own| word.eq_ignore_ascii_case(own));
    if is_one_of(&["and", "et", "und", "и", "和", "与", "及"]) {
        Some(Join::And)
    } else if is_one_of(&["or", "oder", "ou", "или", "或", "或者"]) {
        Some(Join::Or)
    } else {
        None
    }
}

/// The pieces between separators outside of all brackets, and these separators.
pub(super) fn split<'t, 'a>(tokens: Tokens<'t, 'a>) -> (Vec<Tokens<'t, 'a>>, Vec<Join>) {
    let mut pieces = Vec::new();
    let mut joins: Vec<Join> = Vec::new();
    let mut depth = 0usize;
    let mut start = 0;
    let run = tokens.run();
    let mut at = 0;
    while let Some(token) = run.get(at) {
        match token.kind {
            // `]a; b[`
            Kind::Close(Shape::End(End::Square)) if depth == 0 => depth = 1,
            Kind::Open(Shape::End(End::Square))
                if depth > 0 && closes_reversed(tokens.skip(at)) =>
            {
                depth -= 1;
            }
            Kind::Open(_) | Kind::Command("begin") => depth += 1,
            Kind::Close(_) | Kind::Command("end") => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > 0 {
            at += 1;
            continue;
        }
        // A line that begins with a relation continues the previous one.
        let goes_on = token.kind == Kind::Newline
            && at > start
            && matches!(
                run.get(at + 1).map(|token| token.kind),
                Some(Kind::Relation(_))
            );
        let Some(mut join) = connective(token).filter(|_| !goes_on) else {
            at += 1;
            continue;
        };
        let piece = nom::Input::take(&tokens.skip(start), at - start);
        at += 1;
        // `1, and 2` has one separator.
        while let Some(more) = run.get(at).and_then(connective) {
            if !matches!(more, Join::Comma | Join::Semicolon) {
                join = more;
            }
            at += 1;
        }
        start = at;
        pieces.push(piece);
        joins.push(join);
    }
    pieces.push(tokens.skip(start));
    (pieces, joins)
}

/// Parses one piece: a statement and what follows it, or words.
fn element<'t, 'a>(piece: Tokens<'t, 'a>, source: &'a str) -> Option<Expr> {
    if let Some(value) = quantity::piece(piece, source) {
        return Some(value);
    }
    if is_prose(piece) || begins_sentence(piece) {
        return words(piece, source);
    }
    if let Some((value, inside)) = bracketed_condition(piece) {
        // Only one condition in brackets, not several.
        if bracketed_condition(value).is_some() {
            return None;
        }
        let value = element(value, source)?;
        return Some(Expr::Where(Box::new(value), condition(inside, source)));
    }
    // `= 7` and `\approx 7` continue the question.
    let piece = match piece.first() {
        Some(Kind::Relation(Relation::Equal | Relation::Approx)) => piece.skip(1),
        _ => piece,
    };
    // `\forall x > 0, …` and `\text{only } x = 0`
    let (start, lead) = leading_words(piece);
    let value = match statement(start) {
        Ok((rest, value)) if rest.is_empty() => value,
        // `A. B.` are two letters, not A with a unit.
        Ok((rest, Expr::Symbol(_)))
            if rest.first() == Some(Kind::Stray('.')) && rest.kind(1).is_some() =>
        {
            return None;
        }
        Ok((rest, value)) => followed(value, trimmed(rest), source)?,
        Err(_) => return None,
    };
    let value = labelled(value);
    if lead.is_some() && !matches!(value, Expr::Chain(..)) {
        return None;
    }
    Some(value)
}

/// `Width: 9` is read as `Width = 9`.
fn labelled(value: Expr) -> Expr {
    match value {
        Expr::Ratio(parts) => match <[Expr; 2]>::try_from(parts) {
            Ok([Expr::Symbol(name), value]) if name.len() > 3 && !name.contains('{') => {
                Expr::Chain(vec![Expr::Symbol(name), value], vec![Relation::Equal])
            }
            Ok(parts) => Expr::Ratio(parts.into()),
            Err(parts) => Expr::Ratio(parts),
        },
        other => other,
    }
}

/// Whether words after a value only say how exact it is, as a `≈` before it does.
fn only_qualifies(rest: Tokens<'_, '_>, source: &str) -> bool {
    const WORDS: &[&str] = &["approximately", "approx", "exactly", "exact", "rounded"];
    rest.run().len() <= 4 && WORDS.contains(&text::comparable(rest.text(source)).as_str())
}

/// A value with a unit, a condition or a remark in brackets after it.
fn followed<'t, 'a>(value: Expr, rest: Tokens<'t, 'a>, source: &'a str) -> Option<Expr> {
    if rest.is_empty() || only_qualifies(rest, source) {
        return Some(value);
    }
    if condition_word(rest).is_some() {
        if has_more_values(rest, source) {
            return None;
        }
        return Some(Expr::Where(Box::new(value), condition(rest, source)));
    }
    let is_remark = |token: &Token<'_>| {
        matches!(
            token.kind,
            Kind::Word(_)
                | Kind::Text(_)
                | Kind::Styled(_)
                | Kind::Caret
                | Kind::Number { .. }
                | Kind::Slash
                | Kind::Times
                | Kind::Minus
                | Kind::Stray('.')
                | Kind::Prime
                | Kind::Currency(_)
                | Kind::Degree
                | Kind::Open(_)
                | Kind::Close(_)
                | Kind::Command("circ" | "mu")
        )
    };
    let begins = matches!(
        rest.first(),
        Some(Kind::Word(_) | Kind::Text(_) | Kind::Currency(_) | Kind::Degree | Kind::Styled(_))
    );
    if !begins || !rest.run().iter().all(is_remark) || rest.run().len() > 60 {
        return None;
    }
    let unit = rest.text(source).trim();
    // Words after a formula are a unit only if the unit is known.
    let numeric =
        |value: &Expr| !value.any(&|part| matches!(part, Expr::Symbol(_) | Expr::Apply(..)));
    let last_is_numeric = match &value {
        Expr::Chain(sides, _) => sides.last().is_some_and(numeric),
        other => numeric(other),
    };
    if unit::is_unit(unit) || last_is_numeric {
        return quantity::with_unit(&value, unit).or_else(|| {
            if last_is_numeric {
                quantity::with_words(value, unit)
            } else {
                None
            }
        });
    }
    None
}

#[cfg(test)]
mod tests {
    use super::super::read;

    fn rendered(text: &str) -> String {
        read(text).map_or_else(|| "nothing".to_owned(), |reading| reading.expr.to_string())
    }

    #[test]
    fn reads_numbers() {
        assert_eq!(rendered("1,234.50"), "2469/2");
        assert_eq!(rendered(r"11,\! 111,\! 100"), "11111100");
        assert_eq!(rendered("1 1/2"), "(1 + 1/2)");
        assert_eq!(rendered(r"0.1\overline{6}"), "1/6");
        assert_eq!(rendered("0.333..."), "1/3");
        assert_eq!(rendered(r"0.\dot{1}4285\dot{7}"), "1/7");
        assert_eq!(rendered("7 7 7"), "nothing");
        assert_eq!(rendered("1e999999999"), "1e999999999");
    }

    #[test]
    fn reads_fractions() {
        assert_eq!(rendered(r"\frac12"), "(1*2^-1)");
        assert_eq!(rendered(r"\frac1{72}"), "(1*72^-1)");
        assert_eq!(rendered(r"\dfrac{\sqrt3}{2}"), "(3^(2^-1)*2^-1)");
    }

    #[test]
    fn reads_letter_x_between_factors_as_a_variable() {
        assert_eq!(rendered("k x y^2"), "(k*x*y^2)");
    }

    #[test]
    fn reads_lists_and_brackets() {
        assert_eq!(rendered("(1, 2]"), "(1, 2]");
        assert_eq!(rendered("3, 4 and 5"), "3, 4, 5");
        assert_eq!(rendered(r"\{x | x < 3\}"), "{x | x Less 3}");
        assert_eq!(rendered(r"\begin{pmatrix}1\\2\end{pmatrix}"), "[1; 2]");
    }

    #[test]
    fn reads_words_and_choices() {
        assert_eq!(rendered(r"\text{Monday}"), "\"Monday\"");
        assert_eq!(rendered("(D) Berta"), "(D) berta");
        assert_eq!(rendered("08:34 P.M."), "20:34:00");
        assert_eq!(rendered("5 cm"), "5 cm");
    }
}

//! Numbers with units, currencies, percentages or multiplying words, and quantities in two units,
//! as `5 feet 6 inches`. Plain numbers are read from the printed text, formulas from the tokens.

mod money;
mod parts;

use super::expression::statement;
use super::number_words::{self, Multiplier};
use super::printed::{MAX_BYTES, printed};
use super::token::{Kind, Shape, Token, Tokens};
use super::unit::counted::{describes, is_classifier};
use super::{date, names, unit};
use crate::tree::Expr;
use money::money;
use parts::{compound, literal, number_end, segments};

/// Most tokens of a unit.
const MAX_UNIT_TOKENS: usize = 40;

/// Most multiplying words after one number: `5 hundred thousand`.
const MAX_MULTIPLIERS: usize = 3;

/// A whole answer that is a date, a time, a number in words or a quantity, including its commas.
pub(crate) fn whole(tokens: Tokens<'_, '_>, source: &str) -> Option<Expr> {
    let text = plain(tokens.text(source))?;
    date::time(&text)
        .or_else(|| date::date(&text))
        .or_else(|| plain_quantity(&text, tokens, source))
}

/// One piece of an answer as a quantity.
pub(crate) fn piece(tokens: Tokens<'_, '_>, source: &str) -> Option<Expr> {
    if let Some(text) = plain(tokens.text(source))
        && let Some(found) = date::half_day(&text).or_else(|| plain_quantity(&text, tokens, source))
    {
        return Some(found);
    }
    after_formula(tokens, source)
}

/// The printed text, if it may contain words or signs next to a number; `None` for plain formulas
/// and numbers.
fn plain(source: &str) -> Option<String> {
    let formula = |byte: u8| {
        matches!(
            byte,
            b'=' | b'<' | b'>' | b'|' | b'[' | b']' | b'_' | b'&' | b'!' | b'?'
        )
    };
    let number = |byte: u8| byte.is_ascii_digit() || matches!(byte, b' ' | b',');
    if source.len() > MAX_BYTES || source.bytes().any(formula) {
        return None;
    }
    // A date in digits has two separators.
    let others = source
        .bytes()
        .filter(|byte| !number(*byte))
        .take(3)
        .collect::<Vec<_>>();
    let is_number = matches!(others.as_slice(), [] | [b'.' | b'-'] | [b'-', b'.']);
    if is_number { None } else { printed(source) }
}

/// The second reading of a text without markup: `5 m` is five metres as well as five times m, and
/// `2nm` is a product of three factors as well as a length.
pub(crate) fn second_reading(tokens: Tokens<'_, '_>, source: &str) -> Option<Expr> {
    let source = tokens.text(source);
    if !source.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let text = plain(source)?;
    let end = number_end(&text);
    let (number, name) = text.split_at_checked(end).filter(|_| end > 0)?;
    let value = literal(number)?;
    let unit = name.trim();
    let letters = (2..=3).contains(&unit.len()) && unit.bytes().all(|b| b.is_ascii_lowercase());
    if letters && !is_marked(source) && unit::units(unit).is_some() {
        return Some(Expr::Product(vec![value, super::letters(unit)]));
    }
    let blank = number.ends_with(' ')
        || name.starts_with(' ')
        || !name.starts_with(|c: char| c.is_ascii_alphabetic());
    (blank && unit::units(unit).is_some()).then(|| quantity(value, unit))
}

/// The second reading of the last side of an equation: `v^2 = 2hg`.
pub(crate) fn second_reading_of_side(
    expr: &Expr,
    tokens: Tokens<'_, '_>,
    source: &str,
) -> Option<Expr> {
    let Expr::Chain(sides, relations) = expr else {
        return None;
    };
    let is_relation = |token: &Token<'_>| matches!(token.kind, Kind::Relation(_));
    let last = tokens.run().iter().rposition(is_relation)?;
    let side = second_reading(tokens.skip(last + 1), source)?;
    let mut sides = sides.clone();
    *sides.last_mut()? = side;
    Some(Expr::Chain(sides, relations.clone()))
}

/// A value with a unit or a multiplying word after it.
pub(crate) fn with_unit(value: &Expr, text: &str) -> Option<Expr> {
    match value {
        Expr::Chain(sides, relations) => {
            let (last, first) = sides.split_last()?;
            let mut sides = first.to_vec();
            sides.push(with_unit(last, text)?);
            Some(Expr::Chain(sides, relations.clone()))
        }
        value => {
            let name = printed(text)?;
            marked_quantity(value, name.trim(), text)
                .or_else(|| suffixed(value.clone(), &name, true))
        }
    }
}

/// A value with words after it for what is counted.
pub(crate) fn with_words(value: Expr, text: &str) -> Option<Expr> {
    match value {
        Expr::Chain(mut sides, relations) => {
            let last = sides.pop()?;
            sides.push(with_words(last, text)?);
            Some(Expr::Chain(sides, relations))
        }
        value if is_classifier(text.trim()) => Some(value),
        value => describes(text).then(|| Expr::Quantity(Box::new(value), text.into())),
    }
}

/// A value with the unit of a text that commands mark as upright. Its symbols need no blanks
/// between them.
fn marked_quantity(value: &Expr, name: &str, source: &str) -> Option<Expr> {
    (is_marked(source) && unit::units(name).is_none() && unit::is_unit(name))
        .then(|| quantity(value.clone(), name))
}

fn quantity(value: Expr, unit: &str) -> Expr {
    let degrees = || unit::units("°");
    let name = if unit::units(unit) == degrees() {
        "°"
    } else {
        unit
    };
    Expr::Quantity(Box::new(value), name.into())
}

/// A value with a printed text after it; `counted` allows words for what is counted after a
/// multiplier.
fn suffixed(value: Expr, text: &str, counted: bool) -> Option<Expr> {
    let mut value = value;
    let mut rest = text.trim();
    for _ in 0..=MAX_MULTIPLIERS {
        if let Some((Multiplier::Percent, "" | "." | "的")) = number_words::percentage(rest) {
            return Some(Expr::Percent(Box::new(value)));
        }
        if number_words::percentage(rest).is_none() && unit::units(rest).is_some() {
            return Some(quantity(value, rest));
        }
        let Some((Multiplier::Times(factor), after)) = number_words::multiplier(rest) else {
            break;
        };
        value = match value {
            Expr::Number(number) => Expr::Number(number.mul(&factor)?),
            other => Expr::Product(vec![other, Expr::Number(factor)]),
        };
        rest = after.trim();
        if rest.is_empty() || rest == "." {
            return Some(value);
        }
        if is_classifier(rest) {
            return Some(value);
        }
        if counted && unit::units(rest).is_none() && describes(rest) {
            return Some(Expr::Quantity(Box::new(value), rest.into()));
        }
    }
    None
}

/// Whether commands mark letters as upright, so that they are not variables.
fn is_marked(source: &str) -> bool {
    source.contains('\\')
        && [
            "\\text",
            "\\mathrm",
            "\\rm",
            "\\mbox",
            "\\operatorname",
            "\\mathsf",
        ]
        .iter()
        .any(|mark| source.contains(mark))
}

/// Whether a text can only be a unit: it is marked as text, or contains more than letters that may
/// be variables.
fn is_definite(unit: &str, source: &str) -> bool {
    let letters = |c: char| c.is_ascii_alphabetic();
    is_marked(source)
        || unit.contains(|c: char| !c.is_ascii() && !matches!(c, 'μ' | 'Ω' | '·'))
        || unit.contains(['$', '%', '\'', '"'])
        || unit.split(|c| !letters(c)).any(|word| word.len() > 1)
}

/// A quantity whose number is plain: digits or words.
fn plain_quantity(text: &str, tokens: Tokens<'_, '_>, source: &str) -> Option<Expr> {
    let text = text.trim();
    // `5分之一` begins with a digit as well.
    if text.is_ascii() && text.starts_with(|c: char| c.is_ascii_digit()) {
        return in_digits(text, tokens, source);
    }
    for (sign, blank) in [
        ("minus", true),
        ("negative", true),
        ("moins", true),
        ("menos", true),
        ("-", false),
        ("−", false),
    ] {
        if let Some(rest) = strip_word(text, sign)
            && (!blank || rest.starts_with(' '))
        {
            let rest = rest.trim_start();
            if blank && let Some(value) = literal(rest) {
                return Some(-value);
            }
            return match unsigned(rest, tokens, source)? {
                Expr::Quantity(value, unit) => Some(Expr::Quantity(Box::new(-*value), unit)),
                Expr::Percent(value) => Some(Expr::Percent(Box::new(-*value))),
                value => Some(-value),
            };
        }
    }
    unsigned(text, tokens, source)
}

fn strip_word<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    let head = text.get(..word.len())?;
    if head.eq_ignore_ascii_case(word) {
        text.get(word.len()..)
    } else {
        None
    }
}

fn unsigned(text: &str, tokens: Tokens<'_, '_>, source: &str) -> Option<Expr> {
    if let Some(money) = money(text) {
        return Some(money);
    }
    if (!text.is_ascii() || text.starts_with(|c: char| c.is_ascii_alphabetic()))
        && let Some((value, rest)) = number_words::leading(text)
    {
        let rest = rest.trim_end_matches('.').trim_end();
        let rest = ["of an ", "of a ", "an ", "a "]
            .iter()
            .find_map(|article| rest.strip_prefix(article))
            .unwrap_or(rest);
        if rest.is_empty() {
            return Some(value);
        }
        if is_classifier(rest) {
            return Some(value);
        }
        return suffixed(value, rest, false)
            .filter(|_| rest.chars().count() > 1 || !rest.is_ascii());
    }
    in_digits(text, tokens, source)
}

/// Digits with the text after them.
fn in_digits(text: &str, tokens: Tokens<'_, '_>, source: &str) -> Option<Expr> {
    let parts = segments(text)?;
    if let [(number, unit)] = parts.as_slice() {
        if unit.is_empty() || !is_definite(unit, tokens.text(source)) {
            return None;
        }
        let (value, unit) = (literal(number)?, unit.trim_end_matches('.'));
        return marked_quantity(&value, unit, tokens.text(source))
            .or_else(|| suffixed(value, unit, false));
    }
    compound(&parts)
}

/// A formula without variables with a unit after it: `3\sqrt2\text{ m}`, `8.31\frac{J}{mol\cdot
/// K}`.
fn after_formula(tokens: Tokens<'_, '_>, source: &str) -> Option<Expr> {
    let run = tokens.run();
    let end = run.last()?.end;
    // The unit belongs to the side after the last relation.
    let sides = run
        .iter()
        .rposition(|token| matches!(token.kind, Kind::Relation(_)))
        .map_or(1, |at| at + 2);
    for at in run.len().saturating_sub(MAX_UNIT_TOKENS).max(sides)..run.len() {
        let (before, token) = (run.get(at - 1)?, run.get(at)?);
        // A unit does not follow a variable or a word that is not a value.
        if let Kind::Word(name) | Kind::Styled(name) = before.kind
            && (name.len() == 1 && !matches!(name, "e" | "i") || is_only_word(name))
        {
            return None;
        }
        let raised = |at: usize| tokens.kind(at) == Some(Kind::Command("circ"));
        let begins = match token.kind {
            Kind::Word(_) | Kind::Text(_) | Kind::Styled(_) | Kind::Currency(_) | Kind::Degree => {
                true
            }
            Kind::Caret => raised(at + 1) || raised(at + 2),
            // Style commands have no token.
            Kind::Open(Shape::Group) => source.get(before.end..token.start)?.contains('\\'),
            Kind::Stray(c) => matches!(c, '‰' | '¢' | '₹' | '₩'),
            Kind::Command(name) => matches!(name, "mu" | "Omega" | "frac" | "min" | "deg" | "sec"),
            _ => false,
        };
        if !begins {
            continue;
        }
        let Some(text) = source.get(before.end..end).and_then(printed) else {
            continue;
        };
        let unit = text.trim();
        let written = source.get(before.end..end)?;
        // Degrees alone may belong to the argument of a function.
        if unit == "°" || !is_definite(unit, written) || !starts_unit(unit) {
            continue;
        }
        let known = unit::units(unit).is_some()
            || number_words::multiplier(unit).is_some()
            || is_marked(written) && unit::is_unit(unit);
        if !known {
            continue;
        }
        let (rest, value) = statement(nom::Input::take(&tokens, at)).ok()?;
        let last = match &value {
            Expr::Chain(sides, _) => sides.last()?,
            other => other,
        };
        let numeric = !last.any(&|part| {
            matches!(
                part,
                Expr::Symbol(_)
                    | Expr::Apply(..)
                    | Expr::Text(_)
                    | Expr::Quantity(..)
                    | Expr::Word(_)
            )
        });
        if !rest.is_empty() || !numeric {
            return None;
        }
        return with_unit(&value, written);
    }
    None
}

/// Whether letters outside of commands neither are a value nor begin one.
fn is_only_word(word: &str) -> bool {
    word.len() > 3
        && names::function_name(word).is_none()
        && names::value(word).is_none()
        && !matches!(
            word,
            "sqrt"
                | "cbrt"
                | "infinity"
                | "Infinity"
                | "infty"
                | "binom"
                | "binomial"
                | "factorial"
        )
}

/// Whether a printed text may begin a unit: with a letter, a currency or degree sign, or a fraction
/// of units.
fn starts_unit(text: &str) -> bool {
    text.starts_with(|c: char| c.is_alphabetic() || "°$€£¥¢₹₩%‰(/".contains(c))
}

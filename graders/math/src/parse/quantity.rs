//! Numbers that something stands after or before: units, currencies, percentages, multiplying words, and the quantities written in
//! two units, as `5 feet 6 inches`. Works on what a text prints where the number is plain, and on tokens where it is a formula.

use std::cell::Cell;

use super::date;
use super::expression::statement;
use super::lexer::{self, Commas};
use super::number_words::{self, Multiplier};
use super::printed::printed;
use super::token::{Kind, MAX_STACKED, Shape, Tokens};
use super::unit::{self, Unit};
use super::unit::counted::{describes, is_classifier};
use crate::number::Rational;
use crate::tree::Expr;

/// Most tokens of a unit.
const MAX_UNIT_TOKENS: usize = 40;

/// Most multiplying words after one number: `5 hundred thousand`.
const MAX_MULTIPLIERS: usize = 3;

/// An answer that is a date, a time, a number in words or a quantity as a whole, commas and all.
pub(crate) fn whole(tokens: Tokens<'_, '_>, source: &str) -> Option<Expr> {
    let text = printed(tokens.text(source))?;
    date::time(&text).or_else(|| date::date(&text)).or_else(|| spelled(&text, tokens, source))
}

/// One piece of an answer as a quantity.
pub(crate) fn piece(tokens: Tokens<'_, '_>, source: &str) -> Option<Expr> {
    if let Some(text) = printed(tokens.text(source))
        && let Some(found) = date::half_day(&text).or_else(|| spelled(&text, tokens, source))
    {
        return Some(found);
    }
    after_formula(tokens, source)
}

/// What a text without markup may say besides its first reading: `5 m` is five metres as well as five times m, and `2nm` the
/// product of three as well as a length.
pub(crate) fn second_reading(tokens: Tokens<'_, '_>, source: &str) -> Option<Expr> {
    let source = tokens.text(source);
    let text = printed(source)?;
    let end = number_end(&text);
    let (number, name) = text.split_at_checked(end).filter(|_| end > 0)?;
    let value = literal(number)?;
    let unit = name.trim();
    let mut letters = unit.chars();
    if let (Some(a @ 'a'..='z'), Some(b @ 'a'..='z'), None) = (letters.next(), letters.next(), letters.next())
        && !is_marked(source)
        && unit::units(unit).is_some()
    {
        return Some(Expr::Product(vec![value, super::letters(&a.to_string()), super::letters(&b.to_string())]));
    }
    let blank = number.ends_with(' ') || name.starts_with(' ') || !name.starts_with(|c: char| c.is_ascii_alphabetic());
    (blank && unit::units(unit).is_some()).then(|| quantity(value, unit))
}

/// A value with a text after it that is a unit or multiplies it.
pub(crate) fn with_unit(value: &Expr, text: &str) -> Option<Expr> {
    match value {
        Expr::Chain(sides, relations) => {
            let (last, first) = sides.split_last()?;
            let mut sides = first.to_vec();
            sides.push(with_unit(last, text)?);
            Some(Expr::Chain(sides, relations.clone()))
        }
        value => suffixed(value.clone(), &printed(text)?, true),
    }
}

/// A value with words after it that say what is counted.
pub(crate) fn with_words(value: Expr, text: &str) -> Option<Expr> {
    match value {
        Expr::Chain(mut sides, relations) => {
            let last = sides.pop()?;
            sides.push(with_words(last, text)?);
            Some(Expr::Chain(sides, relations))
        }
        value => describes(text).then(|| Expr::Quantity(Box::new(value), text.into())),
    }
}

fn quantity(value: Expr, unit: &str) -> Expr {
    let degrees = || unit::units("°");
    let name = if unit::units(unit) == degrees() { "°" } else { unit };
    Expr::Quantity(Box::new(value), name.into())
}

/// A value with a printed text after it; `counted` allows words after a multiplier.
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
        if is_classifier(rest) || counted && unit::units(rest).is_none() && describes(rest) {
            return Some(Expr::Quantity(Box::new(value), rest.into()));
        }
    }
    None
}

/// Whether commands say that letters are upright, and so no variables.
fn is_marked(source: &str) -> bool {
    source.contains('\\')
        && ["\\text", "\\mathrm", "\\rm", "\\mbox", "\\operatorname", "\\mathsf"].iter().any(|mark| source.contains(mark))
}

/// Whether a unit can be nothing else: it is marked as words, or more than letters that may be variables.
fn is_definite(unit: &str, source: &str) -> bool {
    let letters = |c: char| c.is_ascii_alphabetic();
    is_marked(source)
        || unit.contains(|c: char| !c.is_ascii() && !matches!(c, 'μ' | 'Ω' | '·'))
        || unit.contains(['$', '%', '\'', '"'])
        || unit.split(|c| !letters(c)).any(|word| word.len() > 1)
}

/// A quantity whose number is plain: digits or words.
fn spelled(text: &str, tokens: Tokens<'_, '_>, source: &str) -> Option<Expr> {
    let text = text.trim();
    for (sign, blank) in [("minus", true), ("negative", true), ("moins", true), ("menos", true), ("-", false), ("−", false)] {
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
    if head.eq_ignore_ascii_case(word) { text.get(word.len()..) } else { None }
}

fn unsigned(text: &str, tokens: Tokens<'_, '_>, source: &str) -> Option<Expr> {
    if let Some(money) = money(text) {
        return Some(money);
    }
    if let Some((value, rest)) = number_words::leading(text) {
        let rest = rest.trim_end_matches('.').trim_end();
        let rest = ["of an ", "of a ", "an ", "a "].iter().find_map(|article| rest.strip_prefix(article)).unwrap_or(rest);
        if rest.is_empty() {
            return Some(value);
        }
        let known = is_classifier(rest).then(|| Expr::Quantity(Box::new(value.clone()), rest.into()));
        return known.or_else(|| suffixed(value, rest, false).filter(|_| rest.chars().count() > 1 || !rest.is_ascii()));
    }
    let parts = segments(text)?;
    if let [(number, unit)] = parts.as_slice() {
        let marked = tokens.text(source);
        let value = literal(number)?;
        if !is_definite(unit, marked) {
            return None;
        }
        return suffixed(value, unit.trim_end_matches('.'), false);
    }
    compound(&parts)
}

/// Currencies that stand before their amount, longest first.
const CURRENCIES: &[&str] = &[
    "US$", "CN¥", "USD", "EUR", "GBP", "JPY", "RMB", "CNY", "INR", "Rs.", "Rs", "CHF", "KRW", "RUB", "$", "€", "£", "¥", "₹", "₩",
    "₽", "฿",
];

/// `$5`, `US$5`, `USD 5`, `$2.5 million`, `$5 per hour`.
fn money(text: &str) -> Option<Expr> {
    let (currency, rest) = CURRENCIES.iter().find_map(|name| text.strip_prefix(name).map(|rest| (*name, rest)))?;
    let rest = rest.trim_start();
    let (negative, rest) = match rest.strip_prefix('-') {
        Some(rest) => (true, rest.trim_start()),
        None => (false, rest),
    };
    let end = number_end(rest);
    let (number, after) = rest.split_at_checked(end)?;
    let mut value = literal(number)?;
    if negative {
        value = -value;
    }
    let after = after.trim();
    let currency = currency.trim_end_matches('.');
    let named = |value: Expr| Expr::Quantity(Box::new(value), currency.into());
    // `$5 USD`, `$5 dollars`
    if after.is_empty() || after == "." || unit::units(after).is_some() && unit::units(after) == unit::units(currency) {
        return Some(named(value));
    }
    if after.starts_with("per ") || after.starts_with('/') {
        let unit = format!("{currency} {after}");
        return unit::units(&unit).map(|_| Expr::Quantity(Box::new(value), unit.into()));
    }
    let thousands = match after {
        "k" | "K" => 1_000,
        "M" | "m" | "mm" | "MM" => 1_000_000,
        "B" | "b" => 1_000_000_000,
        _ => 0,
    };
    if thousands > 0 {
        return Some(named(Expr::Number(value.as_number()?.mul(&Rational::small(thousands))?)));
    }
    match suffixed(value, after, false)? {
        value @ Expr::Number(_) => Some(named(value)),
        Expr::Quantity(value, unit) if unit::units(&unit) == unit::units(currency) => Some(named(*value)),
        _ => None,
    }
}

/// Where the number at the beginning of a text ends.
fn number_end(text: &str) -> usize {
    let in_number = |c: char| c.is_ascii_digit() || "½⅓⅔¼¾⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞".contains(c);
    let mut end = 0;
    let mut last = ' ';
    for (at, c) in text.char_indices() {
        if in_number(c) {
            end = at + c.len_utf8();
        } else if !(matches!(c, '.' | ',' | '/') && last.is_ascii_digit() || c == ' ' && in_number(last)) {
            break;
        }
        last = c;
    }
    end
}

/// A number in digits.
fn literal(text: &str) -> Option<Expr> {
    let lexed = lexer::lex(text, Commas::Thousands);
    let stacked = Cell::new(MAX_STACKED);
    let (rest, value) = statement(Tokens::new(&lexed.tokens, &stacked)).ok()?;
    let plain = |part: &Expr| matches!(part, Expr::Number(_) | Expr::Product(_) | Expr::Sum(_) | Expr::Power(_));
    (rest.is_empty() && plain(&value) && !value.any(&|part| !plain(part))).then(|| exact(value))
}

/// A mixed number or a quotient of literals as one number.
fn exact(value: Expr) -> Expr {
    let number = |expr: &Expr| -> Option<Rational> {
        match expr {
            Expr::Number(value) => Some(value.clone()),
            Expr::Product(items) => match items.as_slice() {
                [Expr::Number(a), Expr::Power(pair)] if pair.1.is_int(-1) => a.div(pair.0.as_number()?),
                _ => None,
            },
            _ => None,
        }
    };
    let sum = match &value {
        Expr::Sum(items) => items.iter().try_fold(Rational::small(0), |sum, item| sum.add(&number(item)?)),
        other => number(other),
    };
    sum.map_or(value, Expr::Number)
}

/// Numbers and what stands after each: `5 ft 6 in` has two.
fn segments(text: &str) -> Option<Vec<(&str, &str)>> {
    const MOST: usize = 4;
    let mut parts = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let end = number_end(rest);
        if end == 0 || parts.len() == MOST {
            return None;
        }
        let (number, after) = rest.split_at_checked(end)?;
        let end = next_number(after);
        let (unit, next) = after.split_at_checked(end)?;
        parts.push((number.trim(), unit.trim()));
        rest = next.trim_start();
    }
    // What joins two parts belongs to neither.
    let last = parts.len().checked_sub(1)?;
    for (_, unit) in parts.iter_mut().take(last) {
        for join in [",", " and", " et", " und", " y", "和", "又", "零"] {
            if let Some(stem) = unit.strip_suffix(join) {
                *unit = stem.trim_end().trim_end_matches(',');
            }
        }
        *unit = unit.trim_end_matches('.');
    }
    Some(parts)
}

/// Where a number begins that is no power of a unit.
fn next_number(text: &str) -> usize {
    let mut before = (' ', ' ');
    for (at, c) in text.char_indices() {
        if c.is_ascii_digit() || "½⅓⅔¼¾".contains(c) {
            let power = before.0 == '^' || before.0 == '-' && before.1 == '^';
            let after = text.get(at + 1..).unwrap_or_default();
            let attached = before.0.is_ascii_alphabetic() && matches!(c, '2' | '3') && !after.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '.' || c == ' ');
            if !power && !attached {
                return at;
            }
        }
        before = (c, before.0);
    }
    text.len()
}

/// `2 hours 30 minutes`, `5'6"`, `30°15'30"`: parts in ever smaller units of one kind, as one quantity in the first.
fn compound(parts: &[(&str, &str)]) -> Option<Expr> {
    let (first, rest) = parts.split_first()?;
    let number = |text: &str| literal(text)?.as_number().cloned();
    let mut sum = number(first.0)?;
    let marks = |rest: &[(&str, &str)], minutes: &[&str], seconds: &[&str]| {
        rest.iter().zip([minutes, seconds]).all(|((_, own), names)| names.contains(own)) && rest.len() <= 2
    };
    let mut last = None;
    if first.1 == "'" {
        if !marks(rest, &["\"", ""], &[]) || rest.len() != 1 {
            return None;
        }
        sum = sum.add(&number(rest.first()?.0)?.div(&Rational::small(12))?)?;
        return Some(quantity(Expr::Number(sum), "ft"));
    }
    let degrees = unit::units("°");
    let own = unit::units(first.1)?;
    if degrees.as_ref() == Some(&own)
        && marks(rest, &["'", "分", "minutes", "minute", "min"], &["\"", "", "秒", "seconds", "second", "sec"])
    {
        let mut share = Rational::small(1);
        for (text, _) in rest {
            share = share.div(&Rational::small(60))?;
            sum = sum.add(&number(text)?.mul(&share)?)?;
        }
        return Some(quantity(Expr::Number(sum), "°"));
    }
    let largest = own.first()?;
    if !largest.zero.is_zero() {
        return None;
    }
    for (text, name) in rest {
        // `2 h 5 m`
        let minutes = unit::units("min").filter(|units| *name == "m" && units.first().is_some_and(|unit| unit.same_kind(largest)));
        let units = minutes.or_else(|| unit::units(name))?;
        let smaller = |unit: &&Unit| {
            unit.same_kind(largest) && unit.scale.less(last.as_ref().unwrap_or(&largest.scale)) == Some(true)
        };
        let unit = units.iter().find(smaller)?;
        sum = sum.add(&number(text)?.mul(&unit.scale.div(&largest.scale)?)?)?;
        last = Some(unit.scale.clone());
    }
    last.map(|_| quantity(Expr::Number(sum), first.1))
}

/// A formula without variables and a unit after it: `3\sqrt2\text{ m}`, `8.31\frac{J}{mol\cdot K}`.
fn after_formula(tokens: Tokens<'_, '_>, source: &str) -> Option<Expr> {
    let run = tokens.run();
    let end = run.last()?.end;
    for at in run.len().saturating_sub(MAX_UNIT_TOKENS).max(1)..run.len() {
        let (before, token) = (run.get(at - 1)?, run.get(at)?);
        let begins = match token.kind {
            Kind::Word(_) | Kind::Text(_) | Kind::Styled(_) | Kind::Currency(_) | Kind::Degree | Kind::Caret => true,
            Kind::Open(Shape::Group) => true,
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
        // Degrees alone may be the argument of a function.
        if unit == "°" || !is_definite(unit, source.get(before.end..end)?) || !starts_unit(unit) {
            continue;
        }
        let known = unit::units(unit).is_some() || number_words::multiplier(unit).is_some();
        if !known {
            continue;
        }
        let (rest, value) = statement(nom::Input::take(&tokens, at)).ok()?;
        let last = match &value {
            Expr::Chain(sides, _) => sides.last()?,
            other => other,
        };
        let numeric = !last.any(&|part| {
            matches!(part, Expr::Symbol(_) | Expr::Apply(..) | Expr::Text(_) | Expr::Quantity(..) | Expr::Word(_))
        });
        if !rest.is_empty() || !numeric {
            return None;
        }
        return with_unit(&value, unit);
    }
    None
}

/// A unit in print begins with a letter, a sign of money or degrees, or a fraction of units.
fn starts_unit(text: &str) -> bool {
    text.starts_with(|c: char| c.is_alphabetic() || "°$€£¥¢₹₩%‰(/".contains(c))
}

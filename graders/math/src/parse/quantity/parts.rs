//! Plain numbers in printed text, each with the text after it, and the quantities that several of
//! them form.

use std::cell::Cell;

use super::quantity;
use crate::number::Rational;
use crate::parse::expression::statement;
use crate::parse::lexer::{self, Commas};
use crate::parse::token::{MAX_STACKED, Tokens};
use crate::parse::unit::{self, Unit};
use crate::tree::Expr;

/// The end of the number at the start of a text.
pub(super) fn number_end(text: &str) -> usize {
    let in_number = |c: char| c.is_ascii_digit() || "½⅓⅔¼¾⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞".contains(c);
    let mut end = 0;
    let mut last = ' ';
    for (at, c) in text.char_indices() {
        if in_number(c) {
            end = at + c.len_utf8();
        } else if !(matches!(c, '.' | ',' | '/') && last.is_ascii_digit()
            || c == ' ' && in_number(last))
        {
            break;
        }
        last = c;
    }
    end
}

/// A number in digits.
pub(super) fn literal(text: &str) -> Option<Expr> {
    let lexed = lexer::lex(text, Commas::Thousands);
    let stacked = Cell::new(MAX_STACKED);
    let (rest, value) = statement(Tokens::new(&lexed.tokens, &stacked)).ok()?;
    let plain = |part: &Expr| {
        matches!(
            part,
            Expr::Number(_) | Expr::Product(_) | Expr::Sum(_) | Expr::Power(_)
        )
    };
    (rest.is_empty() && plain(&value) && !value.any(&|part| !plain(part))).then(|| exact(value))
}

/// A mixed number or a quotient of literals as one number.
fn exact(value: Expr) -> Expr {
    let number = |expr: &Expr| -> Option<Rational> {
        match expr {
            Expr::Number(value) => Some(value.clone()),
            Expr::Product(items) => match items.as_slice() {
                [Expr::Number(a), Expr::Power(pair)] if pair.1.is_int(-1) => {
                    a.div(pair.0.as_number()?)
                }
                _ => None,
            },
            _ => None,
        }
    };
    let sum = match &value {
        Expr::Sum(items) => items
            .iter()
            .try_fold(Rational::small(0), |sum, item| sum.add(&number(item)?)),
        other => number(other),
    };
    sum.map_or(value, Expr::Number)
}

/// Numbers, each with the text after it: `5 ft 6 in` has two.
pub(super) fn segments(text: &str) -> Option<Vec<(&str, &str)>> {
    /// Most numbers of one quantity.
    const MAX_SEGMENTS: usize = 4;
    let mut parts = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let end = number_end(rest);
        if end == 0 || parts.len() == MAX_SEGMENTS {
            return None;
        }
        let (number, after) = rest.split_at_checked(end)?;
        let end = next_number(after);
        let (unit, next) = after.split_at_checked(end)?;
        parts.push((number.trim(), unit.trim()));
        rest = next.trim_start();
    }
    // Words that join two parts belong to neither.
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

/// The start of the next number that is not a power of a unit.
fn next_number(text: &str) -> usize {
    let mut before = (' ', ' ');
    for (at, c) in text.char_indices() {
        if c.is_ascii_digit() || "½⅓⅔¼¾".contains(c) {
            let power = before.0 == '^' || before.0 == '-' && before.1 == '^';
            let after = text.get(at + 1..).unwrap_or_default();
            let attached = before.0.is_ascii_alphabetic()
                && matches!(c, '2' | '3')
                && !after.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '.' || c == ' ');
            if !power && !attached {
                return at;
            }
        }
        before = (c, before.0);
    }
    text.len()
}

/// `2 hours 30 minutes`, `5'6"`, `30°15'30"`: parts in ever smaller units of one kind, as one
/// quantity in the first unit.
pub(super) fn compound(parts: &[(&str, &str)]) -> Option<Expr> {
    let (first, rest) = parts.split_first()?;
    let number = |text: &str| literal(text)?.as_number().cloned();
    let mut sum = number(first.0)?;
    let marks = |rest: &[(&str, &str)], minutes: &[&str], seconds: &[&str]| {
        rest.iter()
            .zip([minutes, seconds])
            .all(|((_, own), names)| names.contains(own))
            && rest.len() <= 2
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
        && marks(
            rest,
            &["'", "分", "minutes", "minute", "min"],
            &["\"", "", "秒", "seconds", "second", "sec"],
        )
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
        // `2 h 5 m`, `2小时5分`
        let minutes = unit::units("min").filter(|units| {
            matches!(*name, "m" | "分") && units.first().is_some_and(|unit| unit.same_kind(largest))
        });
        let units = minutes.or_else(|| unit::units(name))?;
        let smaller = |unit: &&Unit| {
            unit.same_kind(largest)
                && unit.scale.less(last.as_ref().unwrap_or(&largest.scale)) == Some(true)
        };
        let unit = units.iter().find(smaller)?;
        sum = sum.add(&number(text)?.mul(&unit.scale.div(&largest.scale)?)?)?;
        last = Some(unit.scale.clone());
    }
    last.map(|_| quantity(Expr::Number(sum), first.1))
}

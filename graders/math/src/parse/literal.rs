//! Number literals: separators, points, powers of ten, repeating parts, mixed numbers.

use num_bigint::BigInt;

use super::expression::{Parsed, no_parse};
use super::lexer;
use super::token::{Kind, Shape, Token, Tokens};
use crate::number::Rational;
use crate::tree::{End, Expr};

/// Longest repeating part, in digits.
const LONGEST_REPETEND: usize = 200;

/// Largest power of ten of a repeating decimal, in bits.
const MAX_REPETEND_BITS: u64 = 8_000;

// 10^200 has less than 4 · 200 bits.
const _: () = assert!(4 * LONGEST_REPETEND as u64 <= MAX_REPETEND_BITS);

/// Most decimals of one gold that are recorded for rounding.
const MAX_DECIMALS: usize = 64;

/// The value of a literal. A number that is too large keeps its digits.
pub(crate) fn number(text: &str, point: Option<usize>) -> Option<Expr> {
    if let Some(digits) = text
        .strip_prefix("0")
        .and_then(|rest| rest.strip_prefix(['x', 'X', 'o', 'O', 'b', 'B']))
    {
        let base = match text.as_bytes().get(1)? {
            b'x' | b'X' => 16,
            b'o' | b'O' => 8,
            _ => 2,
        };
        // All bases are powers of two, so reading is linear.
        return BigInt::parse_bytes(digits.as_bytes(), base)
            .map(|value| Expr::Number(Rational::integer(value)));
    }
    let (mantissa, power) = match text.find(['e', 'E']) {
        Some(at) => {
            let power = text.get(at + 1..)?;
            let power = power.strip_prefix('+').unwrap_or(power);
            match power.parse::<i64>() {
                Ok(power) => (text.get(..at)?, power),
                Err(_) => return Some(huge(text)),
            }
        }
        None => (text, 0),
    };
    let digits = |part: &str| -> String { part.chars().filter(char::is_ascii_digit).collect() };
    let (whole, fraction) = match point {
        Some(at) => (mantissa.get(..at)?, mantissa.get(at + 1..)?),
        None => (mantissa, ""),
    };
    let value = if whole.bytes().all(|b| b.is_ascii_digit()) {
        Rational::from_decimal(whole, fraction, power)
    } else {
        Rational::from_decimal(&digits(whole), fraction, power)
    };
    Some(value.map_or_else(|| huge(text), Expr::Number))
}

fn huge(text: &str) -> Expr {
    Expr::Huge(text.to_lowercase().into())
}

/// A literal with an optional repeating part: `0.\overline{3}`, `0.1\dot{6}`, `0.(3)`, `0.333…`.
pub(crate) fn with_repetend<'t, 'a>(
    input: Tokens<'t, 'a>,
    text: &'a str,
    point: Option<usize>,
) -> Parsed<'t, 'a> {
    let rest = input.skip(1);
    let Some(value) = number(text, point) else {
        return no_parse();
    };
    let digits_of = |kind: Option<Kind<'a>>| match kind {
        Some(Kind::Number { text, point: None }) if text.len() <= LONGEST_REPETEND => Some(text),
        _ => None,
    };
    // `0.` before an overline is lexed as `0` and a stray point.
    let (pointed, after) = match (point, rest.first()) {
        (Some(at), _) => (Some(text.len() - at - 1), rest),
        (None, Some(Kind::Stray('.'))) if !rest.spaced() => (Some(0), rest.skip(1)),
        _ => (None, rest),
    };
    let Some(places) = pointed else {
        return Ok((rest, value));
    };
    match after.first() {
        Some(Kind::Command("overline" | "dot")) => {
            let mut repetend = String::new();
            let mut tail = after;
            let mut dots = 0;
            // `\dot{1}4285\dot{7}` repeats from dot to dot.
            loop {
                match (tail.first(), digits_of(tail.kind(2))) {
                    (Some(Kind::Command("overline" | "dot")), Some(digits))
                        if tail.kind(1) == Some(Kind::Open(Shape::Group))
                            && tail.kind(3) == Some(Kind::Close(Shape::Group)) =>
                    {
                        repetend.push_str(digits);
                        dots += usize::from(tail.first() == Some(Kind::Command("dot")));
                        let over = tail.first() == Some(Kind::Command("overline"));
                        tail = tail.skip(4);
                        if over || dots == 2 {
                            break;
                        }
                    }
                    (Some(Kind::Command("overline" | "dot")), _)
                        if digits_of(tail.kind(1)).is_some() =>
                    {
                        repetend.push_str(digits_of(tail.kind(1)).unwrap_or_default());
                        dots += 1;
                        tail = tail.skip(2);
                        if dots == 2 {
                            break;
                        }
                    }
                    (Some(Kind::Number { text, point: None }), _) if dots == 1 => {
                        // Only the digits between two dots belong to it.
                        if !matches!(tail.kind(1), Some(Kind::Command("dot"))) {
                            break;
                        }
                        repetend.push_str(text);
                        tail = tail.skip(1);
                    }
                    _ => break,
                }
                if repetend.len() > LONGEST_REPETEND {
                    return no_parse();
                }
            }
            // No digits may follow a repeating part.
            if matches!(tail.first(), Some(Kind::Number { .. })) {
                return no_parse();
            }
            match repeated(&value, places, &repetend) {
                Some(value) => Ok((tail, value)),
                None => no_parse(),
            }
        }
        Some(Kind::Open(Shape::End(End::Round)))
            if !after.spaced()
                && after.kind(2) == Some(Kind::Close(Shape::End(End::Round)))
                && digits_of(after.kind(1)).is_some() =>
        {
            let repetend = digits_of(after.kind(1)).unwrap_or_default();
            match repeated(&value, places, repetend) {
                Some(value) => Ok((after.skip(3), value)),
                None => no_parse(),
            }
        }
        Some(Kind::Ellipsis) if point.is_some() => {
            let fraction = text.get(text.len() - places..).unwrap_or_default();
            match period(fraction) {
                Some(length) => {
                    let repetend = fraction.get(fraction.len() - length..).unwrap_or_default();
                    match repeated(&value, places, repetend) {
                        Some(value) => Ok((after.skip(1), value)),
                        None => no_parse(),
                    }
                }
                // The first digits of an unknown number are not a number.
                None => no_parse(),
            }
        }
        _ => Ok((rest, value)),
    }
}

/// `value + repetend · 10^-places / (10^length - 1)`.
fn repeated(value: &Expr, places: usize, repetend: &str) -> Option<Expr> {
    let length = i64::try_from(repetend.len()).ok()?;
    let places = i64::try_from(places).ok()?;
    let ten = Rational::small(10);
    let nines = ten
        .pow(length, MAX_REPETEND_BITS)?
        .sub(&Rational::small(1))?;
    let tail = Rational::from_decimal(repetend, "", 0)?
        .div(&nines)?
        .div(&ten.pow(places, MAX_REPETEND_BITS)?)?;
    Some(Expr::Number(value.as_number()?.add(&tail)?))
}

/// The length of the block that repeats at the end: three times for one digit, twice for more.
fn period(digits: &str) -> Option<usize> {
    let bytes = digits.as_bytes();
    (1..=bytes.len().min(40) / 2).find(|&length| {
        let times = if length == 1 { 3 } else { 2 };
        let mut blocks = bytes.rchunks_exact(length);
        let Some(last) = blocks.next() else {
            return false;
        };
        bytes.len() >= times * length && blocks.take(times - 1).all(|block| block == last)
    })
}

/// The fraction of a mixed number: a proper fraction of positive literals.
pub(crate) fn fraction_part<'t, 'a>(input: Tokens<'t, 'a>) -> Option<(Tokens<'t, 'a>, Expr)> {
    let literal = |kind: Option<Kind<'a>>| match kind {
        Some(Kind::Number { text, point: None }) if text.len() <= 18 => text.parse::<i64>().ok(),
        _ => None,
    };
    let (num, den, width) = match input.first()? {
        Kind::Fraction(a, b) => (i64::from(a), i64::from(b), 1),
        Kind::Number { .. } if input.kind(1) == Some(Kind::Slash) => {
            (literal(input.first())?, literal(input.kind(2))?, 3)
        }
        Kind::Command("frac") => {
            let mut at = 1;
            let mut parts = [0; 2];
            for part in &mut parts {
                if input.kind(at) == Some(Kind::Open(Shape::Group)) {
                    *part = literal(input.kind(at + 1))?;
                    if input.kind(at + 2) != Some(Kind::Close(Shape::Group)) {
                        return None;
                    }
                    at += 3;
                } else {
                    *part = literal(input.kind(at))?;
                    at += 1;
                }
            }
            let [num, den] = parts;
            (num, den, at)
        }
        _ => return None,
    };
    let proper = 0 < num && num < den;
    let after = input.skip(width);
    let ends = !matches!(after.first(), Some(Kind::Caret | Kind::Bang | Kind::Slash));
    (proper && ends).then(|| (after, Expr::Number(Rational::ratio(num, den))))
}

/// The power of ten after a plain number: `3.2\mathrm{e}6`, `2\text{E}-3`, `3.2\mathrm{e}{-6}` and
/// the damaged `3.2 x 10-6`. Before a sign an upright `e` is Euler's number.
pub(crate) fn power_of_ten<'t, 'a>(
    input: Tokens<'t, 'a>,
    mantissa: Option<&Expr>,
) -> Option<(Tokens<'t, 'a>, Expr)> {
    let mark = input.first()?;
    let (at, signed, closes) = match mark {
        Kind::Styled("e" | "E") if input.kind(1) == Some(Kind::Open(Shape::Group)) => (2, true, 1),
        Kind::Styled("E") => (1, true, 0),
        Kind::Styled("e") => (1, false, 0),
        Kind::Word("x")
            if matches!(input.kind(1), Some(Kind::Number { text: "10", .. }))
                && input.kind(2) == Some(Kind::Minus)
                && input.kind(4).is_none()
                && !input.skip(2).spaced()
                && !input.skip(3).spaced()
                && mantissa
                    .and_then(Expr::as_number)
                    .is_some_and(|value| !value.is_integer()) =>
        {
            (2, true, 0)
        }
        _ => return None,
    };
    let (negative, at) = match input.kind(at)? {
        Kind::Minus if signed => (true, at + 1),
        Kind::Plus if signed => (false, at + 1),
        _ => (false, at),
    };
    let Kind::Number { text, point: None } = input.kind(at)? else {
        return None;
    };
    let exponent: i64 = text.parse().ok()?;
    let after = input.skip(at + 1 + closes);
    if closes == 1 && input.kind(at + 1) != Some(Kind::Close(Shape::Group))
        || matches!(
            after.first(),
            Some(Kind::Caret | Kind::Bang | Kind::Underscore)
        )
    {
        return None;
    }
    let exponent = Expr::int(if negative { -exponent } else { exponent });
    Some((after, Expr::power(Expr::int(10), exponent)))
}

/// The exponent of the power of ten that multiplies a decimal: -3 for `\times 10^{-3}`; 0 without
/// one.
fn written_power(tail: &[Token<'_>]) -> i64 {
    let mut kinds = tail.iter().map(|token| token.kind).peekable();
    let times = matches!(kinds.next(), Some(Kind::Times | Kind::Word("x")));
    let ten = matches!(kinds.next(), Some(Kind::Number { text: "10", .. }));
    if !times || !ten || kinds.next() != Some(Kind::Caret) {
        return 0;
    }
    kinds.next_if_eq(&Kind::Open(Shape::Group));
    let negative = kinds.next_if_eq(&Kind::Minus).is_some();
    kinds.next_if_eq(&Kind::Plus);
    match kinds.next() {
        Some(Kind::Number { text, point: None }) => {
            let exponent = text.parse::<i64>().unwrap_or(0);
            if negative { -exponent } else { exponent }
        }
        _ => 0,
    }
}

/// The decimals in a text, each with the number of digits after its point, trailing zeros included.
pub(crate) fn written_decimals(text: &str) -> Vec<(Rational, i64)> {
    let clean = lexer::cleaned(text);
    let mut found = Vec::new();
    for commas in [lexer::Commas::Thousands, lexer::Commas::Decimal] {
        let lexed = lexer::lex(&clean, commas);
        for (at, token) in lexed.tokens.iter().enumerate() {
            let Kind::Number {
                text,
                point: Some(point),
            } = token.kind
            else {
                continue;
            };
            let digits = text.get(point + 1..).unwrap_or_default();
            let (digits, power) = digits.split_once(['e', 'E']).unwrap_or((digits, "0"));
            let (Some(Expr::Number(value)), Ok(length), Ok(power)) = (
                number(text, Some(point)),
                i64::try_from(digits.len()),
                power.parse::<i64>(),
            ) else {
                continue;
            };
            let tail = lexed.tokens.get(at + 1..).unwrap_or_default();
            let scale = written_power(tail);
            let Some(value) = Rational::small(10)
                .pow(scale, MAX_REPETEND_BITS)
                .and_then(|scale| value.mul(&scale))
            else {
                continue;
            };
            let places = length.saturating_sub(power).saturating_sub(scale);
            if lexed.tokens.get(at + 1).map(|token| token.kind) == Some(Kind::Percent) {
                found.extend(
                    value
                        .mul(&Rational::ratio(1, 100))
                        .map(|share| (share, places.saturating_add(2))),
                );
            } else {
                found.push((value, places));
            }
            // More decimals are not a rounded answer.
            if found.len() == MAX_DECIMALS {
                return found;
            }
        }
    }
    found
}

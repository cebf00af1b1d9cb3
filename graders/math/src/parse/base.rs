//! Numerals in a base: `1011_2`, `2A_{16}`, `0.21_3`, `0xFF`.

use super::token::{Kind, Shape, Tokens};
use crate::number::Rational;
use crate::tree::Expr;

/// Longest numeral with a prefix that is read as digits, without the prefix.
const MAX_PREFIXED: usize = 64;

/// Largest power of ten that scales a numeral with a point, in bits.
const MAX_BITS: u64 = 400;

/// The base that a subscript names.
pub(crate) fn base(text: &str) -> Option<u32> {
    let text = text.trim_matches(['(', ')']);
    let named = match text.to_lowercase().as_str() {
        "two" => 2,
        "three" => 3,
        "four" => 4,
        "five" => 5,
        "six" => 6,
        "seven" => 7,
        "eight" => 8,
        "nine" => 9,
        "ten" => 10,
        "eleven" => 11,
        "twelve" => 12,
        "sixteen" => 16,
        digits => digits.parse().ok()?,
    };
    (2..=62).contains(&named).then_some(named)
}

/// Whether letters are digits above nine.
pub(crate) fn are_digits(letters: &str) -> bool {
    (2..=40).contains(&letters.len()) && letters.bytes().all(|byte| (b'A'..=b'F').contains(&byte))
}

/// The base in the next subscript, if it has digits above nine.
pub(crate) fn base_ahead(input: Tokens<'_, '_>) -> Option<u32> {
    let at = if input.kind(1) == Some(Kind::Open(Shape::Group)) {
        2
    } else {
        1
    };
    match (input.first()?, input.kind(at)?) {
        (Kind::Underscore, Kind::Number { text, point: None }) => {
            base(text).filter(|base| *base > 10)
        }
        _ => None,
    }
}

/// The digits of a decimal with a point, for a numeral in another base.
pub(crate) fn digits_with_point(value: &Rational) -> Option<String> {
    /// Maximum number of digits after the point.
    const MAX_PLACES: i64 = 40;
    let scaled = |places: i64| {
        let value = value.mul(&Rational::small(10).pow(places, MAX_BITS)?)?;
        value.is_integer().then_some(value)
    };
    let (places, value) = (0..=MAX_PLACES).find_map(|places| Some((places, scaled(places)?)))?;
    let places = usize::try_from(places).ok()?;
    let digits = format!("{:0>width$}", value.to_string(), width = places + 1);
    let (whole, fraction) = digits.split_at_checked(digits.len() - places)?;
    Some(if places == 0 {
        digits
    } else {
        format!("{whole}.{fraction}")
    })
}

/// A numeral with the prefix of its base as in programs: `0xFF` is `FF_{16}`.
pub(crate) fn prefixed(text: &str) -> Option<Expr> {
    let text = text.trim_matches([' ', '$', '.']);
    let text = ["\\text{", "\\texttt{", "\\mathrm{", "\\mathtt{"]
        .iter()
        .find_map(|command| text.strip_prefix(command)?.strip_suffix('}'))
        .unwrap_or(text);
    let (base, digits) = match text.split_at_checked(2)? {
        ("0x" | "0X", digits) => (16, digits),
        ("0o" | "0O", digits) => (8, digits),
        ("0b" | "0B", digits) => (2, digits),
        _ => return None,
    };
    let fits =
        (1..=MAX_PREFIXED).contains(&digits.len()) && digits.chars().all(|c| c.is_digit(base));
    fits.then(|| Expr::Based(digits.to_ascii_uppercase().into(), base))
}

/// `243 \text{ (base 5)}` and `\text{2F}_{16}`: a numeral with the name of its base, or digits in
/// upright letters.
pub(crate) fn spelled(text: &str) -> Option<Expr> {
    let names_base = text.contains('_') || text.contains("base");
    if !names_base || text.len() > 2 * MAX_PREFIXED {
        return None;
    }
    let mut plain = text.to_owned();
    for command in ["\\text", "\\mathrm", "\\,", "\\ "] {
        plain = plain.replace(command, " ");
    }
    let styled = plain.len() < text.len();
    let plain = plain.replace(['{', '}', '(', ')', '$', '.'], " ");
    let parts: Vec<&str> = plain.split_whitespace().collect();
    let (digits, name) = match parts.as_slice() {
        [digits, "base", name] | [digits, "in", "base", name] => (*digits, *name),
        [digits, "_", name] if styled && digits.contains(|c: char| c.is_ascii_alphabetic()) => {
            (*digits, *name)
        }
        _ => return None,
    };
    let base = base(name).filter(|base| *base != 10 && *base <= 36)?;
    let fits = digits.starts_with(|c: char| c.is_ascii_digit())
        && digits.chars().all(|c| c.is_digit(base));
    fits.then(|| Expr::Based(digits.to_ascii_uppercase().into(), base))
}

/// `2A_{16}`: digits and letters with their base.
pub(crate) fn mixed_digits<'t, 'a>(input: Tokens<'t, 'a>) -> Option<(Tokens<'t, 'a>, Expr)> {
    let mut digits = String::new();
    let mut at = 0;
    while at < 12 && (at == 0 || !input.skip(at).spaced()) {
        match input.kind(at)? {
            Kind::Number { text, point: None } => digits.push_str(text),
            Kind::Word(word) | Kind::Styled(word)
                if word
                    .bytes()
                    .all(|byte| matches!(byte, b'a'..=b'f' | b'A'..=b'F')) =>
            {
                digits.push_str(&word.to_ascii_uppercase());
            }
            _ => break,
        }
        at += 1;
    }
    let base = base_ahead(input.skip(at)).filter(|_| at > 1)?;
    let group = input.kind(at + 1) == Some(Kind::Open(Shape::Group));
    Some((
        input.skip(at + if group { 4 } else { 2 }),
        Expr::Based(digits.into(), base),
    ))
}

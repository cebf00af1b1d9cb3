//! Reads the numbers of values exactly, because Python compares them exactly.

use assay_documents::Json;
use num_bigint::BigInt;
use num_traits::ToPrimitive;
use num_traits::float::FloatCore;

use super::notation::tagged;

/// Longest integer that is read, in digits. Reading decimal digits takes quadratic time.
pub(super) const MAX_DIGITS: usize = 50_000;

/// Most significant digits after the first one of a finite float that is written out in full.
const EXACT_DIGITS: usize = 766;

pub(super) enum Number {
    Int(BigInt),
    Float(f64),
}

impl Number {
    pub(super) fn to_f64(&self) -> f64 {
        match self {
            Self::Int(int) => int.to_f64().unwrap_or(f64::INFINITY),
            Self::Float(float) => *float,
        }
    }
}

/// Whether two finite numbers differ by at most the tolerance, absolute or relative to the expected
/// one.
pub(crate) fn within(got: f64, expected: f64, tolerance: f64) -> bool {
    got.is_finite()
        && expected.is_finite()
        && (got - expected).abs() <= tolerance * expected.abs().max(1.0)
}

/// A plain JSON value as a number, if it is one in Python.
pub(super) fn number(value: &Json) -> Option<Number> {
    match value {
        Json::Bool(value) => Some(Number::Int(i32::from(*value).into())),
        Json::Number(text) => parse_number(text),
        _ => None,
    }
}

/// Whether a JSON number is a float. Integers have neither point nor exponent.
pub(super) fn is_float(text: &str) -> bool {
    text.bytes().any(|byte| b".eE".contains(&byte))
}

/// Significant digits of an integer; 1 for a float, which is read in one pass.
fn digits(text: &str) -> usize {
    if is_float(text) {
        1
    } else {
        text.trim_start_matches('-').trim_start_matches('0').len()
    }
}

/// Significant digits of a plain JSON value.
pub(super) fn plain_digits(value: &Json) -> usize {
    match value {
        Json::Number(text) => digits(text),
        _ => 1,
    }
}

/// Bytes of the digits of a tagged or plain number.
pub(super) fn text_bytes(value: &Json) -> usize {
    match value {
        Json::Object(pairs) => match tagged(pairs) {
            Some((_, Json::Text(text))) => text.len(),
            _ => 0,
        },
        Json::Number(text) => text.len(),
        _ => 0,
    }
}

pub(super) fn any_number(value: &Json) -> Option<Number> {
    match value {
        Json::Object(pairs) => tagged(pairs).and_then(|(kind, inside)| tagged_number(kind, inside)),
        plain => number(plain),
    }
}

/// Parses a JSON number as Python does: an integer, or a float if it has a point or an exponent.
fn parse_number(text: &str) -> Option<Number> {
    if is_float(text) {
        return text.parse().ok().map(Number::Float);
    }
    if text.len() > MAX_DIGITS {
        return None;
    }
    text.parse().ok().map(Number::Int)
}

pub(super) fn tagged_number(kind: &str, inside: &Json) -> Option<Number> {
    let Json::Text(text) = inside else {
        return None;
    };
    if kind == "float" {
        return text.parse().ok().map(Number::Float);
    }
    if text.len() > MAX_DIGITS {
        return None;
    }
    let (sign, digits) = text
        .strip_prefix('-')
        .map_or(("", text.as_str()), |digits| ("-", digits));
    BigInt::parse_bytes(
        format!("{sign}{}", digits.strip_prefix("0x")?).as_bytes(),
        16,
    )
    .map(Number::Int)
}

/// A decimal number: its digits without zeros at either end, and the exponent of the last digit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Decimal {
    is_negative: bool,
    digits: Vec<u8>,
    exponent: i64,
}

impl Decimal {
    /// Reads the text of a finite Python `Decimal` or of a JSON number.
    pub(super) fn read(text: &str) -> Option<Self> {
        let (is_negative, rest) = text
            .strip_prefix('-')
            .map_or((false, text), |rest| (true, rest));
        let (mantissa, exponent) = match rest.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, exponent.parse::<i64>().ok()?),
            None => (rest, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let mut digits: Vec<u8> = whole.bytes().chain(fraction.bytes()).collect();
        if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
            return None;
        }
        let leading = digits.iter().take_while(|digit| **digit == b'0').count();
        digits.drain(..leading);
        let trailing = digits
            .iter()
            .rev()
            .take_while(|digit| **digit == b'0')
            .count();
        digits.truncate(digits.len() - trailing);
        if digits.is_empty() {
            return Some(Self {
                is_negative: false,
                digits,
                exponent: 0,
            });
        }
        let exponent = exponent.checked_sub(i64::try_from(fraction.len()).ok()?)?;
        let exponent = exponent.checked_add(i64::try_from(trailing).ok()?)?;
        Some(Self {
            is_negative,
            digits,
            exponent,
        })
    }

    /// The exact value of a finite float.
    pub(super) fn of_float(value: f64) -> Option<Self> {
        Self::read(&format!("{value:.EXACT_DIGITS$e}"))
    }
}

/// Whether a fraction with a positive denominator is exactly equal to a float.
pub(super) fn fraction_is_float(numerator: &BigInt, denominator: &BigInt, float: f64) -> bool {
    if !float.is_finite() {
        return false;
    }
    let (mantissa, exponent, sign) = FloatCore::integer_decode(float);
    let mantissa = BigInt::from(mantissa) * BigInt::from(sign);
    let shift = usize::from(exponent.unsigned_abs());
    if exponent >= 0 {
        *numerator == (mantissa << shift) * denominator
    } else {
        (numerator << shift) == mantissa * denominator
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_compared_by_value() {
        let read = |text: &str| Decimal::read(text).unwrap();
        for (one, other) in [
            ("2.50", "2.5"),
            ("1E+2", "100"),
            ("-0.0", "0"),
            ("0E-7", "0"),
            ("12300e-2", "123.00"),
        ] {
            assert_eq!(read(one), read(other), "{one} {other}");
        }
        assert_ne!(read("2.5"), read("-2.5"));
        assert_ne!(read("25"), read("2.5"));
        for bad in [
            "NaN",
            "Infinity",
            "",
            ".",
            "1e",
            "1e99999999999999999999",
            "--1",
        ] {
            assert_eq!(Decimal::read(bad), None, "{bad}");
        }
    }

    #[test]
    fn converts_floats_exactly() {
        assert_eq!(Decimal::of_float(0.5), Decimal::read("0.5"));
        assert_eq!(Decimal::of_float(1e22), Decimal::read("1E+22"));
        assert_ne!(Decimal::of_float(0.1), Decimal::read("0.1"));
        let tiny = Decimal::of_float(f64::from_bits(1)).unwrap();
        assert_eq!((tiny.digits.len(), tiny.exponent), (751, -1074));
        assert_eq!(Decimal::of_float(f64::INFINITY), None);
        let is = |numerator: i32, denominator: i32, float| {
            fraction_is_float(&numerator.into(), &denominator.into(), float)
        };
        assert!(is(1, 2, 0.5) && is(-3, 1, -3.0) && is(0, 1, -0.0));
        assert!(!is(1, 10, 0.1) && !is(1, 2, f64::NAN) && !is(1, 2, f64::INFINITY));
    }
}

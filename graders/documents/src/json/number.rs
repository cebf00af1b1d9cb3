//! Compares numbers by value, from their text: `1`, `1.0` and `10e-1` are equal, whatever their
//! size. Texts must follow the grammar of JSON.

use std::borrow::Cow;

/// A number as `0.DIGITS × 10^exponent`. The digits have no zeros at either end; zero has no
/// digits.
struct Parts<'a> {
    /// Whether the exponent is exact.
    exact: bool,
    negative: bool,
    digits: Cow<'a, str>,
    exponent: i64,
}

/// Exponents are clamped to this value, which is larger than the length of any document. Two
/// clamped numbers are equal only if their texts are.
const MAX_EXPONENT: i64 = 1 << 60;

/// Parses the text of a number.
fn parts(text: &str) -> Parts<'_> {
    let (negative, text) = text
        .strip_prefix('-')
        .map_or((false, text), |rest| (true, rest));
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, clamped_exponent(exponent)),
        None => (text, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = if fraction.is_empty() {
        Cow::Borrowed(whole)
    } else {
        Cow::Owned([whole, fraction].concat())
    };
    let leading = digits.bytes().take_while(|byte| *byte == b'0').count();
    let trailing = digits
        .bytes()
        .rev()
        .take_while(|byte| *byte == b'0')
        .count();
    if leading == digits.len() {
        return Parts {
            exact: true,
            negative: false,
            digits: Cow::Borrowed(""),
            exponent: 0,
        };
    }
    let exponent = exponent
        .saturating_add(as_exponent(whole.len()))
        .saturating_sub(as_exponent(leading));
    let significant = leading..digits.len() - trailing;
    let digits = match digits {
        Cow::Borrowed(digits) => Cow::Borrowed(&digits[significant]),
        Cow::Owned(digits) => Cow::Owned(digits[significant].to_owned()),
    };
    let exact = exponent.abs() < MAX_EXPONENT / 2;
    Parts {
        exact,
        negative,
        digits,
        exponent,
    }
}

/// A length as an exponent.
fn as_exponent(length: usize) -> i64 {
    i64::try_from(length).unwrap_or(MAX_EXPONENT)
}

/// Parses an exponent and clamps it.
fn clamped_exponent(exponent: &str) -> i64 {
    let limit = if exponent.starts_with('-') {
        -MAX_EXPONENT
    } else {
        MAX_EXPONENT
    };
    exponent
        .parse::<i64>()
        .unwrap_or(limit)
        .clamp(-MAX_EXPONENT, MAX_EXPONENT)
}

/// Whether two texts represent the same number.
#[must_use]
pub fn same(a: &str, b: &str) -> bool {
    if a == b {
        return true;
    }
    let is_plain = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if is_plain(a) && is_plain(b) {
        return false; // Neither has leading zeros.
    }
    let (a, b) = (parts(a), parts(b));
    a.exact
        && b.exact
        && a.negative == b.negative
        && a.exponent == b.exponent
        && a.digits == b.digits
}

/// A text that is the same for equal numbers and different for others.
#[must_use]
pub fn canonical(text: &str) -> String {
    let parts = parts(text);
    if !parts.exact {
        return text.to_owned();
    }
    format!(
        "{}{}e{}",
        if parts.negative { "-" } else { "" },
        parts.digits,
        parts.exponent
    )
}

/// Whether the number is an integer: `5.0` and `1e3` are.
#[must_use]
pub fn is_integer(text: &str) -> bool {
    let parts = parts(text);
    parts.exponent >= as_exponent(parts.digits.len())
}

/// Whether the number is written without a decimal point and without an exponent.
#[must_use]
pub fn is_written_as_integer(text: &str) -> bool {
    !text.contains(['.', 'e', 'E'])
}

/// The nearest double. Numbers that are too large become the largest finite double of their sign.
#[must_use]
pub fn to_f64(text: &str) -> f64 {
    text.parse::<f64>().unwrap_or(0.0).clamp(f64::MIN, f64::MAX)
}

/// All digits of an integer, without point and exponent, if there are at most `max_digits`;
/// otherwise the text itself.
#[must_use]
pub fn plain(text: &str, max_digits: usize) -> Cow<'_, str> {
    if is_written_as_integer(text) {
        return Cow::Borrowed(text);
    }
    let parts = parts(text);
    let length = usize::try_from(parts.exponent).unwrap_or(usize::MAX);
    if length > max_digits || length < parts.digits.len() {
        return Cow::Borrowed(text);
    }
    let zeros = "0".repeat(length - parts.digits.len());
    let digits = if length == 0 { "0" } else { &parts.digits };
    Cow::Owned(format!(
        "{}{digits}{zeros}",
        if parts.negative { "-" } else { "" }
    ))
}

/// Whether two numbers differ by at most `tolerance`, relative to the larger one, or absolutely if
/// both are below 1.
#[must_use]
pub fn close(a: &str, b: &str, tolerance: f64) -> bool {
    if same(a, b) {
        return true;
    }
    let (a, b) = (to_f64(a), to_f64(b));
    tolerance > 0.0 && (a - b).abs() <= tolerance * a.abs().max(b.abs()).max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compares_numbers_by_value() {
        for (a, b) in [
            ("1", "1.0"),
            ("10e-1", "1"),
            ("-0.0", "0"),
            ("0e99", "0"),
            ("1e400", "10E+399"),
            ("0.001", "1e-3"),
        ] {
            assert!(same(a, b), "{a} {b}");
            assert_eq!(canonical(a), canonical(b));
        }
        for (a, b) in [
            ("1", "-1"),
            ("9007199254740993", "9007199254740992"),
            ("9007199254740993", "9007199254740992.0"),
            ("1e400", "1e401"),
            ("0.1", "0.10000000000000000001"),
            ("0", "1e-999"),
            ("1e99999999999999999999", "1e99999999999999999998"),
        ] {
            assert!(!same(a, b), "{a} {b}");
        }
    }

    #[test]
    fn recognises_integers_in_any_notation() {
        for text in [
            "5",
            "5.0",
            "1e3",
            "0.0",
            "12.5e1",
            "1e999999999999999999999",
        ] {
            assert!(is_integer(text), "{text}");
        }
        for text in ["0.5", "1e-1", "12.55e1", "1e-999999999999999999999"] {
            assert!(!is_integer(text), "{text}");
        }
        assert_eq!(plain("-1.50e3", 100), "-1500");
        assert_eq!(plain("0.0", 100), "0");
        assert_eq!(plain("1e400", 100), "1e400");
    }

    #[test]
    fn applies_relative_tolerance_above_one() {
        assert!(close("0.30000000000000004", "0.3", 1e-9));
        assert!(!close("0.30000000000000004", "0.3", 0.0));
        assert!(close("1000000001", "1000000000", 1e-9));
        assert!(!close("1000000003", "1000000000", 1e-9));
    }
}

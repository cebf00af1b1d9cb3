//! Numbers by value, from their texts: `1`, `1.0` and `10e-1` are one number, whatever their size.
//! Texts follow JSON's grammar.

use std::borrow::Cow;

/// A number as `0.DIGITS × 10^exponent`, its digits without zeros at either end; zero has none.
struct Parts<'a> {
    /// Whether the exponent is told exactly.
    exact: bool,
    negative: bool,
    digits: Cow<'a, str>,
    exponent: i64,
}

/// Exponents beyond this are cut to it: no digits of a document reach so far. Two such numbers are
/// one where their texts are.
const FARTHEST: i64 = 1 << 60;

fn parts(text: &str) -> Parts<'_> {
    let (negative, text) = text
        .strip_prefix('-')
        .map_or((false, text), |rest| (true, rest));
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, saturated(exponent)),
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
        .saturating_add(size(whole.len()))
        .saturating_sub(size(leading));
    let kept = leading..digits.len() - trailing;
    let digits = match digits {
        Cow::Borrowed(digits) => Cow::Borrowed(&digits[kept]),
        Cow::Owned(digits) => Cow::Owned(digits[kept].to_owned()),
    };
    let exact = exponent.abs() < FARTHEST / 2;
    Parts {
        exact,
        negative,
        digits,
        exponent,
    }
}

fn size(length: usize) -> i64 {
    i64::try_from(length).unwrap_or(FARTHEST)
}

fn saturated(exponent: &str) -> i64 {
    let farthest = if exponent.starts_with('-') {
        -FARTHEST
    } else {
        FARTHEST
    };
    exponent
        .parse::<i64>()
        .unwrap_or(farthest)
        .clamp(-FARTHEST, FARTHEST)
}

/// Whether two texts are the same number.
#[must_use]
pub fn same(a: &str, b: &str) -> bool {
    if a == b {
        return true;
    }
    let is_plain = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if is_plain(a) && is_plain(b) {
        return false; // Neither has zeros in front.
    }
    let (a, b) = (parts(a), parts(b));
    a.exact
        && b.exact
        && a.negative == b.negative
        && a.exponent == b.exponent
        && a.digits == b.digits
}

/// A text that equal numbers share and others do not.
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

/// Whether the number has no fraction: `5.0` and `1e3` have none.
#[must_use]
pub fn is_whole(text: &str) -> bool {
    let parts = parts(text);
    parts.exponent >= size(parts.digits.len())
}

/// Whether the number is written without a point and an exponent.
#[must_use]
pub fn is_written_whole(text: &str) -> bool {
    !text.contains(['.', 'e', 'E'])
}

/// The nearest double; the largest one for what lies beyond it.
#[must_use]
pub fn to_f64(text: &str) -> f64 {
    text.parse::<f64>().unwrap_or(0.0).clamp(f64::MIN, f64::MAX)
}

/// All digits of a whole number without point and exponent, where they are at most `most`; else the
/// text itself.
#[must_use]
pub fn plain(text: &str, most: usize) -> Cow<'_, str> {
    if is_written_whole(text) {
        return Cow::Borrowed(text);
    }
    let parts = parts(text);
    let length = usize::try_from(parts.exponent).unwrap_or(usize::MAX);
    if length > most || length < parts.digits.len() {
        return Cow::Borrowed(text);
    }
    let zeros = "0".repeat(length - parts.digits.len());
    let digits = if length == 0 { "0" } else { &parts.digits };
    Cow::Owned(format!(
        "{}{digits}{zeros}",
        if parts.negative { "-" } else { "" }
    ))
}

/// Whether two numbers differ by at most `tolerance`, relative to the larger, absolutely below 1.
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
    fn numbers_are_compared_by_value() {
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
    fn whole_numbers_are_known_in_any_dress() {
        for text in [
            "5",
            "5.0",
            "1e3",
            "0.0",
            "12.5e1",
            "1e999999999999999999999",
        ] {
            assert!(is_whole(text), "{text}");
        }
        for text in ["0.5", "1e-1", "12.55e1", "1e-999999999999999999999"] {
            assert!(!is_whole(text), "{text}");
        }
        assert_eq!(plain("-1.50e3", 100), "-1500");
        assert_eq!(plain("0.0", 100), "0");
        assert_eq!(plain("1e400", 100), "1e400");
    }

    #[test]
    fn a_tolerance_is_relative_above_one() {
        assert!(close("0.30000000000000004", "0.3", 1e-9));
        assert!(!close("0.30000000000000004", "0.3", 0.0));
        assert!(close("1000000001", "1000000000", 1e-9));
        assert!(!close("1000000003", "1000000000", 1e-9));
    }
}

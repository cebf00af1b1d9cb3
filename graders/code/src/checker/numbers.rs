//! Numbers in outputs. They are compared as written, or within a tolerance if one of the two has a
//! point or an exponent.

use crate::value::within;

/// Whether two tokens are equal, or numbers within the tolerance. Integers are never compared as
/// floats: 10^17 and 10^17 + 1 are the same float.
pub(super) fn tokens_agree(expected: &[u8], got: &[u8], tolerance: Option<f64>) -> bool {
    expected == got
        || tolerance.is_some() && {
            let (expected, got) = (std::str::from_utf8(expected), std::str::from_utf8(got));
            expected.ok().zip(got.ok()).is_some_and(|(expected, got)| {
                is_decimal(expected) && is_decimal(got) && agree(expected, got, tolerance)
            })
        }
}

/// Whether two decimals are equal numbers, or within the tolerance.
pub(super) fn agree(expected: &str, got: &str, tolerance: Option<f64>) -> bool {
    if expected == got {
        return true;
    }
    if !has_point(expected) && !has_point(got) {
        return normalised(expected) == normalised(got);
    }
    let (Ok(expected), Ok(got)) = (expected.parse::<f64>(), got.parse::<f64>()) else {
        return false;
    };
    expected == got || tolerance.is_some_and(|tolerance| within(got, expected, tolerance))
}

fn has_point(text: &str) -> bool {
    text.bytes().any(|byte| b".eE".contains(&byte))
}

/// An integer without a plus sign, leading zeros, or the sign of zero.
fn normalised(text: &str) -> String {
    let (negative, digits) = match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    };
    let digits = digits.trim_start_matches('0');
    if negative && !digits.is_empty() {
        format!("-{digits}")
    } else {
        digits.to_owned()
    }
}

/// Whether a token consists of digits with an optional sign, point and exponent. Rejects
/// underscores, `nan` and hexadecimal numbers.
fn is_decimal(text: &str) -> bool {
    let text = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (mantissa, exponent) = text
        .split_once(['e', 'E'])
        .map_or((text, None), |(m, e)| (m, Some(e)));
    let (whole, part) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let is_exponent_valid = exponent.is_none_or(|exponent| {
        let digits_only = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        !digits_only.is_empty() && digits(digits_only)
    });
    digits(whole) && digits(part) && !(whole.is_empty() && part.is_empty()) && is_exponent_valid
}

//! Exact arithmetic with decimal numbers: 0.1 + 0.2 is 0.3.

use std::cmp::Ordering;

/// Maximum number of digits, and of decimal places, of a number.
const MAX_DIGITS: usize = 30;

/// A number as an integer and its number of decimal places.
fn scaled(text: &str) -> Option<(i128, usize)> {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (whole, decimals) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{decimals}");
    let places = i32::try_from(decimals.len()).ok()? - exponent;
    if digits.len() > MAX_DIGITS || places.unsigned_abs() as usize > MAX_DIGITS {
        return None;
    }
    let value: i128 = digits.parse().ok()?;
    match usize::try_from(places) {
        Ok(places) => Some((value, places)),
        Err(_) => Some((
            value.checked_mul(10i128.checked_pow(places.unsigned_abs())?)?,
            0,
        )),
    }
}

/// `a + b`, or `a - b` if `subtract`; `None` if a number has too many digits.
pub(super) fn sum(a: &str, b: &str, subtract: bool) -> Option<String> {
    let (a, b, places) = aligned(a, b)?;
    let sum = if subtract {
        a.checked_sub(b)?
    } else {
        a.checked_add(b)?
    };
    Some(written(sum, places))
}

/// `a * b`; `None` if a number has too many digits.
pub(super) fn product(a: &str, b: &str) -> Option<String> {
    let ((a, a_places), (b, b_places)) = (scaled(a)?, scaled(b)?);
    let product = a.checked_mul(b)?;
    Some(written(product, a_places + b_places))
}

/// The order of two numbers; `None` if one has too many digits.
pub(super) fn order(a: &str, b: &str) -> Option<Ordering> {
    let (a, b, _) = aligned(a, b)?;
    Some(a.cmp(&b))
}

/// Two numbers as integers with the same number of decimal places.
fn aligned(a: &str, b: &str) -> Option<(i128, i128, usize)> {
    let ((a, a_places), (b, b_places)) = (scaled(a)?, scaled(b)?);
    let places = a_places.max(b_places);
    let widened = |value: i128, from: usize| {
        value.checked_mul(10i128.checked_pow(u32::try_from(places - from).ok()?)?)
    };
    Some((widened(a, a_places)?, widened(b, b_places)?, places))
}

/// An integer with this number of decimal places, in the grammar of JSON.
fn written(value: i128, places: usize) -> String {
    let digits = format!("{:0>width$}", value.unsigned_abs(), width = places + 1);
    let (whole, decimals) = digits.split_at(digits.len() - places);
    let decimals = decimals.trim_end_matches('0');
    let sign = if value < 0 { "-" } else { "" };
    if decimals.is_empty() {
        format!("{sign}{whole}")
    } else {
        format!("{sign}{whole}.{decimals}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_exact() {
        assert_eq!(sum("0.1", "0.2", false).as_deref(), Some("0.3"));
        assert_eq!(sum("1", "1.50", true).as_deref(), Some("-0.5"));
        assert_eq!(sum("1e3", "5", false).as_deref(), Some("1005"));
        assert_eq!(sum("0.05", "0.05", true).as_deref(), Some("0"));
        assert_eq!(product("0.1", "-0.20").as_deref(), Some("-0.02"));
        assert_eq!(product("1.5", "2").as_deref(), Some("3"));
        assert_eq!(order("0.30", "3e-1"), Some(Ordering::Equal));
        assert_eq!(order("-2", "1.5"), Some(Ordering::Less));
        assert_eq!(order("1e300", "1"), None);
        assert_eq!(sum("1e300", "1", false), None);
        assert_eq!(sum(&"9".repeat(40), "1", false), None);
    }
}

//! Converts numbers of other formats to JSON's grammar, exactly.

use assay_base::truncated;
use num_bigint::BigUint;

use super::limits::MAX_QUOTED;

/// Maximum number of digits of a number in another base than ten. Conversion takes quadratic time.
const MAX_DIGITS: usize = 1_000;

/// Converts a decimal number, which may have a plus sign, leading zeros, or a point without digits
/// on one side, to the grammar of JSON. `None` for other texts.
pub(crate) fn decimal(text: &str) -> Option<String> {
    let (sign, text) = match text.as_bytes().first()? {
        b'-' => ("-", &text[1..]),
        b'+' => ("", &text[1..]),
        _ => ("", text),
    };
    let are_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (text, None),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (mantissa, None),
    };
    let digits = whole.len() + fraction.map_or(0, str::len);
    if digits == 0 || !are_digits(whole) || !are_digits(fraction.unwrap_or_default()) {
        return None;
    }
    let whole = whole.trim_start_matches('0');
    let mut number = format!("{sign}{}", if whole.is_empty() { "0" } else { whole });
    if let Some(fraction) = fraction {
        number.push('.');
        number.push_str(if fraction.is_empty() { "0" } else { fraction });
    }
    if let Some(exponent) = exponent {
        let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        if digits.is_empty() || !are_digits(digits) {
            return None;
        }
        number.push('e');
        number.push_str(exponent);
    }
    Some(number)
}

/// Digits of another base, converted to base ten.
pub(super) fn in_base_ten(digits: &str, radix: u32) -> Result<String, String> {
    if digits.len() > MAX_DIGITS {
        return Err(format!(
            "a number in base {radix} has more than {MAX_DIGITS} digits"
        ));
    }
    let number = BigUint::parse_bytes(digits.as_bytes(), radix);
    number.map(|number| number.to_string()).ok_or_else(|| {
        format!(
            "`{}` is not a number in base {radix}",
            truncated(digits, MAX_QUOTED)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn converts_decimals_to_json() {
        for (text, number) in [
            ("007", "7"),
            ("+12", "12"),
            ("-0", "-0"),
            (".5", "0.5"),
            ("5.", "5.0"),
            ("-00.50", "-0.50"),
            ("1E+06", "1e+06"),
            (
                "123456789012345678901234567890",
                "123456789012345678901234567890",
            ),
        ] {
            assert_eq!(decimal(text).as_deref(), Some(number), "{text}");
        }
        for text in [
            "", "+", ".", "1e", "1e+", "--1", "1_000", "0x1", "1,5", "nan", " 1", "e5", "١",
        ] {
            assert_eq!(decimal(text), None, "{text}");
        }
    }

    #[test]
    fn integers_of_other_bases_are_exact() {
        assert_eq!(
            in_base_ten("ffFFffFFffFFffFFff", 16).unwrap(),
            "4722366482869645213695"
        );
        assert_eq!(in_base_ten("17", 8).unwrap(), "15");
        assert!(in_base_ten("8", 8).is_err());
        assert!(in_base_ten(&"f".repeat(1_001), 16).is_err());
    }
}

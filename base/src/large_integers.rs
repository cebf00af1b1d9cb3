//! Integers in JSON texts that a parsed value cannot represent.

/// Whether a JSON text has an integer that does not fit into 64 bits. It would be read as a float:
/// a gold or a test would lose digits, and a right answer would be graded as wrong.
#[must_use]
pub fn has_large_integer(json: &str) -> bool {
    let mut rest = json;
    while let Some(start) = rest.find(|c: char| c == '"' || c == '-' || c.is_ascii_digit()) {
        let (_, found) = rest.split_at(start);
        rest = match found.strip_prefix('"') {
            Some(text) => after_string(text),
            None => {
                let end = found
                    .find(|c: char| !is_of_number(c))
                    .unwrap_or(found.len());
                let (number, after) = found.split_at(end);
                if is_large_integer(number) {
                    return true;
                }
                after
            }
        };
    }
    false
}

fn is_of_number(c: char) -> bool {
    c.is_ascii_digit() || matches!(c, '-' | '+' | '.' | 'e' | 'E')
}

fn is_large_integer(number: &str) -> bool {
    let digits = number.strip_prefix('-').unwrap_or(number);
    !digits.is_empty()
        && digits.bytes().all(|byte| byte.is_ascii_digit())
        && number.parse::<i64>().is_err()
        && number.parse::<u64>().is_err()
}

/// What follows the string whose content starts a text.
fn after_string(text: &str) -> &str {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return text.split_at(at + 1).1,
            _ => {}
        }
    }
    ""
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_integers_of_more_than_64_bits() {
        for json in [
            "18446744073709551616",
            "[1, -9223372036854775809]",
            r#"{"a\\": 123456789012345678901234567890}"#,
        ] {
            assert!(has_large_integer(json), "{json}");
        }
        for json in [
            "",
            "-",
            "[18446744073709551615, -9223372036854775808, -0]",
            "[1e30, 0.1234567890123456789012, 12345678901234567890123.5]",
            r#"["123456789012345678901234567890", "é\"18446744073709551616"]"#,
            r#""18446744073709551616"#,
        ] {
            assert!(!has_large_integer(json), "{json}");
        }
    }
}

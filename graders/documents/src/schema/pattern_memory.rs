//! Estimates the memory of the compiled patterns of a schema, before they are compiled.

use jsonschema_regex::to_rust_regex;
use regex_syntax::hir::{Class, Hir, HirKind};
use serde_json::Value;

/// Memory of a compiled pattern in addition to its states. Measured as 7.1 kB for a pattern of one
/// character.
const PATTERN_BYTES: usize = 8 << 10;

/// Memory of a byte or of a range of characters in compiled form, forwards and backwards. Measured
/// as 47 bytes for `a{1000}` and 34 for `[0-9A-Z_a-z]{30}`.
const RANGE_BYTES: usize = 48;

/// The same for a range beyond ASCII, of which several bytes are compared. Measured as 77 bytes for
/// `\p{L}{10}`.
const WIDE_RANGE_BYTES: usize = 96;

/// The same for a range of characters with different numbers of bytes. Measured as 1,080 bytes for
/// `.{1,64}`, and 970 for `[^a-z]{40}`.
const MIXED_RANGE_BYTES: usize = 1_024;

/// Memory of a group. Measured as 680 bytes for `(ab|cd){20}`.
const GROUP_BYTES: usize = 768;

/// Estimated memory of all patterns of a schema when they are compiled, in bytes.
#[must_use]
pub fn of_schema(source: &Value) -> usize {
    match source {
        Value::Array(values) => values.iter().map(of_schema).fold(0, usize::saturating_add),
        Value::Object(fields) => fields.iter().fold(0_usize, |sum, (name, value)| {
            let own = match (name.as_str(), value) {
                ("pattern", Value::String(pattern)) => of_pattern(pattern),
                ("patternProperties", Value::Object(patterns)) => patterns
                    .keys()
                    .map(|pattern| of_pattern(pattern))
                    .fold(0, usize::saturating_add),
                _ => 0,
            };
            sum.saturating_add(own).saturating_add(of_schema(value))
        }),
        _ => 0,
    }
}

fn of_pattern(pattern: &str) -> usize {
    // Patterns with look-around are compiled in parts, which are not larger than the text suggests.
    let of_text = || pattern.len().saturating_mul(RANGE_BYTES);
    let translated = to_rust_regex(pattern).ok();
    let parsed = translated.and_then(|pattern| regex_syntax::parse(&pattern).ok());
    PATTERN_BYTES.saturating_add(parsed.map_or_else(of_text, |pattern| of_hir(&pattern)))
}

/// The depth of the recursion is that of the pattern, which the parser limits.
fn of_hir(pattern: &Hir) -> usize {
    match pattern.kind() {
        HirKind::Empty | HirKind::Look(_) => RANGE_BYTES,
        HirKind::Literal(literal) => literal.0.len().saturating_mul(RANGE_BYTES),
        HirKind::Class(Class::Unicode(class)) => class
            .ranges()
            .iter()
            .map(|range| of_range(range.start(), range.end()))
            .fold(0, usize::saturating_add),
        HirKind::Class(Class::Bytes(class)) => class.ranges().len().saturating_mul(RANGE_BYTES),
        HirKind::Repetition(repetition) => {
            let times = repetition.max.unwrap_or(repetition.min.saturating_add(1));
            let times = usize::try_from(times.max(1)).unwrap_or(usize::MAX);
            of_hir(&repetition.sub).saturating_mul(times)
        }
        HirKind::Capture(capture) => GROUP_BYTES.saturating_add(of_hir(&capture.sub)),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => {
            parts.iter().map(of_hir).fold(0, usize::saturating_add)
        }
    }
}

fn of_range(start: char, end: char) -> usize {
    if start.len_utf8() != end.len_utf8() {
        MIXED_RANGE_BYTES
    } else if end.is_ascii() {
        RANGE_BYTES
    } else {
        WIDE_RANGE_BYTES
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn counts_patterns_wherever_they_are() {
        let schema = json!({
            "pattern": "a",
            "properties": { "pattern": { "patternProperties": { "b": {}, "c": { "pattern": "d" } } } },
            "enum": ["pattern"],
        });
        assert_eq!(of_schema(&schema), 4 * of_pattern("a"));
        assert_eq!(
            of_schema(&json!({ "pattern": 3, "patternProperties": [] })),
            0
        );
    }

    #[test]
    fn counts_repetitions_and_classes() {
        let states = |pattern: &str| of_pattern(pattern) - PATTERN_BYTES;
        assert_eq!(states("(?:ab){1000}"), 2_000 * RANGE_BYTES);
        // In ECMAScript these are the letters, digits and `_` of ASCII.
        assert_eq!(states(r"\w{30}"), 4 * 30 * RANGE_BYTES);
        assert!(states(r"\p{L}{10}") > 500_000);
        assert!(states(".{1,64}") > 64 * 1_000);
        assert!(states("(a){20}") > 20 * 700);
        assert!(states("(?:a{1000}){1000}") >= 1_000_000 * RANGE_BYTES);
        assert_eq!(states("(?<!a)b"), 7 * RANGE_BYTES);
        assert_eq!(states("("), RANGE_BYTES);
    }
}

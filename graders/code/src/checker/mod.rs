//! Compares the output of a program with the expected output.

mod numbers;
mod program;
mod result;

use std::collections::BTreeMap;

use assay_documents::Json;

use crate::task::NamedChecker;
use crate::value;
use numbers::tokens_agree;

pub(crate) use program::run_checker;
pub(crate) use result::{CheckerResult, Difference};

/// Compares bytes with the expected text.
pub(crate) fn compare(
    checker: NamedChecker,
    tolerance: Option<f64>,
    expected: &str,
    got: &[u8],
) -> CheckerResult {
    let is_equal = match checker {
        NamedChecker::Exact => without_newline(expected.as_bytes()) == without_newline(got),
        NamedChecker::Tokens => same_tokens(expected.as_bytes(), got, tolerance),
        NamedChecker::Lines => {
            let (expected, got) = (lines(expected.as_bytes()), lines(got));
            expected.len() == got.len()
                && expected
                    .iter()
                    .zip(&got)
                    .all(|(a, b)| same_line(a, b, tolerance))
        }
        NamedChecker::UnorderedLines => {
            same_lines_in_any_order(expected.as_bytes(), got, tolerance)
        }
        NamedChecker::Json => same_json(expected, got, tolerance),
    };
    if is_equal {
        CheckerResult::Correct
    } else {
        CheckerResult::Wrong(first_difference(expected, got))
    }
}

/// A text without its trailing newline.
fn without_newline(text: &[u8]) -> &[u8] {
    let text = text.strip_suffix(b"\n").unwrap_or(text);
    text.strip_suffix(b"\r").unwrap_or(text)
}

fn tokens(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(u8::is_ascii_whitespace)
        .filter(|token| !token.is_empty())
}

fn same_tokens(expected: &[u8], got: &[u8], tolerance: Option<f64>) -> bool {
    let (mut expected, mut got) = (tokens(expected), tokens(got));
    loop {
        match (expected.next(), got.next()) {
            (None, None) => return true,
            (Some(expected), Some(got)) if tokens_agree(expected, got, tolerance) => {}
            _ => return false,
        }
    }
}

/// Lines without trailing white space, and without empty lines at the end of the text.
fn lines(text: &[u8]) -> Vec<&[u8]> {
    let mut lines: Vec<&[u8]> = text
        .split(|byte| *byte == b'\n')
        .map(<[u8]>::trim_ascii_end)
        .collect();
    while lines.last().is_some_and(|line| line.is_empty()) {
        lines.pop();
    }
    lines
}

fn same_line(expected: &[u8], got: &[u8], tolerance: Option<f64>) -> bool {
    expected == got || tolerance.is_some() && same_tokens(expected, got, tolerance)
}

/// Most comparisons to match lines that agree only within a tolerance.
const LINE_COMPARISONS: usize = 4_000_000;

/// Whether each line can be matched with a different line of the other output.
fn same_lines_in_any_order(expected: &[u8], got: &[u8], tolerance: Option<f64>) -> bool {
    let (mut expected, mut got) = (lines(expected), lines(got));
    expected.sort_unstable();
    got.sort_unstable();
    if expected.len() != got.len() || expected == got || tolerance.is_none() {
        return expected == got;
    }
    if expected.len().saturating_mul(got.len()) > LINE_COMPARISONS {
        return false;
    }
    expected.iter().all(|line| {
        let partner = got
            .iter()
            .position(|other| same_line(line, other, tolerance));
        partner.map(|at| got.swap_remove(at)).is_some()
    })
}

fn same_json(expected: &str, got: &[u8], tolerance: Option<f64>) -> bool {
    let got = std::str::from_utf8(got).ok().and_then(value::read);
    value::read(expected)
        .zip(got)
        .is_some_and(|(expected, got)| json_agrees(&expected, &got, tolerance))
}

fn json_agrees(expected: &Json, got: &Json, tolerance: Option<f64>) -> bool {
    match (expected, got) {
        (Json::Number(expected), Json::Number(got)) => numbers::agree(expected, got, tolerance),
        (Json::Array(expected), Json::Array(got)) => {
            expected.len() == got.len()
                && expected
                    .iter()
                    .zip(got)
                    .all(|(a, b)| json_agrees(a, b, tolerance))
        }
        (Json::Object(expected), Json::Object(got)) => {
            let got_by_key: BTreeMap<&str, &Json> = got
                .iter()
                .map(|(key, value)| (key.as_str(), value))
                .collect();
            expected.len() == got.len()
                && got_by_key.len() == got.len()
                && expected.iter().all(|(key, value)| {
                    got_by_key
                        .get(key.as_str())
                        .is_some_and(|got| json_agrees(value, got, tolerance))
                })
        }
        _ => expected == got,
    }
}

/// The first line in which two outputs differ, apart from trailing white space.
fn first_difference(expected: &str, got: &[u8]) -> Option<Difference> {
    let (expected, got) = (lines(expected.as_bytes()), lines(got));
    let line = (0..expected.len().max(got.len())).find(|at| expected.get(*at) != got.get(*at))?;
    let shown = |line: Option<&&[u8]>| {
        line.map(|line| String::from_utf8_lossy(line).chars().take(200).collect())
    };
    Some(Difference {
        line: line + 1,
        expected: shown(expected.get(line)),
        got: shown(got.get(line)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_equal(checker: NamedChecker, expected: &str, got: &str) -> bool {
        compare(checker, None, expected, got.as_bytes()) == CheckerResult::Correct
    }

    #[test]
    fn checkers_ignore_documented_differences() {
        assert!(is_equal(NamedChecker::Tokens, "1 2\n3", " 1\n2   3 \n\n"));
        assert!(!is_equal(NamedChecker::Tokens, "12", "1 2"));
        assert!(is_equal(NamedChecker::Exact, "a b\n", "a b"));
        assert!(!is_equal(NamedChecker::Exact, "a b", "a  b"));
        assert!(!is_equal(NamedChecker::Exact, "a", "a\n\n"));
        assert!(is_equal(NamedChecker::Lines, "a\nb", "a  \r\nb\n\n"));
        assert!(!is_equal(NamedChecker::Lines, "a\nb", "a b"));
        assert!(is_equal(
            NamedChecker::UnorderedLines,
            "a\nb\nb",
            "b\na\nb\n"
        ));
        assert!(!is_equal(
            NamedChecker::UnorderedLines,
            "a\nb\nb",
            "b\na\na\n"
        ));
        assert!(is_equal(
            NamedChecker::Json,
            r#"{"a":[1,2.0],"b":null}"#,
            r#"{ "b": null, "a": [1.0, 2] }"#
        ));
        assert!(!is_equal(NamedChecker::Json, "[1,2]", "[2,1]"));
        assert!(!is_equal(NamedChecker::Json, "[1]", "[1"));
    }

    #[test]
    fn rejects_outputs_that_match_in_part() {
        for (expected, got) in [
            ("5", "5\n6"),
            ("5\n6", "5"),
            ("5", "nan"),
            ("5", "\u{1b}[2K\r5"),
            ("2 3", "2 2 3"),
            ("yes", "YES"),
        ] {
            assert!(
                !is_equal(NamedChecker::Tokens, expected, got),
                "{expected} {got}"
            );
        }
        assert_ne!(
            compare(NamedChecker::Tokens, None, "5", b"5\n\xff\xfe"),
            CheckerResult::Correct
        );
    }

    #[test]
    fn tolerance_applies_to_numbers_with_a_point() {
        let close = |checker, expected: &str, got: &str| {
            compare(checker, Some(1e-6), expected, got.as_bytes()) == CheckerResult::Correct
        };
        assert!(close(NamedChecker::Tokens, "x 0.333333333", "x 0.33333334"));
        assert!(close(NamedChecker::Tokens, "5.0", "5"));
        assert!(!close(
            NamedChecker::Tokens,
            "100000000000000000",
            "100000000000000001"
        ));
        assert!(close(NamedChecker::Tokens, "-5", "-05"));
        assert!(close(NamedChecker::Tokens, "+5", "5"));
        assert!(close(NamedChecker::Tokens, "0", "-0"));
        assert!(!close(NamedChecker::Tokens, "5", "-5"));
        assert!(!close(NamedChecker::Tokens, "x", "+x"));
        assert!(!close(NamedChecker::Tokens, "7b", "07b"));
        assert!(!close(NamedChecker::Tokens, "10.0", "1_0"));
        assert!(!close(NamedChecker::Tokens, "0.5", "nan"));
        assert!(!close(NamedChecker::Tokens, "0.5", "inf"));
        assert!(close(
            NamedChecker::UnorderedLines,
            "0.1\n0.2",
            "0.2000000001\n0.0999999999"
        ));
        assert!(close(
            NamedChecker::UnorderedLines,
            "1.0000001 5\n1.0000002 3",
            "1.0000002 5\n1.0000001 3"
        ));
        assert!(close(NamedChecker::Json, "[0.1]", "[0.10000000001]"));
    }

    #[test]
    fn reports_the_first_difference() {
        let result = compare(NamedChecker::Tokens, None, "1\n2\n", b"1\n3\n");
        let CheckerResult::Wrong(Some(difference)) = result else {
            panic!("they differ")
        };
        assert_eq!(
            (
                difference.line,
                difference.expected.as_deref(),
                difference.got.as_deref()
            ),
            (2, Some("2"), Some("3"))
        );
    }
}

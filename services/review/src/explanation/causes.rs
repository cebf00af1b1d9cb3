//! Sentences for the codes that evidence has as the reason of a verdict.

use assay_record::ItemGrade;
use serde_json::Value;

use super::reason;

/// The rule of completions without an answer.
pub(super) const NOTHING_EXTRACTED: &str = "nothing_extracted";

/// A rule, and what it means for an answer that passes and for one that does not.
const RULES: &[(&str, &str, &str)] = &[
    (
        "same_text",
        "the answer has the same text",
        "the texts differ",
    ),
    (
        "same_tree",
        "the answer is the same expression",
        "the expressions differ",
    ),
    ("rational", "the numbers are equal", "the numbers differ"),
    ("apart", "the constants are equal", "the constants differ"),
    (
        "algebraic",
        "the algebraic numbers are equal",
        "the algebraic numbers differ",
    ),
    (
        "precision",
        "the constants agree to the assumed precision",
        "the constants differ at the assumed precision",
    ),
    (
        "approached",
        "the limits, integrals or sums agree",
        "the limits, integrals or sums differ",
    ),
    (
        "antiderivative",
        "both have the same derivative",
        "the derivatives differ",
    ),
    (
        "identity",
        "the functions agree at random points",
        "the functions differ at a random point",
    ),
    (
        "sampled",
        "the expressions agree at random points",
        "the expressions differ at a random point",
    ),
    (
        "equation",
        "the equations are multiples",
        "the equations are not multiples",
    ),
    (
        "solved",
        "the value is that of the solved equation",
        "the value is not that of the solved equation",
    ),
    (
        "family",
        "the families of values are equal",
        "the families of values differ",
    ),
    (
        "tuple",
        "all components are equal",
        "a component differs, or their number does",
    ),
    (
        "unordered",
        "all components are equal in some order",
        "the components differ in every order",
    ),
    (
        "matrix",
        "all entries are equal",
        "an entry differs, or the shapes do",
    ),
    (
        "real_set",
        "the sets of numbers are equal",
        "the sets of numbers differ",
    ),
    ("chain", "the relations are equal", "the relations differ"),
    ("text", "the words are equal", "the words differ"),
    ("choice", "the choices are equal", "the choices differ"),
    (
        "unit",
        "the quantities are equal",
        "the quantities or their units differ",
    ),
    ("base", "the numerals are equal", "the numerals differ"),
    ("time", "the times are equal", "the times differ"),
    ("ratio", "the ratios are equal", "the ratios differ"),
    (
        "tolerance",
        "the answer is within the tolerance of the task",
        "the answer is outside the tolerance of the task",
    ),
    (
        "kind",
        "the answer is of another kind than the expected one",
        "the answer is of another kind than the expected one",
    ),
    (
        "form",
        "the answer has a form that the task allows",
        "the answer has a form that the task does not allow",
    ),
    (
        "condition",
        "the conditions of the answers agree",
        "a condition restricts only one of the answers, or the conditions differ",
    ),
    (
        "unparsed",
        "the answer cannot be read",
        "the answer cannot be read",
    ),
    (
        "budget",
        "the comparison ran out of steps",
        "the comparison ran out of steps",
    ),
    ("exact", "the texts are equal", "the texts differ"),
    (
        "normalised",
        "the texts are equal after normalisation",
        "the texts differ after normalisation",
    ),
    (
        "contains",
        "the answer contains the expected text",
        "the answer does not contain the expected text",
    ),
    (
        "pattern",
        "the answer matches the pattern",
        "the answer does not match the pattern",
    ),
];

/// A verdict of a test or of a program, as the cause of a verdict.
const VERDICTS: &[(&str, &str)] = &[
    ("time_limit", "a test exceeded the limit of work"),
    ("memory_limit", "a test exceeded the limit of memory"),
    ("output_limit", "a test exceeded the limit of output"),
    ("runtime_error", "the program ended with an error in a test"),
    ("compile_error", "the program cannot be compiled"),
    ("presentation", "the output differs in its layout only"),
    ("wrong_answer", "a test has another result than expected"),
    ("no_call", "the completion has no tool call"),
    ("malformed", "the document cannot be parsed"),
    ("invalid", "the document does not match its schema"),
];

/// Why a grade has its verdict or no score, in a few words; empty if its evidence does not say.
/// `task` is the task of the grade, null if it is not known.
#[must_use]
pub fn cause(grade: &ItemGrade, evidence: &Value, task: &Value) -> String {
    if let Some(fault) = &grade.error {
        return fault.message.to_string();
    }
    let passes = grade.pass == Some(true);
    if let Some(rule) = evidence["rule"].as_str() {
        if rule == NOTHING_EXTRACTED {
            return nothing_extracted(task).to_owned();
        }
        let known = RULES.iter().find(|(name, ..)| *name == rule);
        return known.map_or_else(
            || format!("decided by the rule `{rule}`"),
            |(_, equal, different)| (if passes { *equal } else { *different }).to_owned(),
        );
    }
    let reason = match evidence["message"].as_str() {
        Some(message) => error_line(message).to_owned(),
        None => reason(evidence),
    };
    let known = VERDICTS.iter().find(|(name, _)| *name == reason);
    known.map_or(reason, |(_, cause)| (*cause).to_owned())
}

/// The line of a message of a compiler that says what is wrong: the first that names an error, or
/// the last one.
fn error_line(message: &str) -> &str {
    let mut lines = message
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty());
    let named = lines.clone().find(|line| line.contains("rror:"));
    named.or_else(|| lines.next_back()).unwrap_or_default()
}

/// Why no answer was found.
fn nothing_extracted(task: &Value) -> &'static str {
    match task["extract"].as_str() {
        Some("boxed") => "no box in the completion; the task accepts only boxed answers",
        Some("whole") => "nothing after the reasoning of the completion",
        _ => "no answer in the completion",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn grade(pass: bool) -> ItemGrade {
        ItemGrade {
            pass: Some(pass),
            ..ItemGrade::default()
        }
    }

    #[test]
    fn codes_have_sentences() {
        let none = json!({"rule": "nothing_extracted"});
        assert_eq!(
            cause(&grade(false), &none, &json!({"extract": "boxed"})),
            "no box in the completion; the task accepts only boxed answers"
        );
        assert_eq!(
            cause(&grade(false), &none, &Value::Null),
            "no answer in the completion"
        );
        let rule = json!({"rule": "rational"});
        assert_eq!(
            cause(&grade(true), &rule, &Value::Null),
            "the numbers are equal"
        );
        assert_eq!(
            cause(&grade(false), &rule, &Value::Null),
            "the numbers differ"
        );
        let test = json!({"first_failure": {"verdict": "time_limit"}});
        assert_eq!(
            cause(&grade(false), &test, &Value::Null),
            "a test exceeded the limit of work"
        );
        assert_eq!(cause(&grade(true), &json!({}), &Value::Null), "");
        let python = "  File \"main.py\", line 2\n    x = (\nSyntaxError: '(' was never closed\n";
        let cpp = "main.cpp:1:9: error: expected ';'\n    int x\n1 error generated.\n";
        for (message, expected) in [
            (python, "SyntaxError: '(' was never closed"),
            (cpp, "main.cpp:1:9: error: expected ';'"),
            ("out of memory\n", "out of memory"),
        ] {
            let evidence = json!({ "message": message });
            assert_eq!(cause(&grade(false), &evidence, &Value::Null), expected);
        }
    }
}

//! Whether a program contains inputs of its tests as literals, as programs do that compare their
//! input with those of the tests instead of solving the task.

use assay_core::Task;
use assay_core::evidence::TextFact;
use assay_record::ItemGrade;
use serde::Deserialize;
use serde_json::Value;

/// The grader of programs.
const GRADER: &str = "code";

/// Largest task that is read for its inputs, in bytes.
const MAX_TASK: usize = 64 * 1_024;

/// Most tests whose inputs are looked for.
const MAX_TESTS: usize = 32;

/// Shortest input that is looked for, in characters without spaces. Shorter ones occur in any
/// program.
const MIN_INPUT: usize = 2;

/// Longest part of an input that is looked for, in bytes.
const MAX_INPUT: usize = 200;

#[derive(Deserialize)]
struct Facts<'e> {
    #[serde(borrow, default)]
    program: TextFact<'e>,
}

#[derive(Deserialize)]
struct CodeTask {
    tests: Vec<Test>,
}

#[derive(Deserialize)]
struct Test {
    stdin: Option<String>,
    args: Option<Value>,
}

/// Whether the program of a grade that passes contains at least half of the different inputs of its
/// tests, and at least two. `None` if the tests have fewer.
pub(super) fn contains_inputs(grade: &ItemGrade, task: &Task) -> Option<bool> {
    if *grade.grader.name != *GRADER || grade.pass_after_appeal() != Some(true) {
        return None;
    }
    let json = task.body.get();
    if json.len() > MAX_TASK {
        return None;
    }
    let facts: Facts<'_> = grade.evidence.as_ref()?.read()?;
    let program = facts.program.get()?;
    let task: CodeTask = serde_json::from_str(json).ok()?;
    let mut inputs: Vec<String> = task
        .tests
        .iter()
        .take(MAX_TESTS)
        .filter_map(input)
        .collect();
    inputs.sort();
    inputs.dedup();
    let program = plain(program);
    let found = inputs.iter().filter(|input| has_word(&program, input));
    (inputs.len() >= 2).then(|| {
        let found = found.count();
        found >= 2 && found * 2 >= inputs.len()
    })
}

/// The first line of the standard input, or the longest argument, without spaces and quotes.
fn input(test: &Test) -> Option<String> {
    let text = match (&test.stdin, &test.args) {
        (Some(stdin), _) => stdin.lines().map(plain).find(|line| !line.is_empty())?,
        (None, Some(Value::Array(args))) => {
            let args = args.iter().map(|arg| plain(&arg.to_string()));
            args.max_by_key(String::len)?
        }
        _ => return None,
    };
    let end = text.floor_char_boundary(MAX_INPUT);
    (text.chars().count() >= MIN_INPUT).then(|| text[..end].to_owned())
}

/// A text without spaces and quotes, which languages write differently.
fn plain(text: &str) -> String {
    let is_kept = |character: &char| !character.is_whitespace() && !"\"'\\".contains(*character);
    text.chars().filter(is_kept).collect()
}

/// Whether a text contains a word that does not continue on either side.
fn has_word(text: &str, word: &str) -> bool {
    let continues = |next: Option<char>| next.is_some_and(char::is_alphanumeric);
    text.match_indices(word).any(|(at, _)| {
        let after = text[at + word.len()..].chars().next();
        !continues(text[..at].chars().next_back()) && !continues(after)
    })
}

#[cfg(test)]
mod tests {
    use assay_core::{Evidence, GraderId};

    use super::*;

    fn contains(task: &str, program: &str) -> Option<bool> {
        let grade = ItemGrade {
            grader: GraderId {
                name: GRADER.into(),
                version: 1,
            },
            verdict: Some("accepted".into()),
            pass: Some(true),
            evidence: Some(Evidence::new().text("program", program)),
            ..ItemGrade::default()
        };
        contains_inputs(&grade, &Task::from_json(task).unwrap())
    }

    #[test]
    fn finds_programs_that_compare_their_input() {
        let task = r#"{"type": "code", "language": "python", "tests": [
            {"stdin": "17 25\n", "stdout": "42"}, {"stdin": "90 11\n", "stdout": "101"},
            {"stdin": "31 9\n", "stdout": "40"}]}"#;
        let special = "s = input()\nprint({'17 25': 42, '90 11': 101, '31 9': 40}[s])";
        assert_eq!(contains(task, special), Some(true));
        let honest = "a, b = map(int, input().split())\nprint(a + b)";
        assert_eq!(contains(task, honest), Some(false));
        // One input may be an example in a comment.
        assert_eq!(
            contains(task, &format!("# 17 25 gives 42\n{honest}")),
            Some(false)
        );
    }

    #[test]
    fn finds_arguments_of_calls() {
        let task = r#"{"type": "code", "language": "python", "tests": [
            {"call": "f", "args": [[1, 2, 3]], "returns": 6},
            {"call": "f", "args": [[10, 20]], "returns": 30}]}"#;
        let special = "def f(x):\n    if x == [1, 2, 3]: return 6\n    if x == [10,20]: return 30";
        assert_eq!(contains(task, special), Some(true));
        assert_eq!(contains(task, "def f(x):\n    return sum(x)"), Some(false));
    }

    #[test]
    fn single_digits_and_asserts_are_no_inputs() {
        let task = r#"{"type": "code", "language": "python", "tests": [
            {"stdin": "3\n", "stdout": "9"}, {"stdin": "4\n", "stdout": "16"},
            {"assert": "f(10) == 100"}]}"#;
        assert_eq!(contains(task, "print(int(input()) ** 2)  # 3 4 10"), None);
    }
}

//! `answer-in-prompt`: the prompt states the answer, or contains the solution, the query or the
//! call.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use super::Sink;
use super::code::{Code, code};
use crate::graded_row::{GradedRow, excerpt};
use crate::reading::any_phrase;
use crate::subject::Subject;

pub(super) const CODE: Code = code!("answer-in-prompt", Warning);

/// Minimum length of a solution or query that is searched in the prompt, in bytes.
const MIN_LENGTH: usize = 30;

/// What precedes a stated answer, in lower case.
static STATEMENTS: LazyLock<Regex> = LazyLock::new(|| {
    any_phrase(&[
        "the answer is ",
        "the correct answer is ",
        "answer: ",
        "final answer: ",
        "the final answer is ",
        "#### ",
        "\\boxed{",
        "solution: ",
        "(answer: ",
        "[answer: ",
        "correct option: ",
        "ans: ",
        "the solution is ",
    ])
});

pub(super) fn check(row: &GradedRow, sink: &mut Sink<'_>) {
    let Ok(subject) = &row.subject else { return };
    let Some(prompt) = &subject.prompt else {
        return;
    };
    if let Some(message) = contained(subject, prompt) {
        sink.add(&CODE, &row.location, &row.key, message);
    }
}

fn contained(subject: &Subject, prompt: &str) -> Option<String> {
    if let Some(statement) = stated(subject, prompt) {
        return Some(format!(
            "the prompt states the gold: `{}`",
            excerpt(&statement)
        ));
    }
    let visible = |text: &str| {
        text.bytes()
            .filter(|byte| !byte.is_ascii_whitespace())
            .count()
    };
    let length = visible(prompt);
    let contains = |text: &str| {
        let own = visible(text);
        own >= MIN_LENGTH && own <= length + 1 && joined(prompt).contains(&joined(text))
    };
    let solution = subject.solution.as_deref().filter(|text| contains(text));
    if let Some(solution) = solution {
        return Some(format!(
            "the prompt contains the solution `{}`",
            excerpt(solution)
        ));
    }
    if subject.task.kind.as_str() == "sql"
        && let Some(query) = subject
            .texts("gold")
            .into_iter()
            .find(|gold| contains(gold))
    {
        return Some(format!(
            "the prompt contains the query `{}`",
            excerpt(query)
        ));
    }
    let call = call(subject, prompt)?;
    Some(format!("the prompt contains the expected call of `{call}`"))
}

/// A text with single spaces and no semicolon at its end.
fn joined(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    text.trim_end_matches(';').to_owned()
}

/// The statement of a `math` or `text` gold in the prompt.
fn stated(subject: &Subject, prompt: &str) -> Option<String> {
    if !matches!(subject.task.kind.as_str(), "math" | "text")
        || subject.text("match") == Some("pattern")
    {
        return None;
    }
    let gold = match subject.texts("answer").as_slice() {
        [gold] => gold.trim().trim_matches('$').to_lowercase(),
        _ => return None,
    };
    let lower = prompt.to_lowercase();
    STATEMENTS.find_iter(&lower).find_map(|statement| {
        let rest = lower[statement.end()..].trim_start_matches(['$', ' ', '*']);
        let after = rest.strip_prefix(gold.as_str())?;
        let continues =
            after.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '^' | '/' | '.' | ','));
        let ends = !continues || after.len() == 1 || after.starts_with(". ");
        (ends && !gold.is_empty()).then(|| format!("{}{gold}", statement.as_str()))
    })
}

/// The expected call that the prompt contains, as `name(` or as JSON, with all of its arguments.
fn call<'a>(subject: &'a Subject, prompt: &str) -> Option<&'a str> {
    if subject.task.kind.as_str() != "tools" {
        return None;
    }
    let calls = subject.body.get("expected")?.as_array()?;
    calls.iter().find_map(|call| {
        let name = call.get("name")?.as_str()?;
        let arguments = call.get("arguments")?.as_object()?;
        let is_written = prompt.contains(&format!("{name}("))
            || prompt.contains(&format!("\"name\": \"{name}\""))
            || prompt.contains(&format!("\"name\":\"{name}\""));
        let has = |value: &Value| match value {
            Value::String(text) => prompt.contains(text.as_str()),
            other => prompt.contains(&other.to_string()),
        };
        (is_written && !arguments.is_empty() && arguments.values().all(has)).then_some(name)
    })
}

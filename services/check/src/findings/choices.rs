//! `choices-invalid`: the options of a multiple choice are equal or empty, or do not include the
//! gold.

use std::collections::BTreeMap;

use serde_json::Value;

use super::Sink;
use super::code::{Code, code};
use crate::graded_row::{GradedRow, excerpt};
use crate::subject::Subject;

pub(super) const CODE: Code = code!("choices-invalid", Error);

pub(super) fn check(row: &GradedRow, sink: &mut Sink<'_>) {
    let Ok(subject) = &row.subject else { return };
    let Some(gold) = subject.math_gold() else {
        return;
    };
    let (choices, is_field) = match fields(subject) {
        Some(choices) => (choices, true),
        None => (
            options(subject.prompt.as_deref().unwrap_or_default()),
            false,
        ),
    };
    if let Some(problem) = problem(&choices, gold, is_field) {
        sink.add(&CODE, &row.location, &row.key, problem);
    }
}

/// The options of the task.
fn fields(subject: &Subject) -> Option<BTreeMap<String, String>> {
    let choices = subject.body.get("choices")?.as_object()?;
    let text = |value: &Value| value.as_str().unwrap_or_default().trim().to_owned();
    let choices = choices.iter();
    Some(
        choices
            .map(|(letter, value)| (letter.to_uppercase(), text(value)))
            .collect(),
    )
}

/// The options in a prompt, such as `(A) 3 (B) 4` or lines that begin with `A.`: only if they are
/// in order and there are at least three.
fn options(prompt: &str) -> BTreeMap<String, String> {
    let mut options = BTreeMap::new();
    if !prompt.contains("(C)") && !prompt.contains("\nC") {
        return options;
    }
    for form in [
        |letter: char| format!("({letter})"),
        |letter: char| format!("\n{letter}. "),
        |letter: char| format!("\n{letter}) "),
    ] {
        let mut starts = Vec::new();
        let mut from = 0;
        for letter in 'A'..='J' {
            let mark = form(letter);
            let Some(at) = prompt[from..].find(&mark) else {
                break;
            };
            from += at + mark.len();
            starts.push((letter, from - mark.len(), from));
        }
        if starts.len() < 3 {
            continue;
        }
        for (at, (letter, _, start)) in starts.iter().enumerate() {
            let end = starts
                .get(at + 1)
                .map_or(prompt.len(), |(_, next, _)| *next);
            let text = prompt[*start..end].trim();
            // Text may follow the last option.
            let text = if at + 1 == starts.len() {
                text.lines().next().unwrap_or_default()
            } else {
                text
            };
            options.insert(letter.to_string(), text.trim().to_owned());
        }
        break;
    }
    options
}

fn problem(choices: &BTreeMap<String, String>, gold: &str, is_field: bool) -> Option<String> {
    if choices.is_empty() {
        return None;
    }
    if let Some((letter, _)) = choices.iter().find(|(_, text)| text.is_empty()) {
        return Some(format!("the option {letter} is empty"));
    }
    for (letter, text) in choices {
        let same = choices
            .iter()
            .find(|(other, one)| *other > letter && *one == text);
        if let Some((other, _)) = same {
            return Some(format!(
                "the options {letter} and {other} are equal: `{}`",
                excerpt(text)
            ));
        }
    }
    let letter = gold.trim_matches(['(', ')', '.', ' ']);
    let is_letter = letter.len() == 1 && letter.chars().all(|c| c.is_ascii_uppercase());
    if is_letter && !choices.contains_key(letter) {
        return Some(format!(
            "the gold is {letter}, but the options are {}",
            letters(choices)
        ));
    }
    let plain = |text: &str| text.to_lowercase().replace([' ', '$', '.'], "");
    let is_included = is_letter
        || choices
            .values()
            .any(|text| plain(text).contains(&plain(gold)));
    (is_field && !is_included).then(|| {
        format!(
            "the gold `{}` is none of the options {}",
            excerpt(gold),
            letters(choices)
        )
    })
}

fn letters(choices: &BTreeMap<String, String>) -> String {
    choices
        .keys()
        .map(String::as_str)
        .collect::<Vec<_>>()
        .join(", ")
}

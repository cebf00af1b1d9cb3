//! `tested-name-missing`: the tests of a `code` task call a function that the prompt does not name.

use super::Sink;
use super::code::{Code, code};
use crate::graded_row::GradedRow;
use crate::probes::tested_names;
use crate::reading::has_phrase;

pub(super) const CODE: Code = code!("tested-name-missing", Warning);

pub(super) fn check(row: &GradedRow, sink: &mut Sink<'_>) {
    let (Some("code"), Ok(subject)) = (row.kind(), &row.subject) else {
        return;
    };
    let Some(prompt) = &subject.prompt else {
        return;
    };
    let missing = tested_names(subject)
        .into_iter()
        .find(|name| !name.is_empty() && !has_phrase(prompt, name));
    let Some(name) = missing else { return };
    let message = match defined(prompt) {
        Some(other) => format!("the tests call `{name}`, but the prompt defines `{other}`"),
        None => format!("the tests call `{name}`, which the prompt does not name"),
    };
    sink.add(&CODE, &row.location, &row.key, message);
}

/// The function that a prompt defines in Python or JavaScript.
fn defined(prompt: &str) -> Option<&str> {
    let (_, rest) = ["\ndef ", "function "]
        .iter()
        .find_map(|start| prompt.split_once(start))?;
    let name = rest.split('(').next()?.trim();
    (!name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_')).then_some(name)
}

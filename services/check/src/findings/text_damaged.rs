//! `text-damaged`: the prompt, the gold or the solution contains damaged characters.

use super::Sink;
use super::code::{Code, code};
use crate::graded_row::{GradedRow, excerpt};
use crate::reading::damage::damage;

pub(super) const CODE: Code = code!("text-damaged", Warning);

pub(super) fn check(row: &GradedRow, sink: &mut Sink<'_>) {
    let Ok(subject) = &row.subject else { return };
    let texts = [
        ("prompt", subject.prompt.as_deref()),
        ("gold", subject.math_gold().or(subject.text("answer"))),
        ("solution", subject.solution.as_deref()),
    ];
    let damaged = texts
        .into_iter()
        .find_map(|(name, text)| Some((name, damage(text?)?)));
    if let Some((name, (what, part))) = damaged {
        let message = format!("the {name} contains {what}: `{}`", excerpt(&part));
        sink.add(&CODE, &row.location, &row.key, message);
    }
}

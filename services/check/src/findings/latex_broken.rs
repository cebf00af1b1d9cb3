//! `latex-broken`: the prompt or the gold contains broken LaTeX.

use super::Sink;
use super::code::{Code, code};
use crate::graded_row::GradedRow;
use crate::reading::latex::broken;

pub(super) const CODE: Code = code!("latex-broken", Warning);

pub(super) fn check(row: &GradedRow, sink: &mut Sink<'_>) {
    let (Some("math"), Ok(subject)) = (row.kind(), &row.subject) else {
        return;
    };
    let texts = [
        // A gold that cannot be parsed has a finding of its own.
        (
            "gold",
            subject.math_gold().filter(|_| row.fault().is_none()),
        ),
        ("prompt", subject.prompt.as_deref()),
    ];
    let found = texts
        .into_iter()
        .find_map(|(name, text)| Some((name, broken(text?)?)));
    if let Some((name, what)) = found {
        let message = format!("the {name} contains broken LaTeX: {what}");
        sink.add(&CODE, &row.location, &row.key, message);
    }
}

//! `solution-refuses`: the solution or the gold is a refusal.

use super::Sink;
use super::code::{Code, code};
use crate::graded_row::{GradedRow, excerpt};

pub(super) const CODE: Code = code!("solution-refuses", Error);

/// How refusals begin, in lower case.
const REFUSALS: &[&str] = &[
    "i'm sorry",
    "i’m sorry",
    "i am sorry",
    "sorry, ",
    "i cannot ",
    "i can't ",
    "i can’t ",
    "as an ai",
    "i'm unable",
    "i am unable",
    "i apologize",
    "i won't ",
    "i do not have access",
    "i don't have access",
    "i'm not able",
    "i am not able",
    "as a language model",
    "i don't know",
    "i do not know",
];

pub(super) fn check(row: &GradedRow, sink: &mut Sink<'_>) {
    let Ok(subject) = &row.subject else { return };
    let gold = subject
        .texts("answer")
        .into_iter()
        .filter(|_| matches!(subject.task.kind.as_str(), "math" | "text"))
        .map(|gold| ("gold", gold));
    let mut texts = subject
        .solution
        .as_deref()
        .map(|solution| ("solution", solution))
        .into_iter()
        .chain(gold);
    let refuses = |text: &str| {
        let start: String = text.trim_start().chars().take(40).collect();
        let start = start.to_lowercase();
        REFUSALS.iter().any(|refusal| start.starts_with(refusal))
    };
    if let Some((name, text)) = texts.find(|(_, text)| refuses(text)) {
        let message = format!("the {name} is a refusal: `{}`; drop the row", excerpt(text));
        sink.add(&CODE, &row.location, &row.key, message);
    }
}

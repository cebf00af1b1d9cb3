//! A completion that is wrong for any task passes: an empty one, a refusal, the prompt or
//! a mutant.

use super::Sink;
use super::code::{Code, code};
use crate::graded_row::GradedRow;
use crate::probes::Purpose;

pub(super) const EMPTY: Code = code!("empty-accepted", Error);
pub(super) const REFUSAL: Code = code!("refusal-accepted", Error);
pub(super) const PROMPT: Code = code!("prompt-accepted", Warning);
pub(super) const MUTANT: Code = code!("mutant-accepted", Error);

pub(super) fn check(row: &GradedRow, sink: &mut Sink<'_>) {
    let passed = |matches: fn(Purpose) -> bool| {
        let mut graded = row.graded();
        let passed = graded.find(|(probe, grade)| matches(probe.purpose) && grade.pass);
        passed.map(|(probe, _)| probe)
    };
    let mut add = |code, completion: &str| {
        let message = format!("{completion} passes; make the task stricter");
        sink.add(code, &row.location, &row.key, message);
    };
    if passed(|purpose| purpose == Purpose::Empty).is_some() {
        add(&EMPTY, "an empty completion");
    }
    if let Some(probe) = passed(|purpose| purpose == Purpose::Refusal) {
        add(&REFUSAL, &format!("the refusal `{}`", probe.excerpt));
    }
    let is_other = passed(|purpose| matches!(purpose, Purpose::Empty | Purpose::Refusal)).is_some();
    if !is_other && passed(|purpose| purpose == Purpose::Copy).is_some() {
        add(&PROMPT, "a copy of the prompt");
    }
    let mutant = passed(|purpose| matches!(purpose, Purpose::Mutant(_)));
    if let Some(Purpose::Mutant(description)) = mutant.map(|probe| probe.purpose) {
        add(&MUTANT, description);
    }
}

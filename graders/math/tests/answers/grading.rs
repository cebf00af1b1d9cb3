//! Grades one completion as the service would.

use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use assay_core::{GradeContext, Grader, GraderTable, Item, Outcome, PrepareContext, Task};
use assay_math::MathGrader;
use serde_json::value::RawValue;

/// The outcome of a completion. The task must be valid.
pub(super) fn graded(task: &RawValue, completion: &str) -> Outcome {
    let table = GraderTable::new(Vec::new());
    let cx = PrepareContext::new(&table);
    let task = Task::from_raw(task).expect("a task");
    MathGrader.check(&task, &cx).expect("a well-shaped task");
    let prepared = match MathGrader.prepare(&task, &cx) {
        Ok(prepared) => prepared,
        Err(unprepared) => return Outcome::from(unprepared),
    };
    let item = Item::text(completion);
    let items = [&item];
    let context = GradeContext::default();
    let mut graded = prepared.grade(&items, &context);
    let Poll::Ready(mut outcomes) =
        Pin::new(&mut graded).poll(&mut Context::from_waker(Waker::noop()))
    else {
        panic!("a grader of the Cpu lane never waits");
    };
    outcomes.pop().expect("an outcome for each item")
}

/// The verdict, or the word of an outcome without one.
pub(super) fn verdict(outcome: &Outcome) -> &str {
    match outcome {
        Outcome::Graded(grade) => grade.verdict.as_str(),
        other => other.as_str(),
    }
}

//! The golden cases of the grader: each line of the cases file, graded as the service would.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use assay_core::{GradeContext, Grader, GraderTable, Item, Outcome, PrepareContext, Task};
use assay_math::MathGrader;
use serde::Deserialize;
use serde_json::value::RawValue;

const CASES: &str = include_str!("../../../../tests/cases/math.jsonl");

#[derive(Deserialize)]
struct Case {
    name: String,
    completion: String,
    task: Box<RawValue>,
    verdict: String,
}

/// The verdict on a completion, or the word of an outcome without one.
fn verdict(case: &Case) -> String {
    let table = GraderTable::new(Vec::new());
    let cx = PrepareContext::new(&table);
    let task = Task::from_raw(&case.task).expect("a task");
    MathGrader.check(&task, &cx).expect("a well-shaped task");
    let prepared = match MathGrader.prepare(&task, &cx) {
        Ok(prepared) => prepared,
        Err(unprepared) => return Outcome::from(unprepared).as_str().to_owned(),
    };
    let item = Item::text(&case.completion);
    let items = [&item];
    let context = GradeContext::default();
    let mut graded = prepared.grade(&items, &context);
    let Poll::Ready(outcomes) = Pin::new(&mut graded).poll(&mut Context::from_waker(Waker::noop()))
    else {
        panic!("a grader of the Cpu lane never waits");
    };
    match &outcomes[0] {
        Outcome::Graded(grade) => grade.verdict.as_str().to_owned(),
        other => other.as_str().to_owned(),
    }
}

#[test]
fn every_case_gets_its_verdict() {
    let mut wrong = Vec::new();
    let mut seen = 0;
    for line in CASES.lines() {
        let case: Case = serde_json::from_str(line).unwrap();
        let found = verdict(&case);
        if found != case.verdict {
            wrong.push(format!("{}: {found}, not {}", case.name, case.verdict));
        }
        seen += 1;
    }
    assert!(seen >= 150, "only {seen} cases");
    assert!(
        wrong.is_empty(),
        "{} of {seen} cases:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

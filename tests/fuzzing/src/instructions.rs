//! Constraints of instructions, and responses to them. The first line is the list of constraints as
//! JSON, and the rest is the response.
//!
//! Properties: grading is deterministic; a score is from 0 to 1; evidence is JSON.

use std::task::{Context, Poll, Waker};

use assay_core::{
    Evidence, GradeContext, Grader, GraderTable, Item, Outcome, PrepareContext, Prepared, Task,
};
use assay_instructions::InstructionsGrader;
use serde_json::{Value, json};

/// Grades a response by constraints.
pub fn run(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let (constraints, response) = text.split_once('\n').unwrap_or((text, ""));
    let Ok(constraints) = serde_json::from_str::<Value>(constraints) else {
        return;
    };
    for mode in ["strict", "loose"] {
        let task = json!({
            "type": "instructions", "constraints": constraints, "mode": mode, "score": "share",
        });
        let Ok(task) = Task::from_json(&task.to_string()) else {
            return;
        };
        let table = GraderTable::new(Vec::new());
        let cx = PrepareContext::new(&table);
        if InstructionsGrader.check(&task, &cx).is_err() {
            return;
        }
        let Ok(prepared) = InstructionsGrader.prepare(&task, &cx) else {
            return;
        };
        let (score, evidence) = graded(prepared.as_ref(), response);
        let again = graded(prepared.as_ref(), response);
        assert_eq!((score, &evidence), (again.0, &again.1), "deterministic");
        assert!((0.0..=1.0).contains(&score), "{score}");
        assert!(
            serde_json::from_str::<Value>(evidence.get()).is_ok(),
            "{evidence:?}"
        );
    }
}

/// The score of a response and its evidence.
fn graded(prepared: &dyn Prepared, response: &str) -> (f64, Evidence) {
    let (item, cx) = (Item::text(response), GradeContext::default());
    let items = [&item];
    let mut grading = prepared.grade(&items, &cx);
    let Poll::Ready(mut outcomes) = grading
        .as_mut()
        .poll(&mut Context::from_waker(Waker::noop()))
    else {
        panic!("the grader never waits");
    };
    match outcomes.remove(0) {
        Outcome::Graded(grade) => (grade.score.get(), grade.evidence),
        other => panic!("{other:?}"),
    }
}

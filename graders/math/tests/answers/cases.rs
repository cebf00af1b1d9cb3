//! The golden cases of the grader: each line of the cases file, graded as the service would.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::grading;

pub(super) const CASES: &str = include_str!("../../../../tests/cases/math.jsonl");

#[derive(Deserialize)]
pub(super) struct Case {
    pub(super) name: String,
    pub(super) completion: String,
    pub(super) task: Box<RawValue>,
    verdict: String,
}

#[test]
fn every_case_gets_its_verdict() {
    let mut wrong = Vec::new();
    let mut seen = 0;
    for line in CASES.lines() {
        let case: Case = serde_json::from_str(line).unwrap();
        let outcome = grading::graded(&case.task, &case.completion);
        let found = grading::verdict(&outcome);
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

//! `weak-checks`: changes of a right answer still pass. A changed program need not be wrong, so it
//! counts if a generated input tells it from the right one, or if most changes pass.

use super::Sink;
use super::code::{Code, code};
use crate::graded_row::GradedRow;
use crate::probes::{self, Purpose};
use crate::report::NewTest;

pub(super) const CODE: Code = code!("weak-checks", Warning);

/// Minimum number of changes for a finding, because a single change may leave an answer right.
const MIN_CHANGES: usize = 2;

/// Maximum number of tests that are proposed for a row.
const MAX_TESTS: usize = 4;

/// Maximum number of tests that are proposed.
const MAX_ALL_TESTS: usize = 100_000;

pub(super) fn check(row: &GradedRow, sink: &mut Sink<'_>) {
    let message = not_told_apart(row, sink)
        .or_else(|| most_changes(row, sink.thresholds().weak_checks_share))
        .or_else(|| all_variations(row));
    if let Some(message) = message {
        sink.add(&CODE, &row.location, &row.key, message);
    }
}

/// Changed programs that pass, and have another result on a generated input.
fn not_told_apart(row: &GradedRow, sink: &mut Sink<'_>) -> Option<String> {
    let subject = row.subject.as_ref().ok()?;
    let told = row
        .graded()
        .filter_map(|(probe, grade)| match probe.purpose {
            Purpose::Difference(at) => Some((at, grade.new_test.as_deref()?)),
            _ => None,
        });
    let told: Vec<(usize, &str)> = told.collect();
    let changes = probes::changes(subject);
    let (first, test) = *told.first()?;
    let mut proposed: Vec<&str> = Vec::new();
    for (at, test) in &told {
        let has_room = proposed.len() < MAX_TESTS && sink.tests.len() < MAX_ALL_TESTS;
        if has_room && !proposed.contains(test) {
            proposed.push(test);
            sink.tests.push(NewTest {
                dataset: row.location.dataset.clone(),
                key: row.key.clone(),
                change: changes.get(*at)?.clone(),
                test: (*test).to_owned(),
            });
        }
    }
    Some(format!(
        "{} of {} wrong changes of the right program pass, such as {}; add the test `{test}`",
        told.len(),
        mutations(row).count(),
        changes.get(first)?,
    ))
}

/// Whether each change of a right program passes.
fn mutations(row: &GradedRow) -> impl Iterator<Item = bool> {
    row.graded()
        .filter_map(|(probe, grade)| match probe.purpose {
            Purpose::Mutation(_) => Some(grade.pass),
            _ => None,
        })
}

/// Most changes of a right program pass.
fn most_changes(row: &GradedRow, share: f64) -> Option<String> {
    let (tried, passed) = (
        mutations(row).count(),
        mutations(row).filter(|pass| *pass).count(),
    );
    // Tests that accept a stub have a finding of their own.
    let accepts_stub = row
        .graded()
        .any(|(probe, grade)| matches!(probe.purpose, Purpose::Mutant(_)) && grade.pass);
    let is_weak = tried >= MIN_CHANGES && passed as f64 > share * tried as f64 && !accepts_stub;
    let subject = row.subject.as_ref().ok().filter(|_| is_weak)?;
    let changes = probes::changes(subject);
    let first = row.undetected().next().and_then(|at| changes.get(at))?;
    Some(format!(
        "{passed} of {tried} changes of the right program pass, such as {first}; add tests"
    ))
}

/// All variations of a right answer pass, or half of those of a query.
fn all_variations(row: &GradedRow) -> Option<String> {
    let tried = row
        .graded()
        .filter_map(|(probe, grade)| match probe.purpose {
            Purpose::Variation(change) => Some((change, grade.pass)),
            _ => None,
        });
    let tried: Vec<(&str, bool)> = tried.collect();
    let passed = tried.iter().filter(|(_, pass)| *pass);
    let changes: Vec<&str> = passed.map(|(change, _)| *change).collect();
    // A query over a small database often has equal results.
    let is_half = row.kind() == Some("sql") && changes.len() * 2 >= tried.len();
    let is_weak = changes.len() >= MIN_CHANGES && (is_half || changes.len() == tried.len());
    is_weak.then(|| {
        format!(
            "a right answer still passes after each of these changes: {}; add tests or narrow the \
             tolerance",
            changes.join(", ")
        )
    })
}

//! The points at which functions are compared follow from both expressions, so a completion cannot
//! be written for them without the gold. These tests show that verdicts do not depend on them.

use std::cell::Cell;

use super::forgeries;
use crate::number::residue::mix;
use crate::{Options, equivalent};

#[expect(dead_code, reason = "only the rows are used here")]
#[path = "../../examples/accuracy/labelled/mod.rs"]
mod labelled;

#[path = "../../tests/answers/grading.rs"]
mod grading;

thread_local! {
    /// Changes the points of all comparisons of this thread.
    pub(super) static CHOICE: Cell<u64> = const { Cell::new(0) };
}

/// Other choices of points.
fn choices() -> impl Iterator<Item = u64> + Clone {
    (1..=16).map(mix)
}

fn under<T>(choice: u64, work: impl FnOnce() -> T) -> T {
    let before = CHOICE.replace(choice);
    let result = work();
    CHOICE.set(before);
    result
}

#[test]
fn labelled_rows_get_the_same_verdict_under_every_choice() {
    let mut changed = Vec::new();
    for row in labelled::rows() {
        let task = row.task().expect("a task");
        let verdict = |choice| {
            let outcome = under(choice, || grading::graded(&task, &row.completion));
            grading::verdict(&outcome).to_owned()
        };
        let usual = verdict(0);
        changed.extend(
            choices()
                .filter(|choice| verdict(*choice) != usual)
                .map(|choice| format!("{choice}, not `{usual}`: {}", row.line())),
        );
    }
    assert!(changed.is_empty(), "{}", changed.join("\n"));
}

#[test]
fn forgeries_and_equalities_get_the_same_verdict_under_every_choice() {
    let options = Options::default();
    let mut changed = Vec::new();
    for (pairs, equal) in [(forgeries::forged(), false), (forgeries::equal(), true)] {
        for ((gold, answer), choice) in pairs.iter().zip(choices().cycle()) {
            if under(choice, || equivalent(gold, answer, &options).equal) != equal {
                changed.push(format!("{choice}: {gold}   {answer}"));
            }
        }
    }
    assert!(changed.is_empty(), "{}", changed.join("\n"));
}

#[test]
fn a_choice_changes_the_points() {
    let budget = crate::budget::Budget::default();
    let [a, b] = ["x", "x+1"].map(|text| crate::parse::read(text).expect("an expression").expr);
    let seed = |choice| under(choice, || super::scalar::seed(&a, &b, &budget));
    let seeds: std::collections::BTreeSet<_> = choices()
        .chain([0])
        .map(|choice| seed(choice).expect("within the budget"))
        .collect();
    assert_eq!(seeds.len(), 17);
}

//! The grader agrees with the labelled rows at least as often as the committed table says.

use super::grading;
use super::labelled::{self, Counts, Table};

#[test]
fn no_kind_of_answer_is_graded_worse_than_the_table_says() {
    let mut table = Table::new();
    let mut changed = Vec::new();
    for row in labelled::rows() {
        let outcome = grading::graded(&row.task().expect("a task"), &row.completion);
        table
            .entry(row.kind.clone())
            .or_default()
            .add(&row, &outcome);
        match (row.agrees(&outcome), &row.reason) {
            (false, None) => changed.push(format!("now wrong: {}", row.line())),
            // An improvement: `make accuracy ARGS=--update` and remove the reason.
            (true, Some(_)) => changed.push(format!("now right: {}", row.line())),
            _ => {}
        }
    }
    let mut total = Counts::default();
    for counts in table.values() {
        total.merge(*counts);
    }
    assert!(total.rows >= 3_700, "only {} rows", total.rows);
    assert!(total.equal >= 1_900, "only {} equal rows", total.equal);
    let drops = labelled::drops(&table);
    assert!(
        drops.is_empty(),
        "run `make accuracy`:\n{}\n{}",
        drops.join("\n"),
        changed.join("\n")
    );
}

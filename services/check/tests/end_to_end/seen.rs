//! What is seen of rows, and what is not.

use assay_check::Options;

use crate::fixtures::{checked, checked_lines, found, row};

#[tokio::test]
async fn a_verdict_that_wavers_is_told_when_it_is_looked_at_twice() {
    let lines = row(0, "1") + &row(1, "waver");
    // Alone the gold of the second row is graded right or wrong by luck; that is what repeats are
    // for.
    let report = checked_lines(
        &lines,
        Options {
            repeats: 2,
            ..Options::default()
        },
    )
    .await;
    assert!(found(&report).contains(&(2, "flaky")), "{report:?}");
    assert!(
        !found(&report).iter().any(|(row, _)| *row == 1),
        "{report:?}"
    );
}

#[tokio::test]
async fn a_task_that_takes_anything_is_told_three_times() {
    let report = checked_lines(&row(0, "anything"), Options::default()).await;
    assert_eq!(
        found(&report),
        [(1, "empty-accepted"), (1, "refusal-accepted")]
    );
}

#[tokio::test]
async fn work_is_compared_with_that_of_other_rows() {
    let rows: String = (0..30)
        .map(|number| row(number, if number == 17 { "heavy" } else { "5" }))
        .collect();
    let report = checked_lines(&rows, Options::default()).await;
    assert_eq!(
        found(&report),
        [(18, "mixed-answers"), (18, "work-outlier")]
    );
    let few: String = (0..10)
        .map(|number| row(number, if number == 7 { "heavy" } else { "5" }))
        .collect();
    assert_eq!(
        found(&checked_lines(&few, Options::default()).await),
        [],
        "a few rows make no rule"
    );
}

#[tokio::test]
async fn a_fault_of_the_grader_is_none_of_the_row() {
    let report = checked_lines(&(row(0, "panic") + &row(1, "2")), Options::default()).await;
    assert_eq!(found(&report), []);
    assert!(report.failed > 0);
    let first = report.first_failure.unwrap();
    assert!(
        first.starts_with("rows.jsonl:1: ") && first.contains("panicked"),
        "{first}"
    );
}

#[tokio::test]
async fn wrong_answers_are_counted() {
    let report = checked_lines(
        &(row(0, "12") + &row(1, "anything") + &row(2, "A")),
        Options::default(),
    )
    .await;
    let mutants = report.datasets[0].mutants["math"];
    assert_eq!(
        (mutants.tried, mutants.killed),
        (3, 3),
        "two of a number, one of a letter, none of a word"
    );
}

#[tokio::test]
async fn duplicates_are_found_across_datasets() {
    let folder = tempfile::tempdir().unwrap();
    let (train, test) = (
        folder.path().join("train.jsonl"),
        folder.path().join("test.jsonl"),
    );
    std::fs::write(&train, row(0, "1") + &row(1, "2")).unwrap();
    std::fs::write(&test, row(5, "1") + &row(1, "2")).unwrap();
    let report = checked(&[&train, &test], Options::default()).await;
    assert_eq!(found(&report), [(2, "duplicate-row")]);
    assert_eq!(
        report.findings[0].message,
        "it asks the same as row 2 of train.jsonl; drop one of them"
    );
}

#[tokio::test]
async fn a_sample_draws_each_row_once_and_says_how_many_there_were() {
    let rows: String = (0..1_000).map(|number| row(number, "")).collect();
    let options = || Options {
        sample: Some(40),
        seed: 3,
        ..Options::default()
    };
    let report = checked_lines(&rows, options()).await;
    let numbers: Vec<u64> = found(&report).iter().map(|(number, _)| *number).collect();
    assert!(
        numbers.is_sorted_by(|a, b| a < b) && numbers.len() == 40,
        "{numbers:?}"
    );
    assert!(numbers[0] < 200 && numbers[39] > 800, "{numbers:?}");
    assert_eq!(
        (report.datasets[0].checked, report.datasets[0].rows),
        (40, 1_000)
    );
    assert_eq!(
        found(&checked_lines(&rows, options()).await),
        found(&report)
    );
}

//! Results of earlier checks.

use std::path::Path;

use assay_check::reports::Format;
use assay_check::{Options, Report, ResultCache};
use assay_core::Hash;

use crate::fixtures::{check_lines, found, row};

/// Options with the cache in a folder, for a build of the program.
fn cached(folder: &Path, build: &str) -> Options {
    Options {
        cache: Some(ResultCache::open(folder, Hash::of(build.as_bytes()), 20_000).unwrap()),
        ..Options::default()
    }
}

fn json(report: &Report) -> String {
    let mut json = Vec::new();
    Format::Json.write(report, &mut json).unwrap();
    String::from_utf8(json).unwrap()
}

/// Rows with findings of several rules.
fn rows() -> String {
    let golds = ["12", "anything", "9 (apples)", "nan", "", "A", "heavy"];
    let rows = golds.iter().enumerate();
    rows.map(|(number, gold)| row(number, gold)).collect()
}

#[tokio::test]
async fn unchanged_rows_keep_their_results() {
    let folder = tempfile::tempdir().unwrap();
    let plain = check_lines(&rows(), Options::default()).await;
    let first = check_lines(&rows(), cached(folder.path(), "a")).await;
    assert_eq!(json(&first), json(&plain));
    assert!(first.graded > 20 && first.reused == 0);
    let second = check_lines(&rows(), cached(folder.path(), "a")).await;
    assert_eq!(json(&second), json(&plain));
    assert_eq!((second.graded, second.reused), (0, first.graded));
}

#[tokio::test]
async fn only_changed_rows_are_graded_again() {
    let folder = tempfile::tempdir().unwrap();
    let many = |changed: &str| -> String {
        let gold = |number: usize| match number {
            70 => changed.to_owned(),
            number => (1_000 + number).to_string(),
        };
        (0..600).map(|number| row(number, &gold(number))).collect()
    };
    let first = check_lines(&many("5"), cached(folder.path(), "a")).await;
    let lines = many("anything");
    let second = check_lines(&lines, cached(folder.path(), "a")).await;
    let plain = check_lines(&lines, Options::default()).await;
    assert_eq!(json(&second), json(&plain));
    assert!(found(&second).contains(&(71, "empty-accepted")));
    // The row itself, and the answer of this row in the next one.
    let of_row = first.graded / 600 + 1;
    assert!(
        second.graded <= of_row + 1,
        "{} of {}",
        second.graded,
        first.graded
    );
    // A new row at the start moves the others to other chunks.
    let lines = row(700, "7") + &lines;
    let third = check_lines(&lines, cached(folder.path(), "a")).await;
    assert!(third.graded <= of_row + 6, "{}", third.graded);
    let plain = check_lines(&lines, Options::default()).await;
    assert_eq!(json(&third), json(&plain));
}

#[tokio::test]
async fn another_build_grades_again() {
    let folder = tempfile::tempdir().unwrap();
    let first = check_lines(&rows(), cached(folder.path(), "a")).await;
    let second = check_lines(&rows(), cached(folder.path(), "b")).await;
    assert_eq!((second.graded, second.reused), (first.graded, 0));
}

#[tokio::test]
async fn failures_of_the_service_are_not_kept() {
    let folder = tempfile::tempdir().unwrap();
    for _ in 0..2 {
        let report = check_lines(&row(0, "panic"), cached(folder.path(), "a")).await;
        assert!(report.failed > 0 && report.reused == 0, "{report:?}");
    }
}

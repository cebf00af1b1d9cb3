//! Findings of rows and datasets.

use assay_check::reports::Format;
use assay_check::{Baseline, Options};

use crate::fixtures::{check_files, check_lines, found, row};

#[tokio::test]
async fn repeats_find_varying_verdicts() {
    // Without repeats, the gold of the second row would be graded right or wrong by chance.
    let lines = row(0, "1") + &row(1, "varying");
    let report = check_lines(
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
async fn finds_tasks_that_accept_anything() {
    let report = check_lines(&row(0, "anything"), Options::default()).await;
    assert_eq!(
        found(&report),
        [(1, "empty-accepted"), (1, "refusal-accepted")]
    );
}

#[tokio::test]
async fn compares_work_with_other_rows() {
    let rows: String = (0..30)
        .map(|number| row(number, if number == 17 { "heavy" } else { "5" }))
        .collect();
    let report = check_lines(&rows, Options::default()).await;
    assert_eq!(
        found(&report),
        [(18, "mixed-answers"), (18, "work-outlier")]
    );
    let few: String = (0..10)
        .map(|number| row(number, if number == 7 { "heavy" } else { "5" }))
        .collect();
    assert_eq!(
        found(&check_lines(&few, Options::default()).await),
        [],
        "too few rows for a finding"
    );
}

#[tokio::test]
async fn grader_faults_are_failures_and_not_findings() {
    let report = check_lines(&(row(0, "panic") + &row(1, "2")), Options::default()).await;
    assert_eq!(found(&report), []);
    assert!(report.failed > 0);
    let first = report.first_failure.unwrap();
    assert!(
        first.starts_with("rows.jsonl:1: ") && first.contains("panicked"),
        "{first}"
    );
}

#[tokio::test]
async fn counts_wrong_answers() {
    let report = check_lines(
        &(row(0, "12") + &row(1, "anything") + &row(2, "A")),
        Options::default(),
    )
    .await;
    let mutants = report.datasets[0].mutants["math"];
    assert_eq!(
        (mutants.tried, mutants.killed),
        (3, 3),
        "a number has two mutants, a letter one, a word none"
    );
}

#[tokio::test]
async fn finds_duplicates_across_datasets() {
    let folder = tempfile::tempdir().unwrap();
    let (train, test) = (
        folder.path().join("train.jsonl"),
        folder.path().join("test.jsonl"),
    );
    std::fs::write(&train, row(0, "1") + &row(1, "2")).unwrap();
    std::fs::write(&test, row(5, "1") + &row(1, "2")).unwrap();
    let report = check_files(&[&train, &test], Options::default()).await;
    assert_eq!(found(&report), [(2, "duplicate-row")]);
    assert_eq!(
        report.findings[0].message,
        "same question as row 2 of train.jsonl; drop one of them"
    );
}

#[tokio::test]
async fn sample_has_distinct_rows_and_reports_the_total() {
    let rows: String = (0..1_000).map(|number| row(number, "")).collect();
    let options = || Options {
        sample: Some(40),
        seed: 3,
        ..Options::default()
    };
    let report = check_lines(&rows, options()).await;
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
    assert_eq!(found(&check_lines(&rows, options()).await), found(&report));
}

#[tokio::test]
async fn finds_golds_that_reject_right_answers() {
    let lines = row(0, "9 (apples)") + &row(1, "9 + 1") + &row(2, "12");
    let report = check_lines(&lines, Options::default()).await;
    assert_eq!(found(&report), [(1, "gold-brittle")]);
    let message = &report.findings[0].message;
    assert!(
        message.starts_with("the gold without its note, written as `The answer is \\boxed{9}.`"),
        "{message}"
    );
}

#[tokio::test]
async fn selects_codes_and_compares_with_an_earlier_report() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("report.json");
    let lines = row(0, "nan") + &row(1, "9 (apples)");
    let first = check_lines(&lines, Options::default()).await;
    let mut json = Vec::new();
    Format::Json.write(&first, &mut json).unwrap();
    std::fs::write(&path, json).unwrap();
    let options = Options {
        compared: Some(Baseline::read(&path).unwrap()),
        selected: ["gold-missing".to_owned()].into(),
        ..Options::default()
    };
    let lines = row(0, "nan") + &row(1, "9") + &row(2, "N/A");
    let report = check_lines(&lines, options).await;
    assert_eq!(found(&report), [(1, "gold-missing"), (3, "gold-missing")]);
    let compared = report.compared.unwrap();
    assert_eq!(
        (compared.new, compared.remaining, compared.fixed),
        (1, 1, 1)
    );
}

#[tokio::test]
async fn keys_of_rows_without_ids_survive_new_columns() {
    let key = |report: &assay_check::Report| report.findings[0].key.clone();
    let one = check_lines(&row(0, "nan"), Options::default()).await;
    let wider = row(0, "nan").replace("{\"prompt\"", "{\"source\":\"web\",\"prompt\"");
    let other = check_lines(&wider, Options::default()).await;
    assert_eq!(key(&one), key(&other));
}

#[tokio::test]
async fn finds_similar_prompts_with_different_golds() {
    let long = "Every morning the old baker carries forty loaves from the cellar to the small shop and \
                sells them before noon to his neighbours";
    let line = |start: &str, gold: &str| {
        format!(
            "{{\"prompt\":\"{start} {long}\",\"task\":{{\"type\":\"math\",\"answer\":\"{gold}\"}}}}\n"
        )
    };
    let lines = line("", "4") + &line("Surely", "4") + &line("Truly", "5");
    let report = check_lines(&lines, Options::default()).await;
    assert_eq!(
        found(&report),
        [(2, "near-duplicate"), (3, "near-conflict")]
    );
}

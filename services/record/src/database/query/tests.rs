//! Plans of lists: no list sorts or scans grades.

use super::*;
use crate::database::Location;
use crate::database::sql;
use sqlx::AssertSqlSafe;

/// A grade at which lists of the tests start.
const CURSOR: u128 = 1 << 90;

/// The query plan of SQLite for a list, newest first.
async fn plan(filter: &GradeFilter) -> String {
    plan_from(filter, ListStart::Before(Some(CURSOR.into()))).await
}

/// The query plan of SQLite for a list from `start` on.
async fn plan_from(filter: &GradeFilter, start: ListStart) -> String {
    let location = Location::parse("sqlite::memory:").unwrap();
    let pool = location.connect_writer().await.unwrap();
    let mut connection = pool.acquire().await.unwrap();
    let kinds = kinds(&mut connection, filter)
        .await
        .unwrap()
        .map(|_| vec![1, 2]);
    let lookups = ListLookups {
        run: filter.run.is_some().then_some(1),
        kinds,
        prompt_has_steps: true,
        step_ends: (filter.step_min.or(filter.step_max))
            .map(|_| (id_bytes(1u128), id_bytes(2u128))),
        cursor_batches: vec![(1, BatchId::from(1))],
        keys: None,
    };
    let sql = list(filter, &lookups, start, 100).into_string();
    let steps = sql::query(AssertSqlSafe(format!("explain query plan {sql}")))
        .fetch_all(&mut connection)
        .await
        .unwrap();
    let steps: Vec<String> = steps
        .iter()
        .map(|step| step.try_get("detail").unwrap())
        .collect();
    steps.join("\n")
}

fn filters() -> Vec<(&'static str, GradeFilter)> {
    let text = || Some("x".to_owned());
    let texts = || vec!["x".to_owned()];
    let all = GradeFilter::default;
    vec![
        ("b USING INDEX sqlite_autoindex_batches_1 (id", all()),
        (
            "f USING PRIMARY KEY (facet=? AND run=? AND batch<?)",
            GradeFilter {
                grader: text(),
                ..all()
            },
        ),
        (
            "f USING PRIMARY KEY (facet=? AND run=? AND batch<?)",
            GradeFilter {
                channel: text(),
                ..all()
            },
        ),
        (
            "f USING PRIMARY KEY (facet=? AND run=? AND batch<?)",
            GradeFilter {
                verdicts: texts(),
                ..all()
            },
        ),
        (
            "f USING PRIMARY KEY (facet=? AND run=? AND batch<?)",
            GradeFilter {
                appeals: texts(),
                ..all()
            },
        ),
        (
            "f USING PRIMARY KEY (facet=? AND run=? AND batch<?)",
            GradeFilter {
                causes: texts(),
                ..all()
            },
        ),
        (
            "f USING PRIMARY KEY (facet=? AND run=? AND batch<?)",
            GradeFilter {
                truncated: Some(true),
                ..all()
            },
        ),
        (
            "f USING PRIMARY KEY (facet=? AND run=? AND batch<?)",
            GradeFilter {
                outcomes: texts(),
                ..all()
            },
        ),
        (
            "f USING PRIMARY KEY (facet=? AND run=? AND batch<?)",
            GradeFilter {
                run: text(),
                verdicts: texts(),
                ..all()
            },
        ),
        (
            "f USING PRIMARY KEY (facet=? AND run=? AND batch<?)",
            GradeFilter {
                group: text(),
                ..all()
            },
        ),
        (
            "f USING PRIMARY KEY (facet=? AND run=? AND batch<?)",
            GradeFilter {
                run: text(),
                group: text(),
                ..all()
            },
        ),
        (
            "f USING PRIMARY KEY (facet=? AND run=? AND batch<?)",
            GradeFilter {
                caller: text(),
                ..all()
            },
        ),
        (
            "x USING PRIMARY KEY (facet=? AND run=? AND batch=?)",
            GradeFilter {
                caller: text(),
                verdicts: texts(),
                ..all()
            },
        ),
        (
            "f USING PRIMARY KEY (facet=? AND run=? AND batch<?)",
            GradeFilter {
                score_min: Some(0.2),
                score_max: Some(0.7),
                ..all()
            },
        ),
        (
            "x USING PRIMARY KEY (facet=? AND run=? AND batch=?)",
            GradeFilter {
                grader: text(),
                verdicts: texts(),
                ..all()
            },
        ),
        (
            "x USING PRIMARY KEY (facet=? AND run=? AND batch=?)",
            GradeFilter {
                score_min: Some(0.2),
                ..all()
            },
        ),
        (
            "batches_by_run",
            GradeFilter {
                run: text(),
                ..all()
            },
        ),
        (
            "batches_by_run",
            GradeFilter {
                run: text(),
                since_us: Some(1),
                ..all()
            },
        ),
        (
            "batches_by_run",
            GradeFilter {
                run: text(),
                score_max: Some(0.2),
                ..all()
            },
        ),
        (
            "b USING INDEX batches_walked (id<?)",
            GradeFilter {
                step: Some(1),
                ..all()
            },
        ),
        (
            "b USING INDEX batches_walked (id<?)",
            GradeFilter {
                until_us: Some(1),
                ..all()
            },
        ),
        (
            "batches_by_step",
            GradeFilter {
                run: text(),
                step: Some(1),
                ..all()
            },
        ),
        (
            "batches_by_step",
            GradeFilter {
                run: text(),
                step: Some(1),
                verdicts: texts(),
                ..all()
            },
        ),
        (
            "batches_by_run (run=? AND id>? AND id<?)",
            GradeFilter {
                run: text(),
                step_min: Some(1),
                step_max: Some(9),
                ..all()
            },
        ),
        (
            "f USING PRIMARY KEY (facet=? AND run=? AND batch>? AND batch<?)",
            GradeFilter {
                run: text(),
                verdicts: texts(),
                step_min: Some(1),
                ..all()
            },
        ),
        (
            "b USING INDEX batches_walked (id<?)",
            GradeFilter {
                step_max: Some(1),
                ..all()
            },
        ),
        (
            "x USING PRIMARY KEY (facet=? AND run=? AND batch=?)",
            GradeFilter {
                run: text(),
                verdicts: vec!["x".to_owned(), "y".to_owned()],
                outcomes: vec!["failed".to_owned(), "ungradable".to_owned()],
                ..all()
            },
        ),
        (
            "b USING INDEX sqlite_autoindex_batches_1 (id",
            GradeFilter {
                batch: Some(1.into()),
                ..all()
            },
        ),
    ]
}

#[tokio::test]
async fn no_list_sorts_or_scans_grades() {
    for (index, filter) in filters() {
        let oldest_first = plan_from(&filter, ListStart::After(CURSOR.into())).await;
        let plan = plan(&filter).await;
        let conditions = |plan: &str| plan.replace('<', ">");
        assert_eq!(conditions(&oldest_first), conditions(&plan), "{filter:?}");
        // Grades that match a filter by kind are found by the index over kinds and sorted
        // within a batch.
        let by_kind = plan.contains("grades_by_kind (kind=? AND rowid>? AND rowid<?)");
        let plan = plan.replace("USE TEMP B-TREE FOR LAST TERM OF ORDER BY", "");
        let plan = plan.replace("USE TEMP B-TREE FOR RIGHT PART OF ORDER BY", "");
        assert!(!plan.contains("TEMP B-TREE"), "{filter:?}\n{plan}");
        assert!(!plan.contains("SCAN g"), "{filter:?}\n{plan}");
        assert_eq!(
            by_kind,
            filter.grader.is_some()
                || filter.channel.is_some()
                || !filter.verdicts.is_empty()
                || !filter.outcomes.is_empty()
                || !filter.appeals.is_empty()
                || !filter.causes.is_empty()
                || filter.truncated.is_some(),
            "{filter:?}\n{plan}"
        );
        assert!(plan.contains(index), "{filter:?}\n{plan}");
        let by_score = plan.contains("grades_by_score (<expr>=? AND score>? AND score<?)");
        assert_eq!(by_score, is_between(&filter), "{filter:?}\n{plan}");
    }
}

#[tokio::test]
async fn a_list_by_prompt_reads_the_batches_of_its_steps() {
    for verdicts in [Vec::new(), vec!["x".to_owned()]] {
        let filter = GradeFilter {
            run: Some("x".to_owned()),
            prompt_key: Some("x".to_owned()),
            verdicts,
            ..GradeFilter::default()
        };
        let plan = plan(&filter).await;
        for step in [
            "batches_by_step (run=? AND step=?",
            "prompt_history USING PRIMARY KEY (run=? AND prompt_key=?)",
        ] {
            assert!(plan.contains(step), "{plan}");
        }
        assert!(!plan.contains("SCAN"), "{plan}");
    }
}

#[tokio::test]
async fn a_list_by_label_uses_its_table() {
    let filter = GradeFilter {
        run: Some("x".to_owned()),
        label: Some("x".to_owned()),
        ..GradeFilter::default()
    };
    let plan = plan(&filter).await;
    for step in [
        "comment_labels USING COVERING INDEX comment_labels_by_label (label=?)",
        "SEARCH g USING INTEGER PRIMARY KEY",
    ] {
        assert!(plan.contains(step), "{plan}");
    }
}

#[tokio::test]
async fn a_list_by_item_uses_its_table() {
    let filter = GradeFilter {
        item: Some("x".to_owned()),
        ..GradeFilter::default()
    };
    let plan = plan(&filter).await;
    assert!(
        plan.contains("SEARCH i USING PRIMARY KEY (item=?)"),
        "{plan}"
    );
    assert!(
        plan.contains("SEARCH g USING INTEGER PRIMARY KEY"),
        "{plan}"
    );
}

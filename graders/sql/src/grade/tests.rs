//! Results that are retained in memory, on a fake server.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use assay_core::Task;
use assay_worker::query::{self, Ran, Served, Server, Table};
use assay_worker::{WorkerOptions, WorkerPool};

use super::*;

/// Rows of each result.
const COUNT: i64 = 10_000;

/// Bytes of a result of one column.
const RESULT_BYTES: usize = 9 * COUNT as usize;

/// Returns one column for each `a` in a statement, and records the databases and statements.
#[derive(Default)]
struct FakeServer(Mutex<Vec<(String, String)>>);

impl Server for FakeServer {
    fn build<'a>(&'a self, scripts: &'a [String]) -> Served<'a, String> {
        Box::pin(async move { Ok(scripts.concat()) })
    }

    fn describe<'a>(&'a self, _: &'a str) -> Served<'a, Vec<Table>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn run<'a>(
        &'a self,
        database: &'a str,
        sql: &'a str,
        _: query::Limits,
        _: query::ReadOrder,
    ) -> Served<'a, Ran> {
        self.0
            .lock()
            .unwrap()
            .push((database.to_owned(), sql.to_owned()));
        Box::pin(async move {
            let width = sql.matches('a').count();
            // A statement that contains the name of a database returns wrong rows there.
            let shift = i64::from(sql.contains(database));
            let mut rows = Rows::new(width);
            (0..COUNT)
                .for_each(|row| rows.push((0..width).map(|_| query::Value::Integer(row + shift))));
            Ok(Ran {
                rows,
                ..Ran::ended(End::Rows)
            })
        })
    }
}

/// A task on three databases, `s0` to `s2`.
fn task_on_three(gold: &str, columns: &str, result_bytes: usize) -> (PreparedSql, Arc<FakeServer>) {
    let task = json!({
        "type": "sql", "dialect": "postgres", "gold": gold, "columns": columns,
        "database": { "schema": "s", "rows": "0", "variants": [{ "rows": "1" }, { "rows": "2" }] }
    });
    let task = SqlTask::read(&Task::from_json(&task.to_string()).unwrap()).unwrap();
    let workers = WorkerPool::new(WorkerOptions {
        program: PathBuf::new(),
        arguments: Vec::new(),
        count: 1,
        uses: 1,
    });
    let server = Arc::new(FakeServer::default());
    let queries = Queries::new(
        workers,
        Some(Arc::clone(&server) as Arc<dyn Server>),
        result_bytes as u64,
    );
    (PreparedSql::new(task, 7, queries), server)
}

async fn outcome_of(prepared: &PreparedSql, statement: &str) -> Outcome {
    let (item, cx) = (Item::text(statement), GradeContext::default());
    prepared.grade(&[&item], &cx).await.remove(0)
}

async fn grade_of(prepared: &PreparedSql, statement: &str) -> Grade {
    match outcome_of(prepared, statement).await {
        Outcome::Graded(grade) => grade,
        other => panic!("not graded: {other:?}"),
    }
}

#[tokio::test]
async fn counts_gold_results_in_the_size_of_a_prepared_task() {
    let (prepared, _) = task_on_three("select a", "strict", 1 << 30);
    let before = prepared.bytes();
    assert_eq!(
        grade_of(&prepared, "select a").await.verdict,
        Verdict::CORRECT
    );
    let grown = prepared.bytes() - before;
    assert!(
        (3 * RESULT_BYTES..3 * RESULT_BYTES + 10_000).contains(&grown),
        "{grown} bytes for three results of {RESULT_BYTES}"
    );
}

#[tokio::test]
async fn counts_ties_in_the_size_of_a_prepared_task() {
    let (prepared, _) = task_on_three("select a order by a", "strict", 1 << 30);
    let before = prepared.bytes();
    grade_of(&prepared, "select a").await;
    let (grown, ties) = (prepared.bytes() - before, 4 * COUNT as usize);
    assert!(
        grown >= 3 * (2 * RESULT_BYTES + ties),
        "{grown} bytes for three results of two columns with ties"
    );
}

#[tokio::test]
async fn rejects_tasks_whose_gold_results_exceed_the_limit() {
    let (prepared, server) = task_on_three("select a", "strict", 2 * RESULT_BYTES);
    let Outcome::Ungradable(fault) = outcome_of(&prepared, "select a").await else {
        panic!("graded")
    };
    assert!(
        !fault.retryable && fault.message.contains("on 2 databases"),
        "{}",
        fault.message
    );
    assert!(
        fault.message.contains("`sql.result_bytes`"),
        "{}",
        fault.message
    );
    let run = server.0.lock().unwrap();
    assert!(
        !run.is_empty() && run.iter().all(|(database, _)| database != "s2"),
        "golds ran on a database after the limit was exceeded"
    );
}

#[tokio::test]
async fn stops_running_a_statement_after_its_first_mismatch() {
    for columns in ["strict", "permute"] {
        let (prepared, server) = task_on_three("select a", columns, 1 << 30);
        let grade = grade_of(&prepared, "select a -- s1").await;
        let evidence = grade.evidence.facts();
        assert_eq!(
            (grade.verdict, &evidence["database"]),
            (Verdict::WRONG_ANSWER, &json!(1))
        );
        assert!(evidence["difference"].is_object(), "{evidence:?}");
        let run = server.0.lock().unwrap();
        let on: Vec<&str> = run
            .iter()
            .filter(|(_, sql)| sql.contains("s1"))
            .map(|(on, _)| on.as_str())
            .collect();
        assert!(
            on.contains(&"s0") && on.contains(&"s1") && !on.contains(&"s2"),
            "{on:?}"
        );
    }
}

#[tokio::test]
async fn limits_the_retained_results_of_a_prediction() {
    // If columns may be chosen, the results on all databases are needed together.
    let wide = "select a, a, a, a";
    let (low_limit, _) = task_on_three("select a", "superset", 4 * RESULT_BYTES);
    let grade = grade_of(&low_limit, wide).await;
    assert_eq!(
        (grade.verdict, &grade.evidence.facts()["database"]),
        (verdict::ROW_LIMIT, &json!(1))
    );
    let (high_limit, _) = task_on_three("select a", "superset", 13 * RESULT_BYTES);
    assert_eq!(grade_of(&high_limit, wide).await.verdict, Verdict::CORRECT);
}

//! Grading of results of many megabytes.

use std::path::Path;

use assay_core::{Item, Task, Verdict};
use assay_engine::{Batch, BatchItem, Mode};
use assay_node::Node;
use assay_record::ItemGrade;
use serde_json::{Value, json};

/// Returns every pair of rows: about 20 MB on each database, so that no two results fit into a
/// reply.
const LARGE: &str = "select a.a, b.a, a.b || b.b from t a, t b";

/// A script that inserts rows with texts of the repeated `letter`.
fn rows(count: usize, letter: char) -> String {
    let text = letter.to_string().repeat(695);
    format!(
        "with recursive n(i) as (select 1 union all select i + 1 from n where i < {count})
         insert into t select i, printf('%05d', i) || '{text}' from n"
    )
}

fn task(columns: &str) -> Task {
    let variants =
        [('y', 119), ('z', 118)].map(|(letter, count)| json!({ "rows": rows(count, letter) }));
    let task = json!({
        "type": "sql", "dialect": "sqlite", "gold": LARGE, "columns": columns,
        "limits": { "work": 100_000_000, "rows": 1_000_000, "bytes": 64_000_000 },
        "database": { "schema": "create table t(a integer primary key, b text)", "rows": rows(120, 'x'), "variants": variants }
    });
    Task::from_json(&task.to_string()).unwrap()
}

async fn node(result_bytes: u64) -> Node {
    let mut config = assay_tests::config(Path::new(env!("CARGO_BIN_EXE_assay-measure"))).unwrap();
    config.sandbox_workers.count = 2;
    config.sql.result_bytes = result_bytes;
    Node::start(config).await.unwrap()
}

async fn grades(node: &Node, task: &Task, statements: &[&str]) -> Vec<ItemGrade> {
    let item = |statement: &&str| {
        BatchItem::new(
            Item::text(&format!("```sql\n{statement}\n```")),
            task.clone(),
        )
    };
    let batch = Batch::new("results", statements.iter().map(item).collect());
    let reply = node.engine().grade(batch, Mode::Whole).await.unwrap();
    reply.grades().cloned().collect()
}

#[tokio::test]
async fn compares_large_results() {
    let node = node(256 << 20).await;
    let reordered = "select a.a, b.a, a.b || b.b from t b, t a order by 3 desc";
    let other = "select a.a, b.a, a.b || b.b from t a, t b where a.a < 119 or b.a <> 119";
    let cases = [
        (LARGE, Verdict::CORRECT, Value::Null),
        ("select 1", Verdict::WRONG_ANSWER, json!(0)),
        (reordered, Verdict::CORRECT, Value::Null),
        (other, Verdict::WRONG_ANSWER, json!(0)),
    ];
    for columns in ["strict", "permute"] {
        let task = task(columns);
        let statements: Vec<&str> = cases.iter().map(|(statement, ..)| *statement).collect();
        let graded = grades(&node, &task, &statements).await;
        for ((statement, verdict, database), grade) in cases.iter().zip(graded) {
            assert_eq!(
                grade.verdict.as_deref(),
                Some(verdict.as_str()),
                "{columns}: `{statement}`: {:?}",
                grade.evidence
            );
            assert!(grade.deterministic, "{columns}: `{statement}`");
            let on = grade
                .evidence
                .as_ref()
                .unwrap()
                .facts()
                .get("database")
                .cloned()
                .unwrap_or_default();
            assert_eq!(on, *database, "{columns}: `{statement}`");
        }
    }
    node.stop().await;
}

#[tokio::test]
async fn rejects_tasks_whose_gold_results_exceed_the_limit() {
    let node = node(50_000_000).await;
    let grade = grades(&node, &task("strict"), &[LARGE]).await.remove(0);
    assert_eq!(grade.outcome, "ungradable");
    let fault = grade.error.unwrap();
    assert!(!fault.retryable, "not retryable");
    let parts = [
        "on 3 databases",
        "more than the 50000000",
        "`sql.result_bytes`",
    ];
    assert!(
        parts.iter().all(|part| fault.message.contains(part)),
        "{}",
        fault.message
    );
    node.stop().await;
}

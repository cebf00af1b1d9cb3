//! Starts nodes with a PostgreSQL server, and grades statements on them.

use std::path::Path;
use std::sync::Arc;

use assay_core::{Completion, Fault, Item, Meta, Task};
use assay_engine::{Batch, BatchItem, Mode};
use assay_node::Node;
use assay_node::config::Sql;
use assay_record::ItemGrade;
use serde_json::{Value, json};

use crate::postgres::server::{Server, server};

/// A node and its server.
pub(crate) struct Service {
    pub(crate) node: Node,
    pub(crate) server: Arc<Server>,
}

/// A node with the shared server and a time limit that no statement of these tests reaches.
pub(crate) async fn service() -> Service {
    service_with(|_| {}).await
}

pub(crate) async fn service_with(change: impl FnOnce(&mut Sql)) -> Service {
    let server = server();
    let node = node_with(&server.url(), change).await;
    Service { node, server }
}

/// A node that uses the server of this URL.
pub(crate) async fn node(url: &str) -> Node {
    node_with(url, |_| {}).await
}

pub(crate) async fn node_with(url: &str, change: impl FnOnce(&mut Sql)) -> Node {
    let mut config = assay_tests::config(Path::new(env!("CARGO_BIN_EXE_assay-measure"))).unwrap();
    config.sql.postgres = url.into();
    config.sql.statement_seconds = 60;
    change(&mut config.sql);
    Node::start(config).await.unwrap()
}

/// A task on one database.
pub(crate) fn task(schema: &str, rows: &str, gold: &str) -> Value {
    json!({"type": "sql", "dialect": "postgres", "database": {"schema": schema, "rows": rows}, "gold": gold})
}

/// The grades of these statements.
pub(crate) async fn grades(node: &Node, task: &Value, statements: &[&str]) -> Vec<ItemGrade> {
    let task = Task::from_json(&task.to_string()).unwrap();
    let items = statements.iter().map(|statement| {
        let completion = Completion::Text(format!("```sql\n{statement}\n```").into());
        BatchItem::new(
            Item {
                prompt: None,
                completion,
                meta: Meta::default(),
            },
            task.clone(),
        )
    });
    let reply = node
        .engine()
        .grade(Batch::new("postgres", items.collect()), Mode::Whole)
        .await
        .unwrap();
    reply.grades().cloned().collect()
}

/// The fault of a grade with this outcome.
pub(crate) fn fault(outcome: &str, grade: ItemGrade) -> Fault {
    assert_eq!(grade.outcome, outcome, "{grade:?}");
    grade.error.unwrap()
}

/// Asserts that each statement gets the expected verdict, and that no grade is marked
/// deterministic.
pub(crate) async fn assert_verdicts(
    node: &Node,
    task: &Value,
    cases: &[(&str, &str)],
) -> Vec<ItemGrade> {
    let statements: Vec<&str> = cases.iter().map(|(statement, _)| *statement).collect();
    let grades = grades(node, task, &statements).await;
    let mut failures = Vec::new();
    for ((statement, verdict), grade) in cases.iter().zip(&grades) {
        if grade.verdict.as_deref() != Some(*verdict) {
            failures.push(format!("{statement}\n  expected `{verdict}`: {grade:?}"));
        } else {
            assert!(!grade.deterministic, "{statement}");
        }
    }
    assert!(
        failures.is_empty(),
        "{} of {} cases failed:\n{}",
        failures.len(),
        cases.len(),
        failures.join("\n")
    );
    grades
}

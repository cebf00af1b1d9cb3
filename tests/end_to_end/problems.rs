//! Generated problems, graded by a node: solutions score 1 and other completions 0, in every
//! family.

use std::path::Path;

use assay_core::{Item, Task};
use assay_engine::{Batch, BatchItem, Mode};
use assay_node::Node;
use assay_problems::{Family, Problem, Split};
use serde_json::json;

/// How many problems of a family are graded.
const PROBLEMS: usize = 50;

#[tokio::test]
async fn solutions_score_one_and_other_completions_zero() {
    let config = assay_tests::config(Path::new(env!("CARGO_BIN_EXE_assay-measure"))).unwrap();
    let node = Node::start(config).await.unwrap();
    let families = json!([
        { "family": "arithmetic", "operands": 3, "digits": 2, "operators": ["+", "-", "*"] },
        { "family": "arithmetic", "operands": 2, "digits": 2, "operators": ["+"], "form": "boxed" },
        { "family": "modular", "modulus": 97, "operators": ["+", "*"], "form": "words" },
        { "family": "sorting", "numbers": 4, "digits": 2, "direction": "descending" },
        { "family": "sql" },
        { "family": "python" },
    ]);
    let families: Vec<Family> = serde_json::from_value(families).unwrap();
    for family in families {
        let problems: Vec<_> = family
            .problems(Split::Train, 11, 0)
            .take(PROBLEMS)
            .collect();
        let right = problems
            .iter()
            .map(|problem| (problem, problem.solution.as_str(), 1.0));
        let wrong = problems
            .iter()
            .map(|problem| (problem, other(problem), 0.0));
        let cases: Vec<_> = right.chain(wrong).collect();
        let item = |(problem, completion, _): &(&Problem, &str, f64)| {
            BatchItem::new(
                Item::text(completion),
                Task::from_json(&problem.task.to_string()).unwrap(),
            )
        };
        let batch = Batch::new("problems", cases.iter().map(item).collect());
        let reply = node.engine().grade(batch, Mode::Whole).await.unwrap();
        for ((problem, completion, expected), grade) in cases.iter().zip(reply.grades()) {
            assert_eq!(
                grade.score,
                Some(*expected),
                "{problem:?}: {completion}: {grade:?}"
            );
        }
    }
    node.stop().await;
}

/// A completion of the right form that is never the answer.
fn other(problem: &Problem) -> &'static str {
    match problem.task["type"].as_str() {
        Some("sql") => "select name,pay from staff",
        Some("code") => "def f(x):\n    return None",
        Some("math") => "\\boxed{-1}",
        _ => "0.5",
    }
}

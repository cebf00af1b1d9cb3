//! Every grader of the table has a file of golden cases and passes them through the engine.

use std::path::{Path, PathBuf};

use assay_core::{Completion, Item, Meta, Outcome, Task};
use assay_engine::{Batch, BatchItem, Engine, Mode};
use assay_node::Node;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

fn cases_of(grader: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("cases")
        .join(format!("{grader}.jsonl"))
}

#[tokio::test]
async fn every_grader_passes_its_golden_cases() {
    let mut config =
        assay_tests::config(Path::new(env!("CARGO_BIN_EXE_assay-test-worker"))).unwrap();
    let models = tempfile::tempdir().unwrap();
    config.reward_models = assay_tests::models::write(models.path()).unwrap();
    let node = Node::start(config).await.unwrap();
    node.load_models().await.unwrap();
    for grader in node.engine().graders().iter() {
        let file = cases_of(grader.spec().name);
        let text = std::fs::read_to_string(&file).unwrap_or_else(|error| {
            panic!(
                "`{}` has no cases file `{}`: {error}",
                grader.spec().name,
                file.display()
            )
        });
        let cases: Vec<Case> = text
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert!(cases.len() >= 20, "`{}` has too few cases", file.display());
        hold(node.engine(), &cases).await;
    }
    node.stop().await;
}

/// One golden case: a line of a grader's file.
#[derive(Debug, Deserialize)]
struct Case {
    name: Option<String>,
    task: Box<RawValue>,
    #[serde(default)]
    prompt: Option<Completion>,
    completion: Completion,
    #[serde(default)]
    meta: Meta,
    verdict: String,
}

async fn hold(engine: &Engine, cases: &[Case]) {
    let items = cases.iter().map(|case| {
        let task = Task::from_raw(&case.task).unwrap();
        let (prompt, completion, meta) = (
            case.prompt.clone(),
            case.completion.clone(),
            case.meta.clone(),
        );
        BatchItem::new(
            Item {
                prompt,
                completion,
                meta,
            },
            task,
        )
    });
    let reply = engine
        .grade(Batch::new("cases", items.collect()), Mode::Whole)
        .await
        .unwrap();
    let mut missed = Vec::new();
    for (case, result) in cases.iter().zip(reply.results()) {
        let word = match &result.outcome {
            Outcome::Graded(grade) => grade.verdict.as_str(),
            other => other.word(),
        };
        if case.verdict != word {
            missed.push(format!(
                "{:?}: {} was `{word}`, not `{}`",
                case.name, case.task, case.verdict
            ));
        }
    }
    assert!(
        missed.is_empty(),
        "{} of {} cases missed:\n{}",
        missed.len(),
        cases.len(),
        missed.join("\n")
    );
}

#[test]
fn every_grader_matches_its_spec() {
    for grader in crate::graders().iter() {
        let spec = grader.spec();
        let schema: Value = serde_json::from_str(spec.task_schema).unwrap();
        assert_eq!(
            schema["properties"]["type"]["const"], spec.name,
            "the schema of `{}` names it",
            spec.name
        );
        let task = Task::from_json(spec.example_task).unwrap();
        assert_eq!(task.kind.as_str(), spec.name);
        assert!(!spec.verdicts.is_empty() && !spec.summary.is_empty());
    }
}

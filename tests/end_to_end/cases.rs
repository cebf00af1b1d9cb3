//! Every grader of the table has a file of golden cases and passes them through the engine.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use assay_core::{Completion, Evidence, Item, Meta, Spec, Task};
use assay_engine::{Batch, BatchItem, Mode, RewardPolicy};
use assay_node::Node;
use assay_review::Review;
use assay_review::receipt::{RECEIPT, ReceiptError, Statement};
use assay_review::replay::ReplayOptions;
use futures::future;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

fn cases_of(grader: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("cases")
        .join(format!("{grader}.jsonl"))
}

/// The stored grades of the cases are replayed as well: by their receipts, if they have one.
#[tokio::test]
async fn every_grader_passes_its_golden_cases() {
    let mut config = assay_tests::config(Path::new(env!("CARGO_BIN_EXE_assay-measure"))).unwrap();
    let folder = tempfile::tempdir().unwrap();
    config.store.database = format!("sqlite://{}", folder.path().join("assay.db").display()).into();
    let (_judge, judges) = assay_tests::judges::start().await.unwrap();
    config.judges = judges;
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
        check(node.review(), grader.spec(), &cases).await;
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

/// Keys of evidence that change with the guest's image, the database engine or the CPU.
const CHANGING: [&str; 5] = ["base", "image", "model_version", "raw", "results"];

fn without_changing(evidence: &Evidence) -> Value {
    let mut evidence = serde_json::to_value(evidence).unwrap();
    for key in CHANGING {
        if let Some(value) = evidence.get_mut(key) {
            *value = json!("…");
        }
    }
    evidence
}

/// Grades the cases and compares their verdicts. The evidence of the first case of each verdict is
/// reviewed.
async fn check(review: &Review, spec: &Spec, cases: &[Case]) {
    let items = cases.iter().map(|case| {
        let task = Task::from_raw(&case.task).unwrap();
        let (prompt, completion, meta) = (
            case.prompt.clone(),
            case.completion.clone(),
            case.meta.clone(),
        );
        // A task without a gold needs a policy that labels its answers.
        let labels = case.task.get().contains("\"consensus\"");
        let policy = json!({ "consensus": { "ttrl": {} } });
        let mut item = BatchItem::new(
            Item {
                prompt,
                completion,
                meta,
            },
            task,
        );
        item.policy = labels.then(|| RewardPolicy::inline(&policy).unwrap());
        item
    });
    let reply = review
        .engine()
        .grade(Batch::new("cases", items.collect()), Mode::Whole)
        .await
        .unwrap();
    let mut missed = Vec::new();
    let mut reviewed = BTreeMap::new();
    for (case, result) in cases.iter().zip(reply.grades()) {
        let verdict = result.verdict.as_deref().unwrap_or(&result.outcome);
        let evidence = result.evidence.as_ref();
        if case.verdict != verdict {
            missed.push(format!(
                "{:?}: {} was `{verdict}`, not `{}`",
                case.name, case.task, case.verdict
            ));
        }
        if let Some(evidence) = evidence {
            reviewed.entry(verdict).or_insert_with(
                || json!({ "case": case.name, "evidence": without_changing(evidence) }),
            );
        }
    }
    assert!(
        missed.is_empty(),
        "{} of {} cases missed:\n{}",
        missed.len(),
        cases.len(),
        missed.join("\n")
    );
    insta::assert_json_snapshot!(format!("evidence_of_{}", spec.name), reviewed);
    let ids: Vec<_> = reply.grades().map(|result| result.grade).collect();
    let receipts = ids.iter().map(|id| async {
        match review.receipt(*id).await {
            Ok(receipt) => {
                let statement = Statement::read(&receipt.open(RECEIPT).unwrap().0).unwrap();
                Some(review.verify(&statement).await.unwrap())
            }
            Err(ReceiptError::NotDeterministic(_) | ReceiptError::Failed(_)) => None,
            Err(error) => panic!("{error}"),
        }
    });
    let receipts = future::join_all(receipts).await;
    let mut others = Vec::new();
    for ((case, id), differences) in cases.iter().zip(&ids).zip(receipts) {
        match differences {
            Some(found) => assert!(found.is_empty(), "receipt of {:?}: {found:?}", case.name),
            None => others.push((case, *id)),
        }
    }
    let graders = review.engine().graders();
    for (case, _) in &others {
        let calls_judge = graders.is_remote(&Task::from_raw(&case.task).unwrap());
        assert!(calls_judge, "without a receipt: {:?}", case.name);
        // The receipt of a stranger, who has made one all the same.
        let item = format!(r#"{{"task":{},"completion":"x","meta":{{}}}}"#, case.task);
        let grade = "01J00000000000000000000000";
        let json = format!(
            r#"{{"assay":"0.1.0","grade":"{grade}","time_us":1,"item":{item},"result":{{}}}}"#
        );
        let refused = review
            .verify(&Statement::read(json.as_bytes()).unwrap())
            .await;
        assert!(
            matches!(refused, Err(ReceiptError::NotGraded(_))),
            "{refused:?}"
        );
    }
    let options = ReplayOptions {
        call_judges: true,
        ..ReplayOptions::default()
    };
    let ids: Vec<_> = others.iter().map(|(_, id)| *id).collect();
    let replays = review.replay_all(&ids, &options, None).await;
    for ((case, _), replay) in others.iter().zip(replays.unwrap()) {
        let replay = replay.unwrap();
        assert!(
            !replay.flipped(),
            "replay of {:?}: {:?} instead of {:?}",
            case.name,
            replay.replayed,
            replay.recorded
        );
    }
}

#[test]
fn every_grader_matches_its_spec() {
    for grader in crate::end_to_end::graders().iter() {
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

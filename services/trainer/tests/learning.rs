//! A policy learns from a running service, and does not learn from one whose answers are shuffled:
//! one small seed of what `make learning` shows with several.
#![expect(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]

mod command;
mod serving;

use std::fs;
use std::path::Path;

use command::trainer;
use serde_json::Value;

/// Held-out accuracy at the start and at the end of a run.
fn accuracies(folder: &Path, output: &str) -> (f64, f64) {
    let numbers = fs::read_to_string(folder.join(output).join("metrics.jsonl")).unwrap();
    let lines = numbers
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let found: Vec<f64> = lines
        .filter_map(|line| line["held_out/accuracy"].as_f64())
        .collect();
    (found[0], *found.last().unwrap())
}

#[test]
fn a_policy_learns_what_the_service_rewards_and_nothing_from_shuffled_rewards() {
    let (url, _running) = serving::service(None);
    let folder = tempfile::tempdir().unwrap();
    let run = Path::new(env!("CARGO_MANIFEST_DIR")).join("runs/sorting.toml");
    fs::copy(run, folder.path().join("run.toml")).unwrap();
    trainer(
        folder.path(),
        &["init", "--config", "run.toml", "--output", "random"],
    )
    .unwrap();
    let words = [
        "sft",
        "--config",
        "run.toml",
        "--set",
        "policy.path=random",
        "--output",
        "start",
    ];
    trainer(folder.path(), &words).unwrap();
    let mut rises = Vec::new();
    for shuffled in ["false", "true"] {
        let control = format!("rewards.shuffled={shuffled}");
        let words = [
            "train", "--config", "run.toml", "--server", &url, "--output", shuffled, "--set",
            &control,
        ];
        // Without a reference: it learns faster, and its control is only kept from rising.
        let less = [
            "training.steps=60",
            "evaluation.every=60",
            "objective.penalties=[]",
        ];
        let less = less.into_iter().flat_map(|change| ["--set", change]);
        trainer(
            folder.path(),
            &words.into_iter().chain(less).collect::<Vec<_>>(),
        )
        .unwrap();
        let (before, after) = accuracies(folder.path(), shuffled);
        rises.push(after - before);
    }
    assert!(rises[0] > 0.15, "accuracy rose by {}", rises[0]);
    assert!(
        rises[1] < 0.03,
        "accuracy rose by {} from shuffled rewards",
        rises[1]
    );
}

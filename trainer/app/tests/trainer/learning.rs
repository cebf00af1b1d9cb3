//! Trains a policy model on the rewards of a running service and on shuffled rewards: a short
//! version of `make learning` with one seed.
#![expect(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::command::trainer;

/// Held-out accuracy at the start and the end of a run.
fn accuracies(folder: &Path, output: &str) -> (f64, f64) {
    let metrics = fs::read_to_string(folder.join(output).join("metrics.jsonl")).unwrap();
    let lines = metrics
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let accuracies: Vec<f64> = lines
        .filter_map(|line| line["held_out/accuracy"].as_f64())
        .collect();
    (accuracies[0], *accuracies.last().unwrap())
}

#[test]
fn improves_with_rewards_and_not_with_shuffled_rewards() {
    let (url, _running) = crate::serving::service(None);
    let folder = tempfile::tempdir().unwrap();
    let run = Path::new(env!("CARGO_MANIFEST_DIR")).join("runs/sorting.toml");
    fs::copy(run, folder.path().join("run.toml")).unwrap();
    trainer(
        folder.path(),
        &["init", "--config", "run.toml", "--output", "random"],
    )
    .unwrap();
    let arguments = [
        "sft",
        "--config",
        "run.toml",
        "--set",
        "policy.path=random",
        "--output",
        "start",
    ];
    trainer(folder.path(), &arguments).unwrap();
    let mut rises = Vec::new();
    for shuffled in ["false", "true"] {
        let control = format!("rewards.shuffle={shuffled}");
        let arguments = [
            "train", "--config", "run.toml", "--server", &url, "--output", shuffled, "--set",
            &control,
        ];
        // Without a reference, it learns faster; the control may fall but must not rise.
        let overrides = [
            "training.steps=60",
            "evaluation.every=60",
            "objective.penalties=[]",
        ];
        let overrides = overrides.into_iter().flat_map(|change| ["--set", change]);
        trainer(
            folder.path(),
            &arguments.into_iter().chain(overrides).collect::<Vec<_>>(),
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

//! Fits a reward model head on pairs collected by a service, and loads the reward model.
#![expect(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use assay_client::{Client, Retry};
use assay_core::Completion;
use assay_core::reward_model::{ModelInput, Truncate};
use assay_reward_model::{Compute, Model, ModelOptions, RewardModel};
use assay_wire::pairs::{PairRequest, PairsRequest};
use assay_wire::reward_models::LoadRequest;
use serde_json::{Value, json};

use crate::command::trainer;

fn text(text: String) -> Completion {
    Completion::Text(text.into())
}

/// Pairs of sums that are distinguished by their last letters.
fn pair(index: usize) -> PairRequest {
    let (one, other) = (index % 10, index / 10);
    PairRequest {
        prompt: text(format!("{one}+{other}=")),
        accepted: text(format!("{} good", one + other)),
        rejected: text(format!("{} worse", one + other)),
        reference: None,
        source: None,
    }
}

/// Writes an initial reward model with random weights and the tokenizer of a policy model.
fn write_initial_model(policy: &Path, directory: &Path) {
    let mut config: Value =
        serde_json::from_slice(&fs::read(policy.join("config.json")).unwrap()).unwrap();
    config["architectures"] = json!(["Qwen3ForSequenceClassification"]);
    config["num_labels"] = 1.into();
    assay_weights::synthetic::write(directory, &config).unwrap();
    for name in ["tokenizer.json", "tokenizer_config.json"] {
        fs::copy(policy.join(name), directory.join(name)).unwrap();
    }
}

#[test]
fn fitted_reward_model_prefers_accepted_completions() {
    let folder = tempfile::tempdir().unwrap();
    let (url, _running) = crate::serving::service(Some(folder.path()));
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let client = Client::new(&url, Retry::default()).unwrap();
    trainer(folder.path(), &["init", "--output", "policy"]).unwrap();
    write_initial_model(&folder.path().join("policy"), &folder.path().join("first"));
    let load = LoadRequest {
        source: Some("first".to_owned()),
        ..LoadRequest::default()
    };
    runtime.block_on(client.load_model("judge", &load)).unwrap();
    let pairs = PairsRequest {
        pairs: (0..100).map(pair).collect(),
    };
    let collected = runtime
        .block_on(client.collect_pairs("judge", &pairs))
        .unwrap();
    assert_eq!(collected.added, 100);
    let arguments = [
        "reward-model",
        "--model",
        "policy",
        "--output",
        "judge",
        "--server",
        &url,
        "--name",
        "judge",
    ];
    let output = trainer(folder.path(), &arguments).unwrap();
    let report: BTreeMap<String, f64> = serde_json::from_str(&output).unwrap();
    assert!(
        report["pairs"] == 100.0 && report["accuracy"] > 0.95 && report["held_out_accuracy"] > 0.9,
        "{report:?}"
    );

    let directory = folder.path().join("judge");
    let model = RewardModel::open(
        "judge",
        "judge",
        &directory,
        &ModelOptions::default(),
        &Compute::open("cpu", 1).unwrap(),
        0,
    )
    .unwrap();
    let raw = |completion: Completion| {
        let input = ModelInput::Rollout {
            prompt: Some(text("7+5=".to_owned())),
            completion,
            reference: None,
        };
        let reading = model.read(&input, Truncate::Reject).unwrap();
        let readout = model.run(&[&reading.main]).unwrap().remove(0);
        model.score(&readout, None).raw
    };
    let new = pair(57);
    assert!(raw(new.accepted) > raw(new.rejected));
}

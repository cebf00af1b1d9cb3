//! A model on two devices. Two thread pools of the CPU stand for two GPUs of one kind.

#![expect(
    clippy::unwrap_used,
    reason = "test support functions panic on failure, as tests do"
)]

use std::path::Path;

use assay_core::reward_model::{ModelInput, ModelOutput, Truncate};
use assay_reward_model::{Compute, Model, ModelOptions, RewardModel, RunError};
use assay_weights::synthetic;
use serde_json::{Value, json};

/// Writes a small decoder of the reference values.
fn write_model(folder: &Path) {
    let cases = include_str!("reference/cases.json");
    let cases: Value = serde_json::from_str(cases).unwrap();
    let cases = cases["cases"].as_array().unwrap();
    let case = cases.iter().find(|case| case["name"] == "qwen3").unwrap();
    let tensors = serde_json::from_value(case["tensors"].clone()).unwrap();
    synthetic::write_tensors(folder, &case["config"], &tensors).unwrap();
    let words: serde_json::Map<_, _> = (0..320).map(|id| (format!("t{id}"), id.into())).collect();
    let tokenizer = json!({
        "version": "1.0",
        "truncation": null,
        "padding": null,
        "added_tokens": [],
        "normalizer": null,
        "pre_tokenizer": {"type": "WhitespaceSplit"},
        "post_processor": null,
        "decoder": null,
        "model": {"type": "WordLevel", "vocab": words, "unk_token": "t0"},
    });
    std::fs::write(folder.join("tokenizer.json"), tokenizer.to_string()).unwrap();
}

#[test]
fn devices_of_one_kind_return_the_same_bits() {
    let folder = tempfile::tempdir().unwrap();
    write_model(folder.path());
    let devices = [1, 2].map(|threads| Compute::open("cpu", threads).unwrap());
    Compute::check_equal_kinds(&devices).unwrap();
    let options = ModelOptions::default();
    let model = RewardModel::open_on("m", "m", folder.path(), &options, &devices, 0).unwrap();
    assert_eq!(model.info().device, "cpu,cpu");

    let read = |length: u32| {
        let ids = (0..length).map(|at| 1 + at * 7 % 300).collect();
        model
            .read(&ModelInput::Ids(ids), Truncate::Reject)
            .unwrap()
            .main
    };
    let sequences = [1, 5, 130, 400].map(read);
    let batch: Vec<_> = sequences.iter().collect();
    let bits = |outputs: Vec<ModelOutput>| -> Vec<u32> {
        let number = |output| match output {
            ModelOutput::Scalar(number) => number.to_bits(),
            other => panic!("{other:?}"),
        };
        outputs.into_iter().map(number).collect()
    };
    let first = bits(model.run_on(0, &batch).unwrap());
    assert_eq!(first, bits(model.run_on(1, &batch).unwrap()));
    assert_eq!(first, bits(model.run(&batch).unwrap()));
    assert_eq!(
        model.run_on(2, &batch).unwrap_err(),
        RunError::Device("no device 2".to_owned())
    );
}

//! For every value of every axis, compares the loss with the scalar implementation, and its
//! gradient with finite differences of the scalar implementation.

use assay_objective::{Objective, PRESETS};
use serde_json::{Value, json};

use super::batches::Numbers;
use super::scalar::Scalar;

/// One objective for each value of each axis, with all other axes as in `bnpo`, and all presets.
fn values() -> Vec<Value> {
    let mut all = Vec::new();
    let mut axis = |axis: &str, values: Vec<Value>| {
        all.extend(
            values
                .into_iter()
                .map(|value| json!({"preset": "bnpo", axis: value})),
        );
    };
    let region = |divergence: &str, side: &str, through: &str| {
        json!({"rule": "trust_region", "divergence": divergence, "side": side, "low": 0.05,
            "high": 0.04, "cap": 1.3, "through": through})
    };
    let pacs = |comparison: &str, balanced: bool| -> Value {
        json!({"rule": "pacs", "beta": 0.7, "comparison": comparison, "balanced": balanced})
    };
    axis(
        "level",
        vec![json!("token"), json!("sequence"), json!("sequence_token")],
    );
    axis("anchor", vec![json!("old"), json!("behaviour")]);
    axis(
        "surrogate",
        vec![
            json!({"rule": "ppo", "low": 0.1, "high": 0.2, "dual": 1.25}),
            json!({"rule": "gppo", "low": 0.1, "high": 0.2, "dual": 1.25}),
            json!({"rule": "gppo", "low": 0.1, "high": 0.2}),
            json!({"rule": "cispo", "low": 0.9, "high": 1.1}),
            json!({"rule": "dcpo", "low": 0.02, "high": 0.05, "cap": 1.4}),
            json!({"rule": "sapo", "positive": 1.0, "negative": 2.0}),
            region("tv", "pushed", "log_probability"),
            region("tv", "both", "ratio"),
            region("kl", "pushed", "ratio"),
            region("kl", "low", "log_probability"),
            json!({"rule": "vespo", "positive": [2.0, 3.0], "negative": [3.0, 2.0]}),
            json!({"rule": "reinforce", "temperature": 0.5}),
            json!({"rule": "gmpo", "low": 0.2, "high": 0.3}),
            pacs("leave_one_out", true),
            pacs("z_score", false),
            pacs("none", true),
        ],
    );
    axis(
        "aggregation",
        vec![
            json!({"kind": "token_mean"}),
            json!({"kind": "token_sum"}),
            json!({"kind": "seq_mean_token_mean"}),
            json!({"kind": "seq_mean_token_sum"}),
            json!({"kind": "seq_mean_token_sum_norm"}),
            json!({"kind": "seq_mean_token_sum_norm", "length": 7}),
        ],
    );
    axis(
        "correction",
        vec![
            json!({"weight": "token", "high": 1.2}),
            json!({"weight": "token", "low": 0.8, "high": 1.2, "beyond": "drop"}),
            json!({"weight": "sequence", "high": 1.5, "normalize": true}),
            json!({"weight": "geometric", "low": 0.9, "normalize": true}),
            json!({"weight": "token", "normalize": true}),
            json!({"gate": {"span": "geometric", "low": 0.9, "high": 1.2}}),
            json!({"weight": "token", "gate": {"span": "sequence", "high": 1.2}}),
            json!({"weight": "token", "gate": {"span": "token", "low": 0.7}}),
        ],
    );
    axis(
        "masks",
        vec![
            json!({"top_entropy": 0.3}),
            json!({"off_policy": {"threshold": 0.0}}),
            json!({"off_policy": {"threshold": 0.1, "from": "old"}, "top_entropy": 0.5}),
        ],
    );
    let policies = ["reference", "teacher", "old", "behaviour"];
    let estimators = ["k1", "k2", "k3", "abs"];
    let pairs = policies.iter().zip(estimators);
    axis(
        "penalties",
        pairs
            .map(|(from, by)| json!([{"from": from, "coefficient": 0.3, "estimator": by}]))
            .collect(),
    );
    axis(
        "penalties",
        vec![
            json!([{"from": "reference", "coefficient": 0.3, "straight_through": true}]),
            json!([{"from": "reference", "coefficient": 0.3, "importance": true}]),
            json!([{"from": "teacher", "coefficient": 0.3, "clamp": 0.05},
                {"from": "old", "coefficient": 0.1}]),
        ],
    );
    axis(
        "demonstrations",
        vec![
            json!({"kind": "shaped"}),
            json!({"kind": "shaped", "gamma": 0.1}),
            json!({"kind": "imitated", "share": 0.4}),
            json!({"kind": "imitated", "share": 0.4, "weight": "plain"}),
        ],
    );
    axis("entropy", vec![json!(0.25)]);
    all.extend(
        PRESETS
            .iter()
            .map(|preset| json!({ "preset": preset.name })),
    );
    all
}

#[test]
fn every_axis_value_matches_its_formula() {
    for settings in values() {
        let objective: Objective = serde_json::from_value(settings.clone()).unwrap();
        for seed in 10..13 {
            let numbers = Numbers::new(seed);
            let got = numbers.loss(&objective);
            let loss = |row: usize, token: usize, step: f64| {
                let mut logp = numbers.logp.clone();
                logp[row][token] += step;
                Scalar {
                    numbers: &numbers,
                    objective: &objective,
                    logp,
                    still: &numbers.logp,
                }
                .loss()
            };
            let expected = loss(0, 0, 0.0);
            // The tolerance covers the 1e-8 in the logarithm of the two-point divergence.
            assert!(
                (got.value - expected).abs() < 1e-9,
                "{settings}, {seed}: {} is not {expected}",
                got.value
            );
            for (row, slopes) in got.by_logp.iter().enumerate() {
                for (token, slope) in slopes.iter().enumerate() {
                    let step = 1e-5;
                    let expected =
                        (loss(row, token, step) - loss(row, token, -step)) / (2.0 * step);
                    assert!(
                        (slope - expected).abs() < 1e-6 * (1.0 + expected.abs()),
                        "{settings}, {seed}, row {row}, token {token}: {slope} is not {expected}"
                    );
                }
            }
            let of_entropy: f64 = got.by_entropy.concat().iter().sum();
            assert!(
                (of_entropy + objective.entropy).abs() < 1e-12,
                "{settings}, {seed}"
            );
        }
    }
}

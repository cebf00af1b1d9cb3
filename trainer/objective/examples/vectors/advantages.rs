//! Maps advantage estimators of other trainers to those of this crate.

use std::collections::BTreeMap;

use assay_objective::advantage::token_rewards;
use assay_objective::{Advantage, Sample};
use serde_json::{Value, json};

use crate::tensors::{Inputs, distance, numbers, rows, tensor};
use crate::{Checked, Outcome};

/// The completions of the document: eight rows, four per prompt.
fn samples(case: &Value, inputs: &Inputs) -> Vec<Sample> {
    let params = &case["params"];
    let mask = inputs.rows("mask");
    let lengths = mask
        .iter()
        .map(|row| row.iter().filter(|live| **live > 0.0).count());
    let scores = params["scores"]
        .as_array()
        .map_or_else(|| inputs.column("rewards"), |_| numbers(&params["scores"]));
    let (greedy, values) = (numbers(&params["reward_baselines"]), inputs.rows("values"));
    let sample = |(row, tokens): (usize, usize)| {
        let score = scores.get(row).copied().unwrap_or(f64::NAN);
        let rewards = match &params["rewards_per_func"][row] {
            Value::Array(rewards) => rewards.iter().map(Value::as_f64).collect(),
            _ => vec![Some(score)],
        };
        Sample {
            group: row / 4,
            rewards,
            pass: Some(score > 0.5),
            tokens,
            greedy: greedy.get(row).copied(),
            values: values
                .get(row)
                .map(|values| values.iter().copied().take(tokens).collect())
                .unwrap_or_default(),
            ..Sample::default()
        }
    };
    lengths.enumerate().map(sample).collect()
}

fn estimator(id: &str, params: &Value) -> Option<Value> {
    let gamma = params["gamma"].as_f64().unwrap_or(1.0);
    let named = |name: &str| json!({"estimator": "named", "name": name});
    Some(match id {
        _ if id.starts_with("trl/adv/") => {
            let combine = params["agg"].as_str().unwrap_or("sum_then_normalize");
            let scale = params["scale_rewards"].as_str().unwrap_or("group");
            let weights = numbers(&params["weights"]);
            json!({"estimator": "group", "scale": scale, "epsilon": 1e-4, "weights": weights,
                "combine": combine})
        }
        "verl/adv/grpo" => named("grpo"),
        "verl/adv/grpo/no_std" => named("dr_grpo"),
        "verl/adv/grpo_passk" => json!({"estimator": "best", "scale": true}),
        "verl/adv/reinforce_plus_plus_baseline" => named("reinforce_pp"),
        "verl/adv/rloo" | "verl/adv/rloo_vectorized" => named("rloo"),
        "verl/adv/opo" => named("opo"),
        "verl/adv/remax" => json!({"estimator": "greedy"}),
        "verl/adv/gpg" => named("gpg"),
        "verl/adv/gae" => json!({"estimator": "gae", "gamma": gamma, "lambda": params["lam"]}),
        _ if id.starts_with("verl/adv/reinforce_plus_plus") => {
            json!({"estimator": "returns", "gamma": gamma})
        }
        "psr_nsr/positive" => json!({"estimator": "verdict", "pass": 1.0}),
        "psr_nsr/negative" => json!({"estimator": "verdict", "fail": -1.0}),
        "psr_nsr/weighted" => json!({"estimator": "verdict", "pass": 0.1, "fail": -1.0}),
        _ => return None,
    })
}

pub(crate) fn check(id: &str, case: &Value, inputs: &Inputs) -> Checked {
    let mask = inputs.rows("mask");
    let mut samples = samples(case, inputs);
    if id == "openrlhf/reward_with_kl" {
        return shaped(&mut samples, case, inputs);
    }
    let Some(settings) = estimator(id, &case["params"]) else {
        return Ok(Outcome::Unmapped("no matching estimator"));
    };
    let advantage: Advantage = serde_json::from_value(settings)?;
    let (got, _) = advantage
        .compute(&samples, &BTreeMap::new())?
        .tensors(&tensor(mask.clone())?)?;
    let expected = match case["expected"].get(0) {
        Some(Value::Array(_)) => rows(&case["expected"]),
        _ => numbers(&case["expected"])
            .into_iter()
            .map(|value| vec![value; 6])
            .collect(),
    };
    Ok(Outcome::Compared(distance(
        &got.to_vec2()?,
        &expected,
        &mask,
    )))
}

fn shaped(samples: &mut [Sample], case: &Value, inputs: &Inputs) -> Checked {
    let (old, reference) = (inputs.rows("old_logp"), inputs.rows("ref_logp"));
    let coefficient = case["params"]["kl_coef"].as_f64().unwrap_or(f64::NAN);
    let mut got = Vec::new();
    for (row, ((sample, old), reference)) in samples.iter_mut().zip(old).zip(reference).enumerate()
    {
        let penalties = old
            .iter()
            .zip(reference)
            .take(sample.tokens)
            .map(|(old, reference)| coefficient * (reference - old));
        sample.shaping = penalties.collect();
        let mut rewards = token_rewards(row, sample)?;
        rewards.resize(6, 0.0);
        got.push(rewards);
    }
    Ok(Outcome::Compared(distance(
        &got,
        &rows(&case["expected"]),
        &inputs.rows("mask"),
    )))
}

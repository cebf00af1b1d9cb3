//! Maps losses of other trainers to objectives of this crate.

use assay_objective::{Batch, Current, Objective};
use candle_core::{Device, Tensor, Var};
use serde_json::{Value, json};

use crate::tensors::{Inputs, distance, numbers, rows, tensor};
use crate::{Checked, Outcome};

/// An objective with its inputs.
pub(crate) struct Setup {
    pub(crate) objective: Objective,
    pub(crate) batch: Batch,
    /// Names of metrics in the other trainer and in this crate.
    metrics: Vec<(&'static str, &'static str)>,
}

/// A batch with all inputs.
pub(crate) fn batch(inputs: &Inputs, mask: &str) -> candle_core::Result<Batch> {
    let mut batch = Batch::new(inputs.tensor(mask)?, inputs.vector("advantages")?);
    batch.old = Some(inputs.tensor("old_logp")?);
    batch.behaviour = Some(inputs.tensor("rollout_logp")?);
    batch.reference = Some(inputs.tensor("ref_logp")?);
    batch.entropy = Some(inputs.tensor("entropy")?);
    batch.groups = (0..batch.mask.dim(0)?).map(|row| row / 4).collect();
    Ok(batch)
}

/// The objective for a case; `None` if the case is not a loss.
pub(crate) fn setup(
    id: &str,
    case: &Value,
    inputs: &Inputs,
) -> Result<Option<Setup>, Box<dyn std::error::Error>> {
    let params = &case["params"];
    if case.get("grad_logp").is_none()
        || id.contains("/kl_penalty/")
        || id.contains("/kl/")
        || id == "trl/luspo/beta"
    {
        return Ok(None);
    }
    let mask = params["m"]
        .as_str()
        .or(params["mask"].as_str())
        .unwrap_or("mask");
    let mut batch = batch(inputs, mask)?;
    let mut metrics = Vec::new();
    let settings = match case["peer"].as_str().unwrap_or_default() {
        "trl" => {
            if params["onpol"] == true {
                batch.old = Some(inputs.tensor("logp")?);
            }
            metrics = vec![
                ("kl", "kl"),
                ("entropy", "entropy"),
                ("clip_ratio/low_mean", "clip_ratio/low_mean"),
            ];
            metrics.push(("clip_ratio/high_mean", "clip_ratio/high_mean"));
            metrics.push(("clip_ratio/region_mean", "clip_ratio/region_mean"));
            metrics.push(("cispo_clip_ratio", "clip_ratio/high_mean"));
            metrics.push(("policy_loss", "policy_loss"));
            trl(params)
        }
        "verl" => {
            if id.starts_with("verl/vanilla") || id.starts_with("verl/dppo") {
                metrics = vec![
                    ("actor/pg_clipfrac", "clip_ratio/region_mean"),
                    ("actor/ppo_kl", "ppo_kl"),
                ];
            }
            if id.starts_with("verl/vanilla") {
                metrics.push(("actor/pg_clipfrac_lower", "pg_clipfrac_lower"));
            }
            verl(id, params)
        }
        "openrlhf" => openrlhf(params),
        "areal" => areal(params),
        "prime-rl" => {
            if id == "prime-rl/ref_kl" {
                batch.advantages = (inputs.tensor("ref_logp")? - inputs.tensor("logp")?)?;
            }
            batch.demonstrations = Some(Tensor::ones(
                batch.mask.dim(0)?,
                batch.mask.dtype(),
                &Device::Cpu,
            )?);
            prime(id, params)
        }
        "slime" => {
            let (low, high) = (number(params, "eps_clip"), number(params, "eps_clip_high"));
            match id {
                "slime/cispo" => {
                    surrogate(&json!({"rule": "cispo", "low": 1.0 - low, "high": 1.0 + high}))
                }
                _ => surrogate(
                    &json!({"rule": "ppo", "low": low, "high": high, "dual": params["eps_clip_c"]}),
                ),
            }
        }
        "dcpo" => match id {
            "dcpo/dynamic" => {
                surrogate(&json!({"rule": "dcpo", "low": 0.16, "high": 0.28, "cap": params["c"]}))
            }
            _ => surrogate(&json!({"rule": "ppo", "low": 0.16, "high": 0.28, "dual": params["c"]})),
        },
        "klear" => surrogate(
            &json!({"rule": "gppo", "low": 0.2, "high": 0.28, "dual": params["clip_ratio_c"]}),
        ),
        "luffy" => {
            let demonstrations = numbers(&params["prefix_rows"]);
            let marked =
                (0..8).map(|row| f64::from(u8::from(demonstrations.contains(&f64::from(row)))));
            batch.demonstrations = Some(Tensor::new(marked.collect::<Vec<_>>(), &Device::Cpu)?);
            let gamma = if id == "luffy/no_reshape" {
                Value::Null
            } else {
                json!(0.1)
            };
            json!({"preset": "bnpo", "demonstrations": {"kind": "shaped", "gamma": gamma}})
        }
        "pacs" => {
            batch.scores = Some(Tensor::new(numbers(&params["scores"]), &Device::Cpu)?);
            let comparison = match params["adv_estimator"].as_str() {
                Some("rloo") => "leave_one_out",
                Some("grpo") => "z_score",
                _ => "none",
            };
            let balanced = &params["use_weight"];
            surrogate(
                &json!({"rule": "pacs", "beta": params["beta"], "comparison": comparison,
                    "balanced": balanced}),
            )
        }
        _ => return Ok(None),
    };
    let objective = serde_json::from_value(settings)?;
    Ok(Some(Setup {
        objective,
        batch,
        metrics,
    }))
}

fn number(params: &Value, name: &str) -> f64 {
    params[name].as_f64().unwrap_or(0.2)
}

/// The mean over tokens of this surrogate, without penalties.
fn surrogate(surrogate: &Value) -> Value {
    json!({"preset": "bnpo", "surrogate": surrogate})
}

fn trl(params: &Value) -> Value {
    let kind = params["loss_type"].as_str().unwrap_or_default();
    let (low, high) = (number(params, "eps_low"), number(params, "eps_high"));
    let mut settings = surrogate(&match kind {
        "cispo" => json!({"rule": "cispo", "high": high}),
        "sapo" => json!({"rule": "sapo", "positive": 1.0, "negative": 1.05}),
        "vespo" => json!({"rule": "vespo", "positive": [2.0, 3.0], "negative": [3.0, 2.0]}),
        _ => json!({"rule": "ppo", "low": low, "high": high, "dual": params["delta"]}),
    });
    settings["level"] = params["level"].as_str().unwrap_or("token").into();
    settings["aggregation"] = match kind {
        "grpo" | "sapo" => json!({"kind": "seq_mean_token_mean"}),
        "luspo" => json!({"kind": "seq_mean_token_sum"}),
        "dr_grpo" => json!({"kind": "seq_mean_token_sum_norm", "length": 8}),
        _ => json!({"kind": "token_mean"}),
    };
    if let Some(beta) = params["beta"].as_f64() {
        let importance = params["bias_kl"] == true;
        settings["penalties"] =
            json!([{"from": "reference", "coefficient": beta, "importance": importance}]);
    }
    if let Some((span, action)) = params["vllm"]
        .as_str()
        .and_then(|mode| mode.split_once('_'))
    {
        let beyond = if action == "mask" { "drop" } else { "truncate" };
        settings["correction"] =
            json!({"weight": span, "high": params["clip_is"], "beyond": beyond});
    }
    let off_policy = params["opm"]
        .as_f64()
        .map(|threshold| json!({"threshold": threshold}));
    settings["masks"] = json!({"top_entropy": params["q"], "off_policy": off_policy});
    settings["entropy"] = params["ent_coef"].as_f64().unwrap_or(0.0).into();
    settings
}

fn verl(id: &str, params: &Value) -> Value {
    let (low, high) = (number(params, "clip_low"), number(params, "clip_high"));
    let rule = id.split('/').nth(1).unwrap_or_default();
    let region = |divergence: &str| {
        let cap = &params["clip_c"];
        json!({"rule": "trust_region", "divergence": divergence, "low": low, "high": high,
            "cap": cap})
    };
    let mut settings = surrogate(&match rule {
        "dppo_tv" => region("tv"),
        "dppo_kl" => region("kl"),
        "gspo" => json!({"rule": "ppo", "low": low, "high": high}),
        "sapo" => json!({"rule": "sapo", "positive": 1.0, "negative": 1.05}),
        "gpg" | "dro" => json!({"rule": "reinforce"}),
        "geo_mean" => json!({"rule": "gmpo", "low": low, "high": high}),
        "cispo" => json!({"rule": "cispo", "low": (1.0 - low).max(0.0), "high": 1.0 + high}),
        _ => json!({"rule": "ppo", "low": low, "high": high, "dual": params["clip_c"]}),
    });
    let aggregation = match rule {
        "geo_mean" => "seq_mean_token_mean".to_owned(),
        _ => params["loss_agg_mode"]
            .as_str()
            .unwrap_or("token-mean")
            .replace('-', "_"),
    };
    settings["aggregation"] = json!({ "kind": aggregation });
    if rule == "gspo" {
        settings["level"] = "sequence_token".into();
    }
    if rule == "dro" {
        settings["penalties"] = json!([{"from": "old", "estimator": "k2", "coefficient": 0.1}]);
    }
    if let Some(weights) = params["rollout_is"].as_str() {
        settings["correction"] = correction(weights);
    }
    settings
}

/// `token_2.0`, `sequence_2.0_norm`, `token_0.5_1.2`: span, bounds, normalisation.
pub(crate) fn correction(name: &str) -> Value {
    let mut parts = name.split('_');
    let span = parts.next().unwrap_or("token");
    let bounds: Vec<f64> = parts.filter_map(|part| part.parse().ok()).collect();
    let normalize = name.ends_with("norm");
    match bounds.as_slice() {
        [low, high] => {
            json!({"weight": span, "low": low, "high": high, "beyond": "drop",
                "normalize": normalize})
        }
        bounds => json!({"weight": span, "high": bounds.first(), "normalize": normalize}),
    }
}

fn openrlhf(params: &Value) -> Value {
    let sequence = params["policy_loss_type"] == "gspo";
    let (low, high) = (
        number(params, "clip_eps_low"),
        number(params, "clip_eps_high"),
    );
    let mut settings =
        surrogate(&json!({"rule": "ppo", "low": low, "high": high, "dual": params["dual_clip"]}));
    if sequence {
        settings["level"] = "sequence".into();
    }
    if sequence || params["token_level_loss"] == false {
        settings["aggregation"] = json!({"kind": "seq_mean_token_mean"});
    }
    if let [low, high] = numbers(&params["vllm_is_truncated_threshold"])[..] {
        settings["correction"] = match params["vllm_is_correction_type"].as_str() {
            Some("icepop") => {
                json!({"weight": "token", "low": low, "high": high, "beyond": "drop"})
            }
            Some(_) => {
                json!({"weight": "token", "gate": {"span": "geometric", "low": low, "high": high}})
            }
            None => json!({"weight": "token", "low": low, "high": high}),
        };
    }
    settings
}

fn areal(params: &Value) -> Value {
    let clip = number(params, "eps_clip");
    let mut settings =
        surrogate(&json!({"rule": "ppo", "low": clip, "high": clip, "dual": params["c_clip"]}));
    if params["importance_sampling_level"] == "sequence" {
        settings["level"] = "sequence".into();
    }
    if let Some(rejection) = params["rejection_sampling"].as_object() {
        let beyond = if rejection["action"] == "mask" {
            "drop"
        } else {
            "truncate"
        };
        let span = if rejection["level"] == "sequence" {
            "geometric"
        } else {
            "token"
        };
        settings["correction"] =
            json!({"weight": span, "high": rejection["upper"], "beyond": beyond});
    }
    settings
}

fn prime(id: &str, params: &Value) -> Value {
    let region = |side: &str, low: f64, high: f64| {
        let rule = json!({"rule": "trust_region", "divergence": "tv", "side": side, "low": low,
            "high": high, "through": "ratio"});
        json!({"preset": "prime_rl", "surrogate": rule})
    };
    match id {
        "prime-rl/ce" => {
            json!({"preset": "bnpo",
                "demonstrations": {"kind": "imitated", "share": 1.0, "weight": "plain"}})
        }
        "prime-rl/ipo" => region(
            "both",
            number(params, "ipo_threshold"),
            number(params, "ipo_threshold"),
        ),
        "prime-rl/ref_kl" => region("low", 0.2, 0.2),
        _ => region(
            "pushed",
            number(params, "dppo_mask_low"),
            number(params, "dppo_mask_high"),
        ),
    }
}

/// Value and gradient of a loss.
pub(crate) fn gradient(
    setup: &Setup,
    inputs: &Inputs,
) -> Result<Evaluated, Box<dyn std::error::Error>> {
    let logp = Var::from_tensor(&inputs.tensor("logp")?)?;
    let current = Current {
        logp: logp.as_tensor().clone(),
        entropy: Some(inputs.tensor("entropy")?),
    };
    let totals = setup.objective.totals(&setup.batch)?;
    let loss = setup.objective.loss(&current, &setup.batch, &totals)?;
    let gradient = match loss.loss.backward()?.get(&logp) {
        Some(gradient) => gradient.to_vec2()?,
        None => logp.zeros_like()?.to_vec2()?,
    };
    Ok(Evaluated {
        value: loss.loss.to_scalar()?,
        gradient,
        metrics: loss.metrics,
    })
}

/// A loss, its gradient and its metrics.
pub(crate) struct Evaluated {
    pub(crate) value: f64,
    pub(crate) gradient: Vec<Vec<f64>>,
    metrics: assay_objective::Metrics,
}

impl Setup {
    /// An objective without metrics to compare.
    pub(crate) fn new(settings: Value, batch: Batch) -> Result<Self, serde_json::Error> {
        Ok(Self {
            objective: serde_json::from_value(settings)?,
            batch,
            metrics: Vec::new(),
        })
    }
}

/// Compares value, gradient and the metrics that both report.
pub(crate) fn check(setup: &Setup, case: &Value, inputs: &Inputs) -> Checked {
    let got = gradient(setup, inputs)?;
    let expected = rows(&case["grad_logp"]);
    let everywhere = tensor(expected.clone())?.ones_like()?.to_vec2()?;
    let mut worst = (got.value - case["expected"].as_f64().unwrap_or(f64::NAN)).abs();
    worst = worst.max(distance(&got.gradient, &expected, &everywhere));
    for (peer_name, name) in &setup.metrics {
        if let (Some(expected), Some(got)) =
            (case["metrics"][*peer_name].as_f64(), got.metrics.get(name))
        {
            worst = worst.max((got - expected).abs());
        }
    }
    Ok(Outcome::Compared(if worst.is_nan() {
        f64::INFINITY
    } else {
        worst
    }))
}

//! Parts of losses: weights, masks, bounds and divergences, derived from losses and gradients.

use assay_objective::{Batch, DivergenceEstimator, Penalty, PolicyVersion, staleness};
use candle_core::{Device, Tensor, Var};
use serde_json::{Value, json};

use crate::losses::{Setup, batch, correction, gradient};
use crate::tensors::{Inputs, distance, rows};
use crate::{Checked, Outcome};

pub(crate) fn check(id: &str, case: &Value, inputs: &Inputs) -> Checked {
    let (params, expected) = (&case["params"], &case["expected"]);
    if id.contains("/kl_penalty/") || id.contains("/kl/") {
        return divergence(params["kind"].as_str().unwrap_or_default(), case, inputs);
    }
    match id {
        "trl/luspo/beta" => Ok(Outcome::Unmapped(
            "with a penalty, the peer averages over padding too: its loss depends on the values \
             in the padding",
        )),
        "dcpo/cumulative_mean_std" => Ok(Outcome::Unmapped(
            "the peer keeps a running mean of the deviations of visits; this crate uses the \
             deviation of all rewards of all visits",
        )),
        "slime/opsm_mask" => {
            // The gradient of the sum of -(A l) is -A for retained tokens and 0 for others.
            let masks = json!({"off_policy": {"threshold": params["opsm_delta"], "from": "old"}});
            let settings = json!({"preset": "bnpo", "surrogate": {"rule": "reinforce"},
                "masks": masks, "aggregation": {"kind": "token_sum"}});
            let got = gradient(&Setup::new(settings, batch(inputs, "mask")?)?, inputs)?.gradient;
            let retained = |row: Vec<f64>| {
                row.into_iter()
                    .map(|slope| f64::from(u8::from(slope.abs() > 0.0)))
                    .collect()
            };
            let got: Vec<Vec<f64>> = got.into_iter().map(retained).collect();
            Ok(Outcome::Compared(distance(
                &got,
                &rows(expected),
                &inputs.rows("mask"),
            )))
        }
        "dcpo/clip_bounds" => bounds(params, expected, inputs),
        "vcpo/ess" => effective_share(expected, inputs),
        _ if id.starts_with("verl/rollout_is_weights/") => {
            // The gradient of the sum of w l is w.
            let name = id.rsplit('/').next().unwrap_or_default();
            let settings = json!({"preset": "bnpo", "surrogate": {"rule": "reinforce"},
                "correction": correction(name), "aggregation": {"kind": "token_sum"}});
            let mut batch = batch(inputs, "mask")?;
            batch.advantages = batch.advantages.ones_like()?.neg()?;
            let got = gradient(&Setup::new(settings, batch)?, inputs)?.gradient;
            Ok(Outcome::Compared(distance(
                &got,
                &rows(expected),
                &inputs.rows("mask"),
            )))
        }
        _ => Ok(Outcome::Unmapped("no known counterpart")),
    }
}

fn divergence(kind: &str, case: &Value, inputs: &Inputs) -> Checked {
    let estimator = match kind.trim_end_matches('+') {
        "k1" => DivergenceEstimator::K1,
        "k2" => DivergenceEstimator::K2,
        "abs" => DivergenceEstimator::Abs,
        _ => DivergenceEstimator::K3,
    };
    let mut penalty = Penalty::new(PolicyVersion::Reference, estimator, 1.0);
    penalty.straight_through = kind.ends_with('+');
    penalty.clamp = Some(10.0);
    let logp = Var::from_tensor(&inputs.tensor("logp")?)?;
    let estimates = penalty.estimates(&logp, &inputs.tensor("ref_logp")?, None)?;
    let everywhere = logp.ones_like()?.to_vec2()?;
    let mut worst = distance(&estimates.to_vec2()?, &rows(&case["expected"]), &everywhere);
    if let Some(slopes) = estimates.sum_all()?.backward()?.get(&logp) {
        worst = worst.max(distance(
            &slopes.to_vec2()?,
            &rows(&case["grad_logp"]),
            &everywhere,
        ));
    }
    Ok(Outcome::Compared(worst))
}

/// Reads the bounds off the losses of single tokens whose ratio is far beyond them.
fn bounds(params: &Value, expected: &Value, inputs: &Inputs) -> Checked {
    let rule =
        json!({"rule": "dcpo", "low": params["low"], "high": params["high"], "cap": params["c"]});
    let settings = json!({"preset": "bnpo", "surrogate": rule});
    let number = |value: f64| Tensor::new(&[[value]], &Device::Cpu);
    let mut worst = 0.0f64;
    for (side, advantage) in [("low", -1.0), ("high", 1.0)] {
        for (old, expected) in inputs
            .rows("old_logp")
            .concat()
            .into_iter()
            .zip(rows(&expected[side]).concat())
        {
            let mut batch = Batch::new(number(1.0)?, number(advantage)?);
            batch.old = Some(number(old)?);
            let setup = Setup::new(settings.clone(), batch)?;
            let logp = number(old + 15.0 * advantage)?;
            let current = assay_objective::Current {
                logp,
                entropy: None,
            };
            let loss = setup.objective.loss(
                &current,
                &setup.batch,
                &setup.objective.totals(&setup.batch)?,
            )?;
            worst = worst.max((loss.loss.to_scalar::<f64>()? * -advantage - expected).abs());
        }
    }
    Ok(Outcome::Compared(worst))
}

/// Importance ratios of completions: the product over their tokens of p_old / p_rollout.
fn ratios(inputs: &Inputs) -> Vec<f64> {
    let (old, rollout, mask) = (
        inputs.rows("old_logp"),
        inputs.rows("rollout_logp"),
        inputs.rows("mask"),
    );
    let sum = |((old, rollout), mask): ((&Vec<f64>, &Vec<f64>), &Vec<f64>)| {
        old.iter()
            .zip(rollout)
            .zip(mask)
            .map(|((old, rollout), mask)| mask * (old - rollout))
            .sum::<f64>()
            .exp()
    };
    old.iter().zip(&rollout).zip(&mask).map(sum).collect()
}

fn effective_share(expected: &Value, inputs: &Inputs) -> Checked {
    let ratios = ratios(inputs).into_iter();
    let log_ratios: Vec<Option<f64>> = ratios.map(|ratio| Some(ratio.ln())).collect();
    let scale = staleness::learning_rate_scale(&log_ratios, 1.0);
    let expected = expected["ess_ratio"].as_f64().unwrap_or(f64::NAN);
    Ok(Outcome::Compared((scale * scale - expected).abs()))
}

//! Evaluation of policy models on held-out prompts.

use std::sync::atomic::AtomicBool;

use assay_policy_model::{PolicyModel, Sampling};
use tokio::runtime::Handle;

use crate::config::Config;
use crate::data::{SelectedPrompt, Source};
use crate::experience::{Grading, grade};
use crate::rewards::Rewards;
use crate::rollout::{Group, generate_groups};
use crate::telemetry::Values;
use crate::text::PolicyTokenizer;

/// Modifies the seed so that evaluation never uses the random numbers of training: "examine" in
/// ASCII.
const EVALUATION: u64 = 0x65_7861_6d69_6e65;

/// Inputs of an evaluation.
pub struct EvaluationInputs<'a> {
    /// The policy model.
    pub policy: &'a PolicyModel,
    /// Its tokenizer.
    pub tokenizer: &'a PolicyTokenizer,
    /// The prompts.
    pub source: &'a dyn Source,
    /// The service that grades.
    pub rewards: &'a Rewards,
    /// The runtime for calls to the service.
    pub runtime: &'a Handle,
    /// The configuration of the run.
    pub config: &'a Config,
}

/// Computes the mean score of completions (`held_out/accuracy`) and, with several completions per
/// prompt, the probability that at least one of k is correct (`held_out/pass@k`, for powers of two
/// and all). Ungraded completions are excluded and counted (`held_out/ungraded`).
///
/// # Errors
/// A prompt cannot be tokenised, the device is out of memory, or the service is unavailable or
/// rejects the request.
pub fn evaluate(inputs: &EvaluationInputs<'_>, step: u64) -> anyhow::Result<Values> {
    let EvaluationInputs {
        policy,
        tokenizer,
        source,
        rewards,
        runtime,
        config,
    } = inputs;
    anyhow::ensure!(
        source.size() != Some(0),
        "no prompts for evaluation; set `evaluation.path`"
    );
    let samples = config.evaluation.samples;
    let prompts = source
        .size()
        .unwrap_or(u64::MAX)
        .min(config.evaluation.prompts as u64);
    let group = |index| {
        Group::new(
            SelectedPrompt {
                index,
                rollouts: None,
            },
            samples,
            index,
            step,
        )
    };
    let mut groups: Vec<Group> = (0..prompts).map(group).collect();
    let count = groups.len();
    let temperature = if samples == 1 {
        0.0
    } else {
        config.rollout.sampling.temperature
    };
    let sampling = Sampling {
        temperature,
        ..config.rollout.sampling.clone()
    };
    let seed = config.seed ^ EVALUATION;
    generate_groups(
        policy,
        tokenizer,
        *source,
        &sampling,
        seed,
        (&mut groups, count),
        &AtomicBool::new(false),
    )?;
    let run = format!("{}/held-out", config.run);
    let grading = Grading {
        run: &run,
        step,
        policy: None,
        statistic: None,
        numbered: false,
    };
    let experience = runtime.block_on(grade(rewards, grading, *source, tokenizer, groups))?;
    let scores: Vec<Vec<f64>> = experience
        .groups
        .iter()
        .map(|(_, grades)| grades.iter().filter_map(|grade| grade.score).collect())
        .collect();
    let all: Vec<f64> = scores.iter().flatten().copied().collect();
    let mut values = Values::new();
    let graded = all.len() as f64;
    if graded > 0.0 {
        values.insert(
            "held_out/accuracy".to_owned(),
            all.iter().sum::<f64>() / graded,
        );
    }
    values.insert(
        "held_out/ungraded".to_owned(),
        (count * samples) as f64 - graded,
    );
    if samples > 1 {
        let counts: Vec<[usize; 2]> = scores
            .iter()
            .map(|scores| {
                let right = scores.iter().filter(|score| **score >= 1.0).count();
                [scores.len(), right]
            })
            .collect();
        for drawn in draws(samples) {
            if let Some(share) = pass_at(&counts, drawn) {
                values.insert(format!("held_out/pass@{drawn}"), share);
            }
        }
    }
    Ok(values)
}

/// The powers of two below `samples`, and `samples`.
fn draws(samples: usize) -> impl Iterator<Item = usize> {
    std::iter::successors(Some(1), |drawn| Some(2 * drawn))
        .take_while(move |drawn| *drawn < samples)
        .chain([samples])
}

/// Mean over prompts of the unbiased estimate of the probability that at least one of `drawn`
/// completions is right, `1 - C(n - c, k) / C(n, k)` for c right ones of n (Chen et al. 2021, arXiv
/// 2107.03374, equation 1). `counts` has n and c of each prompt. Prompts with fewer than `drawn`
/// graded completions are left out; `None` if no prompt has as many.
fn pass_at(counts: &[[usize; 2]], drawn: usize) -> Option<f64> {
    let estimate = |[n, right]: &[usize; 2]| {
        // A product of ratios, which cannot overflow as binomial coefficients do.
        let none: f64 = (0..drawn)
            .map(|index| n.saturating_sub(right + index) as f64 / (n - index) as f64)
            .product();
        1.0 - none
    };
    let estimates: Vec<f64> = counts
        .iter()
        .filter(|[n, _]| *n >= drawn)
        .map(estimate)
        .collect();
    (!estimates.is_empty()).then(|| estimates.iter().sum::<f64>() / estimates.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pass_at_k_is_unbiased() {
        // Of 4 completions with 1 right, 3 of the 6 pairs contain it.
        assert!((pass_at(&[[4, 1]], 2).unwrap() - 0.5).abs() < 1e-12);
        assert!((pass_at(&[[4, 1], [4, 4]], 2).unwrap() - 0.75).abs() < 1e-12);
        assert_eq!(pass_at(&[[4, 0]], 4), Some(0.0));
        assert_eq!(pass_at(&[[4, 1]], 4), Some(1.0));
        // One completion: the share of right ones.
        assert!((pass_at(&[[8, 3]], 1).unwrap() - 0.375).abs() < 1e-12);
        // Prompts with too few graded completions say nothing.
        assert_eq!(pass_at(&[[4, 1], [1, 1]], 4), Some(1.0));
        assert_eq!(pass_at(&[[1, 1]], 2), None);
        // Binomial coefficients of 4,000 completions exceed f64.
        let many = pass_at(&[[4_000, 1]], 2_000).unwrap();
        assert!((many - 0.5).abs() < 1e-9, "{many}");
    }

    #[test]
    fn draws_powers_of_two_and_all() {
        assert_eq!(draws(8).collect::<Vec<_>>(), [1, 2, 4, 8]);
        assert_eq!(draws(6).collect::<Vec<_>>(), [1, 2, 4, 6]);
        assert_eq!(draws(2).collect::<Vec<_>>(), [1, 2]);
    }
}

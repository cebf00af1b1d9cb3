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
/// prompt, the share of prompts with at least one correct completion (`held_out/pass@k`). Ungraded
/// completions are excluded and counted (`held_out/ungraded`).
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
        let graded: Vec<_> = scores.iter().filter(|scores| !scores.is_empty()).collect();
        let right = graded
            .iter()
            .filter(|scores| scores.iter().any(|score| *score >= 1.0))
            .count();
        values.insert(
            format!("held_out/pass@{samples}"),
            right as f64 / graded.len().max(1) as f64,
        );
    }
    Ok(values)
}

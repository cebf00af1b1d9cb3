//! What a policy can do with prompts it never learns from.

use std::sync::atomic::AtomicBool;

use assay_policy::{PolicyModel, Sampling};
use tokio::runtime::Handle;

use crate::config::Config;
use crate::data::{Pick, Source};
use crate::experience::{Grading, grade};
use crate::rewards::Rewards;
use crate::rollout::{Group, write};
use crate::telemetry::Values;
use crate::text::Tokens;

/// First word of the random numbers of examinations: "examine" in ASCII, so that they are never
/// those of training.
const EXAMINE: u64 = 0x65_7861_6d69_6e65;

/// A policy before its examiner.
pub struct Examination<'a> {
    /// Who is examined.
    pub policy: &'a PolicyModel,
    /// Its tokenizer.
    pub tokens: &'a Tokens,
    /// The prompts.
    pub source: &'a dyn Source,
    /// Who grades.
    pub rewards: &'a Rewards,
    /// Where calls of the service run.
    pub runtime: &'a Handle,
    /// How many prompts and completions.
    pub config: &'a Config,
}

/// Mean score of the completions (`held_out/accuracy`); with several a prompt also the share of
/// prompts of which one is right (`held_out/pass@k`). Completions that are not graded are left out
/// and counted (`held_out/ungraded`).
///
/// # Errors
/// A prompt that cannot be read, no room on the device, the service is away or refuses.
pub fn examine(examination: &Examination<'_>, step: u64) -> anyhow::Result<Values> {
    let Examination {
        policy,
        tokens,
        source,
        rewards,
        runtime,
        config,
    } = examination;
    anyhow::ensure!(
        source.size() != Some(0),
        "there are no prompts to examine on; `evaluation.path` names some"
    );
    let samples = config.evaluation.samples;
    let prompts = source
        .size()
        .unwrap_or(u64::MAX)
        .min(config.evaluation.prompts as u64);
    let group = |index| {
        Group::new(
            Pick {
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
    let seed = config.seed ^ EXAMINE;
    write(
        policy,
        tokens,
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
    let experience = runtime.block_on(grade(rewards, grading, *source, tokens, groups))?;
    let scores: Vec<Vec<f64>> = experience
        .groups
        .iter()
        .map(|(_, marks)| marks.iter().filter_map(|mark| mark.score).collect())
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

//! Rollouts: groups of completions, one group per prompt.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context;
use assay_policy_model::{GenerationRequest, PolicyModel, Sampling, generate};
use serde::{Deserialize, Serialize};

use crate::data::{Item, SelectedPrompt, Source};
use crate::text::PolicyTokenizer;

/// A completion of a prompt.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Rollout {
    /// The generated tokens.
    pub tokens: Vec<u32>,
    /// Log-probability (natural logarithm) of each token when it was generated.
    pub log_probs: Vec<f32>,
    /// Whether an end token was generated.
    pub ended: bool,
    /// Whether generation is finished: it ended, or the maximum length is reached.
    pub done: bool,
}

/// The completions of one prompt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Group {
    /// Index of the prompt in its source.
    pub prompt: u64,
    /// Key of the random numbers of its completions, in addition to the seed.
    pub key: u64,
    /// Number of completed steps of the policy model that generated the first token.
    pub version: u64,
    /// The completions.
    pub rollouts: Vec<Rollout>,
}

impl Group {
    /// A group without generated tokens.
    #[must_use]
    pub fn new(pick: SelectedPrompt, samples: usize, key: u64, version: u64) -> Self {
        let samples = pick.rollouts.map_or(samples, |count| count as usize).max(1);
        Self {
            prompt: pick.index,
            key,
            version,
            rollouts: vec![Rollout::default(); samples],
        }
    }

    /// Whether all completions are finished.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.rollouts.iter().all(|rollout| rollout.done)
    }
}

/// The prompt with this index.
///
/// # Errors
/// The source has no such prompt.
pub fn prompt_at(source: &dyn Source, index: u64) -> anyhow::Result<Item> {
    source.problem(index).with_context(|| {
        format!("the data has no prompt {index}; it may have changed since the start")
    })
}

/// The tokens of a prompt.
///
/// # Errors
/// The prompt is empty, a part of it has no token, or it fills the context length `context` of the
/// policy model.
pub fn encode_prompt(
    item: &Item,
    tokenizer: &PolicyTokenizer,
    context: usize,
) -> anyhow::Result<Vec<u32>> {
    let prompt = tokenizer
        .encode(&item.prompt)
        .with_context(|| format!("the prompt with the key `{}`", item.key))?;
    anyhow::ensure!(
        prompt.len() < context,
        "the prompt with the key `{}` has {} tokens; the context length of the policy model is {}",
        item.key,
        prompt.len(),
        context
    );
    Ok(prompt)
}

/// Continues completions until `enough` groups, or all, are done. Returns false if `stop` was set;
/// the groups must not be used then.
///
/// # Errors
/// A prompt does not exist or cannot be tokenised, or the device is out of memory.
pub fn generate_groups(
    policy: &PolicyModel,
    tokenizer: &PolicyTokenizer,
    source: &dyn Source,
    sampling: &Sampling,
    seed: u64,
    (groups, enough): (&mut [Group], usize),
    stop: &AtomicBool,
) -> anyhow::Result<bool> {
    let (mut requests, mut origins) = (Vec::new(), Vec::new());
    let context = policy.max_positions();
    for (index, group) in groups.iter().enumerate() {
        let prompt = encode_prompt(&prompt_at(source, group.prompt)?, tokenizer, context)?;
        let prompt: Arc<[u32]> = prompt.into();
        for (number, rollout) in (0..)
            .zip(&group.rollouts)
            .filter(|(_, rollout)| !rollout.done)
        {
            let key = [seed, group.key, number];
            requests.push(GenerationRequest {
                prompt: Arc::clone(&prompt),
                prefix: rollout.tokens.clone(),
                key,
            });
            origins.push((index, number as usize));
        }
    }
    let counts: Vec<usize> = groups
        .iter()
        .map(|group| {
            group
                .rollouts
                .iter()
                .filter(|rollout| !rollout.done)
                .count()
        })
        .collect();
    let pause = |finished: &[bool]| {
        if stop.load(Ordering::Relaxed) {
            return true;
        }
        if enough >= counts.len() {
            return false;
        }
        let mut unfinished = counts.clone();
        let finished = origins.iter().zip(finished).filter(|(_, flag)| **flag);
        for ((group, _), _) in finished {
            unfinished[*group] -= 1;
        }
        unfinished.iter().filter(|count| **count == 0).count() >= enough
    };
    let completions = generate(policy, &requests, sampling, tokenizer.end_tokens(), &pause)?;
    for ((group, number), completion) in origins.iter().zip(completions) {
        let rollout = &mut groups[*group].rollouts[*number];
        rollout.tokens.extend(completion.tokens);
        rollout.log_probs.extend(completion.log_probs);
        rollout.ended = completion.ended;
        rollout.done = completion.done;
    }
    Ok(!stop.load(Ordering::Relaxed))
}

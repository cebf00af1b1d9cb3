//! What the policy writes: groups of completions, one group a prompt.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context;
use assay_policy::{PolicyModel, Sampling, Wanted, generate};
use serde::{Deserialize, Serialize};

use crate::data::{Item, Pick, Source};
use crate::text::Tokens;

/// A completion of a prompt.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Rollout {
    /// What was written.
    pub tokens: Vec<u32>,
    /// Natural logarithm of the probability of each token when it was written.
    pub log_probs: Vec<f32>,
    /// Whether it came to an end by itself.
    pub ended: bool,
    /// Whether nothing is to be added: it ended, or it is as long as it may be.
    pub done: bool,
}

/// The completions of one prompt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Group {
    /// Number of the prompt in its source.
    pub prompt: u64,
    /// What the random numbers of its completions are made of, besides the seed.
    pub key: u64,
    /// Steps the policy had learned when the first token was written.
    pub version: u64,
    /// The completions.
    pub rollouts: Vec<Rollout>,
}

impl Group {
    /// A group of which nothing is written yet.
    #[must_use]
    pub fn new(pick: Pick, samples: usize, key: u64, version: u64) -> Self {
        let samples = pick.rollouts.map_or(samples, |count| count as usize).max(1);
        Self {
            prompt: pick.index,
            key,
            version,
            rollouts: vec![Rollout::default(); samples],
        }
    }

    /// Whether nothing is to be added to any completion.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.rollouts.iter().all(|rollout| rollout.done)
    }
}

/// The prompt of a number.
///
/// # Errors
/// The source has none.
pub fn item(source: &dyn Source, index: u64) -> anyhow::Result<Item> {
    source
        .problem(index)
        .with_context(|| format!("the data has no prompt {index}; was it changed under the run?"))
}

/// The tokens of a prompt.
///
/// # Errors
/// It has no tokens, a part of it has none, or there is no room behind it for a completion.
pub fn read(item: &Item, tokens: &Tokens, policy: &PolicyModel) -> anyhow::Result<Vec<u32>> {
    let prompt = tokens
        .encode(&item.prompt)
        .with_context(|| format!("the prompt with the key `{}`", item.key))?;
    anyhow::ensure!(
        prompt.len() < policy.max_positions(),
        "the prompt with the key `{}` has {} tokens, and the policy is made for {}",
        item.key,
        prompt.len(),
        policy.max_positions()
    );
    Ok(prompt)
}

/// Goes on with completions until `enough` groups are done, or all. False where `stop` was raised
/// before: what is written then is not to be used.
///
/// # Errors
/// A prompt that is not there or has no tokens, no room on the device.
pub fn write(
    policy: &PolicyModel,
    tokens: &Tokens,
    source: &dyn Source,
    sampling: &Sampling,
    seed: u64,
    (groups, enough): (&mut [Group], usize),
    stop: &AtomicBool,
) -> anyhow::Result<bool> {
    let (mut wanted, mut of) = (Vec::new(), Vec::new());
    for (at, group) in groups.iter().enumerate() {
        let prompt: Arc<[u32]> = read(&item(source, group.prompt)?, tokens, policy)?.into();
        for (number, rollout) in (0..)
            .zip(&group.rollouts)
            .filter(|(_, rollout)| !rollout.done)
        {
            let key = [seed, group.key, number];
            wanted.push(Wanted {
                prompt: Arc::clone(&prompt),
                written: rollout.tokens.clone(),
                key,
            });
            of.push((at, number as usize));
        }
    }
    let counts: Vec<usize> = groups
        .iter()
        .map(|group| group.rollouts.iter().filter(|one| !one.done).count())
        .collect();
    let pause = |finished: &[bool]| {
        if stop.load(Ordering::Relaxed) {
            return true;
        }
        if enough >= counts.len() {
            return false;
        }
        let mut open = counts.clone();
        for ((at, _), _) in of.iter().zip(finished).filter(|(_, finished)| **finished) {
            open[*at] -= 1;
        }
        open.iter().filter(|open| **open == 0).count() >= enough
    };
    let written = generate(policy, &wanted, sampling, tokens.ends(), &pause)?;
    for ((at, number), written) in of.iter().zip(written) {
        let rollout = &mut groups[*at].rollouts[*number];
        rollout.tokens.extend(written.tokens);
        rollout.log_probs.extend(written.log_probs);
        rollout.ended = written.ended;
        rollout.done = written.done;
    }
    Ok(!stop.load(Ordering::Relaxed))
}

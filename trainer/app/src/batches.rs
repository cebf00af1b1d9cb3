//! Generation of graded batches: selects prompts, generates completions, has them graded, and
//! replaces groups with equal rewards.

use std::sync::atomic::AtomicBool;

use assay_policy_model::PolicyModel;
use tokio::runtime::Handle;

use crate::config::Config;
use crate::data::{Selection, Source, group_spread};
use crate::experience::{Experience, Grading, grade};
use crate::rewards::Rewards;
use crate::rollout::{Group, generate_groups};
use crate::text::PolicyTokenizer;

/// Generates batches.
pub struct BatchGenerator<'a> {
    pub(crate) config: &'a Config,
    pub(crate) source: &'a dyn Source,
    pub(crate) rewards: &'a Rewards,
    pub(crate) runtime: &'a Handle,
    pub(crate) tokenizer: &'a PolicyTokenizer,
    pub(crate) selection: Selection,
    pub(crate) state: GeneratorState,
}

/// The state of a generator, except the selection.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct GeneratorState {
    /// Number of started groups; the key of their random numbers.
    pub groups: u64,
    /// Started groups with unfinished completions.
    pub unfinished: Vec<Group>,
}

impl BatchGenerator<'_> {
    /// Generates the batch of step `step` with a policy model that has completed `version` steps.
    /// Returns `None` if `stop` was set before the batch was complete. In that case and after an
    /// error, the state is unchanged.
    ///
    /// # Errors
    /// A prompt cannot be tokenised, the device is out of memory, or the service is unavailable or
    /// rejects the request.
    pub fn batch(
        &mut self,
        policy: &PolicyModel,
        step: u64,
        version: u64,
        stop: &AtomicBool,
    ) -> anyhow::Result<Option<Experience>> {
        let before = (self.state.clone(), self.selection.clone());
        let batch = self.rounds(policy, step, version, stop);
        if !matches!(batch, Ok(Some(_))) {
            (self.state, self.selection) = before;
        }
        batch
    }

    fn rounds(
        &mut self,
        policy: &PolicyModel,
        step: u64,
        version: u64,
        stop: &AtomicBool,
    ) -> anyhow::Result<Option<Experience>> {
        let rollout = &self.config.rollout;
        let mut batch = Experience::default();
        for round in 0..=rollout.resample_rounds {
            let needed = rollout.prompts - batch.groups.len();
            let Some(groups) = self.completed_groups(policy, needed, version, stop)? else {
                return Ok(None);
            };
            let grading = Grading {
                run: &self.config.run,
                step,
                policy: self.config.rewards.policy.as_deref(),
                statistic: self.config.rewards.statistic.as_deref(),
                numbered: self.config.rewards.number_samples,
            };
            let more = self.runtime.block_on(grade(
                self.rewards,
                grading,
                self.source,
                self.tokenizer,
                groups,
            ))?;
            let mixed = group_spread(&more.rewards()).mixed;
            batch.rates.extend(more.rates);
            for (code, items) in more.faults {
                *batch.faults.entry(code).or_default() += items;
            }
            let last = round == rollout.resample_rounds;
            for (index, group) in more.groups.into_iter().enumerate() {
                if last || mixed.contains(&index) {
                    batch.groups.push(group);
                } else {
                    batch.replaced += 1;
                }
            }
            if batch.groups.len() >= rollout.prompts {
                break;
            }
        }
        Ok(Some(batch))
    }

    /// Generates `needed` completed groups; unfinished groups of earlier steps come first.
    fn completed_groups(
        &mut self,
        policy: &PolicyModel,
        needed: usize,
        version: u64,
        stop: &AtomicBool,
    ) -> anyhow::Result<Option<Vec<Group>>> {
        let rollout = &self.config.rollout;
        // A small count.
        let started = (needed as f64 * rollout.oversampling).ceil() as usize;
        let mut groups = std::mem::take(&mut self.state.unfinished);
        let new = started.saturating_sub(groups.len());
        let picks = self.runtime.block_on(self.selection.next(
            self.rewards,
            &self.config.run,
            self.state.groups,
            new,
        ))?;
        for pick in picks {
            groups.push(Group::new(
                pick,
                rollout.samples,
                self.state.groups,
                version,
            ));
            self.state.groups += 1;
        }
        let parts = (groups.as_mut_slice(), needed);
        if !generate_groups(
            policy,
            self.tokenizer,
            self.source,
            &rollout.sampling,
            self.config.seed,
            parts,
            stop,
        )? {
            return Ok(None);
        }
        let (mut done, mut unfinished): (Vec<Group>, Vec<Group>) =
            groups.into_iter().partition(Group::is_done);
        // Surplus completed groups are the first ones of the next batch.
        unfinished.splice(0..0, done.drain(needed.min(done.len())..));
        self.state.unfinished = unfinished;
        Ok(Some(done))
    }
}

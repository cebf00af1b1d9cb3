//! Batches: prompts are chosen, completions written, the service grades them, and groups that teach
//! nothing are replaced.

use std::sync::atomic::AtomicBool;

use assay_policy::PolicyModel;

use crate::config::Config;
use crate::data::{Selection, Source, keep};
use crate::experience::{Experience, Grading, grade};
use crate::rewards::Rewards;
use crate::rollout::{Group, write};
use crate::text::Tokens;
use tokio::runtime::Handle;

/// Who makes batches.
pub struct Writer<'a> {
    pub(crate) config: &'a Config,
    pub(crate) source: &'a dyn Source,
    pub(crate) rewards: &'a Rewards,
    pub(crate) runtime: &'a Handle,
    pub(crate) tokens: &'a Tokens,
    pub(crate) selection: Selection,
    pub(crate) place: Place,
}

/// How far it is, besides the selection.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Place {
    /// Groups started, which names their random numbers.
    pub groups: u64,
    /// Groups that were started and not finished.
    pub open: Vec<Group>,
}

impl Writer<'_> {
    /// The batch that step `step` learns from, written by a policy that has learned `version`
    /// steps. `None` where `stop` was raised before it was done; then and after an error nothing
    /// has changed.
    ///
    /// # Errors
    /// A prompt that cannot be read, no room on the device, the service is away or refuses.
    pub fn batch(
        &mut self,
        policy: &PolicyModel,
        step: u64,
        version: u64,
        stop: &AtomicBool,
    ) -> anyhow::Result<Option<Experience>> {
        let before = (self.place.clone(), self.selection.clone());
        let batch = self.rounds(policy, step, version, stop);
        if !matches!(batch, Ok(Some(_))) {
            (self.place, self.selection) = before;
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
        for round in 0..=rollout.replace {
            let needed = rollout.prompts - batch.groups.len();
            let Some(groups) = self.written(policy, needed, version, stop)? else {
                return Ok(None);
            };
            let grading = Grading {
                run: &self.config.run,
                step,
                policy: self.config.rewards.policy.as_deref(),
                statistic: self.config.rewards.statistic.as_deref(),
                numbered: self.config.rewards.numbered,
            };
            let more = self.runtime.block_on(grade(
                self.rewards,
                grading,
                self.source,
                self.tokens,
                groups,
            ))?;
            batch.rates.extend(more.rates);
            for (code, items) in more.faults {
                *batch.faults.entry(code).or_default() += items;
            }
            let spread = keep(
                &more
                    .groups
                    .iter()
                    .map(|(_, marks)| rewards_of(marks))
                    .collect::<Vec<_>>(),
            )
            .mixed;
            let last = round == rollout.replace;
            for (at, group) in more.groups.into_iter().enumerate() {
                if last || spread.contains(&at) {
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

    /// So many groups that are done: those left open before first.
    fn written(
        &mut self,
        policy: &PolicyModel,
        needed: usize,
        version: u64,
        stop: &AtomicBool,
    ) -> anyhow::Result<Option<Vec<Group>>> {
        let rollout = &self.config.rollout;
        #[expect(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a small count"
        )]
        let started = (needed as f64 * rollout.ahead).ceil() as usize;
        let mut groups = std::mem::take(&mut self.place.open);
        let fresh = started.saturating_sub(groups.len());
        let picks = self.runtime.block_on(self.selection.next(
            self.rewards,
            &self.config.run,
            self.place.groups,
            fresh,
        ))?;
        for pick in picks {
            groups.push(Group::new(
                pick,
                rollout.samples,
                self.place.groups,
                version,
            ));
            self.place.groups += 1;
        }
        let parts = (groups.as_mut_slice(), needed);
        if !write(
            policy,
            self.tokens,
            self.source,
            &rollout.sampling,
            self.config.seed,
            parts,
            stop,
        )? {
            return Ok(None);
        }
        let (mut done, mut open): (Vec<Group>, Vec<Group>) =
            groups.into_iter().partition(Group::is_done);
        // More may have finished than were needed: they are the first of the next batch.
        open.splice(0..0, done.drain(needed.min(done.len())..));
        self.place.open = open;
        Ok(Some(done))
    }
}

fn rewards_of(marks: &[crate::experience::Mark]) -> Vec<Option<f64>> {
    marks.iter().map(|mark| mark.reward).collect()
}

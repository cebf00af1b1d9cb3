//! The context in which a batch is graded: its channels and their error rates, its groups and their
//! policies, and the history of its prompts.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use assay_core::ErrorCode;
use assay_record::ItemGrade;
use assay_rewards::Visit;
use assay_rewards::appeal::Appeals;
use assay_rewards::channel::Report;
use assay_rewards::channel::report::Bound;
use assay_rewards::{Estimator, Rates, Statistic};

use crate::batch::prompt_key;
use crate::names::{DEFAULT_FAMILY, HeldNames};
use crate::policy::RewardPolicy;
use crate::stages::tasks::BatchTasks;
use crate::state::EngineState;
use crate::{Batch, EngineError};

/// The context in which a batch is graded.
#[derive(Default)]
pub(crate) struct BatchContext {
    /// Distinct channels, in the order they first appear.
    pub(crate) channels: Vec<Channel>,
    /// Index of each item's channel in `channels`.
    pub(crate) channel_of: Vec<usize>,
    /// Members of each group, in the order the groups first appear; an item without a group is a
    /// group of one.
    pub(crate) groups: Vec<Vec<usize>>,
    /// Earlier visits by prompt key; `None` if nothing in this batch uses them.
    pub(crate) history: Option<BTreeMap<String, Vec<Visit>>>,
    /// The names that the batch introduces.
    pub(crate) names: HeldNames,
    /// Whether any policy sends verdicts to a judge.
    pub(crate) appeals: bool,
    /// Whether the batch is processed as one wave, because a policy uses whole groups or has a
    /// budget.
    pub(crate) single_wave: bool,
}

/// A channel of the batch.
#[derive(Debug)]
pub(crate) struct Channel {
    /// Grader and task family.
    pub(crate) name: Arc<str>,
    /// Its counts and error rates when the batch was received.
    pub(crate) report: Report,
}

impl BatchContext {
    /// Determines the channels, groups and histories of a batch.
    pub(crate) async fn of(
        state: &EngineState,
        batch: &Batch,
        tasks: &BatchTasks,
        names: HeldNames,
    ) -> Self {
        let ledger = state.channel_cache.current(state.record.as_ref()).await;
        let mut context = Self {
            groups: groups_of(batch),
            names,
            ..Self::default()
        };
        let mut index_of: HashMap<String, usize> = HashMap::new();
        let policies = policies(batch);
        let declaring: Vec<&RewardPolicy> = policies
            .iter()
            .copied()
            .filter(|policy| !policy.rules().rates.is_empty())
            .collect();
        for (at, item) in batch.items.iter().enumerate() {
            let spec = tasks.spec(at);
            let family = item.channel.as_deref().or(tasks.family(at));
            let name = format!("{}/{}", spec.name, family.unwrap_or(DEFAULT_FAMILY));
            let index = *index_of.entry(name).or_insert_with_key(|name| {
                // `check` has ensured that all policies declare the same rates for a channel.
                let declared = declaring
                    .iter()
                    .find_map(|policy| policy.rules().rates.get(name))
                    .copied();
                let report = ledger.of(name, spec.version, declared);
                context.channels.push(Channel {
                    name: name.as_str().into(),
                    report,
                });
                context.channels.len() - 1
            });
            context.channel_of.push(index);
        }
        context.appeals = policies
            .iter()
            .any(|policy| !policy.rules().appeals.is_empty());
        // A budget applies to the whole batch; items that finish first must not use all of it.
        let budgeted =
            |policy: &&RewardPolicy| policy.rules().appeals.iter().any(Appeals::is_budgeted);
        context.single_wave = policies
            .iter()
            .any(|policy| !policy.rules().is_plain() || budgeted(policy));
        let needs_history = batch
            .statistics
            .iter()
            .any(|statistic| needs_history(*statistic))
            || policies
                .iter()
                .any(|policy| policy.rules().advantage_estimator == Some(Estimator::Dcpo));
        if needs_history {
            context.history = history(state, batch).await;
        }
        context
    }

    /// Name of the channel of the item at this position; empty in a batch that is sent to a judge.
    pub(crate) fn channel_name(&self, position: usize) -> Arc<str> {
        let channel = self.channel_of.get(position);
        channel.map_or_else(Arc::default, |at| Arc::clone(&self.channels[*at].name))
    }

    /// The channel of the item at this position.
    pub(crate) fn channel(&self, position: usize) -> &Channel {
        &self.channels[self.channel_of[position]]
    }

    /// The reports of the channels for these grades of the batch. If a judge decides some of the
    /// verdicts, the error rates of the batch differ from the channel's. In the order of
    /// [`BatchContext::channels`].
    pub(crate) fn reports<'r>(
        &self,
        grades: impl IntoIterator<Item = &'r ItemGrade>,
    ) -> Vec<Report> {
        #[derive(Clone, Copy, Default)]
        struct Side<'r> {
            verdicts: u32,
            decided: u32,
            judge: Option<(&'r str, f64, f64)>,
        }
        let mut sides = vec![[Side::default(); 2]; self.channels.len()];
        for grade in grades {
            let Some(pass) = grade.pass else { continue };
            let channel = self.channel_of[grade.position as usize];
            let side = &mut sides[channel][usize::from(pass)];
            side.verdicts += 1;
            if let Some(appeal) = grade.appeal.as_ref().filter(|appeal| appeal.binding) {
                side.decided += 1;
                side.judge = Some((
                    appeal.judge.as_str(),
                    appeal.sensitivity,
                    appeal.specificity,
                ));
            }
        }
        let reports = self.channels.iter().zip(sides).map(|(channel, sides)| {
            let [negatives, positives] =
                sides.map(|side| f64::from(side.decided) / f64::from(side.verdicts.max(1)));
            channel.report.clone().in_batch([
                Bound {
                    passes: false,
                    share: negatives,
                    judge: sides[0].judge,
                },
                Bound {
                    passes: true,
                    share: positives,
                    judge: sides[1].judge,
                },
            ])
        });
        reports.collect()
    }
}

/// The distinct policies of the items, in the order they first appear.
fn policies(batch: &Batch) -> Vec<&RewardPolicy> {
    let mut policies: Vec<&RewardPolicy> = Vec::new();
    for item in &batch.items {
        let policy = batch.policy_of(item);
        if policies
            .last()
            .is_none_or(|last| !last.has_same_rules(policy))
            && policies
                .iter()
                .all(|existing| !existing.has_same_rules(policy))
        {
            policies.push(policy);
        }
    }
    policies
}

/// Rejects groups whose members have different policies, because a group has one baseline, and
/// policies that declare different error rates for one channel.
pub(crate) fn check(batch: &Batch) -> Result<(), EngineError> {
    check_groups(batch)?;
    check_channels(batch)?;
    let mut declared: HashMap<&str, (Rates, &RewardPolicy)> = HashMap::new();
    for policy in policies(batch) {
        for (channel, rates) in &policy.rules().rates {
            let (existing, first) = *declared.entry(channel).or_insert((*rates, policy));
            if existing != *rates {
                let (first, other) = (first.name(), policy.name());
                return Err(EngineError::Refused {
                    code: ErrorCode::InvalidPolicy,
                    pointer: "/items".to_owned(),
                    message: format!(
                        "the policies `{first}` and `{other}` declare different rates for \
                         `{channel}`; send them in separate requests"
                    ),
                });
            }
        }
    }
    Ok(())
}

/// Most channels of one batch. A channel is a family of tasks for which the verifier has similar
/// error rates, and estimating them needs many items per channel.
const MAX_CHANNELS: usize = 256;

fn check_channels(batch: &Batch) -> Result<(), EngineError> {
    let mut channels: HashSet<(&str, Option<&str>)> = HashSet::new();
    for (at, item) in batch.items.iter().enumerate() {
        channels.insert((item.task.kind.as_str(), item.channel.as_deref()));
        if channels.len() > MAX_CHANNELS {
            return Err(EngineError::Refused {
                code: ErrorCode::InvalidField,
                pointer: format!("/items/{at}/channel"),
                message: format!(
                    "the batch has more than {MAX_CHANNELS} channels; use one channel for a family \
                     of many tasks"
                ),
            });
        }
    }
    Ok(())
}

fn check_groups(batch: &Batch) -> Result<(), EngineError> {
    let mut first: HashMap<&str, usize> = HashMap::new();
    for (at, item) in batch.items.iter().enumerate() {
        let Some(group) = item.group.as_deref() else {
            continue;
        };
        let first_of_group = *first.entry(group).or_insert(at);
        if !batch
            .policy_of(item)
            .has_same_rules(batch.policy_of(&batch.items[first_of_group]))
        {
            return Err(EngineError::Refused {
                code: ErrorCode::InvalidPolicy,
                pointer: format!("/items/{at}/policy"),
                message: format!(
                    "the group `{group}` has another policy at `/items/{first_of_group}`; use one \
                     policy for all its items"
                ),
            });
        }
    }
    Ok(())
}

/// Earlier visits to the prompts of the batch. `None` without a run or a record, or if the record
/// cannot be read.
async fn history(state: &EngineState, batch: &Batch) -> Option<BTreeMap<String, Vec<Visit>>> {
    let (run, record) = (batch.run.as_deref()?, state.record.as_ref()?);
    let mut keys: Vec<String> = batch.items.iter().map(prompt_key).collect();
    keys.sort();
    keys.dedup();
    match record.visits(run, Some(&keys)).await {
        Ok(mut visits) => {
            // Visits at this step or later are removed: a batch that is sent again must not count
            // as its own history.
            if let Some(step) = batch.step {
                visits.values_mut().for_each(|visits| {
                    visits.retain(|visit| visit.step.is_none_or(|visited| visited < step));
                });
            }
            Some(visits)
        }
        Err(error) => {
            tracing::warn!(%error, "cannot read the history of prompts; grading the batch without \
                                    it");
            None
        }
    }
}

/// Members of each group, in the order the groups first appear.
fn groups_of(batch: &Batch) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mut index_of: HashMap<&str, usize> = HashMap::new();
    for (position, item) in batch.items.iter().enumerate() {
        let Some(name) = item.group.as_deref() else {
            groups.push(vec![position]);
            continue;
        };
        let index = *index_of.entry(name).or_insert_with(|| {
            groups.push(Vec::new());
            groups.len() - 1
        });
        groups[index].push(position);
    }
    groups
}

/// Whether a statistic uses earlier visits.
fn needs_history(statistic: Statistic) -> bool {
    matches!(
        statistic,
        Statistic::Advantage(Estimator::Dcpo) | Statistic::Curriculum | Statistic::ExtraRollouts
    )
}

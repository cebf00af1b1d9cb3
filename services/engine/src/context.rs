//! What the items of a batch stand in: channels and what is known of their noise, groups and their
//! policies, histories of prompts.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use assay_core::channel::Appeal;
use assay_core::{ErrorCode, Hash, Visit};
use assay_correction::appeal::Appeals;
use assay_correction::channel::Report;
use assay_correction::channel::report::Bound;
use assay_correction::{Estimator, Rates, Statistic};

use crate::plan::Plan;
use crate::policy::RewardPolicy;
use crate::shared::Shared;
use crate::{Batch, BatchItem, EngineError};

/// What the items of a batch stand in.
#[derive(Default)]
pub(crate) struct BatchContext {
    /// Distinct channels, in the order they first appear.
    pub(crate) channels: Vec<Channel>,
    /// Place of each item's channel in the list.
    pub(crate) channel_of: Vec<usize>,
    /// Members of each group, in the order the groups first appear; an item without a group is a
    /// group of one.
    pub(crate) groups: Vec<Vec<usize>>,
    /// Earlier visits by the name of the prompt; `None` when nothing of this batch looks at them.
    pub(crate) history: Option<BTreeMap<String, Vec<Visit>>>,
    /// Whether any policy sends verdicts to a judge.
    pub(crate) appeals: bool,
    /// Whether the batch is delivered in one wave: a policy looks at groups as a whole, or has a
    /// budget.
    pub(crate) at_once: bool,
}

/// A channel of the batch.
#[derive(Debug)]
pub(crate) struct Channel {
    /// Grader and task family.
    pub(crate) name: Arc<str>,
    /// What was known of it when the batch came in.
    pub(crate) report: Report,
}

impl BatchContext {
    /// Looks at the channels, groups and histories of a planned batch.
    pub(crate) async fn of(inner: &Shared, plan: &Plan) -> Self {
        let batch = &plan.batch;
        let ledger = inner
            .known
            .current(inner.store.as_ref(), plan.admitted)
            .await;
        let mut around = Self {
            groups: groups_of(batch),
            ..Self::default()
        };
        let mut places: HashMap<String, usize> = HashMap::new();
        let policies = policies(batch);
        let stated: Vec<&RewardPolicy> = policies
            .iter()
            .copied()
            .filter(|policy| !policy.rules().rates.is_empty())
            .collect();
        for (at, item) in batch.items.iter().enumerate() {
            let spec = plan.spec(at);
            let name = format!(
                "{}/{}",
                spec.name,
                item.channel.as_deref().unwrap_or("default")
            );
            let place = *places.entry(name).or_insert_with_key(|name| {
                // Checked before: whoever states rates of a channel states the same.
                let declared = stated
                    .iter()
                    .find_map(|policy| policy.rules().rates.get(name))
                    .copied();
                let report = ledger.of(name, spec.version, declared);
                around.channels.push(Channel {
                    name: name.as_str().into(),
                    report,
                });
                around.channels.len() - 1
            });
            around.channel_of.push(place);
        }
        around.appeals = policies
            .iter()
            .any(|policy| !policy.rules().appeals.is_empty());
        // A budget is shared out over the whole batch: what finishes first must not take it all.
        let budgeted =
            |policy: &&RewardPolicy| policy.rules().appeals.iter().any(Appeals::is_budgeted);
        around.at_once = policies
            .iter()
            .any(|policy| !policy.rules().is_plain() || budgeted(policy));
        let looks_back = batch
            .statistics
            .iter()
            .any(|statistic| looks_back(*statistic))
            || policies
                .iter()
                .any(|policy| policy.rules().advantage_estimator == Some(Estimator::Dcpo));
        if looks_back {
            around.history = history(inner, batch).await;
        }
        around
    }

    /// The item's channel.
    pub(crate) fn channel(&self, at: usize) -> &Channel {
        &self.channels[self.channel_of[at]]
    }
}

/// The channels as they are in these results of the batch: a judge that decides some of the
/// verdicts makes another channel of them. In the order of [`BatchContext::channels`].
pub(crate) fn in_batch<'r>(
    plan: &'r Plan,
    seen: impl Iterator<Item = (usize, Option<bool>, Option<&'r Appeal>)>,
) -> Vec<Report> {
    #[derive(Clone, Copy, Default)]
    struct Side<'r> {
        verdicts: u32,
        decided: u32,
        judge: Option<(&'r str, f64, f64)>,
    }
    let mut sides = vec![[Side::default(); 2]; plan.around.channels.len()];
    for (position, pass, appeal) in seen {
        let Some(pass) = pass else { continue };
        let side = &mut sides[plan.around.channel_of[position]][usize::from(pass)];
        side.verdicts += 1;
        if let Some(appeal) = appeal.filter(|appeal| appeal.binding) {
            side.decided += 1;
            side.judge = Some((
                appeal.judge.as_str(),
                appeal.sensitivity,
                appeal.specificity,
            ));
        }
    }
    let reports = plan
        .around
        .channels
        .iter()
        .zip(sides)
        .map(|(channel, sides)| {
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

/// Policies that some item of the batch has, in the order they first appear.
fn policies(batch: &Batch) -> Vec<&RewardPolicy> {
    let mut policies: Vec<&RewardPolicy> = Vec::new();
    for item in &batch.items {
        let policy = batch.policy_of(item);
        if policies.last().is_none_or(|last| !last.is(policy))
            && policies.iter().all(|known| !known.is(policy))
        {
            policies.push(policy);
        }
    }
    policies
}

/// Refuses groups whose members ask for different policies, because a group has one baseline, and
/// policies that state different rates of one channel, because a channel has one pair of them.
pub(crate) fn check(batch: &Batch) -> Result<(), EngineError> {
    check_groups(batch)?;
    check_channels(batch)?;
    let mut stated: HashMap<&str, (Rates, &RewardPolicy)> = HashMap::new();
    for policy in policies(batch) {
        for (channel, rates) in &policy.rules().rates {
            let (known, first) = *stated.entry(channel).or_insert((*rates, policy));
            if known != *rates {
                let (first, other) = (first.name(), policy.name());
                return Err(EngineError::Refused {
                    code: ErrorCode::InvalidPolicy,
                    pointer: "/items".to_owned(),
                    message: format!(
                        "the policies `{first}` and `{other}` state different rates of \
                         `{channel}`; send them in two requests"
                    ),
                });
            }
        }
    }
    Ok(())
}

/// Most channels of one batch. A channel is a family of tasks whose verifier errs alike, and rates
/// need many items of each.
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
                    "the batch has more than {MAX_CHANNELS} channels; a channel is a family of \
                     many tasks"
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
        let of_group = *first.entry(group).or_insert(at);
        if !batch
            .policy_of(item)
            .is(batch.policy_of(&batch.items[of_group]))
        {
            return Err(EngineError::Refused {
                code: ErrorCode::InvalidPolicy,
                pointer: format!("/items/{at}/policy"),
                message: format!(
                    "the group `{group}` has another policy at `/items/{of_group}`; give all its \
                     items one"
                ),
            });
        }
    }
    Ok(())
}

/// Visits to the prompts of the batch before it. Without a run or a record there is no history; one
/// that cannot be read is none either.
async fn history(inner: &Shared, batch: &Batch) -> Option<BTreeMap<String, Vec<Visit>>> {
    let (run, store) = (batch.run.as_deref()?, inner.store.as_ref()?);
    let mut keys: Vec<String> = batch.items.iter().map(prompt_key).collect();
    keys.sort();
    keys.dedup();
    match store.visits(run, Some(&keys)).await {
        Ok(mut visits) => {
            // Sent again, a batch is not its own past, and what came after it is none either.
            if let Some(step) = batch.step {
                visits.values_mut().for_each(|visits| {
                    visits.retain(|visit| visit.step.is_none_or(|of| of < step))
                });
            }
            Some(visits)
        }
        Err(error) => {
            tracing::warn!(%error, "the history of prompts cannot be read: the batch goes on \
                                    without it");
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

/// Name under which the item's history is kept. Items of the same prompt and task share it,
/// whatever run or step they come from.
pub(crate) fn prompt_key(item: &BatchItem) -> String {
    if let Some(key) = &item.prompt_key {
        return key.clone();
    }
    let prompt = item.prompt_hash();
    let prompt = prompt.as_ref().map_or(&[][..], |hash| hash.as_bytes());
    let mut key = Hash::of_parts(&[prompt, item.task.hash().as_bytes()]).to_string();
    key.truncate(16);
    key
}

/// Whether a statistic looks at earlier visits.
fn looks_back(statistic: Statistic) -> bool {
    matches!(
        statistic,
        Statistic::Advantage(Estimator::Dcpo) | Statistic::Curriculum | Statistic::ExtraRollouts
    )
}

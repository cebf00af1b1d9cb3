//! Stage 5, correct: what is known of noise is applied, and groups get their statistics.
//!
//! No channel has measured rates yet, so no score is corrected; a wave that holds the whole batch gets its coefficients.

use std::collections::HashMap;
use std::sync::Arc;

use assay_correction::{Member, coefficients, mean};
use serde_json::Map;

use crate::plan::Plan;
use crate::reply::{ChannelRates, GroupResult, ItemResult, Reply};

pub(crate) fn correct(plan: &Arc<Plan>, mut wave: Vec<ItemResult>) -> Vec<ItemResult> {
    if wave.len() < plan.batch.items.len() {
        return wave;
    }
    for members in groups_of(plan, wave.len()) {
        let known: Vec<Member> = members.iter().map(|at| member(&wave[*at])).collect();
        for (at, coefficient) in members.into_iter().zip(coefficients(&known)) {
            wave[at].coefficient = coefficient;
            wave[at].coefficient_rule = coefficient.map(|_| "mean");
        }
    }
    wave
}

impl Reply {
    /// The groups, in the order they first appear in the batch.
    #[must_use]
    pub fn groups(&self) -> Vec<GroupResult> {
        groups(&self.plan, &self.in_order())
    }

    /// The channels, in the order they first appear in the batch.
    #[must_use]
    pub fn channels(&self) -> Vec<ChannelRates> {
        channels(&self.in_order())
    }
}

/// Groups of the finished batch, in the order they first appear; `results` are in the order of the batch.
fn groups(plan: &Plan, results: &[&ItemResult]) -> Vec<GroupResult> {
    let mut groups = Vec::new();
    for members in groups_of(plan, results.len()) {
        let known: Vec<Member> = members.iter().map(|at| member(results[*at])).collect();
        let statistics: Map<_, _> = plan
            .batch
            .statistics
            .iter()
            .filter_map(|statistic| Some((statistic.name().to_owned(), statistic.of(&known)?)))
            .collect();
        groups.push(GroupResult {
            group: members.first().and_then(|at| plan.batch.items[*at].group.clone()),
            n: known.len(),
            graded: known.iter().filter(|member| member.reward.is_some()).count(),
            mean: mean(&known),
            statistics,
        });
    }
    groups
}

/// Channels of the batch, in the order they first appear.
fn channels(results: &[&ItemResult]) -> Vec<ChannelRates> {
    let mut channels: Vec<ChannelRates> = Vec::new();
    for result in results {
        // A batch has a handful of channels at most.
        if channels.iter().all(|known| known.channel != result.channel) {
            channels.push(ChannelRates { channel: result.channel.clone(), rho0: None, rho1: None, j: None });
        }
    }
    channels
}

fn member(result: &ItemResult) -> Member {
    Member { reward: result.reward, pass: result.pass }
}

/// Positions of each group's members; an item without a group is a group of one.
fn groups_of(plan: &Plan, items: usize) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mut index_of: HashMap<&str, usize> = HashMap::new();
    for (position, item) in plan.batch.items.iter().enumerate().take(items) {
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

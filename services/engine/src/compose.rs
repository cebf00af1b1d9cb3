//! Stage 4, compose: the policy makes a reward from score, checks and measures.

use std::borrow::Cow;
use std::sync::Arc;

use assay_core::{Component, Outcome, Reward};
use assay_rewards::Rates;
use assay_rewards::channel::Report;
use assay_rewards::policy::{Part, RewardResult, Sample};
use serde_json::value::RawValue;

use crate::appeal::AppealedItem;
use crate::plan::Plan;
use crate::reply::ItemResult;

/// Makes the results of a wave. Policies that use whole groups find them here, because such a batch
/// is one wave.
pub(crate) fn compose(plan: &Arc<Plan>, wave: Vec<AppealedItem>) -> Vec<ItemResult> {
    let reports = {
        let verdicts = wave.iter().map(|appealed| {
            (
                appealed.done.main.item,
                appealed.pass,
                appealed.appeal.as_ref(),
            )
        });
        plan.context.reports(verdicts)
    };
    let rates: Vec<Option<Rates>> = reports.iter().map(Report::usable).collect();
    let mut results: Vec<ItemResult> = wave
        .into_iter()
        .map(|appealed| result(plan, appealed, &rates))
        .collect();
    let index_of: std::collections::HashMap<usize, usize> = results
        .iter()
        .enumerate()
        .map(|(index, result)| (result.position, index))
        .collect();
    // Groups are collected by policy, because a share of the batch's groups is counted over the
    // groups of one policy.
    let mut by_policy: Vec<(usize, Vec<Vec<usize>>)> = Vec::new();
    for members in &plan.context.groups {
        let indices: Vec<usize> = members
            .iter()
            .filter_map(|position| index_of.get(position).copied())
            .collect();
        let (Some(first), false) = (members.first(), indices.is_empty()) else {
            continue;
        };
        let policy = plan.policy(*first);
        if policy.rules().is_plain() {
            continue;
        }
        match by_policy
            .iter_mut()
            .find(|(existing, _)| plan.policy(*existing).has_same_rules(policy))
        {
            Some((_, groups)) => groups.push(indices),
            None => by_policy.push((*first, vec![indices])),
        }
    }
    for (position, groups) in by_policy {
        apply(plan, position, &groups, &mut results);
    }
    results
}

/// Applies the policy of the item at `position` to groups, each a list of indices in `results`.
fn apply(plan: &Plan, position: usize, groups: &[Vec<usize>], results: &mut [ItemResult]) {
    let inputs: Vec<Vec<SampleInputs<'_>>> = groups
        .iter()
        .map(|indices| {
            indices
                .iter()
                .map(|index| SampleInputs::of(plan, &results[*index]))
                .collect()
        })
        .collect();
    let samples: Vec<Vec<Sample<'_>>> = inputs
        .iter()
        .map(|group| group.iter().map(SampleInputs::sample).collect())
        .collect();
    let samples: Vec<&[Sample<'_>]> = samples.iter().map(Vec::as_slice).collect();
    let composed = plan.policy(position).rules().compose_batch(&samples);
    let rewards: Vec<ComposedReward> = composed.iter().flatten().map(ComposedReward::of).collect();
    for (index, composed) in groups.iter().flatten().zip(rewards) {
        results[*index].reward = composed.reward;
        results[*index].reward_breakdown = composed.reward_breakdown;
    }
}

/// The reward of an item and its breakdown, which do not borrow from the inputs.
struct ComposedReward {
    reward: Option<Reward>,
    reward_breakdown: Option<Arc<RawValue>>,
}

impl ComposedReward {
    fn of(composed: &RewardResult<'_>) -> Self {
        // Serialising finite numbers and texts does not fail.
        let breakdown = (!composed.is_trivial())
            .then(|| serde_json::value::to_raw_value(composed).ok())
            .flatten();
        let reward_breakdown = breakdown.map(Arc::from);
        Self {
            reward: composed.reward,
            reward_breakdown,
        }
    }
}

/// The data that a sample borrows.
struct SampleInputs<'a> {
    result: &'a ItemResult,
    parts: Vec<Part<'a>>,
    measures: Vec<(&'a str, f64)>,
    steps: Vec<f64>,
    text: Cow<'a, str>,
    tokens: Option<f64>,
    truncated: bool,
    model: Option<String>,
}

impl<'a> SampleInputs<'a> {
    fn of(plan: &'a Plan, result: &'a ItemResult) -> Self {
        let item = &plan.batch.items[result.position].item;
        let grade = result.outcome.grade();
        let component_pass = |component: &Component| {
            let grade = component.outcome.grade()?;
            // Components name their grader as `name@version`; the name is looked up in the table of
            // graders.
            let name = component.grader.split('@').next().unwrap_or_default();
            plan.graders
                .by_name(name)
                .and_then(|grader| grader.spec().pass(grade.verdict))
        };
        let parts = result.components().map(|component| Part {
            name: &component.name,
            score: component.outcome.grade().map(|grade| grade.score),
            pass: component_pass(component),
        });
        let grader_measures = grade
            .iter()
            .flat_map(|grade| &grade.measures)
            .map(|(name, measure)| (*name, measure.get()));
        // Numbers from the trainer (such as cost, or the length of a reference) are added to the
        // measures of the graders and never replace one.
        let trainer_measures = item.meta.numbers();
        let measures = grader_measures.chain(trainer_measures);
        #[expect(
            clippy::cast_precision_loss,
            reason = "token counts are far below 2^53"
        )]
        let tokens = item.meta.tokens.map(|tokens| tokens as f64);
        Self {
            result,
            parts: parts.collect(),
            measures: measures.collect(),
            steps: grade
                .iter()
                .flat_map(|grade| &grade.steps)
                .map(|step| step.score.get())
                .collect(),
            text: item.completion.text(),
            tokens,
            truncated: item.meta.truncated,
            model: item.meta.text("model"),
        }
    }

    fn sample(&self) -> Sample<'_> {
        let result = self.result;
        Sample {
            score: result.effective_score(),
            pass: result.pass_after_appeal(),
            corrected: result.backward,
            parts: &self.parts,
            measures: &self.measures,
            text: &self.text,
            tokens: self.tokens,
            truncated: self.truncated,
            answer: result.answer(),
            model: self.model.as_deref(),
            steps: &self.steps,
        }
    }
}

/// The result of an item before any policy: the reward is the score.
fn result(plan: &Arc<Plan>, appealed: AppealedItem, rates: &[Option<Rates>]) -> ItemResult {
    let score_after_appeal = appealed.score_after_appeal();
    let crate::grade::GradedItem { main, checks } = appealed.done;
    let batch_item = &plan.batch.items[main.item];
    let mut outcome = main.outcome;
    let (mut queue_us, mut grade_us, mut time_us) = (main.queue_us, main.grade_us, main.time_us);
    let mut check_components = Vec::with_capacity(checks.len());
    for (check, (name, _)) in checks.into_iter().zip(&batch_item.checks) {
        queue_us = queue_us.max(check.queue_us);
        grade_us = grade_us.saturating_add(check.grade_us);
        time_us = time_us.max(check.time_us);
        check_components.push(Component {
            name: name.clone(),
            grader: check.spec.id(),
            outcome: check.outcome,
        });
    }
    if let Outcome::Graded(grade) = &mut outcome {
        grade.measures.extend(batch_item.item.meta.measures());
    }
    let channel = plan.context.channel(main.item);
    let rates = rates[plan.context.channel_of[main.item]];
    let mut result = ItemResult {
        position: main.item,
        grade: plan.id.grade(u32::try_from(main.item).unwrap_or(u32::MAX)),
        channel: Arc::clone(&channel.name),
        spec: main.spec,
        pass: appealed.pass,
        outcome,
        check_components,
        appeal: appealed.appeal,
        score_after_appeal,
        backward: None,
        forward: None,
        reward: None,
        reward_breakdown: None,
        advantage: None,
        advantage_estimator: None,
        cached: main.cached,
        queue_us,
        grade_us,
        time_us,
    };
    let finite = |number: Option<f64>| number.and_then(|number| Reward::new(number).ok());
    let corrected = rates.zip(result.pass_after_appeal());
    result.backward = finite(corrected.and_then(|(rates, pass)| rates.backward(pass)));
    result.forward = finite(corrected.map(|(rates, pass)| rates.forward(pass)));
    result.reward = result.effective_score().map(Reward::from);
    result
}

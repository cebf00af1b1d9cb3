//! Stage 4, compose: the policy makes a reward from score, checks and measures.

use std::borrow::Cow;
use std::sync::Arc;

use assay_core::{Component, Outcome, Reward};
use assay_correction::Rates;
use assay_correction::channel::Report;
use assay_correction::policy::{Composed, Part, Sample};

use serde_json::value::RawValue;

use crate::appeal::Judged;
use crate::context::in_batch;
use crate::plan::Plan;
use crate::reply::ItemResult;

/// Makes results of a wave. Policies that look at a whole group find it here: such a batch comes in
/// one wave.
pub(crate) fn compose(plan: &Arc<Plan>, wave: Vec<Judged>) -> Vec<ItemResult> {
    let reports = {
        let seen = wave
            .iter()
            .map(|judged| (judged.done.main.item, judged.pass, judged.appeal.as_ref()));
        in_batch(plan, seen)
    };
    let rates: Vec<Option<Rates>> = reports.iter().map(Report::usable).collect();
    let mut results: Vec<ItemResult> = wave
        .into_iter()
        .map(|judged| result(plan, judged, &rates))
        .collect();
    let place_of: std::collections::HashMap<usize, usize> = results
        .iter()
        .enumerate()
        .map(|(place, result)| (result.position, place))
        .collect();
    // Groups by policy: what a share of the batch's groups means is counted over those of one
    // policy.
    let mut by_policy: Vec<(usize, Vec<Vec<usize>>)> = Vec::new();
    for members in &plan.around.groups {
        let places: Vec<usize> = members
            .iter()
            .filter_map(|at| place_of.get(at).copied())
            .collect();
        let (Some(first), false) = (members.first(), places.is_empty()) else {
            continue;
        };
        let policy = plan.policy(*first);
        if policy.rules().is_plain() {
            continue;
        }
        match by_policy
            .iter_mut()
            .find(|(known, _)| plan.policy(*known).is(policy))
        {
            Some((_, groups)) => groups.push(places),
            None => by_policy.push((*first, vec![places])),
        }
    }
    for (at, groups) in by_policy {
        apply(plan, at, &groups, &mut results);
    }
    results
}

/// Applies the policy of the item `at` to groups, each a list of places in `results`.
fn apply(plan: &Plan, at: usize, groups: &[Vec<usize>], results: &mut [ItemResult]) {
    let facts: Vec<Vec<Facts<'_>>> = groups
        .iter()
        .map(|places| {
            places
                .iter()
                .map(|place| Facts::of(plan, &results[*place]))
                .collect()
        })
        .collect();
    let samples: Vec<Vec<Sample<'_>>> = facts
        .iter()
        .map(|group| group.iter().map(Facts::sample).collect())
        .collect();
    let samples: Vec<&[Sample<'_>]> = samples.iter().map(Vec::as_slice).collect();
    let composed = plan.policy(at).rules().compose_batch(&samples);
    let made: Vec<Made> = composed.iter().flatten().map(Made::of).collect();
    for (place, made) in groups.iter().flatten().zip(made) {
        results[*place].reward = made.reward;
        results[*place].reward_breakdown = made.reward_breakdown;
    }
}

/// What a policy made of an item, kept apart from what it borrowed.
struct Made {
    reward: Option<Reward>,
    reward_breakdown: Option<Arc<RawValue>>,
}

impl Made {
    fn of(composed: &Composed<'_>) -> Self {
        // Finite numbers and texts always serialise.
        let told = (!composed.is_silent())
            .then(|| serde_json::value::to_raw_value(composed).ok())
            .flatten();
        let reward_breakdown = told.map(Arc::from);
        Self {
            reward: composed.reward,
            reward_breakdown,
        }
    }
}

/// What a sample borrows from.
struct Facts<'a> {
    result: &'a ItemResult,
    parts: Vec<Part<'a>>,
    measures: Vec<(&'a str, f64)>,
    steps: Vec<f64>,
    text: Cow<'a, str>,
    tokens: Option<f64>,
    truncated: bool,
    model: Option<String>,
}

impl<'a> Facts<'a> {
    fn of(plan: &'a Plan, result: &'a ItemResult) -> Self {
        let item = &plan.batch.items[result.position].item;
        let grade = result.outcome.grade();
        let graders = |component: &Component| {
            let grade = component.outcome.grade()?;
            // Nested tasks and checks are graded by graders of the table; their name is before the
            // version.
            let name = component.grader.split('@').next().unwrap_or_default();
            plan.graders
                .by_name(name)
                .and_then(|grader| grader.spec().pass(grade.verdict))
        };
        let parts = result.components().map(|component| Part {
            name: &component.name,
            score: component.outcome.grade().map(|grade| grade.score),
            pass: graders(component),
        });
        let of_grade = grade
            .iter()
            .flat_map(|grade| &grade.measures)
            .map(|(name, measure)| (*name, measure.get()));
        // What the trainer knows (cost, a reference's length) stands beside what graders measured,
        // never in its place.
        let of_trainer = item.meta.numbers();
        let measures = of_grade.chain(of_trainer);
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
            score: result.final_score(),
            pass: result.final_pass(),
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
fn result(plan: &Arc<Plan>, judged: Judged, rates: &[Option<Rates>]) -> ItemResult {
    let score_after_appeal = judged.score_after_appeal();
    let crate::grade::ItemDone { main, checks } = judged.done;
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
    let channel = plan.around.channel(main.item);
    let rates = rates[plan.around.channel_of[main.item]];
    let mut result = ItemResult {
        position: main.item,
        grade: plan.id.grade(u32::try_from(main.item).unwrap_or(u32::MAX)),
        channel: Arc::clone(&channel.name),
        spec: main.spec,
        pass: judged.pass,
        outcome,
        check_components,
        appeal: judged.appeal,
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
        recorded: false,
    };
    let finite = |number: Option<f64>| number.and_then(|number| Reward::new(number).ok());
    let corrected = rates.zip(result.final_pass());
    result.backward = finite(corrected.and_then(|(rates, pass)| rates.backward(pass)));
    result.forward = finite(corrected.map(|(rates, pass)| rates.forward(pass)));
    result.reward = result.final_score().map(Reward::from);
    result
}

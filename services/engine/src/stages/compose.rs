//! The policy computes a reward from score, checks and measures.

use std::borrow::Cow;
use std::collections::HashMap;

use assay_core::evidence::TextFact;
use assay_core::{Reward, Score, Verdict};
use assay_record::{ComponentGrade, ItemGrade, RewardBreakdown};
use assay_rewards::Rates;
use assay_rewards::channel::Report;
use assay_rewards::policy::{Part, RewardResult, Sample};
use assay_rewards::trust;
use serde::Deserialize;

use crate::stages::plan::Plan;

/// Weights of the items of a wave, by which their advantages are multiplied; `None` for items whose
/// policy has no weights, and for items without a reward.
pub(crate) type ItemWeights = Vec<Option<f64>>;

/// Adds the rewards to the grades of a wave. Policies that use whole groups find them here, because
/// such a batch is one wave.
pub(crate) fn compose(plan: &Plan, wave: &mut [ItemGrade]) -> ItemWeights {
    let reports = plan.context.reports(wave.iter());
    let rates: Vec<Option<Rates>> = reports.iter().map(Report::usable).collect();
    let refusals: Vec<Option<String>> = wave
        .iter()
        .map(|grade| refusal(plan, &reports, grade))
        .collect();
    for grade in wave.iter_mut() {
        let rates = rates[plan.context.channel_of[grade.position as usize]];
        let finite = |number: Option<f64>| number.filter(|number| number.is_finite());
        let corrected = rates.zip(grade.pass_after_appeal());
        grade.backward = finite(corrected.and_then(|(rates, pass)| rates.backward(pass)));
        grade.forward = finite(corrected.map(|(rates, pass)| rates.forward(pass)));
        // Without a policy the reward is the score.
        grade.reward = grade.effective_score();
    }
    let index_of: HashMap<usize, usize> = wave
        .iter()
        .enumerate()
        .map(|(index, grade)| (grade.position as usize, index))
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
    let mut weights = vec![None; wave.len()];
    for (position, groups) in by_policy {
        for (index, weight) in apply(plan, position, &groups, &refusals, wave) {
            weights[index] = weight;
        }
    }
    for (grade, reason) in wave.iter_mut().zip(refusals) {
        if let Some(reason) = reason {
            let refused = ComposedReward::without(reason);
            (grade.reward, grade.reward_breakdown) = (refused.reward, refused.reward_breakdown);
        }
    }
    weights
}

/// Why the policy gives a graded item no reward: its channel may not shape rewards. A verdict that
/// a judge of an appeal decided is as precise as the appeal requires.
fn refusal(plan: &Plan, reports: &[Report], grade: &ItemGrade) -> Option<String> {
    let position = grade.position as usize;
    let rules = &plan.policy(position).rules().trust;
    let is_decided = grade.appeal.as_ref().is_some_and(|appeal| appeal.binding);
    if rules.is_empty() || grade.score.is_none() || is_decided {
        return None;
    }
    let report = &reports[plan.context.channel_of[position]];
    trust::refusal(rules, &plan.context.channel_name(position), report)
}

/// Applies the policy of the item at `position` to groups, each a list of indices in `wave`, and
/// returns the weight of each item with its index.
fn apply(
    plan: &Plan,
    position: usize,
    groups: &[Vec<usize>],
    refusals: &[Option<String>],
    wave: &mut [ItemGrade],
) -> Vec<(usize, Option<f64>)> {
    let inputs: Vec<Vec<SampleInputs<'_>>> = groups
        .iter()
        .map(|indices| {
            indices
                .iter()
                .map(|index| SampleInputs::of(plan, &wave[*index], refusals[*index].is_some()))
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
    let mut weights = Vec::with_capacity(rewards.len());
    for (index, composed) in groups.iter().flatten().zip(rewards) {
        wave[*index].reward = composed.reward;
        wave[*index].reward_breakdown = composed.reward_breakdown;
        weights.push((*index, composed.weight));
    }
    weights
}

/// The reward of an item and its breakdown, which do not borrow from the inputs.
struct ComposedReward {
    reward: Option<f64>,
    reward_breakdown: Option<RewardBreakdown>,
    /// By which its advantage is multiplied.
    weight: Option<f64>,
}

impl ComposedReward {
    /// No reward, for this reason.
    fn without(reason: String) -> Self {
        Self::of(&RewardResult {
            missing: Some(reason),
            ..RewardResult::default()
        })
    }

    fn of(composed: &RewardResult<'_>) -> Self {
        // Serialising finite numbers and texts does not fail.
        let breakdown = (!composed.is_trivial())
            .then(|| serde_json::value::to_raw_value(composed).ok())
            .flatten();
        Self {
            reward: composed.reward.map(Reward::get),
            reward_breakdown: breakdown.map(RewardBreakdown::from),
            weight: composed.propensity.map(|propensity| propensity.weight),
        }
    }
}

/// The data that a sample borrows.
struct SampleInputs<'a> {
    grade: &'a ItemGrade,
    /// Its channel may not shape rewards, so it counts as not graded.
    is_refused: bool,
    parts: Vec<Part<'a>>,
    measures: Vec<(&'a str, f64)>,
    steps: Vec<f64>,
    text: Cow<'a, str>,
    tokens: Option<f64>,
    truncated: bool,
    answer: Option<Cow<'a, str>>,
    model: Option<String>,
}

impl<'a> SampleInputs<'a> {
    fn of(plan: &'a Plan, grade: &'a ItemGrade, is_refused: bool) -> Self {
        let item = &plan.batch.items[grade.position as usize].item;
        let pass = |component: &ComponentGrade| {
            let grader = plan.graders.by_name(&component.grader.name)?;
            grader.spec().pass(component.verdict.as_deref()?)
        };
        let parts = grade.components.iter().map(|component| Part {
            name: &component.name,
            score: component.score.and_then(|score| Score::new(score).ok()),
            pass: pass(component),
        });
        let grader_measures = grade.measures.iter().map(|(name, value)| (&**name, *value));
        // Numbers from the trainer (such as cost, or the length of a reference) are added to the
        // measures of the graders and never replace one.
        let trainer_measures = item.meta.numbers();
        let tokens = item.meta.tokens.map(|tokens| tokens as f64);
        Self {
            grade,
            is_refused,
            parts: parts.collect(),
            measures: grader_measures.chain(trainer_measures).collect(),
            steps: grade.steps.iter().map(|step| step.score.get()).collect(),
            text: item.completion.text(),
            tokens,
            truncated: item.meta.truncated,
            answer: answer(grade),
            model: item.meta.text("model"),
        }
    }

    fn sample(&self) -> Sample<'_> {
        let grade = self.grade;
        let score = grade.effective_score();
        let score = score.and_then(|score| Score::new(score).ok());
        // An answer without a gold has no score. It is graded, and its policy labels it.
        let is_unlabelled = grade.verdict.as_deref() == Some(Verdict::UNLABELLED.as_str());
        let score = score.or(is_unlabelled.then_some(Score::ZERO));
        Sample {
            score: score.filter(|_| !self.is_refused),
            pass: grade.pass_after_appeal(),
            corrected: grade.backward.and_then(|reward| Reward::new(reward).ok()),
            parts: &self.parts,
            measures: &self.measures,
            text: &self.text,
            tokens: self.tokens,
            truncated: self.truncated,
            answer: self.answer.as_deref(),
            model: self.model.as_deref(),
            steps: &self.steps,
        }
    }
}

/// The answer of an item, such that equal texts are equal answers according to the grader: the gold
/// for every correct answer, otherwise the normal form, or the extracted text.
pub(crate) fn answer(grade: &ItemGrade) -> Option<Cow<'_, str>> {
    #[derive(Deserialize)]
    struct Answers<'e> {
        #[serde(borrow, default)]
        gold: TextFact<'e>,
        #[serde(borrow, default)]
        answer_normal: TextFact<'e>,
        #[serde(borrow, default)]
        extracted: TextFact<'e>,
    }
    let answers: Answers<'_> = grade.evidence.as_ref()?.read()?;
    let gold = answers.gold.0.filter(|_| grade.pass == Some(true));
    gold.or(answers.answer_normal.0).or(answers.extracted.0)
}

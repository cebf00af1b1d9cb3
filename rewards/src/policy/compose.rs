//! Applies a policy to the groups of a batch: the order of its sections, factors and penalties, and
//! the floor of right answers. The formulas are in the modules of the sections; everything up to
//! the gates is in `draft.rs`.

use std::collections::BTreeMap;

use assay_core::Reward;

use super::diversity::diversity;
use super::draft::{Draft, Drafts};
use super::length::{beyond, grpo_lambda, recomposition, soft_overlong, top_groups};
use super::rules::PolicyRules;
use super::sample::term;
use super::section::as_f64;
use super::shape::moments;
use super::{RewardResult, Sample, TermKind, Weights};

/// Statistics of a group that factors on right answers use.
#[derive(Default)]
struct GroupStatistics<'g> {
    /// Fewest calls of a right answer.
    fewest_calls: f64,
    /// Mean and standard deviation of the lengths of right answers in tokens, if GRPO-lambda
    /// applies to the group.
    lengths: Option<(f64, f64)>,
    /// Number of members with each answer.
    answers: BTreeMap<&'g str, usize>,
    /// Number of members with an answer.
    answered: usize,
}

impl PolicyRules {
    /// Rewards of one group: [`PolicyRules::compose_batch`] of a batch of one group. A share of the
    /// batch's groups (`length.grpo_lambda.share`) then is this group.
    #[must_use]
    pub fn compose<'p>(&'p self, group: &[Sample<'_>]) -> Vec<RewardResult<'p>> {
        self.compose_batch(&[group]).pop().unwrap_or_default()
    }

    /// Rewards of the groups of a batch, in the order of groups and items.
    ///
    /// Sections apply in this order:
    /// 1. vetoes;
    /// 2. the outcome: the score, the corrected score, a measure, or (corrected) agreement with the
    ///    group's label; then the combination with parts or the stages; then the shape. A
    ///    correction precedes the shape, because it is unbiased for the verdict only;
    /// 3. format gates;
    /// 4. factors on right answers: efficiency, length (GRPO-lambda), diversity. They multiply the
    ///    difference between the reward and the floor W. For an outcome of 1 in a group whose wrong
    ///    answers have 0, that is the reward itself;
    /// 5. penalties: length, repetition. They do not lower a right answer below W; the term
    ///    `right_answer_floor` adds the difference.
    ///
    /// The floor W is the larger of two numbers after the gates: the reward of a wrong answer with
    /// the same parts, and the reward of the best wrong answer of the group, with any parts, that
    /// is not above the item. The outcome of "a wrong answer with the same parts" is 0 or the best
    /// outcome of a wrong answer of the group, whichever is larger.
    ///
    /// So no factor and no penalty raises a wrong answer above a right answer of its group that was
    /// not below it, for any parts and settings. The combination may do so: a policy whose weights
    /// place a wrong answer with all parts above a right answer with none is applied unchanged.
    /// With a measure as the outcome, W is the reward itself, so penalties do not affect items that
    /// passed.
    ///
    /// An item is right if it passed (or agrees with the label) and is not vetoed. Items that are
    /// neither right nor wrong (graders without a notion of pass) get no factor and every penalty
    /// in full.
    ///
    /// Masked items (without a score) get no reward and are excluded from group functions. An item
    /// that lacks a part, a measure or tokens required by the policy gets no reward either, and
    /// `missing` states why, because an item that could not be graded is not worth 0.
    #[must_use]
    pub fn compose_batch<'p>(&'p self, groups: &[&[Sample<'_>]]) -> Vec<Vec<RewardResult<'p>>> {
        let mut results = self.rewards(groups);
        if let Some(Weights::InverseProbability(weights)) = &self.weights {
            weights.apply(groups, &mut results);
        }
        results
    }

    /// The rewards of the groups of a batch without the weights of items.
    fn rewards<'p>(&'p self, groups: &[&[Sample<'_>]]) -> Vec<Vec<RewardResult<'p>>> {
        let inputs = self.required_inputs();
        let lambda = self
            .length
            .as_ref()
            .and_then(|length| length.grpo_lambda.as_ref());
        let Some(share) = lambda.and_then(|of| of.share) else {
            // Groups are independent of each other.
            let bound = lambda.and_then(|of| of.accuracy);
            let one = |group: &&[Sample<'_>]| {
                let drafts = self.draft_group(group, &inputs);
                let is_shortened = bound.is_some_and(|bound| {
                    drafts.accuracy().is_some_and(|accuracy| accuracy >= bound)
                });
                self.finish(drafts, is_shortened)
            };
            return groups.iter().map(one).collect();
        };
        let drafts: Vec<_> = groups
            .iter()
            .map(|group| self.draft_group(group, &inputs))
            .collect();
        let is_shortened = top_groups(
            &drafts.iter().map(Drafts::accuracy).collect::<Vec<_>>(),
            share,
        );
        drafts
            .into_iter()
            .zip(is_shortened)
            .map(|(group, is_shortened)| self.finish(group, is_shortened))
            .collect()
    }

    /// Applies factors and penalties, and adds step rewards, tags and weights. `is_shortened`
    /// enables GRPO-lambda.
    fn finish<'p>(&'p self, group: Drafts<'_, 'p>, is_shortened: bool) -> Vec<RewardResult<'p>> {
        let statistics = self.group_statistics(&group, is_shortened);
        let tags = self.tags(&group);
        let Drafts {
            items,
            drafts,
            details,
        } = group;
        let finish = |((item, draft), mut composed): (
            (&Sample<'_>, Option<Draft<'p>>),
            RewardResult<'p>,
        )| {
            let Some(mut draft) = draft else {
                return composed;
            };
            self.apply_factors(item, &mut draft, &statistics);
            self.apply_penalties(item, &mut draft);
            composed.reward = Reward::new(draft.value).ok();
            if composed.reward.is_some() {
                composed.terms = draft.terms;
                composed.steps = self
                    .steps
                    .as_ref()
                    .map(|steps| steps.apply(item.steps))
                    .unwrap_or_default();
            } else {
                composed.missing = Some(
                    "the reward is not finite; limit the measures it is computed from".to_owned(),
                );
            }
            composed
        };
        let mut out: Vec<_> = items.iter().zip(drafts).zip(details).map(finish).collect();
        for (composed, tag) in out.iter_mut().zip(tags) {
            composed.tag = tag.filter(|_| composed.reward.is_some());
        }
        if let Some(filter) = &self.filter {
            let rewards: Vec<_> = out
                .iter()
                .map(|composed| composed.reward.map(Reward::get))
                .collect();
            for (composed, weight) in out.iter_mut().zip(filter.weights(&rewards)) {
                composed.weight = weight;
            }
        }
        out
    }

    /// Tag of the training batch of each item; empty without `rorecomp`.
    fn tags(&self, group: &Drafts<'_, '_>) -> Vec<Option<&'static str>> {
        let Some(of) = self
            .length
            .as_ref()
            .and_then(|length| length.rorecomp.as_ref())
        else {
            return Vec::new();
        };
        let members = group.items.iter().zip(&group.drafts);
        let members: Vec<_> = members
            .map(|(item, draft)| {
                item.length()
                    .zip(draft.as_ref().and_then(|draft| draft.right))
            })
            .collect();
        recomposition(&members, of.share)
    }

    fn group_statistics<'g>(
        &self,
        group: &Drafts<'g, '_>,
        is_shortened: bool,
    ) -> GroupStatistics<'g> {
        let mut statistics = GroupStatistics::default();
        if let Some(otc) = self
            .efficiency
            .as_ref()
            .and_then(|efficiency| efficiency.otc.as_ref())
        {
            let calls = group.right().filter_map(|item| item.measure(&otc.measure));
            statistics.fewest_calls = calls.reduce(f64::min).unwrap_or(0.0);
        }
        if is_shortened {
            statistics.lengths = moments(group.right().filter_map(Sample::length));
        }
        if self.diversity.is_some() {
            let rewarded = group
                .items
                .iter()
                .zip(&group.drafts)
                .filter(|(_, draft)| draft.is_some());
            for answer in rewarded.filter_map(|(item, _)| item.answer) {
                *statistics.answers.entry(answer).or_default() += 1;
                statistics.answered += 1;
            }
        }
        statistics
    }

    /// Multiplies the difference between the reward of a right answer and its floor by the factors.
    fn apply_factors<'p>(
        &'p self,
        item: &Sample<'_>,
        draft: &mut Draft<'p>,
        statistics: &GroupStatistics<'_>,
    ) {
        if !draft.is_right() {
            return;
        }
        let first = draft.terms.len();
        let mut push = |name, kind, factor: f64, of| draft.terms.push(term(name, kind, factor, of));
        if let Some(efficiency) = &self.efficiency {
            if let Some((otc, m)) = efficiency
                .otc
                .as_ref()
                .and_then(|otc| Some((otc, item.measure(&otc.measure)?)))
            {
                push(
                    "otc",
                    TermKind::Efficiency,
                    otc.factor(m, statistics.fewest_calls),
                    Some(m),
                );
            }
            let work = efficiency.work.as_ref();
            if let Some((of, (work, reference))) = work
                .and_then(|of| Some((of, item.measure(&of.measure).zip(of.reference.of(item))?)))
            {
                push(
                    "work",
                    TermKind::Efficiency,
                    of.factor(work, reference),
                    Some(work),
                );
            }
            if let Some((of, cost)) = efficiency
                .cost
                .as_ref()
                .and_then(|of| Some((of, item.measure(&of.measure)?)))
            {
                push("cost", TermKind::Efficiency, of.factor(cost), Some(cost));
            }
        }
        let lambda = self
            .length
            .as_ref()
            .and_then(|length| length.grpo_lambda.as_ref());
        if let Some(((of, (mean, std)), tokens)) = lambda.zip(statistics.lengths).zip(item.length())
        {
            push(
                "grpo_lambda",
                TermKind::Efficiency,
                grpo_lambda(tokens, mean, std, of.alpha),
                Some(tokens),
            );
        }
        if let Some((of, answer)) = self.diversity.as_ref().zip(item.answer) {
            let equal = statistics.answers.get(answer).copied().unwrap_or(1);
            push(
                "diversity",
                TermKind::Bonus,
                diversity(equal, statistics.answered, of.lambda),
                Some(as_f64(equal)),
            );
        }
        let factor: f64 = draft.terms[first..].iter().map(|term| term.value).product();
        if draft.terms.len() > first {
            draft.value = draft.floor + (draft.value - draft.floor) * factor;
        }
    }

    /// Adds the penalties, without lowering a right answer below its floor.
    fn apply_penalties<'p>(&'p self, item: &Sample<'_>, draft: &mut Draft<'p>) {
        let first = draft.terms.len();
        let mut push = |name, value: f64, of| {
            if value < 0.0 {
                draft
                    .terms
                    .push(term(name, TermKind::Penalty, value, Some(of)));
            }
        };
        if let Some((length, tokens)) = self.length.as_ref().zip(item.length()) {
            if let Some(of) = &length.soft_overlong {
                push(
                    "soft_overlong",
                    soft_overlong(tokens, of.max, of.buffer, of.factor),
                    tokens,
                );
            }
            if let Some(of) = &length.beyond {
                push(
                    "beyond",
                    beyond(tokens, of.threshold, of.max, of.weight),
                    tokens,
                );
            }
        }
        if let Some(repetition) = &self.repetition {
            if let Some((value, share)) = repetition
                .tail_loop
                .as_ref()
                .and_then(|of| of.of(item.text, item.truncated))
            {
                push("tail_loop", value, share);
            }
            if let Some((value, share)) = repetition.ngrams.as_ref().map(|of| of.of(item.text)) {
                push("ngrams", value, share);
            }
        }
        draft.value += draft.terms[first..]
            .iter()
            .map(|term| term.value)
            .sum::<f64>();
        if draft.is_right() && draft.value < draft.floor {
            let difference = draft.floor - draft.value;
            draft.terms.push(term(
                "right_answer_floor",
                TermKind::Penalty,
                difference,
                None,
            ));
            draft.value = draft.floor;
        }
    }
}

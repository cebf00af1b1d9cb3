//! Applying a policy to the groups of a batch: the fixed order of its sections, and what right
//! answers are never taken below. Each function's formula is in its own module; the way up to the
//! gates, which needs the group alone, is in `judge.rs`.

use std::collections::BTreeMap;

use assay_core::Reward;

use super::diversity::diversity;
use super::judge::{Draft, Drafts};
use super::length::{beyond, grpo_lambda, recomposition, soft_overlong, top_groups};
use super::sample::term;
use super::shape::moments;
use super::{Composed, PolicyRules, Sample, TermKind, as_f64};

/// What factors on right answers take from a group.
#[derive(Default)]
struct Peers<'g> {
    /// Fewest calls of a right answer.
    fewest: f64,
    /// Mean and std of the lengths of right answers, where length counts.
    lengths: Option<(f64, f64)>,
    /// How many gave each answer.
    answers: BTreeMap<&'g str, usize>,
    /// How many gave one.
    answered: usize,
}

impl PolicyRules {
    /// Rewards of one group: [`Policy::compose_batch`] of a batch of one. A share of the batch's
    /// groups (`length.grpo_lambda.share`) then means this group.
    #[must_use]
    pub fn compose<'p>(&'p self, group: &[Sample<'_>]) -> Vec<Composed<'p>> {
        self.compose_batch(&[group]).pop().unwrap_or_default()
    }

    /// Rewards of the groups of a batch, each item's in its place.
    ///
    /// The order is fixed:
    /// 1. vetoes;
    /// 2. the outcome: the score, the corrected one, a measure, or agreement with the group's
    ///    label; then combined with parts or staged; then shaped. A correction comes before any
    ///    shape, for it is unbiased only on the verdict itself;
    /// 3. format gates;
    /// 4. factors on right answers: efficiency, length (GRPO-lambda), diversity. They act on what
    ///    the item has above its floor W, which for a plain outcome of 1 among wrong ones of 0 is
    ///    the reward itself;
    /// 5. penalties: length, repetition. They take a right answer no lower than W; where they
    ///    would, the term `right_answer_floor` gives back the rest.
    ///
    /// W is the larger of two numbers as they stand after the gates: what a wrong answer with the
    /// same parts would have, and the reward of the best wrong answer of the group, whatever its
    /// parts, that does not stand above the item. "A wrong answer with the same parts" stands at 0
    /// or at the best outcome of a wrong answer of the group, whichever is more.
    ///
    /// So no factor and no penalty puts a wrong answer above a right one of its group that stood as
    /// high or higher, whatever the parts and numbers of the two. Parts may do so before: a
    /// combination that lets a wrong answer with all of them stand above a right one with none is
    /// the policy's own word, and is kept. With a measure as the outcome W is the reward itself,
    /// and penalties do not touch items that passed.
    ///
    /// Right is what passed (or agrees with the label) and is not vetoed. Items neither right nor
    /// wrong (graders without a notion of pass) get no factor and the whole of every penalty.
    ///
    /// Masked items (no score) have no reward and count for nothing in group functions. An item
    /// that lacks a part, a measure or tokens that the policy asks for has no reward either, and
    /// `missing` names it: what we failed to grade is no 0.
    #[must_use]
    pub fn compose_batch<'p>(&'p self, groups: &[&[Sample<'_>]]) -> Vec<Vec<Composed<'p>>> {
        let needs = self.needs();
        let lambda = self
            .length
            .as_ref()
            .and_then(|length| length.grpo_lambda.as_ref());
        let Some(share) = lambda.and_then(|of| of.share) else {
            // No group waits for another.
            let bound = lambda.and_then(|of| of.accuracy);
            let one = |group: &&[Sample<'_>]| {
                let drafts = self.judge(group, &needs);
                let short = bound.is_some_and(|bound| {
                    drafts.accuracy().is_some_and(|accuracy| accuracy >= bound)
                });
                self.finish(drafts, short)
            };
            return groups.iter().map(one).collect();
        };
        let drafts: Vec<_> = groups
            .iter()
            .map(|group| self.judge(group, &needs))
            .collect();
        let short = top_groups(
            &drafts.iter().map(Drafts::accuracy).collect::<Vec<_>>(),
            share,
        );
        drafts
            .into_iter()
            .zip(short)
            .map(|(group, short)| self.finish(group, short))
            .collect()
    }

    /// Factors on right answers, penalties, and what stands beside the reward.
    fn finish<'p>(&'p self, group: Drafts<'_, 'p>, short: bool) -> Vec<Composed<'p>> {
        let peers = self.peers(&group, short);
        let tags = self.tags(&group);
        let Drafts {
            items,
            drafts,
            facts,
        } = group;
        let finish =
            |((item, draft), mut composed): ((&Sample<'_>, Option<Draft<'p>>), Composed<'p>)| {
                let Some(mut draft) = draft else {
                    return composed;
                };
                self.reward_efficiency(item, &mut draft, &peers);
                self.punish(item, &mut draft);
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
                        "the reward is no finite number; hold its measures within bounds"
                            .to_owned(),
                    );
                }
                composed
            };
        let mut out: Vec<_> = items.iter().zip(drafts).zip(facts).map(finish).collect();
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

    /// Which batch each item belongs to; empty when the policy does not ask.
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

    fn peers<'g>(&self, group: &Drafts<'g, '_>, short: bool) -> Peers<'g> {
        let mut peers = Peers::default();
        if let Some(otc) = self
            .efficiency
            .as_ref()
            .and_then(|efficiency| efficiency.otc.as_ref())
        {
            let calls = group.right().filter_map(|item| item.measure(&otc.measure));
            peers.fewest = calls.reduce(f64::min).unwrap_or(0.0);
        }
        if short {
            peers.lengths = moments(group.right().filter_map(Sample::length));
        }
        if self.diversity.is_some() {
            let rewarded = group
                .items
                .iter()
                .zip(&group.drafts)
                .filter(|(_, draft)| draft.is_some());
            for answer in rewarded.filter_map(|(item, _)| item.answer) {
                *peers.answers.entry(answer).or_default() += 1;
                peers.answered += 1;
            }
        }
        peers
    }

    /// Factors on what a right answer has above its floor.
    fn reward_efficiency<'p>(
        &'p self,
        item: &Sample<'_>,
        draft: &mut Draft<'p>,
        peers: &Peers<'_>,
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
                    otc.factor(m, peers.fewest),
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
        if let Some(((of, (mean, std)), tokens)) = lambda.zip(peers.lengths).zip(item.length()) {
            push(
                "grpo_lambda",
                TermKind::Efficiency,
                grpo_lambda(tokens, mean, std, of.alpha),
                Some(tokens),
            );
        }
        if let Some((of, answer)) = self.diversity.as_ref().zip(item.answer) {
            let equal = peers.answers.get(answer).copied().unwrap_or(1);
            push(
                "diversity",
                TermKind::Bonus,
                diversity(equal, peers.answered, of.lambda),
                Some(as_f64(equal)),
            );
        }
        let factor: f64 = draft.terms[first..].iter().map(|term| term.value).product();
        if draft.terms.len() > first {
            draft.value = draft.floor + (draft.value - draft.floor) * factor;
        }
    }

    /// Penalties, which take a right answer no lower than its floor.
    fn punish<'p>(&'p self, item: &Sample<'_>, draft: &mut Draft<'p>) {
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
            let back = draft.floor - draft.value;
            draft
                .terms
                .push(term("right_answer_floor", TermKind::Penalty, back, None));
            draft.value = draft.floor;
        }
    }
}

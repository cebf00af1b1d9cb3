//! The first half of computing the rewards of a group: vetoes, outcome, combination, shape, format
//! gates. The second half is in `compose.rs`.
//!
//! Every draft also has the reward of a wrong answer with the same parts. The second half does not
//! lower a right answer below it, nor below a wrong answer of its group that was not above it.

use std::sync::Arc;

use super::label::Label;
use super::rules::PolicyRules;
use super::sample::term;
use super::section::{RequiredInputs, as_f64};
use super::{Combine, Consensus, Outcome, RewardResult, Sample, Term, TermKind, gates, outcome};
use crate::channel::report::MIN_J;

/// An item with a preliminary reward.
pub(super) struct Draft<'p> {
    pub(super) terms: Vec<Term<'p>>,
    /// Whether it is right; false if it is vetoed, `None` for graders without a notion of pass.
    pub(super) right: Option<bool>,
    /// Preliminary reward.
    pub(super) value: f64,
    /// Preliminary reward of a wrong answer with the same parts; at most `value`.
    pub(super) as_wrong: f64,
    /// Lower bound for factors and penalties on a right answer: the larger of `as_wrong` and the
    /// best wrong answer of the group that is not above `value`. At most `value`. Valid at the end
    /// of the first half.
    pub(super) floor: f64,
    vetoed: bool,
}

impl Draft<'_> {
    /// Whether it is right, so that factors and the floor apply.
    pub(super) fn is_right(&self) -> bool {
        self.right == Some(true)
    }
}

/// A group after the first half. Items without a draft get no reward.
pub(super) struct Drafts<'g, 'p> {
    pub(super) items: &'g [Sample<'g>],
    pub(super) drafts: Vec<Option<Draft<'p>>>,
    /// Results that do not depend on a reward: missing inputs and labels.
    pub(super) details: Vec<RewardResult<'p>>,
}

/// Outcome of an item, and whether it is right or vetoed.
struct Verdict {
    outcome: f64,
    /// Source of the outcome ([`outcome::of`]).
    source: &'static str,
    /// `None` for graders without a notion of pass.
    right: Option<bool>,
    vetoed: bool,
}

impl Verdict {
    fn is_right(&self) -> bool {
        self.right == Some(true)
    }
}

impl PolicyRules {
    /// Applies vetoes, outcome, combination, shape and gates to a group.
    pub(super) fn draft_group<'g, 'p>(
        &'p self,
        items: &'g [Sample<'g>],
        inputs: &RequiredInputs<'_>,
    ) -> Drafts<'g, 'p> {
        let detail = |item: &Sample<'_>| RewardResult {
            missing: missing_input(item, items, inputs),
            ..RewardResult::default()
        };
        let mut details: Vec<_> = items.iter().map(detail).collect();
        let verdicts = self.verdicts(items, &mut details);
        let wrong = verdicts
            .iter()
            .flatten()
            .filter(|verdict| verdict.right == Some(false) && !verdict.vetoed);
        let best_wrong = wrong.fold(0.0, |best: f64, verdict| best.max(verdict.outcome));
        let measured = matches!(self.outcome, Some(Outcome::Measure(_)));
        let drafts = items.iter().zip(verdicts).map(|(item, verdict)| {
            let verdict = verdict?;
            let as_wrong = if measured {
                verdict.outcome
            } else {
                verdict.outcome.min(best_wrong)
            };
            self.draft(item, &verdict, as_wrong, inputs.sections)
        });
        let mut drafts: Vec<_> = drafts.collect();
        self.shape_group(items, &mut drafts);
        for (item, draft) in items.iter().zip(&mut drafts) {
            if let Some(draft) = draft {
                self.apply_gates(item, draft);
            }
        }
        set_floors(&mut drafts);
        Drafts {
            items,
            drafts,
            details,
        }
    }

    /// The verdict of each item; sets the group's label in `details` under `consensus`.
    fn verdicts(
        &self,
        items: &[Sample<'_>],
        details: &mut [RewardResult<'_>],
    ) -> Vec<Option<Verdict>> {
        let graded: Vec<_> = items
            .iter()
            .zip(&*details)
            .map(|(item, detail)| item.score.is_some() && detail.missing.is_none())
            .collect();
        let Some(consensus) = &self.consensus else {
            let verdict = |(item, graded): (&Sample<'_>, &bool)| {
                let (outcome, source) =
                    outcome::of(self.outcome.as_ref(), item).filter(|_| *graded)?;
                Some(Verdict {
                    outcome,
                    source,
                    right: item.pass,
                    vetoed: self.vetoes(item),
                })
            };
            return items.iter().zip(&graded).map(verdict).collect();
        };
        self.labelled(consensus, items, &graded, details)
    }

    /// The verdict of each item by the label of its group.
    fn labelled(
        &self,
        consensus: &Consensus,
        items: &[Sample<'_>],
        graded: &[bool],
        details: &mut [RewardResult<'_>],
    ) -> Vec<Option<Verdict>> {
        let members = || items.iter().zip(graded).filter(|(_, graded)| **graded);
        let ballots: Vec<_> = members().map(|(item, _)| consensus.ballot(item)).collect();
        let vote = consensus.vote(&ballots);
        let label = vote
            .filter(|(_, clear)| *clear)
            .map(|(vote, _)| vote.answer);
        let right =
            label.and_then(|label| consensus.is_right(label, members().map(|(item, _)| item)));
        let rates = vote.map(|(vote, _)| vote.rates());
        let corrects = self.outcome == Some(Outcome::Backward);
        let answer: Option<Arc<str>> = label.map(Arc::from);
        let verdict = |((item, graded), detail): ((&Sample<'_>, &bool), &mut RewardResult<'_>)| {
            let agrees = label
                .filter(|_| *graded)
                .map(|label| item.answer == Some(label));
            detail.label = Some(Label {
                answer: answer.clone(),
                share: vote.map_or(0.0, |(vote, _)| vote.share),
                margin: vote.map_or(0.0, |(vote, _)| vote.margin),
                error: vote.map_or(1.0, |(vote, _)| vote.error),
                votes: ballots.len(),
                agrees,
                right,
                gold: consensus.gold(item).filter(|_| *graded),
            });
            let agrees = agrees?;
            let outcome = match rates.filter(|_| corrects) {
                None => f64::from(u8::from(agrees)),
                Some(rates) => rates
                    .backward(agrees)
                    .filter(|_| rates.j() > MIN_J)
                    .or_else(|| {
                        detail.missing = Some(format!(
                            "J of the label is {:.3} by the votes, not above {MIN_J}; a \
                             correction would add too much variance",
                            rates.j()
                        ));
                        None
                    })?,
            };
            Some(Verdict {
                outcome,
                source: if corrects { "backward" } else { "label" },
                right: Some(agrees),
                vetoed: self.vetoes(item),
            })
        };
        items.iter().zip(graded).zip(details).map(verdict).collect()
    }

    fn vetoes(&self, item: &Sample<'_>) -> bool {
        self.veto.as_ref().is_some_and(|veto| {
            veto.parts
                .iter()
                .any(|name| unmet(item, name, veto.at_least))
        })
    }

    /// The draft of an item: terms of the veto, the outcome, and the combination.
    fn draft<'p>(
        &'p self,
        item: &Sample<'_>,
        verdict: &Verdict,
        as_wrong: f64,
        sections: usize,
    ) -> Option<Draft<'p>> {
        let mut terms = Vec::with_capacity(sections + 1);
        if let Some(veto) = self.veto.as_ref().filter(|_| verdict.vetoed) {
            let unmet_parts = veto
                .parts
                .iter()
                .filter(|name| unmet(item, name, veto.at_least));
            terms.extend(unmet_parts.map(|name| term(name, TermKind::Veto, veto.reward, None)));
        }
        terms.push(term(
            verdict.source,
            TermKind::Outcome,
            verdict.outcome,
            None,
        ));
        let (mut value, mut floor) = (verdict.outcome, as_wrong);
        if self.combine.is_some() || self.progressive.is_some() {
            let combined = |outcome, right| match (&self.combine, &self.progressive) {
                (Some(combine), _) => combine.apply(outcome, right, item),
                (None, stages) => stages.as_ref()?.apply(outcome, item),
            };
            value = combined(value, verdict.is_right())?;
            let differs = verdict.is_right() || as_wrong < verdict.outcome;
            floor = if differs {
                combined(as_wrong, false)?
            } else {
                value
            };
            terms.push(term(
                self.combine.as_ref().map_or("stages", Combine::name),
                TermKind::Outcome,
                value,
                None,
            ));
        }
        let right = if verdict.vetoed {
            Some(false)
        } else {
            verdict.right
        };
        let as_wrong = floor.min(value);
        Some(Draft {
            terms,
            right,
            value,
            as_wrong,
            floor: as_wrong,
            vetoed: verdict.vetoed,
        })
    }

    /// Applies the shape to all drafts, then limits vetoed drafts to the bound of the veto. Vetoed
    /// items are excluded from the statistics that a shape is fitted to.
    fn shape_group<'p>(&'p self, items: &[Sample<'_>], drafts: &mut [Option<Draft<'p>>]) {
        if let Some(shape) = &self.shape {
            let fitted = shape.fit(
                drafts
                    .iter()
                    .flatten()
                    .filter(|draft| !draft.vetoed)
                    .map(|draft| draft.value),
            );
            for (item, slot) in items.iter().zip(&mut *drafts) {
                let Some(draft) = slot else { continue };
                let floor = |value| {
                    if draft.as_wrong < draft.value {
                        fitted.apply(draft.as_wrong, item)
                    } else {
                        Some(value)
                    }
                };
                let shaped = fitted
                    .apply(draft.value, item)
                    .and_then(|value| Some((value, floor(value)?)));
                let Some((value, as_wrong)) = shaped else {
                    *slot = None;
                    continue;
                };
                (draft.value, draft.as_wrong) = (value, as_wrong.min(value));
                draft
                    .terms
                    .push(term(shape.name(), TermKind::Shape, value, None));
            }
        }
        let Some(veto) = &self.veto else { return };
        for draft in drafts.iter_mut().flatten().filter(|draft| draft.vetoed) {
            draft.value = gates::vetoed(draft.value, draft.as_wrong, veto.reward);
            draft.as_wrong = draft.value;
        }
    }

    /// Applies format gates.
    fn apply_gates<'p>(&'p self, item: &Sample<'_>, draft: &mut Draft<'p>) {
        for gate in self
            .format
            .iter()
            .flatten()
            .filter(|gate| unmet(item, &gate.part, gate.at_least))
        {
            draft.value = gates::closed(draft.value, gate.factor, gate.penalty);
            draft.as_wrong =
                gates::closed(draft.as_wrong, gate.factor, gate.penalty).min(draft.value);
            draft
                .terms
                .push(term(&gate.part, TermKind::Gate, gate.factor, None));
            if gate.penalty > 0.0 {
                draft
                    .terms
                    .push(term(&gate.part, TermKind::Penalty, -gate.penalty, None));
            }
        }
    }
}

/// Sets the floor of every draft.
fn set_floors(drafts: &mut [Option<Draft<'_>>]) {
    let wrong = drafts
        .iter()
        .flatten()
        .filter(|draft| draft.right == Some(false));
    let mut wrong: Vec<f64> = wrong.map(|draft| draft.value).collect();
    wrong.sort_by(f64::total_cmp);
    for draft in drafts.iter_mut().flatten() {
        let passed = wrong.partition_point(|value| *value <= draft.value);
        let best = passed.checked_sub(1).and_then(|at| wrong.get(at));
        draft.floor = best.map_or(draft.as_wrong, |best| best.max(draft.as_wrong));
    }
}

impl<'g> Drafts<'g, '_> {
    /// The right items, vetoed items excluded.
    pub(super) fn right(&self) -> impl Iterator<Item = &'g Sample<'g>> + Clone {
        let right = |draft: &Option<Draft<'_>>| draft.as_ref().is_some_and(Draft::is_right);
        self.items
            .iter()
            .zip(&self.drafts)
            .filter(move |(_, draft)| right(draft))
            .map(|(item, _)| item)
    }

    /// Share of right answers among the members with a reward, in \[0, 1\]; `None` without any.
    pub(super) fn accuracy(&self) -> Option<f64> {
        let n = self.drafts.iter().flatten().count();
        (n > 0).then(|| as_f64(self.right().count()) / as_f64(n))
    }
}

/// Whether a part of a veto or a gate has a score and is not met.
fn unmet(item: &Sample<'_>, name: &str, at_least: Option<f64>) -> bool {
    item.part(name).and_then(|part| part.met(at_least)) == Some(false)
}

/// Why a graded item lacks an input that the policy requires; `None` for masked items and if
/// nothing is missing.
fn missing_input(
    item: &Sample<'_>,
    group: &[Sample<'_>],
    inputs: &RequiredInputs<'_>,
) -> Option<String> {
    item.score?;
    for name in &inputs.parts {
        if item.part_score(name).is_none() {
            return Some(match item.part(name) {
                Some(_) => {
                    format!("part `{name}` has no score; see the error of the part")
                }
                None if group.iter().any(|other| other.part(name).is_some()) => {
                    format!(
                        "part `{name}` is missing for this item, but not for others of its group; \
                         send it with every item"
                    )
                }
                None => format!(
                    "part `{name}` is missing; no item of the group has a check or a component of \
                     this name"
                ),
            });
        }
    }
    for name in &inputs.measures {
        if item.measure(name).is_none() {
            return Some(format!(
                "measure `{name}` is missing; use a grader that reports it or change the policy"
            ));
        }
    }
    (inputs.tokens && item.length().is_none())
        .then(|| "`meta.tokens` is missing; send the length in tokens with every item".to_owned())
}

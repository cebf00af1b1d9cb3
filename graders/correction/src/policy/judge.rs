//! The first half of a reward, for one group: vetoes, outcome, what it is combined with, its shape,
//! format gates. Beside each number goes that of a wrong answer with the same parts; the second
//! half (`compose.rs`) may take a right answer neither below it nor below a wrong answer of its
//! group that it stood above.

use std::sync::Arc;

use super::consensus::{Ballot, Label};
use super::sample::term;
use super::{
    Combine, Composed, Needs, Outcome, PolicyRules, Sample, Term, TermKind, as_f64, gates, outcome,
};

/// An item on its way to a reward.
pub(super) struct Draft<'p> {
    pub(super) terms: Vec<Term<'p>>,
    /// Whether it is right, which nothing vetoed is; `None` for graders without a notion of pass.
    pub(super) right: Option<bool>,
    /// The reward so far.
    pub(super) value: f64,
    /// The reward so far of a wrong answer with the same parts; at most `value`.
    pub(super) as_wrong: f64,
    /// What factors and penalties take a right answer no lower than: `as_wrong`, or the best wrong
    /// answer of the group that does not stand above it; at most `value`. Known when the first half
    /// is done.
    pub(super) floor: f64,
    vetoed: bool,
}

impl Draft<'_> {
    /// Whether factors act on it, and its floor holds.
    pub(super) fn is_right(&self) -> bool {
        self.right == Some(true)
    }
}

/// A group after its first half. Items without a draft have no reward.
pub(super) struct Drafts<'g, 'p> {
    pub(super) items: &'g [Sample<'g>],
    pub(super) drafts: Vec<Option<Draft<'p>>>,
    /// What is known of each item without a reward too.
    pub(super) facts: Vec<Composed<'p>>,
}

/// What an item is judged by.
struct Verdict {
    outcome: f64,
    /// Where the outcome came from.
    from: &'static str,
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
    /// Vetoes, outcome and gates of a group.
    pub(super) fn judge<'g, 'p>(
        &'p self,
        items: &'g [Sample<'g>],
        needs: &Needs<'_>,
    ) -> Drafts<'g, 'p> {
        let known = |item: &Sample<'_>| Composed {
            missing: lacks(item, items, needs),
            ..Composed::default()
        };
        let mut facts: Vec<_> = items.iter().map(known).collect();
        let verdicts = self.verdicts(items, &mut facts);
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
            self.draft(item, &verdict, as_wrong, needs.sections)
        });
        let mut drafts: Vec<_> = drafts.collect();
        self.shape_group(items, &mut drafts);
        for (item, draft) in items.iter().zip(&mut drafts) {
            if let Some(draft) = draft {
                self.cut(item, draft);
            }
        }
        set_floors(&mut drafts);
        Drafts {
            items,
            drafts,
            facts,
        }
    }

    /// What each item is judged by; notes what the group agreed on.
    fn verdicts(&self, items: &[Sample<'_>], facts: &mut [Composed<'_>]) -> Vec<Option<Verdict>> {
        let graded: Vec<_> = items
            .iter()
            .zip(&*facts)
            .map(|(item, fact)| item.score.is_some() && fact.missing.is_none())
            .collect();
        let Some(consensus) = &self.consensus else {
            let verdict = |(item, graded): (&Sample<'_>, &bool)| {
                let (outcome, from) =
                    outcome::of(self.outcome.as_ref(), item).filter(|_| *graded)?;
                Some(Verdict {
                    outcome,
                    from,
                    right: item.pass,
                    vetoed: self.vetoes(item),
                })
            };
            return items.iter().zip(&graded).map(verdict).collect();
        };
        let voters = items.iter().zip(&graded).filter(|(_, graded)| **graded);
        let ballots: Vec<_> = voters
            .map(|(item, _)| Ballot {
                answer: item.answer,
                model: item.model,
            })
            .collect();
        let vote = consensus.vote(&ballots);
        let label = vote
            .filter(|(_, clear)| *clear)
            .map(|(vote, _)| vote.answer);
        let (share, margin) = vote.map_or((0.0, 0.0), |(vote, _)| (vote.share, vote.margin));
        let shared: Option<Arc<str>> = label.map(Arc::from);
        let verdict = |((item, graded), fact): ((&Sample<'_>, &bool), &mut Composed<'_>)| {
            let agrees = label
                .filter(|_| *graded)
                .map(|label| item.answer == Some(label));
            fact.label = Some(Label {
                answer: shared.clone(),
                share,
                margin,
                agrees,
            });
            let outcome = f64::from(u8::from(agrees?));
            Some(Verdict {
                outcome,
                from: "label",
                right: agrees,
                vetoed: self.vetoes(item),
            })
        };
        items.iter().zip(&graded).zip(facts).map(verdict).collect()
    }

    fn vetoes(&self, item: &Sample<'_>) -> bool {
        self.veto.as_ref().is_some_and(|veto| {
            veto.parts
                .iter()
                .any(|name| unmet(item, name, veto.at_least))
        })
    }

    /// The draft with its veto noted, its outcome, and what that is combined with.
    fn draft<'p>(
        &'p self,
        item: &Sample<'_>,
        verdict: &Verdict,
        as_wrong: f64,
        sections: usize,
    ) -> Option<Draft<'p>> {
        let mut terms = Vec::with_capacity(sections + 1);
        if let Some(veto) = self.veto.as_ref().filter(|_| verdict.vetoed) {
            let broken = veto
                .parts
                .iter()
                .filter(|name| unmet(item, name, veto.at_least));
            terms.extend(broken.map(|name| term(name, TermKind::Veto, veto.reward, None)));
        }
        terms.push(term(verdict.from, TermKind::Outcome, verdict.outcome, None));
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

    /// Shapes what is there, and holds what is vetoed to its bound. Vetoed items are not part of
    /// what a shape is fitted to.
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

    /// Format gates.
    fn cut<'p>(&'p self, item: &Sample<'_>, draft: &mut Draft<'p>) {
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

/// Finds the floor of each right answer.
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
    /// The right items that are not vetoed.
    pub(super) fn right(&self) -> impl Iterator<Item = &'g Sample<'g>> + Clone {
        let right = |draft: &Option<Draft<'_>>| draft.as_ref().is_some_and(Draft::is_right);
        self.items
            .iter()
            .zip(&self.drafts)
            .filter(move |(_, draft)| right(draft))
            .map(|(item, _)| item)
    }

    /// Share of right answers among the members that get a reward.
    pub(super) fn accuracy(&self) -> Option<f64> {
        let n = self.drafts.iter().flatten().count();
        (n > 0).then(|| as_f64(self.right().count()) / as_f64(n))
    }
}

/// Whether a part that a veto or a gate names is there and not met.
fn unmet(item: &Sample<'_>, name: &str, at_least: Option<f64>) -> bool {
    item.part(name).and_then(|part| part.met(at_least)) == Some(false)
}

/// The first thing that a policy asks for and a graded item does not have; nothing of a masked
/// item.
fn lacks(item: &Sample<'_>, group: &[Sample<'_>], needs: &Needs<'_>) -> Option<String> {
    item.score?;
    for name in &needs.parts {
        if item.part_score(name).is_none() {
            return Some(match item.part(name) {
                Some(_) => {
                    format!("`{name}` has no score: it could not be graded; its own error says why")
                }
                None if group.iter().any(|other| other.part(name).is_some()) => {
                    format!(
                        "`{name}` was not sent with this item, but with others of its group; send \
                         it with all"
                    )
                }
                None => format!(
                    "`{name}` was not sent: no item of the group has a check or a component of \
                     this name"
                ),
            });
        }
    }
    for name in &needs.measures {
        if item.measure(name).is_none() {
            return Some(format!(
                "`{name}` is not among the item's measures; use a grader that reports it or \
                 change the policy"
            ));
        }
    }
    (needs.tokens && item.length().is_none())
        .then(|| "`tokens` was not sent; send the length in tokens with each item".to_owned())
}

//! Grades a completion: asks the judges, and combines what they answer.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use assay_core::{
    BoxFuture, Completion, Component, ErrorCode, Evidence, Fault, Grade, GradeContext, Hash, Item,
    Measure, Outcome, Prepared, Score, Verdict,
};
use assay_extraction::reasoning::visible_text;
use futures::future::join_all;

use crate::answer::Usage;
use crate::evidence;
use crate::judge::Judge;
use crate::metrics;
use crate::opinion::{Ballot, Opinion};
use crate::prompt::{Material, Question};
use crate::reply::Judgement;
use crate::spec::SPEC;
use crate::task::ExternalTask;

/// Largest difference of a mean of scores by rounding.
const ROUNDING: f64 = 1e-9;

/// A task with its judges.
pub(crate) struct PreparedExternal {
    pub(crate) task: ExternalTask,
    pub(crate) judges: Vec<Arc<Judge>>,
}

impl Prepared for PreparedExternal {
    fn grade<'a>(
        &'a self,
        items: &'a [&'a Item],
        cx: &'a GradeContext,
    ) -> BoxFuture<'a, Vec<Outcome>> {
        Box::pin(async move {
            let outcomes = items.iter().map(|item| self.grade_one(item, cx));
            join_all(outcomes).await
        })
    }

    fn bytes(&self) -> usize {
        size_of::<Self>() + self.task.bytes()
    }

    fn retries_itself(&self) -> bool {
        true
    }
}

impl PreparedExternal {
    async fn grade_one(&self, item: &Item, cx: &GradeContext) -> Outcome {
        let text = item.completion.text();
        let completion = visible_text(&text, item.meta.think_open);
        let completion = completion.trim();
        if completion.is_empty() {
            return Outcome::Graded(Grade::new(Verdict::NO_ANSWER, Score::ZERO));
        }
        if let Some(grade) = self.too_long(completion) {
            return Outcome::Graded(grade);
        }
        let question = match &self.task.question {
            Some(question) => Some(Cow::Borrowed(&**question)),
            None => item.prompt.as_ref().map(prompt_text),
        };
        if let Some(fault) = self.long_question(question.as_deref()) {
            return Outcome::Ungradable(fault);
        }
        let opinions = self
            .judges
            .iter()
            .map(|judge| self.opinion(judge, question.as_ref(), completion, cx));
        let opinions: Result<Vec<Opinion>, Fault> = join_all(opinions).await.into_iter().collect();
        match opinions {
            Ok(opinions) => Outcome::Graded(self.to_grade(&opinions)),
            Err(fault) => Outcome::Failed(fault),
        }
    }

    /// The length of the longest text that all judges read.
    fn max_bytes(&self) -> usize {
        let limits = self.judges.iter();
        let limits = limits.map(|judge| judge.settings.completion_bytes);
        limits.min().unwrap_or_default()
    }

    /// The fault of a question that is longer than a judge reads.
    fn long_question(&self, question: Option<&str>) -> Option<Fault> {
        let (bytes, most) = (question?.len(), self.max_bytes());
        (bytes > most).then(|| {
            let message = format!(
                "the prompt has {bytes} bytes, and the judge reads at most {most}; send a shorter \
                 `question`, or ask the operator to raise `completion_bytes`"
            );
            Fault::permanent(ErrorCode::InvalidTask, message)
        })
    }

    /// The grade of a completion that is longer than a judge reads.
    fn too_long(&self, completion: &str) -> Option<Grade> {
        let most = self.max_bytes();
        if completion.len() <= most {
            return None;
        }
        let evidence = Evidence::new()
            .value("bytes", completion.len())
            .value("max_bytes", most);
        Some(Grade::new(Verdict::TOO_LONG, Score::ZERO).with_evidence(evidence))
    }

    async fn opinion(
        &self,
        judge: &Arc<Judge>,
        question: Option<&Cow<'_, str>>,
        completion: &str,
        cx: &GradeContext,
    ) -> Result<Opinion, Fault> {
        let orders = match &self.task.other {
            Some(other) => orders(completion, other, judge.settings.swap_share),
            None => vec![true],
        };
        let ballots = orders.into_iter().map(|as_first| {
            let question = Question {
                material: Material {
                    question: question.map(|question| Cow::Borrowed(&**question)),
                    reference: self.task.reference.as_deref(),
                    rubric: self.task.rubric.as_deref(),
                    criteria: &self.task.criteria,
                    completion,
                    other: self.task.other.as_deref().map(|other| (other, as_first)),
                },
                data: self.task.data.as_ref(),
            };
            async move {
                let answer = judge.ask(&question, cx).await?;
                let criteria = &self.task.criteria;
                let score = judge.reader.score(&answer.judgement, criteria, as_first);
                Ok(Ballot {
                    answer,
                    as_first,
                    score,
                })
            }
        });
        let ballots: Result<Vec<Ballot>, Fault> = join_all(ballots).await.into_iter().collect();
        let opinion = Opinion {
            judge: Arc::clone(judge),
            ballots: ballots?,
        };
        if let Some(changed) = opinion.order_changed() {
            metrics::swapped_pair(&judge.name, !changed);
        }
        Ok(opinion)
    }

    fn to_grade(&self, opinions: &[Opinion]) -> Grade {
        let scores: Vec<f64> = opinions.iter().map(Opinion::score).collect();
        let mean = scores.iter().sum::<f64>() / scores.len() as f64;
        let default = opinions
            .first()
            .and_then(|first| first.judge.settings.default_threshold());
        let verdict = match self.task.threshold.or(default) {
            None => Verdict::SCORED,
            // The mean of equal scores may be rounded below them.
            Some(threshold) if mean >= threshold - ROUNDING => Verdict::CORRECT,
            Some(_) => Verdict::WRONG_ANSWER,
        };
        let mut usage = Usage::default();
        let ballots = || opinions.iter().flat_map(|opinion| &opinion.ballots);
        ballots().for_each(|ballot| usage.add(ballot.answer.usage));
        // A mean of scores is within their range.
        let score = Score::new(mean.clamp(0.0, 1.0)).unwrap_or(Score::ZERO);
        let mut grade = Grade::new(verdict, score)
            .with_evidence(evidence::of(&self.task, opinions))
            .with_work(usage.tokens());
        grade.measures = measures(&scores, opinions, usage);
        grade.components = self.components(opinions);
        grade.deterministic = false;
        grade
    }

    /// The criteria as parts of the grade: met if most of the judges say so.
    fn components(&self, opinions: &[Opinion]) -> Vec<Component> {
        let answers = opinions.iter().flat_map(|opinion| &opinion.ballots);
        let lists: Vec<&[bool]> = answers
            .filter_map(|ballot| match &ballot.answer.judgement {
                Judgement::Criteria(met) => Some(met.as_slice()),
                _ => None,
            })
            .collect();
        if lists.is_empty() {
            return Vec::new();
        }
        let component = |(at, criterion): (usize, &crate::task::Criterion)| {
            let met = lists.iter().filter(|list| list[at]).count();
            let verdict = if 2 * met > lists.len() {
                Verdict::CORRECT
            } else {
                Verdict::WRONG_ANSWER
            };
            let mut grade = Grade::all_or_nothing(verdict);
            grade.deterministic = false;
            Component {
                name: criterion.id.clone(),
                grader: SPEC.id(),
                outcome: Outcome::Graded(grade),
            }
        };
        self.task
            .criteria
            .iter()
            .enumerate()
            .map(component)
            .collect()
    }
}

fn measures(scores: &[f64], opinions: &[Opinion], usage: Usage) -> BTreeMap<&'static str, Measure> {
    let several = (scores.len() > 1).then(|| {
        let highest = scores.iter().copied().fold(0.0, f64::max);
        let lowest = scores.iter().copied().fold(1.0, f64::min);
        highest - lowest
    });
    let swapped: Vec<bool> = opinions.iter().filter_map(Opinion::order_changed).collect();
    let changed = swapped.iter().filter(|changed| **changed).count();
    let numbers = [
        ("judge_calls", Some(f64::from(usage.calls))),
        ("judge_tokens", Some(usage.tokens() as f64)),
        ("judge_cost", Some(usage.cost)),
        ("disagreement", several),
        (
            "order_changed",
            (!swapped.is_empty()).then_some(changed as f64),
        ),
    ];
    let numbers = numbers.into_iter();
    numbers
        .filter_map(|(name, number)| Some((name, Measure::new(number?).ok()?)))
        .collect()
}

/// The orders in which a pair is judged: one, or both for a share of the pairs. They depend on the
/// content only, so that a repeated request asks the same.
fn orders(completion: &str, other: &str, swap_share: f64) -> Vec<bool> {
    let hash = Hash::of_parts(&[completion.as_bytes(), other.as_bytes()]);
    let [order, draw @ ..] = hash.as_bytes();
    let draw = draw
        .iter()
        .take(4)
        .fold(0_u32, |draw, byte| draw << 8 | u32::from(*byte));
    let first = order % 2 == 0;
    if f64::from(draw) / (f64::from(u32::MAX) + 1.0) < swap_share {
        vec![first, !first]
    } else {
        vec![first]
    }
}

/// The text of a prompt: of a list of messages each with its role, unless there is only one.
fn prompt_text(prompt: &Completion) -> Cow<'_, str> {
    match prompt {
        Completion::Text(text) => Cow::Borrowed(text),
        Completion::Messages(messages) => match &**messages {
            [message] => Cow::Owned(message.text()),
            messages => {
                let line =
                    |message: &assay_core::Message| format!("{}: {}", message.role, message.text());
                Cow::Owned(messages.iter().map(line).collect::<Vec<_>>().join("\n\n"))
            }
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_of_pairs_is_judged_in_both_orders_and_half_in_each() {
        let (mut both, mut first) = (0, 0);
        for at in 0..2_000 {
            let orders = orders(&at.to_string(), "other", 0.1);
            both += usize::from(orders.len() == 2);
            first += usize::from(orders[0]);
        }
        assert!((140..260).contains(&both), "{both}");
        assert!((900..1_100).contains(&first), "{first}");
        assert_eq!(orders("a", "b", 0.0).len(), 1);
        assert_eq!(orders("a", "b", 1.0).len(), 2);
    }
}

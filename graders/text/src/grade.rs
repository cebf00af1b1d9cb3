//! Grades a completion: finds its text and compares it with the golds.

use std::borrow::Cow;

use assay_core::grader::grade_each;
use assay_core::{
    BoxFuture, Evidence, Grade, GradeContext, Item, Measure, Nested, Outcome, Prepared, Score,
    Verdict,
};
use assay_extraction::{Extracted, Mode, Options, extract};

use crate::evidence;
use crate::matching::{Comparison, Matcher};
use crate::refusals;
use crate::task::{Extract, TextTask};

/// A task with its golds prepared.
pub(crate) struct PreparedText {
    pub(crate) task: TextTask,
    pub(crate) matcher: Matcher,
    /// The tasks that compare numbers with the golds and then with the rejected texts.
    pub(crate) numbers: Vec<Nested>,
    /// A gold is the letter of an option.
    pub(crate) letters: bool,
}

impl Prepared for PreparedText {
    fn grade<'a>(
        &'a self,
        items: &'a [&'a Item],
        cx: &'a GradeContext,
    ) -> BoxFuture<'a, Vec<Outcome>> {
        grade_each(items, |item| self.grade_one(item, cx))
    }

    fn bytes(&self) -> usize {
        let texts = self.task.golds.iter().chain(&self.task.rejected);
        let numbers = self.numbers.iter().map(|nested| nested.prepared.bytes());
        size_of::<Self>()
            + self.matcher.bytes()
            + texts.map(String::len).sum::<usize>()
            + numbers.sum::<usize>()
    }
}

impl PreparedText {
    async fn grade_one(&self, item: &Item, cx: &GradeContext) -> Outcome {
        let text = item.completion.text();
        let Some(found) = self.extract(&text, item) else {
            let verdict = if self.task.consensus {
                Verdict::UNLABELLED
            } else {
                Verdict::NO_ANSWER
            };
            return graded(verdict, Evidence::new(), None, 0);
        };
        if self.task.consensus {
            let evidence = evidence::without_gold(&self.task, &found);
            return graded(Verdict::UNLABELLED, evidence, None, found.text.len() as u64);
        }
        let numbers = match self.numbers(&found.text, cx).await {
            Ok(numbers) => numbers,
            Err(outcome) => return outcome,
        };
        let mut comparison = self.matcher.compare(&found.text, &numbers);
        let declines = self.task.unanswerable && refusals::is_stated(&found.text);
        if declines && comparison.rejected.is_none() {
            comparison.accepted = true;
            comparison.score = 1.0;
        }
        let verdict = if comparison.accepted {
            Verdict::CORRECT
        } else if comparison.score > 0.0 {
            Verdict::PARTIAL
        } else {
            Verdict::WRONG_ANSWER
        };
        let evidence = evidence::of(&self.task, &found, &comparison, declines);
        graded(
            verdict,
            evidence,
            Some(&comparison),
            found.text.len() as u64,
        )
    }

    /// The text to compare: the answer of the completion, or all of it.
    fn extract<'t>(&self, text: &'t str, item: &Item) -> Option<Extracted<'t>> {
        let options = Options {
            mode: match self.task.extract {
                Extract::Whole => Mode::Whole,
                Extract::Auto => Mode::Auto,
            },
            think_open: item.meta.think_open,
            choices: self.letters,
            ..Options::default()
        };
        let found = extract(text, &options);
        let states = |found: &Extracted<'_>| refusals::is_stated(&found.text);
        // A statement that there is no answer is the whole text, and has no value to extract.
        if self.task.unanswerable
            && self.task.extract == Extract::Auto
            && !found.as_ref().is_some_and(states)
        {
            let whole = extract(
                text,
                &Options {
                    mode: Mode::Whole,
                    ..options
                },
            );
            return whole.filter(states).or(found);
        }
        let found = found?;
        if self.letters
            && let Some(letter) = assay_extraction::choice::letter(&found.text)
        {
            return Some(Extracted {
                text: Cow::Owned(letter.to_string()),
                ..found
            });
        }
        Some(found)
    }

    /// The similarity of the numbers in a text with each gold and each rejected text, if the task
    /// compares numbers.
    async fn numbers(&self, text: &str, cx: &GradeContext) -> Result<Vec<f64>, Outcome> {
        let item = Item::text(text);
        let mut similarities = Vec::with_capacity(self.numbers.len());
        for nested in &self.numbers {
            match nested.grade(&item, cx).await {
                Outcome::Graded(grade) => similarities.push(grade.score.get()),
                other => return Err(other),
            }
        }
        Ok(similarities)
    }
}

fn graded(
    verdict: Verdict,
    evidence: Evidence,
    comparison: Option<&Comparison>,
    work: u64,
) -> Outcome {
    let score = comparison.map_or(0.0, |comparison| comparison.score);
    let mut grade = Grade::new(verdict, Score::new(score).unwrap_or(Score::ZERO));
    let f1 = comparison.and_then(|comparison| comparison.f1);
    if let Some(f1) = f1.and_then(|f1| Measure::new(f1).ok()) {
        grade.measures.insert("f1", f1);
    }
    Outcome::Graded(grade.with_evidence(evidence).with_work(work))
}

#[cfg(test)]
mod tests {
    use assay_core::{Grader as _, GraderTable, PrepareContext, Task};

    use super::*;
    use crate::TextGrader;

    #[test]
    fn returns_score_and_work() {
        let table = GraderTable::new(Vec::new());
        let task = Task::from_json(r#"{"type":"text","answer":"Paris"}"#).unwrap();
        let prepared = TextGrader
            .prepare(&task, &PrepareContext::new(&table))
            .unwrap();
        let grade = |completion: &str| {
            let (item, cx) = (Item::text(completion), GradeContext::default());
            match futures::executor::block_on(prepared.grade(&[&item], &cx)).remove(0) {
                Outcome::Graded(grade) => (grade.verdict.as_str(), grade.score.get(), grade.work),
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(grade("Paris\n"), ("correct", 1.0, 5));
        assert_eq!(grade("Lyon"), ("wrong_answer", 0.0, 4));
        assert_eq!(grade(" \n"), ("no_answer", 0.0, 0));
    }
}

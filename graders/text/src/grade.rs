//! Grades a completion: finds its text and compares it with the golds.

use assay_core::{Evidence, Grade, Item, Outcome, PureGrader, Verdict};
use assay_extraction::{Mode, Options, extract};

use crate::evidence;
use crate::matching::Matcher;
use crate::task::{Extract, TextTask};

/// A task with its golds prepared.
#[derive(Debug)]
pub(crate) struct PreparedText {
    pub(crate) task: TextTask,
    pub(crate) matcher: Matcher,
}

impl PureGrader for PreparedText {
    fn grade_one(&self, item: &Item) -> Outcome {
        let text = item.completion.text();
        let options = Options {
            mode: match self.task.extract {
                Extract::Whole => Mode::Whole,
                Extract::Auto => Mode::Auto,
            },
            think_open: item.meta.think_open,
            ..Options::default()
        };
        let has_gold = !self.task.golds.is_empty();
        let Some(found) = extract(&text, &options) else {
            let verdict = if has_gold {
                Verdict::NO_ANSWER
            } else {
                Verdict::UNLABELLED
            };
            return graded(verdict, Evidence::new(), 0);
        };
        if !has_gold {
            let evidence = evidence::without_gold(&self.task, &found);
            return graded(Verdict::UNLABELLED, evidence, found.text.len() as u64);
        }
        let comparison = self.matcher.compare(&found.text);
        let verdict = if comparison.accepted {
            Verdict::CORRECT
        } else {
            Verdict::WRONG_ANSWER
        };
        let evidence = evidence::of(&self.task, &found, &comparison);
        graded(verdict, evidence, found.text.len() as u64)
    }

    fn bytes(&self) -> usize {
        size_of::<Self>()
            + self.matcher.bytes()
            + self
                .task
                .golds
                .iter()
                .chain(&self.task.rejected)
                .map(String::len)
                .sum::<usize>()
    }
}

fn graded(verdict: Verdict, evidence: Evidence, work: u64) -> Outcome {
    let grade = Grade::all_or_nothing(verdict);
    Outcome::Graded(grade.with_evidence(evidence).with_work(work))
}

#[cfg(test)]
mod tests {
    use assay_core::Task;

    use super::*;

    #[test]
    fn returns_score_and_work() {
        let task = Task::from_json(r#"{"type":"text","answer":"Paris"}"#).unwrap();
        let task = TextTask::read(&task).unwrap();
        let matcher = Matcher::new(&task).unwrap();
        let prepared = PreparedText { task, matcher };
        let grade = |completion: &str| match prepared.grade_one(&Item::text(completion)) {
            Outcome::Graded(grade) => (grade.verdict.as_str(), grade.score.get(), grade.work),
            other => panic!("{other:?}"),
        };
        assert_eq!(grade("Paris\n"), ("correct", 1.0, 5));
        assert_eq!(grade("Lyon"), ("wrong_answer", 0.0, 4));
        assert_eq!(grade(" \n"), ("no_answer", 0.0, 0));
    }
}

//! One completion against a prepared task: extraction, comparison with each gold, outcome.

use assay_core::{Evidence, Grade, Item, Outcome, PureGrader, Score, Verdict};
use assay_extraction::{self, Mode};

use crate::budget::Budget;
use crate::compare::{Answer, Comparison, Gold};
use crate::evidence;
use crate::task::{Extract, MathTask};
use crate::tree::Expr;

/// A task with its golds read.
pub(crate) struct PreparedMath {
    golds: Vec<Gold>,
    task: MathTask,
    letters: bool,
}

impl PreparedMath {
    pub(crate) fn new(golds: Vec<Gold>, task: MathTask) -> Self {
        let letters = !task.options.choices.is_empty() || golds.iter().any(is_letter);
        Self {
            golds,
            task,
            letters,
        }
    }
}

/// Whether a gold is the letter of an option.
fn is_letter(gold: &Gold) -> bool {
    match gold.reading() {
        Some(Expr::Choice(..)) => true,
        Some(Expr::Symbol(name) | Expr::Text(name) | Expr::Word(name)) => {
            name.len() == 1 && name.bytes().all(|b| (b'A'..=b'J').contains(&b))
        }
        _ => false,
    }
}

impl PureGrader for PreparedMath {
    fn grade_one(&self, item: &Item) -> Outcome {
        let text = item.completion.text();
        let options = assay_extraction::Options {
            mode: match self.task.extract {
                Extract::Auto => Mode::Auto,
                Extract::Boxed => Mode::Boxed,
                Extract::Whole => Mode::Whole,
            },
            think_open: item.meta.think_open,
            choices: self.letters,
            language: self.task.language.as_deref(),
        };
        let found = assay_extraction::extract(&text, &options)
            .filter(|found| !found.text.trim().is_empty());
        let Some(found) = found else {
            let evidence = Evidence::new().text("rule", "nothing_extracted");
            return graded(Verdict::NO_ANSWER, evidence, 0);
        };
        let budget = Budget::for_golds(self.golds.len());
        let answer = Answer::of(&found.text, &self.task.options);
        let mut last: Option<(&Gold, Comparison)> = None;
        for gold in &self.golds {
            let comparison = gold.compare_within(&answer, &self.task.options, &budget);
            let equal = comparison.equal;
            last = Some((gold, comparison));
            if equal {
                break;
            }
        }
        let Some((gold, comparison)) = last else {
            return graded(Verdict::NO_ANSWER, Evidence::new(), 0);
        };
        let evidence = evidence::of(&found, gold.text(), &comparison);
        let verdict = if comparison.equal {
            Verdict::CORRECT
        } else {
            Verdict::WRONG_ANSWER
        };
        graded(verdict, evidence, budget.used().max(1))
    }

    fn bytes(&self) -> usize {
        size_of::<Self>() + self.golds.iter().map(Gold::bytes).sum::<usize>()
    }
}

fn graded(verdict: Verdict, evidence: Evidence, steps: u64) -> Outcome {
    let score = if verdict == Verdict::CORRECT {
        Score::ONE
    } else {
        Score::ZERO
    };
    Outcome::Graded(
        Grade::new(verdict, score)
            .with_evidence(evidence)
            .with_work(steps),
    )
}

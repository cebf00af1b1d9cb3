//! One completion against a prepared task: extraction, comparison with each gold, outcome.

use assay_core::{Evidence, Grade, Item, Meta, Outcome, PureGrader, Verdict};
use assay_extraction::choice::option_text;
use assay_extraction::{self, Extracted, Mode};

use crate::budget::Budget;
use crate::compare::{Answer, Comparison, Gold, equivalent_within};
use crate::decide::is_truth_value;
use crate::evidence;
use crate::options::Options;
use crate::task::{Extract, MathTask};
use crate::tree::Expr;

/// A task with its golds read.
pub(crate) struct PreparedMath {
    golds: Vec<Gold>,
    task: MathTask,
    /// A gold is the letter of an option.
    letters: bool,
    /// A gold is yes or no.
    yes_no: bool,
}

impl PreparedMath {
    pub(crate) fn new(golds: Vec<Gold>, task: MathTask) -> Self {
        let letters = !task.options.choices.is_empty() || golds.iter().any(is_letter);
        let yes_no = golds.iter().any(is_yes_no);
        Self {
            golds,
            task,
            letters,
            yes_no,
        }
    }

    pub(crate) fn golds(&self) -> &[Gold] {
        &self.golds
    }

    pub(crate) fn options(&self) -> &Options {
        &self.task.options
    }

    /// The answer in the text of a completion.
    pub(crate) fn extract<'t>(&self, text: &'t str, meta: &Meta) -> Option<Extracted<'t>> {
        let options = assay_extraction::Options {
            mode: match self.task.extract {
                Extract::Auto => Mode::Auto,
                Extract::Boxed => Mode::Boxed,
                Extract::Whole => Mode::Whole,
            },
            think_open: meta.think_open,
            choices: self.letters,
            yes_no: self.yes_no,
            language: self.task.language.as_deref(),
        };
        let found = assay_extraction::extract(text, &options)?;
        let found = match self.letter_after_box(text, &found, options) {
            Some(letter) => letter,
            None => found,
        };
        let found = self.with_option_text(text, found);
        Some(found).filter(|found| !found.text.trim().is_empty())
    }

    /// A letter with the text of another option after it is both: "C, i.e. 12 apples" if the text
    /// of C is "15 apples".
    fn with_option_text<'t>(&self, text: &'t str, found: Extracted<'t>) -> Extracted<'t> {
        let choices = &self.task.options.choices;
        let is_letter = found.text.len() == 1 && self.task.extract != Extract::Whole;
        let rest = text.get(found.span.end..).filter(|_| is_letter);
        match rest.and_then(|rest| option_text::contradicting(&found.text, rest, choices)) {
            Some(option) => Extracted {
                text: format!("{}. {option}", found.text).into(),
                ..found
            },
            None => found,
        }
    }

    /// The letter that a statement after a box selects, if the box has neither the letter nor the
    /// text of an option: `\boxed{12.5}`, then "Answer: C".
    fn letter_after_box<'t>(
        &self,
        text: &'t str,
        found: &Extracted<'t>,
        options: assay_extraction::Options<'_>,
    ) -> Option<Extracted<'t>> {
        let boxed = found.rule == assay_extraction::Rule::Boxed;
        if !self.letters || !boxed || options.mode != Mode::Auto || self.is_option(&found.text) {
            return None;
        }
        let options = assay_extraction::Options {
            mode: Mode::Unboxed,
            ..options
        };
        let stated = assay_extraction::extract(text, &options)?;
        let selects = stated.rule == assay_extraction::Rule::Stated
            && stated.text.len() == 1
            && stated.text.bytes().all(|byte| byte.is_ascii_uppercase());
        (selects && stated.span.start > found.span.end).then_some(stated)
    }

    /// Whether the text of a box is the letter or the text of an option. A text that is too costly
    /// to compare is one.
    fn is_option(&self, text: &str) -> bool {
        let budget = Budget::default();
        let plain = Options::default();
        assay_extraction::choice::letter(text).is_some()
            || text.contains(|c: char| c.is_ascii_uppercase())
            || self.task.options.choices.values().any(|option| {
                !matches!(equivalent_within(option, text, &plain, &budget), Ok(false))
            })
    }

    /// Compares an answer with the golds in order, up to the first that it equals.
    pub(crate) fn comparisons(
        &self,
        answer: &Answer<'_>,
        budget: &Budget,
    ) -> impl Iterator<Item = (&Gold, Comparison)> {
        let mut golds = self.golds.iter();
        let mut is_equal = false;
        std::iter::from_fn(move || {
            if is_equal {
                return None;
            }
            let gold = golds.next()?;
            let comparison = gold.compare_within(answer, self.options(), budget);
            is_equal = comparison.equal;
            Some((gold, comparison))
        })
    }
}

/// Whether a gold is the letter of an option.
fn is_letter(gold: &Gold) -> bool {
    match gold.normal_forms().first() {
        Some(Expr::Choice(..)) => true,
        Some(Expr::Symbol(name) | Expr::Text(name) | Expr::Word(name)) => {
            name.len() == 1 && name.bytes().all(|b| (b'A'..=b'J').contains(&b))
        }
        _ => false,
    }
}

/// Whether a gold is yes or no, true or false.
fn is_yes_no(gold: &Gold) -> bool {
    match gold.normal_forms().first() {
        Some(Expr::Text(word) | Expr::Word(word)) => is_truth_value(word),
        _ => false,
    }
}

impl PureGrader for PreparedMath {
    fn grade_one(&self, item: &Item) -> Outcome {
        let text = item.completion.text();
        let Some(found) = self.extract(&text, &item.meta) else {
            let evidence = Evidence::new().text("rule", "nothing_extracted");
            let verdict = if self.golds.is_empty() {
                Verdict::UNLABELLED
            } else {
                Verdict::NO_ANSWER
            };
            return graded(verdict, evidence, 0);
        };
        let budget = Budget::for_golds(self.golds.len().max(1));
        let answer = Answer::of(&found.text, self.options());
        let Some((gold, comparison)) = self.comparisons(&answer, &budget).last() else {
            let form = answer.usual_form(self.options(), &budget);
            let evidence = evidence::without_gold(&found, form);
            return graded(Verdict::UNLABELLED, evidence, budget.used().max(1));
        };
        let evidence = evidence::of(&found, gold, &answer, &comparison, self.options());
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
    let grade = Grade::all_or_nothing(verdict);
    Outcome::Graded(grade.with_evidence(evidence).with_work(steps))
}

//! Grades a response: checks each constraint on the text, or on the forms accepted loosely.

use assay_core::{Evidence, Grade, Item, Measure, Outcome, PureGrader, Score, Verdict};

use crate::evidence;
use crate::finding::Checked;
use crate::response::{Response, loose_forms};
use crate::spec::VIOLATED;
use crate::task::{Constraint, InstructionsTask, Mode, Scoring};
use crate::text::Text;
use crate::units::Unit;

/// A task whose constraints can be met.
#[derive(Debug)]
pub(crate) struct PreparedInstructions {
    pub(crate) task: InstructionsTask,
}

impl PreparedInstructions {
    fn check(&self, text: &str) -> Vec<Checked> {
        let whole = Text::new(text);
        let forms = match self.task.mode {
            Mode::Strict => Vec::new(),
            Mode::Loose => loose_forms(text),
        };
        let forms: Vec<(&'static str, Text<'_>)> = forms
            .iter()
            .map(|(name, text)| (*name, Text::new(text)))
            .collect();
        let check = |constraint: &Constraint| {
            let finding = constraint.rule.check(&whole);
            if finding.met {
                return Checked {
                    finding,
                    form: None,
                };
            }
            let met = forms.iter().find_map(|(name, text)| {
                let finding = constraint.rule.check(text);
                finding.met.then_some(Checked {
                    finding,
                    form: Some(name),
                })
            });
            met.unwrap_or(Checked {
                finding,
                form: None,
            })
        };
        self.task.constraints.iter().map(check).collect()
    }
}

impl PureGrader for PreparedInstructions {
    fn grade_one(&self, item: &Item) -> Outcome {
        let completion = item.completion.text();
        let response = Response::new(&completion, item.meta.think_open);
        if response.text.trim().is_empty() {
            let grade = Grade::all_or_nothing(Verdict::NO_ANSWER);
            return Outcome::Graded(grade.with_evidence(Evidence::new()));
        }
        let checked = self.check(&response.text);
        let met = checked.iter().filter(|checked| checked.finding.met).count();
        let total = checked.len();
        let share = met as f64 / total as f64;
        let (verdict, score) = match self.task.scoring {
            _ if met == total => (Verdict::CORRECT, 1.0),
            Scoring::Share if met > 0 => (Verdict::PARTIAL, share),
            Scoring::Share | Scoring::All => (VIOLATED, 0.0),
        };
        let score = Score::new(score).unwrap_or(Score::ZERO);
        let evidence = evidence::of(&self.task, &checked, response.hidden);
        let mut grade = Grade::new(verdict, score);
        for (name, value) in [
            ("constraints_met", met as f64),
            ("repeated_share", repeated_share(&response.text)),
        ] {
            // Finite, because the divisor is at least 1.
            grade
                .measures
                .extend(Measure::new(value).ok().map(|value| (name, value)));
        }
        let work = (response.text.len() * total) as u64;
        Outcome::Graded(grade.with_evidence(evidence).with_work(work))
    }

    fn bytes(&self) -> usize {
        let constraints = self.task.constraints.iter();
        size_of::<Self>()
            + constraints
                .map(|constraint| constraint.name.len() + constraint.rule.bytes())
                .sum::<usize>()
    }
}

/// Share of the sequences of three words that repeat an earlier one. Texts that repeat keywords to
/// meet a number have a large share.
fn repeated_share(text: &str) -> f64 {
    let text = Text::new(text);
    let words = text.pieces(Unit::Terms);
    let mut seen = std::collections::HashSet::new();
    let triples = words.len().saturating_sub(2);
    let distinct = words
        .windows(3)
        .filter(|triple| seen.insert((&triple[0].text, &triple[1].text, &triple[2].text)))
        .count();
    (triples - distinct) as f64 / triples.max(1) as f64
}

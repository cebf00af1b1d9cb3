//! Grades a response: checks each constraint on the text, or on the forms accepted loosely.

use assay_core::{Evidence, Grade, Item, Measure, Outcome, PureGrader, Score, Verdict};

use crate::evidence;
use crate::finding::{Checked, Finding};
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
    fn check(&self, whole: &Text<'_>) -> Vec<Checked> {
        let constraints = &self.task.constraints;
        let findings: Vec<Finding> = constraints
            .iter()
            .map(|constraint| constraint.rule.check(whole))
            .collect();
        let forms = match self.task.mode {
            Mode::Loose if findings.iter().any(|finding| !finding.met) => loose_forms(whole.str),
            Mode::Loose | Mode::Strict => Vec::new(),
        };
        let mut texts: Vec<(&'static str, Text<'_>)> = Vec::new();
        for (name, form) in &forms {
            // An equal text has the same findings.
            if form != whole.str && texts.iter().all(|(_, text)| form != text.str) {
                texts.push((*name, Text::new(form)));
            }
        }
        let check = |(constraint, finding): (&Constraint, Finding)| {
            let met_by = |(name, text): &(&'static str, Text<'_>)| {
                let finding = constraint.rule.check(text);
                finding.met.then_some(Checked {
                    finding,
                    form: Some(*name),
                })
            };
            let loose = match finding.met {
                true => None,
                false => texts.iter().find_map(met_by),
            };
            loose.unwrap_or(Checked {
                finding,
                form: None,
            })
        };
        constraints.iter().zip(findings).map(check).collect()
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
        let whole = Text::new(&response.text);
        let checked = self.check(&whole);
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
            ("repeated_share", repeated_share(&whole)),
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
fn repeated_share(text: &Text<'_>) -> f64 {
    let words = text.pieces(Unit::Terms);
    let mut seen = std::collections::HashSet::new();
    let triples = words.len().saturating_sub(2);
    let distinct = words
        .windows(3)
        .filter(|triple| seen.insert((&triple[0].text, &triple[1].text, &triple[2].text)))
        .count();
    (triples - distinct) as f64 / triples.max(1) as f64
}

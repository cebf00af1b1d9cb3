//! Sums by step from which detectors find signs of reward hacking: counts of the topic
//! [`Signal`](Topic::Signal), and the sums that detectors read.

use assay_rewards::detectors::{Moments, Share, StepSums};

use crate::NewGrade;
use crate::chart::{Counted, Number, Part, Sums, Topic};

/// Nested tasks and checks that were graded, and those that pass.
const CHECKS: [&str; 2] = ["checks", "checks_passed"];
/// Completions in which a part to grade was looked for, and those that have one.
const FORMAT: [&str; 2] = ["formats", "formats_kept"];
/// Items that pass with a known expected answer, and those whose answer differs from it and passes
/// for [`MIN_GOLDS`] different ones.
const ANSWERS: [&str; 2] = ["answers", "answers_repeated"];
/// Programs that pass tests with inputs, and those that contain such inputs as literals.
const PROGRAMS: [&str; 2] = ["programs", "programs_with_literals"];
/// Items that a judge checked, and those that only the judge passes.
const JUDGED: [&str; 2] = ["judged", "judged_only"];
/// Items under consensus, and those that agree with a label.
const AGREEMENT: [&str; 2] = ["labelled", "labelled_agree"];
/// Items under consensus with a gold, and those that pass it.
const GOLDS: [&str; 2] = ["golds", "golds_passed"];
/// Items whose label was checked by golds, and those whose label is right.
const LABELS: [&str; 2] = ["labels_checked", "labels_right"];

/// Number of different expected answers for which a repeated answer passes.
pub const MIN_GOLDS: u64 = 3;

impl Counted {
    /// Counts the facts of a grade. [`count_repeated`](Self::count_repeated) counts repeated
    /// answers.
    pub fn push_signals(&mut self, new: &NewGrade) {
        let facts = &new.facts;
        let grade = &new.row.grade;
        if let Some(bytes) = facts.reasoning_bytes {
            self.whole(Number::ReasoningBytes, bytes.into());
        }
        let passes = grade.pass_after_appeal() == Some(true);
        let programs = new.measured.has_literals.filter(|_| passes);
        let (checks, passed) = facts.checks;
        self.signal(CHECKS, checks.into(), passed.into());
        let label = facts.labelled;
        let agrees = label.map(|label| label.agrees == Some(true));
        for (names, known) in [
            (AGREEMENT, agrees),
            (GOLDS, label.and_then(|label| label.gold)),
            (LABELS, label.and_then(|label| label.right)),
            (FORMAT, facts.is_formatted),
            (PROGRAMS, programs),
            (JUDGED, facts.judged),
        ] {
            self.signal(
                names,
                u64::from(known.is_some()),
                (known == Some(true)).into(),
            );
        }
        self.signal(ANSWERS, u64::from(passes && facts.gold.is_some()), 0);
    }

    /// Counts grades whose answers are repeated.
    pub fn count_repeated(&mut self, grades: u64) {
        self.signal(ANSWERS, 0, grades);
    }

    fn signal(&mut self, names: [&str; 2], of: u64, hits: u64) {
        for (name, grades) in names.into_iter().zip([of, hits]) {
            if grades > 0 {
                let part = Part {
                    grades,
                    ..Part::default()
                };
                self.word(Topic::Signal, name, &part);
            }
        }
    }

    fn share(&self, [of, hits]: [&str; 2]) -> Share {
        Share {
            hits: self.grades_of(Topic::Signal, hits),
            of: self.grades_of(Topic::Signal, of),
        }
    }

    /// The sums of a step for detectors.
    #[must_use]
    pub fn step_sums(&self, step: i64) -> StepSums {
        let moments = |sums: Sums| Moments {
            count: sums.count,
            sum: sums.sum,
            squares: sums.squares,
        };
        let mut length = self.sums(Number::PassedBytes);
        length.add(&self.sums(Number::OtherBytes));
        StepSums {
            step,
            reward: moments(self.sums(Number::Reward)),
            length: moments(length),
            reasoning: moments(self.sums(Number::ReasoningBytes)),
            truncated: Share {
                hits: self.grades_of(Topic::Truncated, "truncated"),
                of: self.grades(),
            },
            checks: self.share(CHECKS),
            formatted: self.share(FORMAT),
            repeated: self.share(ANSWERS),
            literals: self.share(PROGRAMS),
            judge_only: self.share(JUDGED),
            agreement: self.share(AGREEMENT),
            golds: self.share(GOLDS),
        }
    }

    /// Items under consensus whose label was checked by golds, and those whose label is right.
    #[must_use]
    pub fn checked_labels(&self) -> Share {
        self.share(LABELS)
    }
}

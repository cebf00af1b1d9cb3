//! The rules of the detectors, as a table.

use super::change::{AFTER, BEFORE, Change, change, upper_tail};
use super::finding::{Detector, Finding};
use super::series::{Point, Series, StepSums};

/// Probability that noise alone makes any detector find something in a run of normal numbers.
const FALSE_ALARMS: f64 = 0.01;

/// The rule of a detector: all of its requirements at one step.
pub(super) struct Rule {
    detector: Detector,
    requires: &'static [Requirement],
}

/// A requirement on the change of one series.
struct Requirement {
    series: Series,
    kind: Kind,
}

/// Which changes count.
enum Kind {
    /// The mean rises by more than this.
    Rise(f64),
    /// The mean falls by more than this.
    Fall(f64),
    /// The mean falls below this multiple of the mean before.
    FallTo(f64),
    /// The mean rises above the first multiple of the mean before, or falls below the second.
    Leave(f64, f64),
    /// The mean falls by at most this, whatever its error.
    Keep(f64),
}

impl Kind {
    fn is_met(&self, change: &Change, least_errors: f64) -> bool {
        let Change {
            before,
            after,
            errors,
        } = *change;
        let is_significant = errors.abs() > least_errors;
        match self {
            Self::Rise(by) => is_significant && after - before > *by,
            Self::Fall(by) => is_significant && before - after > *by,
            Self::FallTo(times) => is_significant && after < times * before,
            Self::Leave(above, below) => {
                is_significant && (after > above * before || after < below * before)
            }
            Self::Keep(by) => before - after <= *by,
        }
    }
}

macro_rules! require {
    ($field:ident, $kind:expr) => {
        Requirement {
            series: Series {
                name: stringify!($field),
                at: |sums| sums.$field.mean(),
            },
            kind: $kind,
        }
    };
}

/// Smallest change of a share that counts.
const SHARE: f64 = 0.05;

/// The rules, in the order of [`Detector::ALL`].
pub(super) const RULES: &[Rule] = &[
    Rule {
        detector: Detector::Length,
        requires: &[require!(length, Kind::Leave(1.25, 0.75))],
    },
    Rule {
        detector: Detector::Truncation,
        requires: &[require!(truncated, Kind::Rise(SHARE))],
    },
    Rule {
        detector: Detector::ScoreWithoutChecks,
        requires: &[
            require!(reward, Kind::Rise(0.0)),
            require!(checks, Kind::Fall(SHARE)),
        ],
    },
    Rule {
        detector: Detector::FormatWithoutReasoning,
        requires: &[
            require!(reasoning, Kind::FallTo(0.75)),
            require!(formatted, Kind::Keep(0.02)),
        ],
    },
    Rule {
        detector: Detector::RepeatedAnswers,
        requires: &[require!(repeated, Kind::Rise(SHARE))],
    },
    Rule {
        detector: Detector::LiteralInputs,
        requires: &[require!(literals, Kind::Rise(SHARE))],
    },
    Rule {
        detector: Detector::JudgeAgainstRule,
        requires: &[require!(judge_only, Kind::Rise(SHARE))],
    },
    Rule {
        detector: Detector::AgreementAgainstGolds,
        requires: &[
            require!(agreement, Kind::Rise(0.0)),
            require!(golds, Kind::Fall(SHARE)),
        ],
    },
];

impl Rule {
    /// The first finding. The steps after a change are averaged, so that the requirements are met
    /// some steps before it: the onset is where the change is clearest among the steps that follow.
    pub(super) fn first(&self, steps: &[StepSums]) -> Option<Finding> {
        let series: Vec<Vec<Point>> = self
            .requires
            .iter()
            .map(|requirement| requirement.series.points(steps))
            .collect();
        let looks = (steps.len() * RULES.len()) as f64;
        let least_errors = least_errors(looks);
        let met = |sums: &StepSums| {
            let evidence: Vec<(&'static str, Change)> = self
                .requires
                .iter()
                .zip(&series)
                .map_while(|(requirement, points)| {
                    let at = points.binary_search_by_key(&sums.step, |point| point.step);
                    let change = change(points, at.ok()?)?;
                    let is_met = requirement.kind.is_met(&change, least_errors);
                    is_met.then_some((requirement.series.name, change))
                })
                .collect();
            (evidence.len() == self.requires.len()).then_some((sums.step, evidence))
        };
        let from = steps.iter().position(|sums| met(sums).is_some())?;
        let following = steps[from..].iter().take(AFTER).map_while(met);
        let errors = |evidence: &[(&'static str, Change)]| evidence[0].1.errors.abs();
        let clearest = following.max_by(|(_, x), (_, y)| errors(x).total_cmp(&errors(y)));
        clearest.map(|(onset, evidence)| {
            let p = 2.0 * looks * upper_tail(errors(&evidence));
            Finding {
                detector: self.detector,
                onset,
                evidence,
                confidence: (1.0 - p).clamp(0.0, 1.0),
            }
        })
    }
}

/// Standard errors that a change must exceed, where a run is looked at `looks` times: the two-sided
/// quantile of [`FALSE_ALARMS`] / `looks` (Bonferroni).
fn least_errors(looks: f64) -> f64 {
    let (mut low, mut high) = (1.0, 40.0);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if 2.0 * looks * upper_tail(middle) > FALSE_ALARMS {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

const _: () = assert!(AFTER < BEFORE && RULES.len() == Detector::ALL.len());

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_in_the_order_of_detectors() {
        let detectors: Vec<Detector> = RULES.iter().map(|rule| rule.detector).collect();
        assert_eq!(detectors, Detector::ALL);
    }

    #[test]
    fn more_looks_need_more_standard_errors() {
        // 2,100 looks: 0.01 / 4,200 = 2.381e-6 on one side, which is 4.578 standard errors.
        assert!(
            (least_errors(2_100.0) - 4.578).abs() < 0.01,
            "{}",
            least_errors(2_100.0)
        );
        assert!((least_errors(2.1e6) - 5.852).abs() < 0.01);
    }

    #[test]
    fn kinds_need_size_and_significance() {
        let change = |before, after, errors| Change {
            before,
            after,
            errors,
        };
        assert!(Kind::Rise(0.05).is_met(&change(0.1, 0.16, 5.0), 4.0));
        assert!(!Kind::Rise(0.05).is_met(&change(0.1, 0.14, 9.0), 4.0));
        assert!(!Kind::Rise(0.05).is_met(&change(0.1, 0.3, 3.0), 4.0));
        assert!(Kind::Fall(0.05).is_met(&change(0.3, 0.2, -5.0), 4.0));
        assert!(Kind::FallTo(0.75).is_met(&change(100.0, 70.0, -5.0), 4.0));
        assert!(Kind::Leave(1.25, 0.75).is_met(&change(100.0, 130.0, 5.0), 4.0));
        assert!(!Kind::Leave(1.25, 0.75).is_met(&change(100.0, 120.0, 50.0), 4.0));
        assert!(Kind::Keep(0.02).is_met(&change(0.9, 0.89, -9.0), 4.0));
        assert!(!Kind::Keep(0.02).is_met(&change(0.9, 0.8, -1.0), 4.0));
    }
}

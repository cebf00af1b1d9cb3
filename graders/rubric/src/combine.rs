//! The score of a rubric from the results of its criteria.

use assay_core::aggregate::{points, saturated};
use assay_core::{Score, Verdict};

use crate::spec::VETOED;
use crate::task::{Combine, Criterion, Rules};

/// Largest difference of a score by rounding.
const ROUNDING: f64 = 1e-9;

/// The result of a criterion.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum CriterionResult {
    /// It was graded.
    Graded {
        /// What counts: its score or, if it is binary, whether it is met.
        value: f64,
        met: bool,
    },
    /// An earlier stage was not passed, so it counts as not met.
    NotReached,
    /// It could not be graded, and counts as the rubric says: `true` as not met, `false` not at
    /// all.
    Failed { counts: bool },
}

impl CriterionResult {
    /// The score that counts; `None` if the criterion is left out.
    fn value(self) -> Option<f64> {
        match self {
            Self::Graded { value, .. } => Some(value),
            Self::NotReached | Self::Failed { counts: true } => Some(0.0),
            Self::Failed { counts: false } => None,
        }
    }

    pub(crate) fn is_met(self) -> bool {
        matches!(self, Self::Graded { met: true, .. })
    }

    pub(crate) fn is_graded(self) -> bool {
        matches!(self, Self::Graded { .. })
    }

    /// Whether a gate closes, or a veto applies. A criterion that is left out does neither.
    pub(crate) fn closes(self) -> bool {
        self.value().is_some() && !self.is_met()
    }
}

/// The combined result.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Combined {
    pub(crate) verdict: Verdict,
    pub(crate) score: Score,
    /// The score before it is limited to \[0, 1\] and before vetoes.
    pub(crate) unlimited: f64,
}

/// Combines the results of all criteria. `None` if none of them was graded, or none with positive
/// points counts, so that there is no score.
pub(crate) fn combine(
    rules: &Rules,
    results: &[(&Criterion, CriterionResult)],
) -> Option<Combined> {
    let counted = || {
        results
            .iter()
            .filter_map(|(criterion, result)| Some((*criterion, result.value()?, *result)))
    };
    let saturate = |criterion: &Criterion, value: f64| {
        if criterion.points > 0.0 {
            saturated(value, rules.saturation)
        } else {
            value
        }
    };
    if !results.iter().any(|(_, result)| result.is_graded()) {
        return None;
    }
    let unlimited = match rules.combine {
        Combine::Points => {
            let terms = counted()
                .map(|(criterion, value, _)| (criterion.points, saturate(criterion, value)));
            points(&terms.collect::<Vec<_>>())?
        }
        Combine::Min => counted()
            .map(|(criterion, value, _)| saturate(criterion, value))
            .fold(1.0, f64::min),
        Combine::Product => counted()
            .map(|(criterion, value, _)| saturate(criterion, value))
            .product(),
        Combine::AtLeast(count) => {
            let met = counted().filter(|(.., result)| result.is_met()).count();
            (met as f64 / count as f64).min(1.0)
        }
    };
    let vetoed = results
        .iter()
        .any(|(criterion, result)| criterion.veto && result.closes());
    let score = if vetoed {
        0.0
    } else {
        unlimited.clamp(0.0, 1.0)
    };
    let verdict = match score {
        _ if vetoed => VETOED,
        // The sum of all points may be rounded below their share.
        score if score >= rules.threshold - ROUNDING => Verdict::CORRECT,
        score if score > 0.0 => Verdict::PARTIAL,
        _ => Verdict::WRONG_ANSWER,
    };
    Some(Combined {
        verdict,
        score: Score::new(score).ok()?,
        unlimited,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::OnFailure;

    fn rules(combine: Combine) -> Rules {
        Rules {
            combine,
            saturation: 0.0,
            threshold: 1.0,
            on_failure: OnFailure::Fail,
        }
    }

    fn criterion(points: f64) -> Criterion {
        Criterion {
            name: String::new(),
            points,
            met_from: None,
            binary: false,
            veto: false,
            stage: 0,
            gate: false,
        }
    }

    fn graded(value: f64) -> CriterionResult {
        CriterionResult::Graded {
            value,
            met: value >= 0.5,
        }
    }

    fn of(rules: &Rules, results: &[(Criterion, CriterionResult)]) -> Option<(f64, &'static str)> {
        let results: Vec<_> = results
            .iter()
            .map(|(criterion, result)| (criterion, *result))
            .collect();
        combine(rules, &results).map(|combined| (combined.score.get(), combined.verdict.as_str()))
    }

    #[test]
    fn points_with_faults_and_saturation() {
        let all = [
            (criterion(3.0), graded(1.0)),
            (criterion(1.0), graded(0.5)),
            (criterion(-2.0), graded(1.0)),
        ];
        // (3 + 0.5 - 2) / 4
        assert_eq!(of(&rules(Combine::Points), &all), Some((0.375, "partial")));
        let saturating = Rules {
            saturation: 1.0,
            threshold: 0.4,
            ..rules(Combine::Points)
        };
        // g(0.5) = 2 * 0.5 / 1.5 = 2/3: (3 + 2/3 - 2) / 4
        let (score, verdict) = of(&saturating, &all).unwrap();
        assert!((score - 5.0 / 12.0).abs() < 1e-15);
        assert_eq!(verdict, "correct");
        let faulty = [
            (criterion(1.0), graded(0.0)),
            (criterion(-5.0), graded(1.0)),
        ];
        assert_eq!(
            of(&rules(Combine::Points), &faulty),
            Some((0.0, "wrong_answer"))
        );
    }

    #[test]
    fn a_veto_takes_everything() {
        let veto = Criterion {
            veto: true,
            ..criterion(1.0)
        };
        let all = [(criterion(9.0), graded(1.0)), (veto.clone(), graded(0.4))];
        assert_eq!(of(&rules(Combine::Points), &all), Some((0.0, "vetoed")));
        let not_reached = [
            (criterion(9.0), graded(1.0)),
            (veto, CriterionResult::NotReached),
        ];
        assert_eq!(
            of(&rules(Combine::Points), &not_reached),
            Some((0.0, "vetoed"))
        );
    }

    #[test]
    fn without_a_graded_criterion_there_is_no_score() {
        let failed = [(criterion(1.0), CriterionResult::Failed { counts: true })];
        assert_eq!(of(&rules(Combine::Points), &failed), None);
        assert!(!CriterionResult::Failed { counts: false }.closes());
        assert!(CriterionResult::Failed { counts: true }.closes());
    }

    #[test]
    fn any_n_of_and_the_other_combinations() {
        let all = [
            (criterion(1.0), graded(1.0)),
            (criterion(1.0), graded(0.6)),
            (criterion(1.0), graded(0.0)),
        ];
        assert_eq!(
            of(&rules(Combine::AtLeast(2)), &all),
            Some((1.0, "correct"))
        );
        assert_eq!(of(&rules(Combine::AtLeast(3)), &all).unwrap().1, "partial");
        assert_eq!(of(&rules(Combine::Min), &all[..2]), Some((0.6, "partial")));
        assert_eq!(
            of(&rules(Combine::Product), &all),
            Some((0.0, "wrong_answer"))
        );
    }

    #[test]
    fn a_criterion_that_is_left_out_changes_the_total() {
        let failed = |counts| CriterionResult::Failed { counts };
        let all = |counts| {
            [
                (criterion(1.0), graded(1.0)),
                (criterion(3.0), failed(counts)),
            ]
        };
        assert_eq!(
            of(&rules(Combine::Points), &all(false)),
            Some((1.0, "correct"))
        );
        assert_eq!(
            of(&rules(Combine::Points), &all(true)),
            Some((0.25, "partial"))
        );
        assert_eq!(of(&rules(Combine::Points), &all(false)[1..]), None);
        let only_fault = [
            (criterion(1.0), failed(false)),
            (criterion(-1.0), graded(0.0)),
        ];
        assert_eq!(of(&rules(Combine::Points), &only_fault), None);
    }
}

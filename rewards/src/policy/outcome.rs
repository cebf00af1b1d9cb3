//! The `outcome` section: the number that represents the verdict of an item. Corrected outcomes are
//! part of the item.

use serde::{Deserialize, Serialize};

use super::Sample;
use super::line::Line;
use super::section::{RequiredInputs, Section};
use super::validate::{ValidationResult, check_name};

/// The number that represents the verdict.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The score after appeal, in \[0, 1\].
    Raw,
    /// The backward-corrected outcome ((1 - rho0) / J for a pass, else -rho0 / J) where the channel
    /// may be corrected, else the score.
    Backward,
    /// A measure, such as the raw reward of a reward model: any finite number.
    Measure(String),
}

/// The outcome of an item and the name of its source: `score`, `backward`, `score_uncorrected` (a
/// correction was requested, but the channel may not be corrected) or `measure`. `None` for a
/// masked item, and for an item without the measure.
#[must_use]
pub fn of(outcome: Option<&Outcome>, item: &Sample<'_>) -> Option<(f64, &'static str)> {
    let score = item.score?.get();
    match outcome {
        None | Some(Outcome::Raw) => Some((score, "score")),
        Some(Outcome::Backward) => Some(
            item.corrected
                .map_or((score, "score_uncorrected"), |corrected| {
                    (corrected.get(), "backward")
                }),
        ),
        Some(Outcome::Measure(name)) => Some((item.measure(name)?, "measure")),
    }
}

impl Section for Outcome {
    fn check(&self) -> ValidationResult {
        if let Self::Measure(name) = self {
            check_name("measure", name)
        } else {
            Ok(())
        }
    }

    fn required_inputs<'p>(&'p self, inputs: &mut RequiredInputs<'p>) {
        if let Self::Measure(name) = self {
            inputs.measure(name);
        }
    }

    fn explain(&self) -> Vec<Line> {
        let line = |function, formula: &str, meaning: &str| {
            vec![Line::new("", function, formula, meaning)]
        };
        match self {
            Self::Raw => line("raw", "R = score after appeal", "the score, unchanged"),
            Self::Backward => line(
                "backward",
                "R = (r - rho0) / J, J = 1 - rho0 - rho1",
                "the verdict is corrected for the channel's noise first; where the channel may \
                 not be corrected, the score is used and the term is named `score_uncorrected`",
            ),
            Self::Measure(name) => line(
                "measure",
                &format!("R = {name}"),
                "a measure is used instead of the score; an item without it gets no reward",
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use assay_core::{Reward, Score};

    use super::*;

    #[test]
    fn reports_a_missing_correction_in_the_source() {
        let raw = Sample {
            score: Some(Score::ONE),
            ..Sample::default()
        };
        let corrected = Sample {
            corrected: Some(Reward::new(1.6).unwrap()),
            ..raw
        };
        assert_eq!(
            of(Some(&Outcome::Backward), &raw),
            Some((1.0, "score_uncorrected"))
        );
        assert_eq!(
            of(Some(&Outcome::Backward), &corrected),
            Some((1.6, "backward"))
        );
        assert_eq!(of(None, &corrected), Some((1.0, "score")));
        assert_eq!(of(Some(&Outcome::Raw), &corrected), Some((1.0, "score")));
    }

    #[test]
    fn masked_items_and_missing_measures_have_no_outcome() {
        let masked = Sample {
            corrected: Some(Reward::new(1.0).unwrap()),
            measures: &[("r", 2.0)],
            ..Sample::default()
        };
        assert_eq!(of(Some(&Outcome::Backward), &masked), None);
        assert_eq!(of(Some(&Outcome::Measure("r".to_owned())), &masked), None);
        let graded = Sample {
            score: Some(Score::ZERO),
            ..masked
        };
        assert_eq!(
            of(Some(&Outcome::Measure("r".to_owned())), &graded),
            Some((2.0, "measure"))
        );
        assert_eq!(of(Some(&Outcome::Measure("s".to_owned())), &graded), None);
    }
}

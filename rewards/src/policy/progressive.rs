//! Stages: parts of one item that must be reached in order. Independent of the progress of
//! training.

use serde::{Deserialize, Serialize};

use super::line::{Line, rounded};
use super::section::{RequiredInputs, Section};
use super::validate::{OUTCOME, PolicyError, ValidationResult};
use super::{Sample, validate};

/// Stages in order, including `outcome`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Stages(pub Vec<Stage>);

/// One stage.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stage {
    /// Name of the part, or `outcome`.
    pub part: String,
    /// Minimum score for the next stage to count, in \[0, 1\].
    #[serde(default = "full")]
    pub until: f64,
    /// Weight of the stage, above 0.
    #[serde(default = "full")]
    pub weight: f64,
}

fn full() -> f64 {
    1.0
}

/// Staged reward (after the idea of PRS, arXiv 2512.07478; own derivation of the formula): sum of
/// w_t s_t over the stages up to and including the first with a score below its `until`, divided by
/// the sum of all weights. `stages` has (weight, until, score).
///
/// In \[0, 1\] for scores in \[0, 1\], and increasing in each score. 0 without stages.
#[must_use]
pub fn staged(stages: &[(f64, f64, f64)]) -> f64 {
    let total: f64 = stages.iter().map(|(weight, ..)| weight).sum();
    let reached = stages
        .iter()
        .position(|(_, until, score)| score < until)
        .map_or(stages.len(), |first| first + 1);
    let sum: f64 = stages
        .iter()
        .take(reached)
        .map(|(weight, _, score)| weight * score)
        .sum();
    if total > 0.0 { sum / total } else { 0.0 }
}

impl Stages {
    /// The number for an item with this outcome; `None` if a part is missing.
    #[must_use]
    pub fn apply(&self, outcome: f64, item: &Sample<'_>) -> Option<f64> {
        let score = |name: &str| {
            if name == OUTCOME {
                Some(outcome)
            } else {
                item.part_score(name)
            }
        };
        let stages = self
            .0
            .iter()
            .map(|stage| Some((stage.weight, stage.until, score(&stage.part)?)));
        let stages = stages.collect::<Option<Vec<_>>>()?;
        if outcome >= 0.0 {
            return Some(staged(&stages));
        }
        // A corrected outcome can be below 0; not reaching its stage must not raise the reward.
        let all: Vec<_> = stages
            .iter()
            .map(|(weight, _, score)| (*weight, f64::NEG_INFINITY, *score))
            .collect();
        Some(staged(&stages).min(staged(&all)))
    }
}

impl Section for Stages {
    fn check(&self) -> ValidationResult {
        validate::check_distinct("", self.0.iter().map(|stage| stage.part.as_str()))?;
        for (at, stage) in self.0.iter().enumerate() {
            validate::check_range(format!("{at}/until"), stage.until, 0.0, 1.0)?;
            validate::check_positive(format!("{at}/weight"), stage.weight)?;
            validate::check_range(format!("{at}/weight"), stage.weight, 0.0, 1e9)?;
        }
        if self.0.iter().all(|stage| stage.part != OUTCOME) {
            return Err(PolicyError::at(
                "",
                "the stage `outcome` is missing; add it, usually as the last stage",
            ));
        }
        Ok(())
    }

    fn required_inputs<'p>(&'p self, inputs: &mut RequiredInputs<'p>) {
        self.0.iter().for_each(|stage| inputs.part(&stage.part));
    }

    fn explain(&self) -> Vec<Line> {
        let total: f64 = self.0.iter().map(|stage| stage.weight).sum();
        let stage =
            |stage: &Stage| format!("{} {} [until {}]", stage.weight, stage.part, stage.until);
        let stages = self.0.iter().map(stage).collect::<Vec<_>>().join(" -> ");
        let meaning = "a stage counts only if the stage before it reached its minimum score";
        vec![Line::new(
            "",
            "stages",
            format!("({stages}) / {}", rounded(total)),
            meaning,
        )]
    }
}

#[cfg(test)]
mod tests {
    use super::super::Part;
    use super::*;

    #[test]
    fn missing_a_stage_does_not_raise_a_negative_outcome() {
        let stages: Stages = serde_json::from_str(
            r#"[{"part":"call","until":1,"weight":1},{"part":"outcome","weight":2}]"#,
        )
        .unwrap();
        let with = |score| {
            [Part {
                name: "call",
                score: assay_core::Score::new(score).ok(),
                pass: None,
            }]
        };
        let value = |score: f64| {
            let parts = with(score);
            stages
                .apply(
                    -0.6,
                    &Sample {
                        parts: &parts,
                        ..Sample::default()
                    },
                )
                .unwrap()
        };
        // Reached: (1 - 1.2) / 3. Not reached: (0 - 1.2) / 3, because 0 would be more.
        assert!((value(1.0) + 0.2 / 3.0).abs() < 1e-12);
        assert!((value(0.0) + 0.4).abs() < 1e-12);
    }

    #[test]
    fn stages_count_in_order() {
        // Weights 1, 1, 2. The second stage is at 0.5, below 0.9: (1 * 1 + 1 * 0.5) / 4 = 0.375,
        // the third does not count.
        assert!(
            (staged(&[(1.0, 1.0, 1.0), (1.0, 0.9, 0.5), (2.0, 1.0, 1.0)]) - 0.375).abs() < 1e-12
        );
        // At 0.9 it is reached: (1 + 0.9 + 2 * 0.5) / 4 = 0.725.
        assert!(
            (staged(&[(1.0, 1.0, 1.0), (1.0, 0.9, 0.9), (2.0, 1.0, 0.5)]) - 0.725).abs() < 1e-12
        );
        assert!(staged(&[]).abs() < 1e-15);
    }

    #[test]
    fn missing_part_yields_no_number() {
        let stage = |part: &str| Stage {
            part: part.to_owned(),
            until: 1.0,
            weight: 1.0,
        };
        let item = Sample::default();
        assert_eq!(
            Stages(vec![stage("call"), stage(OUTCOME)]).apply(1.0, &item),
            None
        );
        assert_eq!(Stages(vec![stage(OUTCOME)]).apply(1.0, &item), Some(1.0));
    }
}

//! Rewards of steps from the scores of a process reward model. They are reported in addition to the
//! reward and do not change it: the return from step k is the reward plus the sum of the step
//! rewards from k on.

use serde::{Deserialize, Serialize};

use super::line::Line;
use super::section::Section;
use super::validate;
use super::validate::ValidationResult;

/// How scores of steps become rewards of steps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Steps {
    /// [`delta_steps`].
    Delta(Delta),
    /// [`clip_steps`].
    Clip(ClipSteps),
}

/// Settings of [`delta_steps`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Delta {
    /// Factor on every step, in \[0, 1\].
    pub alpha: f64,
}

/// Settings of [`clip_steps`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClipSteps {
    /// Factor on every step, in \[0, 1\].
    pub alpha: f64,
    /// Steps with a score of at least this get 0, in \[0, 1\].
    pub eta: f64,
}

/// Delta (arXiv 2410.15115), multiplied by `alpha`: for K steps r_k = PRM_k - PRM_(k+1) for k < K -
/// 1, r_(K-1) = PRM_(K-1), r_K = 0.
///
/// The sum from step k is alpha PRM_k, so the return is bounded for any number of steps. A single
/// step gets 0. A score that is not finite is treated as 0.
#[must_use]
pub fn delta_steps(scores: &[f64], alpha: f64) -> Vec<f64> {
    let score = |at: usize| {
        scores
            .get(at)
            .copied()
            .filter(|score| score.is_finite())
            .unwrap_or(0.0)
    };
    let last = scores.len().saturating_sub(1);
    let step = |at: usize| match at {
        at if at >= last => 0.0,
        at if at + 1 == last => score(at),
        at => score(at) - score(at + 1),
    };
    (0..scores.len()).map(|at| alpha * step(at)).collect()
}

/// Clip (arXiv 2410.15115), multiplied by `alpha`: r_k = min(PRM_k - eta, 0). At most 0, so
/// additional steps cannot increase the return. A score that is not finite is treated as `eta`.
#[must_use]
pub fn clip_steps(scores: &[f64], alpha: f64, eta: f64) -> Vec<f64> {
    scores
        .iter()
        .map(|score| {
            if score.is_finite() {
                alpha * super::shape::clip(*score, eta)
            } else {
                0.0
            }
        })
        .collect()
}

impl Steps {
    /// Rewards of the steps with these scores.
    #[must_use]
    pub fn apply(&self, scores: &[f64]) -> Vec<f64> {
        match self {
            Self::Delta(of) => delta_steps(scores, of.alpha),
            Self::Clip(of) => clip_steps(scores, of.alpha, of.eta),
        }
    }
}

impl Section for Steps {
    fn check(&self) -> ValidationResult {
        match self {
            Self::Delta(of) => validate::check_range("delta/alpha", of.alpha, 0.0, 1.0),
            Self::Clip(of) => validate::check_range("clip/alpha", of.alpha, 0.0, 1.0)
                .and_then(|()| validate::check_range("clip/eta", of.eta, 0.0, 1.0)),
        }
    }

    fn explain(&self) -> Vec<Line> {
        let meaning = "rewards of steps, in addition to the reward";
        match self {
            Self::Delta(of) => {
                let formula = format!(
                    "r_k = {} (s_k - s_(k+1)), the last but one {} s_k, the last 0",
                    of.alpha, of.alpha
                );
                vec![Line::new("delta", "delta", formula, meaning)]
            }
            Self::Clip(of) => {
                let formula = format!("r_k = {} min(s_k - {}, 0)", of.alpha, of.eta);
                vec![Line::new("clip", "clip", formula, meaning)]
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_close(found: &[f64], expected: &[f64]) {
        assert!(
            found.len() == expected.len()
                && found
                    .iter()
                    .zip(expected)
                    .all(|(a, b)| (a - b).abs() < 1e-12),
            "{found:?}"
        );
    }

    #[test]
    fn delta_steps_telescope() {
        // 0.9 - 0.4, 0.4 - 0.7, 0.7, 0
        assert_close(
            &delta_steps(&[0.9, 0.4, 0.7, 0.2], 1.0),
            &[0.5, -0.3, 0.7, 0.0],
        );
        let half = delta_steps(&[0.9, 0.4, 0.7, 0.2], 0.5);
        assert!(
            (half.iter().sum::<f64>() - 0.45).abs() < 1e-12,
            "the return of the first step is alpha PRM_1"
        );
        assert_close(&delta_steps(&[0.9], 1.0), &[0.0]);
        assert_close(&delta_steps(&[], 1.0), &[]);
    }

    #[test]
    fn clip_steps_are_never_positive() {
        assert_close(&clip_steps(&[0.9, 0.4], 0.5, 0.5), &[0.0, -0.05]);
        assert_close(&clip_steps(&[f64::NAN], 0.5, 0.5), &[0.0]);
    }
}

//! Penalties and factors by length in tokens. Penalties are bounded and applied last; factors apply
//! to right answers only.

use serde::{Deserialize, Serialize};

use super::line::{Line, rounded};
use super::section::{RequiredInputs, Section, as_f64};
use super::shape::{ramp, sigmoid};
use super::validate;
use super::validate::{PolicyError, ValidationResult};
use crate::format::format_number;

/// The `length` section. Its functions can be combined.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Length {
    /// [`soft_overlong`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub soft_overlong: Option<SoftOverlong>,
    /// [`beyond`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beyond: Option<Beyond>,
    /// [`grpo_lambda`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grpo_lambda: Option<GrpoLambda>,
    /// [`recomposition`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rorecomp: Option<RoRecomp>,
}

/// Settings of [`soft_overlong`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SoftOverlong {
    /// Limit in tokens, above 0.
    pub max: f64,
    /// Number of tokens before the limit over which the penalty increases, above 0, at most `max`.
    pub buffer: f64,
    /// Penalty at the limit, in (0, 1].
    #[serde(default = "one")]
    pub factor: f64,
}

/// Settings of [`beyond`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Beyond {
    /// Number of tokens without a penalty, at least 0.
    pub threshold: f64,
    /// Number of tokens with the full penalty, above `threshold`.
    pub max: f64,
    /// Full penalty, in (0, 1].
    #[serde(default = "one")]
    pub weight: f64,
}

/// Settings of [`grpo_lambda`]: exactly one of `accuracy` and `share`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GrpoLambda {
    /// Maximum reduction of a right answer, in \[0, 1\].
    #[serde(default = "lambda_alpha")]
    pub alpha: f64,
    /// Applies to groups with at least this share of right answers, in \[0, 1\].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accuracy: Option<f64>,
    /// Applies to this share of the batch's groups, in (0, 1], those with the most right answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
}

/// Settings of [`recomposition`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RoRecomp {
    /// Share of the right and of the wrong answers assigned to the priority batch, in (0, 1].
    #[serde(default = "half")]
    pub share: f64,
}

fn one() -> f64 {
    1.0
}

fn half() -> f64 {
    0.5
}

/// The value in the published code of GRPO-lambda (arXiv 2505.18086).
fn lambda_alpha() -> f64 {
    0.6
}

/// Soft overlong punishment (DAPO, arXiv 2503.14476, equation 13): min(-(L - (max - buffer)) /
/// buffer * factor, 0) for a length L in tokens, limited to -factor above `max`. In \[-factor, 0\].
#[must_use]
pub fn soft_overlong(tokens: f64, max: f64, buffer: f64, factor: f64) -> f64 {
    0.0 - ramp(tokens - (max - buffer), buffer) * factor
}

/// Length term of G-RA (arXiv 2508.10548): weight (threshold - L) / (max - threshold) for a length
/// L in tokens above `threshold`, else 0, limited to -weight above `max`. In \[-weight, 0\].
#[must_use]
pub fn beyond(tokens: f64, threshold: f64, max: f64, weight: f64) -> f64 {
    0.0 - ramp(tokens - threshold, max - threshold) * weight
}

/// Factor of a right answer in a group that is shortened (GRPO-lambda, arXiv 2505.18086): 1 - alpha
/// sigmoid((L - mean) / std), with the mean and population standard deviation of the lengths of the
/// group's right answers in tokens. 1 - alpha / 2 if those lengths are equal. In \[1 - alpha, 1\].
#[must_use]
pub fn grpo_lambda(tokens: f64, mean: f64, std: f64, alpha: f64) -> f64 {
    let z = if std > 0.0 {
        (tokens - mean) / std
    } else {
        0.0
    };
    1.0 - alpha * sigmoid(z)
}

/// Which groups of a batch GRPO-lambda shortens (arXiv 2505.18086): of the n groups with graded
/// members, the ceil(share n), at least one, with the highest accuracy, if it is above 0. Ties are
/// resolved by order. The accuracy of a group without graded members is `None`.
#[must_use]
pub fn top_groups(accuracies: &[Option<f64>], share: f64) -> Vec<bool> {
    let mut order: Vec<(usize, f64)> = accuracies
        .iter()
        .enumerate()
        .filter_map(|(at, accuracy)| Some((at, (*accuracy)?)))
        .collect();
    // A stable sort keeps ties in the order of the batch.
    order.sort_by(|a, b| b.1.total_cmp(&a.1));
    let mut top = vec![false; accuracies.len()];
    for (at, accuracy) in order.iter().take(ceil_share(order.len(), share)) {
        top[*at] = *accuracy > 0.0;
    }
    top
}

/// ceil(share n), at least 1, at most n.
fn ceil_share(n: usize, share: f64) -> usize {
    // The number is clamped to [1, n].
    if n == 0 {
        0
    } else {
        (as_f64(n) * share).ceil().clamp(1.0, as_f64(n)) as usize
    }
}

/// Tag of the batch to train on now.
pub const PRIORITY: &str = "priority";
/// Tag of the batch for the replay buffer.
pub const COMPENSATION: &str = "compensation";

/// Recomposition of batches (RoRecomp, arXiv 2509.25958): the shortest right and the longest wrong
/// answers are tagged `priority`, the others `compensation`. Of the n right answers, and of the n
/// wrong answers, ceil(share n) are priority; ties are resolved by order. `members` has (tokens,
/// right), or `None` for members without a reward and members that are neither right nor wrong,
/// which get no tag.
#[must_use]
pub fn recomposition(members: &[Option<(f64, bool)>], share: f64) -> Vec<Option<&'static str>> {
    let mut tags: Vec<_> = members
        .iter()
        .map(|member| member.map(|_| COMPENSATION))
        .collect();
    for kind in [true, false] {
        let mut order: Vec<(usize, f64)> = members
            .iter()
            .enumerate()
            .filter_map(|(at, member)| {
                member
                    .filter(|(_, right)| *right == kind)
                    .map(|(tokens, _)| (at, tokens))
            })
            .collect();
        order.sort_by(|a, b| {
            if kind {
                a.1.total_cmp(&b.1)
            } else {
                b.1.total_cmp(&a.1)
            }
        });
        for (at, _) in order.iter().take(ceil_share(order.len(), share)) {
            tags[*at] = Some(PRIORITY);
        }
    }
    tags
}

impl Section for Length {
    fn check(&self) -> ValidationResult {
        let any = self.soft_overlong.is_some()
            || self.beyond.is_some()
            || self.grpo_lambda.is_some()
            || self.rorecomp.is_some();
        validate::check_not_empty(any, "`soft_overlong`, `beyond`, `grpo_lambda`, `rorecomp`")?;
        if let Some(of) = &self.soft_overlong {
            validate::check_positive("soft_overlong/max", of.max)?;
            validate::check_positive("soft_overlong/buffer", of.buffer)?;
            if of.buffer > of.max {
                let message = format!(
                    "`buffer` {} must be at most `max` {}",
                    format_number(of.buffer),
                    format_number(of.max)
                );
                return Err(PolicyError::at("soft_overlong/buffer", message));
            }
            validate::check_positive("soft_overlong/factor", of.factor)?;
            validate::check_range("soft_overlong/factor", of.factor, 0.0, 1.0)?;
        }
        if let Some(of) = &self.beyond {
            validate::check_positive("beyond/max", of.max)?;
            validate::check_range("beyond/threshold", of.threshold, 0.0, f64::MAX)?;
            if of.threshold >= of.max {
                let message = format!(
                    "`threshold` {} must be below `max` {}",
                    format_number(of.threshold),
                    format_number(of.max)
                );
                return Err(PolicyError::at("beyond/threshold", message));
            }
            validate::check_positive("beyond/weight", of.weight)?;
            validate::check_range("beyond/weight", of.weight, 0.0, 1.0)?;
        }
        if let Some(of) = &self.grpo_lambda {
            validate::check_range("grpo_lambda/alpha", of.alpha, 0.0, 1.0)?;
            match (of.accuracy, of.share) {
                (Some(accuracy), None) => {
                    validate::check_range("grpo_lambda/accuracy", accuracy, 0.0, 1.0)?;
                }
                (None, Some(share)) => {
                    validate::check_positive("grpo_lambda/share", share)?;
                    validate::check_range("grpo_lambda/share", share, 0.0, 1.0)?;
                }
                (None, None) | (Some(_), Some(_)) => {
                    let message = "set either `accuracy` (minimum of a group) or `share` (of the \
                                   batch's groups)";
                    return Err(PolicyError::at("grpo_lambda", message));
                }
            }
        }
        if let Some(of) = &self.rorecomp {
            validate::check_positive("rorecomp/share", of.share)?;
            validate::check_range("rorecomp/share", of.share, 0.0, 1.0)?;
        }
        Ok(())
    }

    fn required_inputs<'p>(&'p self, inputs: &mut RequiredInputs<'p>) {
        inputs.tokens = true;
    }

    fn explain(&self) -> Vec<Line> {
        let overlong = self.soft_overlong.as_ref().map(|of| {
            let SoftOverlong {
                max,
                buffer,
                factor,
            } = of;
            let formula = format!(
                "R - {factor} min(max((L - {}) / {buffer}, 0), 1)",
                rounded(max - buffer)
            );
            Line::new(
                "soft_overlong",
                "soft_overlong",
                formula,
                "penalty that increases over the last tokens before the limit",
            )
        });
        let beyond = self.beyond.as_ref().map(|of| {
            let Beyond {
                threshold,
                max,
                weight,
            } = of;
            let formula = format!(
                "R - {weight} min(max((L - {threshold}) / {}, 0), 1)",
                rounded(max - threshold)
            );
            Line::new(
                "beyond",
                "beyond",
                formula,
                "penalty that increases from the threshold",
            )
        });
        let lambda = self.grpo_lambda.as_ref().map(|of| {
            let formula = format!(
                "W + (R - W) (1 - {} sigmoid((L - mean) / std)) if right",
                of.alpha
            );
            let groups = of.share.map_or_else(
                || {
                    format!(
                        "groups with an accuracy of at least {}",
                        of.accuracy.unwrap_or_default()
                    )
                },
                |share| format!("the {share} of the batch's groups with the highest accuracy"),
            );
            let meaning = format!("in {groups}, longer right answers get less");
            Line::new("grpo_lambda", "grpo_lambda", formula, meaning)
        });
        let tags = self.rorecomp.as_ref().map(|of| {
            let formula = format!(
                "priority: the shortest {} of the right and the longest {} of the wrong answers",
                of.share, of.share
            );
            Line::new(
                "rorecomp",
                "rorecomp",
                formula,
                "tags each item with the batch to train it in; rewards are unchanged",
            )
        });
        [overlong, beyond, lambda, tags]
            .into_iter()
            .flatten()
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_close(found: f64, expected: f64) {
        assert!(
            (found - expected).abs() < 1e-12,
            "{found} is not {expected}"
        );
    }

    #[test]
    fn soft_overlong_increases_over_the_buffer() {
        assert_close(soft_overlong(12_288.0, 16_384.0, 4_096.0, 1.0), 0.0);
        // -(14336 - 12288) / 4096
        assert_close(soft_overlong(14_336.0, 16_384.0, 4_096.0, 1.0), -0.5);
        assert_close(soft_overlong(14_336.0, 16_384.0, 4_096.0, 0.2), -0.1);
        assert_close(soft_overlong(1e12, 16_384.0, 4_096.0, 1.0), -1.0);
        assert_eq!(soft_overlong(1.0, 16_384.0, 4_096.0, 1.0).to_string(), "0");
    }

    #[test]
    fn beyond_increases_from_the_threshold() {
        assert_close(beyond(100.0, 100.0, 300.0, 1.0), 0.0);
        // (100 - 150) / 200
        assert_close(beyond(150.0, 100.0, 300.0, 1.0), -0.25);
        assert_close(beyond(900.0, 100.0, 300.0, 0.5), -0.5);
    }

    #[test]
    fn grpo_lambda_reduces_longer_answers() {
        // python: 1 - .6 / (1 + math.exp(-(300 - 200) / 100))
        assert_close(grpo_lambda(300.0, 200.0, 100.0, 0.6), 0.561_364_852_821_997);
        assert_close(grpo_lambda(200.0, 200.0, 0.0, 0.6), 0.7);
    }

    #[test]
    fn shortens_the_groups_with_the_highest_accuracy() {
        let accuracies = [Some(0.5), None, Some(1.0), Some(0.5), Some(0.0)];
        // ceil(0.3 * 4) = 2
        assert_eq!(
            top_groups(&accuracies, 0.3),
            [true, false, true, false, false]
        );
        assert_eq!(top_groups(&[Some(0.0)], 0.2), [false]);
        assert_eq!(top_groups(&[], 0.2), [false; 0]);
    }

    #[test]
    fn short_right_and_long_wrong_answers_are_priority() {
        let members = [
            Some((10.0, true)),
            Some((30.0, true)),
            None,
            Some((10.0, false)),
            Some((30.0, false)),
            Some((20.0, false)),
        ];
        let (p, c) = (Some(PRIORITY), Some(COMPENSATION));
        // ceil(0.5 * 2) = 1 right, ceil(0.5 * 3) = 2 wrong
        assert_eq!(recomposition(&members, 0.5), [p, c, None, c, p, p]);
    }
}

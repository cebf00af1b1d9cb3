//! What length costs, in tokens. Penalties are bounded and come last; factors act on right answers
//! only. Repetition is not length: `repetition.rs`.

use serde::{Deserialize, Serialize};

use super::explain::{Line, tidy};
use super::read::{self, Checked, PolicyError};
use super::shape::{ramp, sigmoid};
use super::{Needs, Section, as_f64};

/// What length costs. The functions may be used together.
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
    /// The hard limit in tokens, above 0.
    pub max: f64,
    /// Tokens before the limit over which the penalty grows, above 0, at most `max`.
    pub buffer: f64,
    /// The penalty at the limit, in (0, 1].
    #[serde(default = "one")]
    pub factor: f64,
}

/// Settings of [`beyond`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Beyond {
    /// Tokens that cost nothing.
    pub threshold: f64,
    /// Tokens at which the penalty is full; above `threshold`.
    pub max: f64,
    /// The full penalty, in (0, 1].
    #[serde(default = "one")]
    pub weight: f64,
}

/// Settings of [`grpo_lambda`]: exactly one of `accuracy` and `share`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GrpoLambda {
    /// The most that length can cost a right answer, in \[0, 1\].
    #[serde(default = "lambda_alpha")]
    pub alpha: f64,
    /// Length counts in groups whose share of right answers is at least this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accuracy: Option<f64>,
    /// Length counts in this share of the batch's groups, those with the most right answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
}

/// Settings of [`recomposition`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RoRecomp {
    /// Share of the right and of the wrong answers that go to the priority batch, in (0, 1].
    #[serde(default = "half")]
    pub share: f64,
}

fn one() -> f64 {
    1.0
}

fn half() -> f64 {
    0.5
}

/// The value in the code that was read beside the paper (arXiv 2505.18086).
fn lambda_alpha() -> f64 {
    0.6
}

/// Soft overlong punishment (DAPO, arXiv 2503.14476, equation 13): min(-(L - (max - buffer)) /
/// buffer * factor, 0), in tokens, held at -factor beyond `max`. 0 up to max - buffer. In
/// \[-factor, 0\].
#[must_use]
pub fn soft_overlong(tokens: f64, max: f64, buffer: f64, factor: f64) -> f64 {
    0.0 - ramp(tokens - (max - buffer), buffer) * factor
}

/// Length term of G-RA (arXiv 2508.10548): (threshold - L) / (max - threshold) for L > threshold,
/// else 0, times `weight`, held at -weight beyond `max`. In \[-weight, 0\].
#[must_use]
pub fn beyond(tokens: f64, threshold: f64, max: f64, weight: f64) -> f64 {
    0.0 - ramp(tokens - threshold, max - threshold) * weight
}

/// Factor of a right answer in a group where length counts (GRPO-lambda, arXiv 2505.18086): 1 -
/// alpha sigmoid((L - mean) / std), mean and population std of the lengths of the group's right
/// answers. Where those are all equal, 1 - alpha / 2. In \[1 - alpha, 1\].
#[must_use]
pub fn grpo_lambda(tokens: f64, mean: f64, std: f64, alpha: f64) -> f64 {
    let z = if std > 0.0 {
        (tokens - mean) / std
    } else {
        0.0
    };
    1.0 - alpha * sigmoid(z)
}

/// Which groups of a batch GRPO-lambda shortens (arXiv 2505.18086): the ceil(share n) with the
/// highest accuracy, at least one, of those that have a right answer; of equals the first. `None`
/// stands for a group without graded members, which is not counted.
#[must_use]
pub fn top_groups(accuracies: &[Option<f64>], share: f64) -> Vec<bool> {
    let mut order: Vec<(usize, f64)> = accuracies
        .iter()
        .enumerate()
        .filter_map(|(at, accuracy)| Some((at, (*accuracy)?)))
        .collect();
    // A stable sort leaves equals in the order of the batch.
    order.sort_by(|a, b| b.1.total_cmp(&a.1));
    let mut top = vec![false; accuracies.len()];
    for (at, accuracy) in order.iter().take(ceil_share(order.len(), share)) {
        top[*at] = *accuracy > 0.0;
    }
    top
}

/// ceil(share n), at least 1, at most n.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the number is in [1, n] before it is cast"
)]
fn ceil_share(n: usize, share: f64) -> usize {
    if n == 0 {
        0
    } else {
        (as_f64(n) * share).ceil().clamp(1.0, as_f64(n)) as usize
    }
}

/// The tag of the batch to train on now.
pub const PRIORITY: &str = "priority";
/// The tag of the batch for the replay buffer.
pub const COMPENSATION: &str = "compensation";

/// Recomposition of batches (RoRecomp, arXiv 2509.25958): the shortest right and the longest wrong
/// answers are `priority`, the rest `compensation`. Of either kind ceil(share n) are priority; of
/// equals the first. `members` holds (tokens, right), `None` for members that have no reward or are
/// neither right nor wrong, which get no tag.
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
    fn check(&self) -> Checked {
        let any = self.soft_overlong.is_some()
            || self.beyond.is_some()
            || self.grpo_lambda.is_some()
            || self.rorecomp.is_some();
        read::some_function(any, "`soft_overlong`, `beyond`, `grpo_lambda`, `rorecomp`")?;
        if let Some(of) = &self.soft_overlong {
            read::positive("soft_overlong/max", of.max)?;
            read::positive("soft_overlong/buffer", of.buffer)?;
            if of.buffer > of.max {
                let message = format!(
                    "the buffer of {} is longer than max {}; make it shorter",
                    read::number(of.buffer),
                    read::number(of.max)
                );
                return Err(PolicyError::at("soft_overlong/buffer", message));
            }
            read::positive("soft_overlong/factor", of.factor)?;
            read::within("soft_overlong/factor", of.factor, 0.0, 1.0)?;
        }
        if let Some(of) = &self.beyond {
            read::positive("beyond/max", of.max)?;
            read::within("beyond/threshold", of.threshold, 0.0, f64::MAX)?;
            if of.threshold >= of.max {
                let message = format!(
                    "threshold {} is not below max {}; exchange them",
                    read::number(of.threshold),
                    read::number(of.max)
                );
                return Err(PolicyError::at("beyond/threshold", message));
            }
            read::positive("beyond/weight", of.weight)?;
            read::within("beyond/weight", of.weight, 0.0, 1.0)?;
        }
        if let Some(of) = &self.grpo_lambda {
            read::within("grpo_lambda/alpha", of.alpha, 0.0, 1.0)?;
            match (of.accuracy, of.share) {
                (Some(accuracy), None) => read::within("grpo_lambda/accuracy", accuracy, 0.0, 1.0)?,
                (None, Some(share)) => {
                    read::positive("grpo_lambda/share", share)?;
                    read::within("grpo_lambda/share", share, 0.0, 1.0)?;
                }
                (None, None) | (Some(_), Some(_)) => {
                    let message = "say in which groups length counts: either `accuracy` (a bound) \
                                   or `share` (of the batch's groups)";
                    return Err(PolicyError::at("grpo_lambda", message));
                }
            }
        }
        if let Some(of) = &self.rorecomp {
            read::positive("rorecomp/share", of.share)?;
            read::within("rorecomp/share", of.share, 0.0, 1.0)?;
        }
        Ok(())
    }

    fn needs<'p>(&'p self, needs: &mut Needs<'p>) {
        needs.tokens = true;
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
                tidy(max - buffer)
            );
            Line::new(
                "soft_overlong",
                "soft_overlong",
                formula,
                "tokens near the limit cost more and more",
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
                tidy(max - threshold)
            );
            Line::new(
                "beyond",
                "beyond",
                formula,
                "tokens beyond the threshold cost more and more",
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
                        "groups with at least {} right",
                        of.accuracy.unwrap_or_default()
                    )
                },
                |share| format!("the best {share} of the batch's groups"),
            );
            let meaning =
                format!("in {groups}, right answers that are longer than their peers get less");
            Line::new("grpo_lambda", "grpo_lambda", formula, meaning)
        });
        let tags = self.rorecomp.as_ref().map(|of| {
            let formula = format!(
                "priority: shortest {} of the right, longest {} of the wrong",
                of.share, of.share
            );
            Line::new(
                "rorecomp",
                "rorecomp",
                formula,
                "no reward changes; the reply says which batch an item belongs to",
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

    fn near(found: f64, expected: f64) {
        assert!(
            (found - expected).abs() < 1e-12,
            "{found} is not {expected}"
        );
    }

    #[test]
    fn overlong_answers_lose_over_the_buffer() {
        near(soft_overlong(12_288.0, 16_384.0, 4_096.0, 1.0), 0.0);
        // -(14336 - 12288) / 4096
        near(soft_overlong(14_336.0, 16_384.0, 4_096.0, 1.0), -0.5);
        near(soft_overlong(14_336.0, 16_384.0, 4_096.0, 0.2), -0.1);
        near(soft_overlong(1e12, 16_384.0, 4_096.0, 1.0), -1.0);
        assert_eq!(soft_overlong(1.0, 16_384.0, 4_096.0, 1.0).to_string(), "0");
    }

    #[test]
    fn tokens_beyond_the_threshold_cost() {
        near(beyond(100.0, 100.0, 300.0, 1.0), 0.0);
        // (100 - 150) / 200
        near(beyond(150.0, 100.0, 300.0, 1.0), -0.25);
        near(beyond(900.0, 100.0, 300.0, 0.5), -0.5);
    }

    #[test]
    fn the_longer_of_right_answers_get_less() {
        // python: 1 - .6 / (1 + math.exp(-(300 - 200) / 100))
        near(grpo_lambda(300.0, 200.0, 100.0, 0.6), 0.561_364_852_821_997);
        near(grpo_lambda(200.0, 200.0, 0.0, 0.6), 0.7);
    }

    #[test]
    fn the_best_groups_are_shortened() {
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
    fn short_right_and_long_wrong_answers_come_first() {
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

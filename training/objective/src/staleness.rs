//! What follows from how much a stale batch is still worth (VCPO, arXiv 2602.17616). The worth
//! itself is [`effective`].

use assay_correction::group::effective;

/// Factor on the learning rate: the root of the effective share of the batch over the share of a
/// run on policy, at most 1. `ratios` are the importance ratios of whole completions, `None` for
/// masked ones; `base` is in (0, 1\].
///
/// 1 where the ratios have no worth that could be computed, as without any.
#[must_use]
pub fn learning_rate_scale(ratios: &[Option<f64>], base: f64) -> f64 {
    let share = effective(ratios).map(|effective| effective.share / base);
    share
        .filter(|share| share.is_finite() && *share >= 0.0)
        .map_or(1.0, |share| share.sqrt().min(1.0))
}

/// One completion of a group, as the baseline sees it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Weighed {
    /// Its reward.
    pub reward: f64,
    /// Importance ratio of the whole completion.
    pub ratio: f64,
    /// Norm of the gradient of its log-probability.
    pub gradient_norm: f64,
}

/// The baseline of least variance off policy, sum of w^2 g^2 R over sum of w^2 g^2; `None` where
/// the weights vanish or leave the range of numbers.
#[must_use]
pub fn optimal_baseline(group: &[Weighed]) -> Option<f64> {
    let (mut sum, mut weights) = (0.0, 0.0);
    for one in group {
        let weight = (one.ratio * one.gradient_norm).powi(2);
        sum += weight * one.reward;
        weights += weight;
    }
    Some(sum / weights).filter(|baseline| weights > 0.0 && baseline.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stale_batches_are_learned_from_more_slowly() {
        // Shares 1 and (1 + 3)^2 / (1 + 9) / 2 = 0.8; sqrt(0.8 / 1) = 0.894427.
        assert!((learning_rate_scale(&[Some(2.0), Some(2.0)], 1.0) - 1.0).abs() < 1e-12);
        assert!((learning_rate_scale(&[Some(1.0), None, Some(3.0)], 1.0) - 0.894_427).abs() < 1e-6);
        // Never faster than on policy.
        assert!((learning_rate_scale(&[Some(1.0)], 0.5) - 1.0).abs() < 1e-12);
        assert!((learning_rate_scale(&[], 1.0) - 1.0).abs() < 1e-12);
        assert!((learning_rate_scale(&[Some(1.0)], 0.0) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn the_baseline_leans_to_heavy_completions() {
        let one = |reward, ratio, gradient_norm| Weighed {
            reward,
            ratio,
            gradient_norm,
        };
        // (1 * 1 * 1 + 4 * 4 * 0) / (1 + 16) = 1 / 17.
        let baseline = optimal_baseline(&[one(1.0, 1.0, 1.0), one(0.0, 2.0, 2.0)]);
        assert!((baseline.unwrap() - 1.0 / 17.0).abs() < 1e-12);
        assert_eq!(optimal_baseline(&[]), None);
        assert_eq!(optimal_baseline(&[one(1.0, 0.0, 1.0)]), None);
        assert_eq!(optimal_baseline(&[one(1.0, 1e200, 1.0)]), None);
    }
}

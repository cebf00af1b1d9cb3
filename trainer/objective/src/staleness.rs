//! Adjustments for stale batches by their effective sample size (VCPO, arXiv 2602.17616), which
//! [`effective`] computes.

use assay_rewards::group::effective;

/// Factor on the learning rate: sqrt(effective share of the batch / `base`), at most 1. `ratios`
/// are the importance ratios of whole completions, `None` for masked ones. `base` is the share of
/// an on-policy run, in (0, 1\].
///
/// Returns 1 if no effective share can be computed, for example without ratios.
#[must_use]
pub fn learning_rate_scale(ratios: &[Option<f64>], base: f64) -> f64 {
    let share = effective(ratios).map(|effective| effective.share / base);
    share
        .filter(|share| share.is_finite() && *share >= 0.0)
        .map_or(1.0, |share| share.sqrt().min(1.0))
}

/// A completion with the inputs of [`optimal_baseline`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WeightedCompletion {
    /// Its reward.
    pub reward: f64,
    /// Importance ratio of the whole completion.
    pub ratio: f64,
    /// Norm of the gradient of its log-probability.
    pub gradient_norm: f64,
}

/// The off-policy baseline of minimal variance (VCPO, arXiv 2602.17616): sum of w^2 g^2 R / sum of
/// w^2 g^2, with ratio w, gradient norm g and reward R. `None` if all weights are 0 or one
/// overflows.
#[must_use]
pub fn optimal_baseline(group: &[WeightedCompletion]) -> Option<f64> {
    let (mut sum, mut weights) = (0.0, 0.0);
    for completion in group {
        let weight = (completion.ratio * completion.gradient_norm).powi(2);
        sum += weight * completion.reward;
        weights += weight;
    }
    Some(sum / weights).filter(|baseline| weights > 0.0 && baseline.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reduces_learning_rate_for_stale_batches() {
        // Shares 1 and (1 + 3)^2 / (1 + 9) / 2 = 0.8; sqrt(0.8 / 1) = 0.894427.
        assert!((learning_rate_scale(&[Some(2.0), Some(2.0)], 1.0) - 1.0).abs() < 1e-12);
        assert!((learning_rate_scale(&[Some(1.0), None, Some(3.0)], 1.0) - 0.894_427).abs() < 1e-6);
        // The factor is at most 1.
        assert!((learning_rate_scale(&[Some(1.0)], 0.5) - 1.0).abs() < 1e-12);
        assert!((learning_rate_scale(&[], 1.0) - 1.0).abs() < 1e-12);
        assert!((learning_rate_scale(&[Some(1.0)], 0.0) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn weights_baseline_by_squared_ratio_and_gradient() {
        let completion = |reward, ratio, gradient_norm| WeightedCompletion {
            reward,
            ratio,
            gradient_norm,
        };
        // (1 * 1 * 1 + 4 * 4 * 0) / (1 + 16) = 1 / 17.
        let baseline = optimal_baseline(&[completion(1.0, 1.0, 1.0), completion(0.0, 2.0, 2.0)]);
        assert!((baseline.unwrap() - 1.0 / 17.0).abs() < 1e-12);
        assert_eq!(optimal_baseline(&[]), None);
        assert_eq!(optimal_baseline(&[completion(1.0, 0.0, 1.0)]), None);
        assert_eq!(optimal_baseline(&[completion(1.0, 1e200, 1.0)]), None);
    }
}

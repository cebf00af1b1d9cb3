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
}

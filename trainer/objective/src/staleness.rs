//! Adjustments for stale batches by their effective sample size (VCPO, arXiv 2602.17616), which
//! [`effective`] computes.

use assay_rewards::group::effective;

/// Factor on the learning rate: sqrt(effective share of the batch / `base`), at most 1.
/// `log_ratios` are the natural logarithms of the importance ratios of whole completions, `None`
/// for masked ones. `base` is the share of an on-policy run, in (0, 1\].
///
/// The effective share does not change if all ratios are multiplied by a number, so they are
/// divided by the largest: ratios of long completions overflow, just when a batch is most stale.
///
/// Returns 1 if no effective share can be computed, for example without ratios.
#[must_use]
pub fn learning_rate_scale(log_ratios: &[Option<f64>], base: f64) -> f64 {
    let largest = log_ratios.iter().flatten().copied().reduce(f64::max);
    let ratios: Vec<Option<f64>> = log_ratios
        .iter()
        .map(|ratio| Some((ratio.as_ref()? - largest?).exp()))
        .collect();
    let share = effective(&ratios).map(|effective| effective.share / base);
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
        let [one, three] = [1.0f64, 3.0].map(f64::ln);
        assert!((learning_rate_scale(&[Some(2.0), Some(2.0)], 1.0) - 1.0).abs() < 1e-12);
        let uneven = [Some(one), None, Some(three)];
        assert!((learning_rate_scale(&uneven, 1.0) - 0.894_427).abs() < 1e-6);
        // The factor is at most 1.
        assert!((learning_rate_scale(&[Some(one)], 0.5) - 1.0).abs() < 1e-12);
        assert!((learning_rate_scale(&[], 1.0) - 1.0).abs() < 1e-12);
        assert!((learning_rate_scale(&[Some(one)], 0.0) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn ratios_that_overflow_reduce_it_too() {
        // One of four completions has all the weight: a share of 1/4.
        for far in [1e3, 1e5] {
            let ratios = [Some(far), Some(0.0), Some(-far), Some(far / 2.0)];
            assert!((learning_rate_scale(&ratios, 1.0) - 0.5).abs() < 1e-12);
        }
    }
}

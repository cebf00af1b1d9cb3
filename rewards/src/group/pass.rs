//! Pass rates of a group: the observed share, the share of right answers it implies, and pass@k.

use serde::Serialize;

use super::member::as_f64;
use crate::Rates;
use crate::interval::{Estimate, SHARES, wilson};

/// Observed pass rate of a group, and the share of right answers it implies.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PassRate {
    /// Share of the members with a verdict that passed, in \[0, 1\], with its Wilson interval.
    pub observed: Estimate,
    /// Share of right answers p = (q - rho0) / J (Rogan and Gladen 1978, doi
    /// 10.1093/oxfordjournals.aje.a112510), applied to the observed share q and to the bounds of
    /// its interval, each clamped to \[0, 1\]. `None` without rates or unless J > 0.
    ///
    /// The interval treats the rates as exact, although they are estimates.
    pub corrected: Option<Estimate>,
}

/// Pass rate of `passes` of `judged` verdicts; `None` without verdicts, or if there are more passes
/// than verdicts.
#[must_use]
pub fn pass_rate(judged: u32, passes: u32, rates: Option<Rates>) -> Option<PassRate> {
    let observed = wilson(f64::from(passes), f64::from(judged))?;
    let corrected = rates.filter(|rates| rates.j() > 0.0).map(|rates| {
        // The map is increasing, so bounds map to bounds.
        Estimate::combine([observed], SHARES, |[q]| (q - rates.rho0) / rates.j())
    });
    Some(PassRate {
        observed,
        corrected,
    })
}

/// pass@k: unbiased estimate, in \[0, 1\], of the probability that at least one of `k` completions
/// passes, 1 - C(n - passes, k) / C(n, k) (Chen et al. 2021, arXiv 2107.03374, equation 1). It is
/// computed as a product to avoid overflow.
///
/// It estimates passing, which differs from being right if the verifier is noisy. `passes` is
/// limited to `n`; the result is 0 for n = 0.
#[must_use]
pub fn pass_at_k(n: usize, passes: usize, k: usize) -> f64 {
    if n == 0 {
        return 0.0;
    }
    let fails = n.saturating_sub(passes);
    if fails < k {
        return 1.0;
    }
    1.0 - (fails + 1..=n)
        .map(|i| 1.0 - as_f64(k) / as_f64(i))
        .product::<f64>()
}

/// The values of k reported for a group of `n`: powers of two below `n`, and `n`.
pub(crate) fn ks(n: usize) -> impl Iterator<Item = usize> {
    (0..usize::BITS)
        .map(|power| 1usize << power)
        .take_while(move |k| *k < n)
        .chain((n > 0).then_some(n))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn pass_at_k_agrees_with_counting_subsets() {
        // Of the C(5, 2) = 10 pairs of 5 completions with 2 passes, C(3, 2) = 3 contain no pass.
        assert!((pass_at_k(5, 2, 2) - 0.7).abs() < 1e-12);
        assert!((pass_at_k(8, 3, 1) - 0.375).abs() < 1e-12);
        assert_eq!(pass_at_k(4, 0, 4).to_string(), "0");
        assert_eq!(pass_at_k(4, 1, 4).to_string(), "1");
        assert_eq!(pass_at_k(0, 0, 1).to_string(), "0");
    }

    #[test]
    fn pass_at_k_is_reported_for_powers_of_two_and_the_whole_group() {
        let reported = |n| ks(n).collect::<Vec<_>>();
        assert!(reported(0).is_empty());
        assert_eq!(reported(1), [1]);
        assert_eq!(reported(4), [1, 2, 4]);
        assert_eq!(reported(6), [1, 2, 4, 6]);
    }

    #[test]
    fn corrects_the_pass_rate_and_its_interval() {
        // Wilson of 5 in 10 is 0.236593 to 0.763407. With (0.1, 0.2), J = 0.7: (0.5 - 0.1) / 0.7 =
        // 0.571429, (0.236593 - 0.1) / 0.7 = 0.195133, (0.763407 - 0.1) / 0.7 = 0.947724.
        let rate = pass_rate(10, 5, Rates::new(0.1, 0.2)).unwrap();
        let truth = rate.corrected.unwrap();
        assert!((truth.value - 0.571_429).abs() < 1e-6);
        assert!(
            (truth.interval.low - 0.195_133).abs() < 2e-6
                && (truth.interval.high - 0.947_724).abs() < 2e-6
        );
    }

    #[test]
    fn corrected_share_is_at_least_zero() {
        let truth = pass_rate(10, 0, Rates::new(0.3, 0.0))
            .unwrap()
            .corrected
            .unwrap();
        assert!(truth.value.abs() < 1e-15 && truth.interval.low.abs() < 1e-15);
    }

    #[test]
    fn corrected_share_needs_usable_rates() {
        assert_eq!(pass_rate(4, 2, None).unwrap().corrected, None);
        assert_eq!(
            pass_rate(4, 2, Rates::new(0.5, 0.5)).unwrap().corrected,
            None
        );
        assert_eq!(pass_rate(0, 0, None), None);
        assert_eq!(pass_rate(2, 3, None), None);
    }

    proptest! {
        #[test]
        fn pass_at_k_grows_with_k_and_with_passes(
            n in 1usize..40,
            passes in 0usize..40,
            k in 1usize..40,
        ) {
            let (passes, k) = (passes.min(n), k.min(n));
            let value = pass_at_k(n, passes, k);
            prop_assert!((0.0..=1.0).contains(&value));
            if k < n {
                prop_assert!(pass_at_k(n, passes, k + 1) >= value - 1e-12);
            }
            if passes < n {
                prop_assert!(pass_at_k(n, passes + 1, k) >= value - 1e-12);
            }
        }
    }
}

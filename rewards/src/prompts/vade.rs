//! Information gain of one more rollout of a prompt, under a belief with two discounts (after the
//! idea of VADE, arXiv 2511.18902). The exact decay and gain of the paper were not available, so
//! both formulas are own derivations.

use crate::Visit;

use super::Belief;
use crate::Rates;
use crate::group::{Grid, Prior};

/// Belief with two discounts `fast` and `slow`, both in \[0, 1\] (own derivation).
///
/// A slow belief, discounted by `slow`, estimates the long-term share of right answers. The
/// returned belief is discounted by `fast` and starts from a prior with the mean of the slow belief
/// and the strength alpha + beta of `prior`. The long-term share therefore persists, with the
/// weight of alpha + beta verdicts.
#[must_use]
pub fn two_scale(prior: Prior, fast: f64, slow: f64, visits: &[Visit], grid: &Grid) -> Belief {
    let long = Belief::after(prior, slow, visits).mean(grid);
    let strength = prior.alpha + prior.beta;
    Belief::after(
        Prior {
            alpha: strength * long,
            beta: strength * (1.0 - long),
        },
        fast,
        visits,
    )
}

/// Mutual information between a noisy verdict and the correctness of its answer, in bits, where a
/// share `p` of the answers is right: H(q) - (1 - p) H(rho0) - p H(rho1), H the binary entropy
/// (Shannon 1948; its use as the gain is an own choice).
///
/// In \[0, 1\]. It is H(p) for a clean verifier, and 0 if all or no answers are right.
#[must_use]
pub fn gain(p: f64, rates: Rates) -> f64 {
    let p = p.clamp(0.0, 1.0);
    (entropy(rates.q(p)) - (1.0 - p) * entropy(rates.rho0) - p * entropy(rates.rho1))
        .clamp(0.0, 1.0)
}

/// Binary entropy in bits.
fn entropy(p: f64) -> f64 {
    let part = |share: f64| {
        if share > 0.0 {
            -share * share.log2()
        } else {
            0.0
        }
    };
    part(p) + part(1.0 - p)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn visit(judged: u32, passes: u32) -> Visit {
        Visit {
            judged,
            passes,
            ..Visit::default()
        }
    }

    #[test]
    fn gain_of_a_clean_verifier_is_the_binary_entropy() {
        assert!((gain(0.5, Rates::CLEAN) - 1.0).abs() < 1e-12);
        // -(0.25 log2 0.25 + 0.75 log2 0.75) = 0.811278.
        assert!((gain(0.25, Rates::CLEAN) - 0.811_278).abs() < 1e-6);
        assert!(gain(0.0, Rates::CLEAN).abs() < 1e-12 && gain(1.0, Rates::CLEAN).abs() < 1e-12);
    }

    #[test]
    fn noise_reduces_the_gain() {
        // h=lambda p:-(p*math.log2(p)+(1-p)*math.log2(1-p)); h(.1+.7*.5)-.5*h(.1)-.5*h(.2) =
        // 0.397312
        assert!((gain(0.5, Rates::new(0.1, 0.2).unwrap()) - 0.397_312).abs() < 1e-6);
        assert!(gain(0.5, Rates::new(0.5, 0.5).unwrap()).abs() < 1e-12);
    }

    #[test]
    fn prior_of_the_fast_belief_has_the_mean_of_the_slow_one() {
        // 0 of 8 twice, then 4 of 8. Without slow discount: Beta(1 + 4, 1 + 20), mean 5/26. The
        // fast belief with d = 0 is the prior (2 * 5/26 = 0.384615, 2 * 21/26 = 1.615385) plus the
        // last visit.
        let grid = Grid::new(Rates::CLEAN).unwrap();
        let belief = two_scale(
            Prior::UNIFORM,
            0.0,
            1.0,
            &[visit(8, 0), visit(8, 0), visit(8, 4)],
            &grid,
        );
        assert!((belief.alpha - 4.384_615).abs() < 1e-6 && (belief.beta - 5.615_385).abs() < 1e-6);
        assert_eq!(
            two_scale(Prior::UNIFORM, 0.5, 0.9, &[], &grid),
            Belief::new(Prior::UNIFORM)
        );
    }

    proptest! {
        #[test]
        fn gain_is_at_most_that_of_a_clean_verifier(
            p in 0.0..1.0,
            rho0 in 0.0..1.0,
            rho1 in 0.0..1.0,
        ) {
            let noisy = gain(p, Rates { rho0, rho1 });
            prop_assert!(noisy <= gain(p, Rates::CLEAN) + 1e-9);
        }
    }
}

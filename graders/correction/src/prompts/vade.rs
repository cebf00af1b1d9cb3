//! What one more rollout would tell of a prompt, with a prior that learns (in the spirit of VADE,
//! arXiv 2511.18902). The paper's exact decay and gain were not to be had, so both formulas here
//! are our own.

use assay_core::Visit;

use super::Belief;
use crate::Rates;
use crate::group::{Grid, Prior};

/// Belief on two scales (own form): a slow belief, faded by `slow`, tells where the prompt has long
/// been; a fast one, faded by `fast`, starts from a prior of the same strength as `prior` whose
/// mean is that of the slow belief. What is known of a prompt thus outlives the fast fading, while
/// its weight stays that of alpha0 + beta0 verdicts.
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

/// Information one noisy verdict carries about whether its answer is right, in bits, when a share
/// `p` is right: H(q) - (1 - p) H(rho0) - p H(rho1), H the binary entropy (own choice: the mutual
/// information of the channel). H(p) for a clean channel; from 0 to 1, and 0 where all or none is
/// right.
#[must_use]
pub fn gain(p: f64, rates: Rates) -> f64 {
    let p = p.clamp(0.0, 1.0);
    (entropy(rates.q(p)) - (1.0 - p) * entropy(rates.rho0) - p * entropy(rates.rho1))
        .clamp(0.0, 1.0)
}

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
    fn a_verdict_of_an_even_prompt_says_most() {
        assert!((gain(0.5, Rates::CLEAN) - 1.0).abs() < 1e-12);
        // -(0.25 log2 0.25 + 0.75 log2 0.75) = 0.811278.
        assert!((gain(0.25, Rates::CLEAN) - 0.811_278).abs() < 1e-6);
        assert!(gain(0.0, Rates::CLEAN).abs() < 1e-12 && gain(1.0, Rates::CLEAN).abs() < 1e-12);
    }

    #[test]
    fn noise_takes_information_away() {
        // h=lambda p:-(p*math.log2(p)+(1-p)*math.log2(1-p)); h(.1+.7*.5)-.5*h(.1)-.5*h(.2) =
        // 0.397312
        assert!((gain(0.5, Rates::new(0.1, 0.2).unwrap()) - 0.397_312).abs() < 1e-6);
        assert!(gain(0.5, Rates::new(0.5, 0.5).unwrap()).abs() < 1e-12);
    }

    #[test]
    fn the_prior_learns_where_a_prompt_has_long_been() {
        // 0 of 8 twice, then 4 of 8; nothing fades slowly: Beta(1 + 4, 1 + 20), mean 5/26. The fast
        // belief with d = 0 holds the prior 2 * 5/26 = 0.384615 and 2 * 21/26 = 1.615385 plus the
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
        fn no_verdict_says_more_than_a_clean_one(p in 0.0..1.0, rho0 in 0.0..1.0, rho1 in 0.0..1.0) {
            let noisy = gain(p, Rates { rho0, rho1 });
            prop_assert!(noisy <= gain(p, Rates::CLEAN) + 1e-9);
        }
    }
}

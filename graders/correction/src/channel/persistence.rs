//! Does the same answer always get the same verdict? Noise that stays with an answer is learnt, and
//! no rate corrects for it.

use serde::Serialize;

use crate::Rates;
use crate::interval::{Estimate, SHARES, wilson};

use super::window::count;

/// What repeats of an answer say of the noise.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Persistence {
    /// Completions that stood in their batch before, with the same task.
    pub repeats: u64,
    /// Of those, given another verdict than the first time.
    pub flips: u64,
    /// Share of the noise that stays with the answer: 1 if repeats never differ, 0 if they differ
    /// as often as fresh noise would make them; `None` without repeats, or without noise.
    pub share: Option<Estimate>,
}

/// Compares how often repeats differ with how often they would if each verdict were noisy anew: 2
/// (p rho1 (1 - rho1) + (1 - p) rho0 (1 - rho0)), where a share `p` of the items is right (own
/// derivation).
#[must_use]
pub fn persistence(repeats: u64, flips: u64, noise: Option<(Rates, f64)>) -> Persistence {
    let expected = noise.map(|(Rates { rho0, rho1 }, p)| {
        2.0 * (p * rho1 * (1.0 - rho1) + (1.0 - p) * rho0 * (1.0 - rho0))
    });
    let share = expected
        .filter(|expected| *expected > 1e-6)
        .and_then(|expected| {
            let flipped = wilson(count(flips), count(repeats))?;
            Some(Estimate::combine([flipped], SHARES, |[flipped]| {
                1.0 - flipped / expected
            }))
        });
    Persistence {
        repeats,
        flips,
        share,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeats_that_differ_as_fresh_noise_would_are_fresh() {
        // 2 (0.5 * 0.2 * 0.8 + 0.5 * 0.1 * 0.9) = 0.25
        let noise = Some((Rates::new(0.1, 0.2).unwrap(), 0.5));
        let fresh = persistence(1_000, 250, noise).share.unwrap();
        assert!(fresh.value.abs() < 1e-12 && fresh.interval.high < 0.2);
        let half = persistence(1_000, 125, noise).share.unwrap();
        assert!((half.value - 0.5).abs() < 1e-12);
        let persistent = persistence(1_000, 0, noise).share.unwrap();
        assert!((persistent.value - 1.0).abs() < 1e-12 && persistent.interval.low > 0.95);
    }

    #[test]
    fn without_noise_or_repeats_there_is_nothing_to_say() {
        assert_eq!(persistence(100, 0, None).share, None);
        assert_eq!(persistence(100, 0, Some((Rates::CLEAN, 0.5))).share, None);
        assert_eq!(
            persistence(
                0,
                0,
                Some((
                    Rates {
                        rho0: 0.1,
                        rho1: 0.1
                    },
                    0.5
                ))
            )
            .share,
            None
        );
    }
}

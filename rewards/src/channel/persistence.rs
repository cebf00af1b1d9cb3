//! Persistence of noise: whether the same answer always gets the same verdict. The model can learn
//! an error that always occurs with the same answer, and correction by rates does not remove it.

use serde::Serialize;

use super::window::count;
use crate::Rates;
use crate::interval::{Estimate, SHARES, wilson};

/// Verdicts of repeated answers, and the share of the noise that is persistent.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Persistence {
    /// Completions that occurred earlier in their batch with the same task.
    pub repeats: u64,
    /// Repeats with another verdict than the first occurrence.
    pub flips: u64,
    /// Share of the noise that is persistent, in \[0, 1\]: 1 if the verdicts of repeats never
    /// differ, 0 if they differ as often as independent noise would make them. `None` without
    /// repeats, without known rates, or without noise.
    pub share: Option<Estimate>,
}

/// Share of persistent noise 1 - (flips / repeats) / d, clamped to \[0, 1\] (own derivation).
///
/// d = 2 (p rho1 (1 - rho1) + (1 - p) rho0 (1 - rho0)) is the expected share of differing verdicts
/// if the noise of each verdict were independent. `noise` has the rates and the share p of items
/// that are right.
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
    fn share_falls_with_the_frequency_of_flips() {
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
    fn share_is_none_without_noise_or_repeats() {
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

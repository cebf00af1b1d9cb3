//! Comparison of the rates of two channels, or of two versions of a grader on
//! one channel.

use super::report::{Rate, Report};
use crate::interval::{Estimate, Interval};

/// Differences `second` - `first` with 95 % intervals; `None` where either value is unknown.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Comparison<'a> {
    /// The first channel.
    pub first: &'a Report,
    /// The second channel.
    pub second: &'a Report,
    /// Difference of the false-positive rates, in \[-1, 1\].
    pub rho0: Option<Estimate>,
    /// Difference of the false-negative rates, in \[-1, 1\].
    pub rho1: Option<Estimate>,
    /// Difference of J, in \[-2, 2\].
    pub j: Option<Estimate>,
}

impl<'a> Comparison<'a> {
    /// Compares two channels whose checks are independent (MOVER, Zou and Donner 2008, doi
    /// 10.1002/sim.3095).
    #[must_use]
    pub fn new(first: &'a Report, second: &'a Report) -> Self {
        let rates = |of: fn(&Report) -> Option<Rate>| {
            difference(of(first)?.estimate, of(second)?.estimate, 1.0).into()
        };
        Self {
            first,
            second,
            rho0: rates(|report| report.rho0),
            rho1: rates(|report| report.rho1),
            j: first
                .j
                .zip(second.j)
                .map(|(first, second)| difference(first, second, 2.0)),
        }
    }
}

fn difference(first: Estimate, second: Estimate, limit: f64) -> Estimate {
    Estimate::combine(
        [first, second],
        Interval::new(-limit, limit),
        |[first, second]| second - first,
    )
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use crate::channel::counts::Calibration;
    use crate::channel::counts::ChannelCounts;

    use super::super::{Ledger, Settings};
    use super::*;

    fn calibrated(version: u32, right_rejected: f64) -> ChannelCounts {
        let channel = "math/a".to_owned();
        let method = "labels".to_owned();
        let known = Calibration {
            channel: channel.clone(),
            version,
            method,
            right: 100.0,
            right_rejected,
            wrong: 100.0,
            wrong_passed: 2.0,
            time_us: 0,
        };
        ChannelCounts {
            calibrations: BTreeMap::from([((channel, version), known)]),
            ..ChannelCounts::default()
        }
    }

    #[test]
    fn reports_the_difference_between_two_versions() {
        let mut counts = calibrated(1, 30.0);
        counts.add(calibrated(2, 10.0));
        let ledger = Ledger::new(counts, Settings::default());
        let (old, new) = (ledger.of("math/a", 1, None), ledger.of("math/a", 2, None));
        let comparison = Comparison::new(&old, &new);
        // Newcombe's interval of 10/100 - 30/100 from the Wilson intervals (0.0552, 0.1744) and
        // (0.2189, 0.3958): -0.2 - sqrt(0.0448^2 + 0.0958^2), -0.2 + sqrt(0.0744^2 + 0.0811^2).
        let rho1 = comparison.rho1.unwrap();
        assert!((rho1.value + 0.2).abs() < 1e-12);
        assert!(
            (rho1.interval.low + 0.3058).abs() < 5e-4 && (rho1.interval.high + 0.0899).abs() < 5e-4,
            "{rho1:?}"
        );
        assert!(comparison.rho0.unwrap().interval.contains(0.0));
    }
}

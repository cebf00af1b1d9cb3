//! Which channels may shape rewards: those whose passing verdicts are known to be right often
//! enough. Below that, a verdict is recorded and shown, and has no reward.

use serde::{Deserialize, Serialize};

use crate::appeal::covers;
use crate::channel::Report;

/// A rule of the section `trust`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trust {
    /// Channels to which the rule applies, such as `external/helpful` or `external/*`; empty for
    /// all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub channels: Vec<String>,
    /// Minimum probability, in (0, 1\], that a verdict that passes is right. The lower bound of its
    /// interval decides.
    pub precision: f64,
}

impl Trust {
    /// Whether the rule applies to this channel.
    #[must_use]
    pub fn covers(&self, channel: &str) -> bool {
        covers(&self.channels, channel)
    }

    /// Why the verdicts of a channel have no reward; `None` if they have one.
    #[must_use]
    pub fn refusal(&self, channel: &str, report: &Report) -> Option<String> {
        let required = self.precision;
        match report.precision_of_passes() {
            Some(precision) if precision.interval.low >= required => None,
            Some(precision) => Some(format!(
                "`{channel}` may not shape rewards: the lower bound of its precision is {:.3}, below \
                 the required {required}",
                precision.interval.low
            )),
            None => Some(format!(
                "`{channel}` may not shape rewards: its precision is unknown; \
                 calibrate the channel, or appeal negatives and audit positives"
            )),
        }
    }
}

/// The first rule that covers a channel decides.
#[must_use]
pub fn refusal(rules: &[Trust], channel: &str, report: &Report) -> Option<String> {
    let rule = rules.iter().find(|rule| rule.covers(channel))?;
    rule.refusal(channel, report)
}

#[cfg(test)]
mod tests {
    use assay_base::Random;

    use super::*;
    use crate::Rates;
    use crate::channel::{ChannelCounts, Ledger, Settings};
    use crate::interval::error_rate;

    fn rule(precision: f64) -> Vec<Trust> {
        vec![Trust {
            channels: vec!["external/*".to_owned()],
            precision,
        }]
    }

    #[test]
    fn unknown_channels_may_not_shape_rewards_and_others_are_not_concerned() {
        let report =
            Ledger::new(ChannelCounts::default(), Settings::default()).of("external/a", 1, None);
        let reason = refusal(&rule(0.5), "external/a", &report).unwrap();
        assert!(reason.contains("is unknown"), "{reason}");
        assert_eq!(refusal(&rule(0.5), "math/a", &report), None);
    }

    #[test]
    fn the_lower_bound_decides() {
        let mut report = Ledger::new(ChannelCounts::default(), Settings::default()).of(
            "external/a",
            1,
            Rates::new(0.1, 0.2),
        );
        (report.graded.negatives, report.graded.positives) = (5_500_000_000, 4_500_000_000);
        // (0.45 - 0.1) / 0.7 = 0.5 are right: 0.5 * 0.8 / (0.5 * 0.8 + 0.5 * 0.1) = 8 / 9
        let precision = report.precision_of_passes().unwrap();
        assert!((precision.value - 8.0 / 9.0).abs() < 1e-12);
        assert_eq!(refusal(&rule(0.88), "external/a", &report), None);
        assert!(
            refusal(&rule(0.9), "external/a", &report)
                .unwrap()
                .contains("0.889")
        );
        let mut rho0 = report.rho0.unwrap();
        rho0.estimate.interval.high = 0.4;
        report.rho0 = Some(rho0);
        // At the upper bound of rho0, (0.45 - 0.4) / 0.4 = 1/8 are right: 0.1 / (0.1 + 0.35) = 2/9
        assert!(
            refusal(&rule(0.88), "external/a", &report)
                .unwrap()
                .contains("0.222")
        );
    }
    #[test]
    fn without_checks_the_share_of_right_items_follows_from_the_passes() {
        let mut report = Ledger::new(ChannelCounts::default(), Settings::default()).of(
            "external/a",
            1,
            Rates::new(0.1, 0.2),
        );
        assert_eq!(report.precision_of_passes(), None);
        (report.graded.negatives, report.graded.positives) = (5_500, 4_500);
        // (0.45 - 0.1) / 0.7 = 0.5 are right, as above.
        let precision = report.precision_of_passes().unwrap();
        assert!((precision.value - 8.0 / 9.0).abs() < 1e-12);
        let interval = precision.interval;
        assert!(interval.low > 0.88 && interval.high < 0.9, "{precision:?}");
    }
    /// A judge that is calibrated on 200 right and 200 wrong answers, and grades 2,000 items.
    #[test]
    fn the_interval_of_the_precision_covers_it() {
        let (rho0, rho1) = (0.1, 0.2);
        for right in [0.1, 0.4, 0.8] {
            let passing: f64 = right * (1.0 - rho1) + (1.0 - right) * rho0;
            let precision = right * (1.0 - rho1) / passing;
            let mut random = Random::stream(&[8, (right * 10.0) as u64]);
            let (runs, mut covered, mut trusted) = (4_000, 0, 0);
            for _ in 0..runs {
                let mut report = Ledger::new(ChannelCounts::default(), Settings::default()).of(
                    "external/a",
                    1,
                    Rates::new(rho0, rho1),
                );
                let mut measured =
                    |rate: f64| error_rate(f64::from(random.count(200, rate)), 200.0).unwrap();
                let (mut rate0, mut rate1) = (report.rho0.unwrap(), report.rho1.unwrap());
                (rate0.estimate, rate1.estimate) = (measured(rho0), measured(rho1));
                (report.rho0, report.rho1) = (Some(rate0), Some(rate1));
                let passed = random.count(2_000, passing);
                report.graded.positives = passed.into();
                report.graded.negatives = (2_000 - passed).into();
                let interval = report.precision_of_passes().unwrap().interval;
                covered += u32::from(interval.contains(precision));
                // A channel that is just not precise enough must rarely be trusted.
                trusted += u32::from(interval.low > precision);
            }
            let share = |count: u32| f64::from(count) / f64::from(runs);
            assert!(share(covered) > 0.93, "{right}: {}", share(covered));
            assert!(share(trusted) < 0.037, "{right}: {}", share(trusted));
        }
    }
}

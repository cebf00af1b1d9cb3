//! Learning rate schedules: a linear warm-up, then decay to a floor.

use std::f64::consts::PI;

use serde::{Deserialize, Serialize};

use super::OptimiserError;

/// The learning rates of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Schedule {
    /// The highest rate, above 0 and at most 1. Default: 1e-6, which suits large models; small ones
    /// need more.
    pub learning_rate: f64,
    /// How the rate increases to the highest rate. Default: no warm-up.
    pub warmup: Warmup,
    /// How the rate decreases after the warm-up. Default: `constant`.
    pub decay: Decay,
    /// Share of the highest rate that remains at the end, between 0 and 1; requires a decay.
    /// Default: 0.
    pub floor: f64,
}

/// A linear warm-up: of `n` steps, the first has the share 1 / (n + 1) of the highest rate.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Warmup {
    /// Number of steps.
    Steps(u64),
    /// Share of all steps, between 0 and 1, rounded up.
    Share(f64),
}

/// How the rate decreases after the warm-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decay {
    /// Constant rate.
    Constant,
    /// Linear decrease.
    Linear,
    /// Half a cosine (Loshchilov and Hutter 2017, arXiv 1608.03983, equation 5, without restarts).
    Cosine,
}

impl Default for Schedule {
    fn default() -> Self {
        Self {
            learning_rate: 1e-6,
            warmup: Warmup::Steps(0),
            decay: Decay::Constant,
            floor: 0.0,
        }
    }
}

impl Schedule {
    /// Validates the ranges, and that a constant rate has no floor.
    ///
    /// # Errors
    ///
    /// The first setting that is out of range.
    pub fn check(&self) -> Result<(), OptimiserError> {
        let rate = self.learning_rate;
        if rate <= 0.0 || !(0.0..=1.0).contains(&rate) {
            return Err(OptimiserError::new(format!(
                "`learning_rate` is {rate}; it must be above 0 and at most 1"
            )));
        }
        if let Warmup::Share(share) = self.warmup
            && !(0.0..=1.0).contains(&share)
        {
            return Err(OptimiserError::new(format!(
                "`warmup.share` is {share}; it must be between 0 and 1"
            )));
        }
        if !(0.0..=1.0).contains(&self.floor) {
            return Err(OptimiserError::new(format!(
                "`floor` is {}; it must be between 0 and 1",
                self.floor
            )));
        }
        if self.decay == Decay::Constant && self.floor > 0.0 {
            return Err(OptimiserError::new(
                "`floor` has no effect with `decay = \"constant\"`; remove it",
            ));
        }
        Ok(())
    }

    /// Learning rate of the step with index `step`, from 0, in a run of `steps` steps. For later
    /// steps, the rate at the end of the run.
    #[must_use]
    pub fn at(&self, step: u64, steps: u64) -> f64 {
        let warmup = match self.warmup {
            Warmup::Steps(warmup) => warmup,
            Warmup::Share(share) => (share * steps as f64).ceil() as u64,
        };
        if step < warmup {
            return self.learning_rate * ((step + 1) as f64 / (warmup as f64 + 1.0));
        }
        let after = steps.saturating_sub(warmup).max(1);
        let progress = ((step - warmup) as f64 / after as f64).min(1.0);
        let left = match self.decay {
            Decay::Constant => return self.learning_rate,
            Decay::Linear => 1.0 - progress,
            Decay::Cosine => f64::midpoint(1.0, (PI * progress).cos()),
        };
        self.learning_rate * (self.floor + (1.0 - self.floor) * left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn schedule(warmup: Warmup, decay: Decay, floor: f64) -> Schedule {
        Schedule {
            learning_rate: 0.5,
            warmup,
            decay,
            floor,
        }
    }

    fn close(got: f64, expected: f64) -> bool {
        (got - expected).abs() < 1e-12
    }

    #[test]
    fn rate_increases_and_then_decays() {
        let linear = schedule(Warmup::Steps(4), Decay::Linear, 0.2);
        let rates: Vec<f64> = (0..16).map(|step| linear.at(step, 14)).collect();
        // Up by a fifth of 0.5 per step, then down to a fifth of 0.5 over ten steps.
        for (step, expected) in [
            (0, 0.1),
            (3, 0.4),
            (4, 0.5),
            (5, 0.46),
            (9, 0.3),
            (13, 0.14),
            (14, 0.1),
            (15, 0.1),
        ] {
            assert!(close(rates[step], expected), "step {step}: {}", rates[step]);
        }
        let cosine = schedule(Warmup::Steps(4), Decay::Cosine, 0.2);
        for (step, expected) in [(4, 0.5), (9, 0.3), (14, 0.1)] {
            assert!(close(cosine.at(step, 14), expected), "step {step}");
        }
        // A quarter of the way: 0.1 + 0.4 (1 + cos 45°) / 2.
        assert!(close(
            schedule(Warmup::Steps(0), Decay::Cosine, 0.2).at(1, 4),
            0.3 + 0.2 * 0.5f64.sqrt()
        ));
        assert!(close(
            schedule(Warmup::Share(0.25), Decay::Constant, 0.0).at(2, 10),
            0.375
        ));
    }

    #[test]
    fn fills_in_defaults_and_rejects_unknown_fields() {
        let read = |text: &str| serde_json::from_str::<Schedule>(text);
        let text = r#"{"learning_rate": 0.5, "warmup": {"share": 0.1}, "decay": "cosine"}"#;
        assert_eq!(
            read(text).unwrap(),
            schedule(Warmup::Share(0.1), Decay::Cosine, 0.0)
        );
        assert_eq!(read("{}").unwrap(), Schedule::default());
        assert!(read(r#"{"warmup_steps": 3}"#).is_err() && read(r#"{"decay": "wsd"}"#).is_err());
    }

    #[test]
    fn reports_settings_out_of_range() {
        schedule(Warmup::Steps(u64::MAX), Decay::Linear, 1.0)
            .check()
            .unwrap();
        let error = |schedule: Schedule| schedule.check().unwrap_err().to_string();
        assert!(error(schedule(Warmup::Share(1.5), Decay::Linear, 0.0)).contains("warmup.share"));
        assert!(error(schedule(Warmup::Steps(0), Decay::Linear, f64::NAN)).contains("floor"));
        assert!(error(schedule(Warmup::Steps(0), Decay::Constant, 0.1)).contains("constant"));
        for learning_rate in [0.0, -1.0, 1.1, f64::NAN] {
            assert!(
                error(Schedule {
                    learning_rate,
                    ..Schedule::default()
                })
                .contains("learning_rate")
            );
        }
    }

    proptest! {
        #[test]
        fn rate_stays_between_floor_and_highest_rate_after_warmup(
            warmup in 0u64..50, floor in 0.0..=1.0, step in 0u64..200, steps in 0u64..150,
            linear: bool,
        ) {
            let decay = if linear { Decay::Linear } else { Decay::Cosine };
            let schedule = schedule(Warmup::Steps(warmup), decay, floor);
            let rate = schedule.at(step, steps);
            prop_assert!((0.0..=0.5 + 1e-12).contains(&rate));
            prop_assert!(step < warmup || rate >= 0.5 * floor - 1e-12);
            prop_assert!(step < warmup || schedule.at(step + 1, steps) <= rate);
        }
    }
}

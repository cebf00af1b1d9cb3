//! Settings of a request for prompts, with defaults and limits. Prompts are selected in
//! [`choose`](super::choose).

use std::error::Error;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::Goal;
use crate::Rates;
use crate::group::Prior;

/// How prompts are valued.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Strategy {
    /// Closeness of the estimated share of right answers to the target or band ([`Goal`]; MoPPS).
    #[default]
    Mopps,
    /// Information gain of one more verdict under a belief with two discounts
    /// ([`vade`](super::vade)).
    Vade,
    /// Q of the prompt's category, drawn by softmax ([`bandit::sec`](super::bandit::sec)).
    Sec,
    /// Upper confidence bound of the prompt's category, drawn by softmax
    /// ([`bandit::dump`](super::bandit::dump)).
    Dump,
    /// p (1 - p) of prompts within the band; others are dropped ([`filter`](super::filter)).
    Filter,
}

impl Strategy {
    /// Every strategy, in the order of the documentation.
    pub const ALL: &'static [Self] =
        &[Self::Mopps, Self::Vade, Self::Sec, Self::Dump, Self::Filter];

    /// The name in requests.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Mopps => "mopps",
            Self::Vade => "vade",
            Self::Sec => "sec",
            Self::Dump => "dump",
            Self::Filter => "filter",
        }
    }

    /// The strategy of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .copied()
            .find(|strategy| strategy.name() == name)
    }
}

/// How rollouts are allocated to the chosen prompts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Allocation {
    /// Equal numbers; the remainder goes to the best prompts.
    #[default]
    Even,
    /// The greatest total value ([`knapsack`](super::knapsack)).
    Knapsack,
    /// More for prompts with a share of right answers below 1/2, equal treatment
    /// ([`dars`](super::dars)).
    Dars,
    /// More for prompts with a share of right answers below 1/2, weighted by hardness
    /// ([`dars`](super::dars)).
    DarsHw,
}

impl Allocation {
    /// Every allocation, in the order of the documentation.
    pub const ALL: &'static [Self] = &[Self::Even, Self::Knapsack, Self::Dars, Self::DarsHw];

    /// The name in requests.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Even => "even",
            Self::Knapsack => "knapsack",
            Self::Dars => "dars",
            Self::DarsHw => "dars_hw",
        }
    }

    /// The allocation of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .copied()
            .find(|allocation| allocation.name() == name)
    }
}

/// Maximum number of prompts in one request.
pub const MAX_PROMPTS: u32 = 100_000;

/// Maximum number of rollouts of one prompt. Allocations iterate over rollouts, so this limits the
/// work of a request.
pub const MAX_ROLLOUTS: u32 = 4_096;

/// Maximum budget: rollouts of all prompts of one request.
pub const MAX_BUDGET: u64 = 1_000_000;

/// Settings of [`suggest`](super::suggest). Every field has a default; unknown fields are errors.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Suggest {
    /// How prompts are valued; default `mopps`.
    pub strategy: Strategy,
    /// How rollouts are allocated; default `even`.
    pub allocation: Allocation,
    /// Number of prompts, from 1 to 100,000; default 32.
    pub count: u32,
    /// Rollouts per prompt where no budget is divided, from `min_rollouts` to `max_rollouts`;
    /// default 8.
    pub rollouts: u32,
    /// Minimum number of rollouts of a prompt, at least 1; default 2, because a single rollout has
    /// no baseline.
    pub min_rollouts: u32,
    /// Maximum number of rollouts of a prompt, at most 4,096; default 64.
    pub max_rollouts: u32,
    /// Total number of rollouts, from `min_rollouts` to 1,000,000; default `rollouts` per prompt.
    /// If it is below `min_rollouts` for `count` prompts, fewer prompts are suggested.
    pub budget: Option<u64>,
    /// Desired share of right answers, in \[0, 1\]; default 0.5.
    pub target: f64,
    /// Lower and upper bound of the desired share, in \[0, 1\], instead of `target`. The default of
    /// `filter` is 0.2 to 0.8.
    pub band: Option<[f64; 2]>,
    /// Rates of the channel, with J above 0; default a clean verifier.
    pub rates: Option<Rates>,
    /// Factor on the weight of a visit at each later visit, in \[0, 1\]; default 0.5.
    pub discount: f64,
    /// The slow discount of `vade`, in \[0, 1\]; default 0.9.
    pub slow_discount: f64,
    /// Beta distribution of the share of right answers of an unvisited prompt, each parameter from
    /// 0.01 to 1000; default `{"alpha": 1, "beta": 1}`.
    pub prior: Prior,
    /// Whether `mopps` and `vade` value a Thompson sample from the belief instead of its mean;
    /// default true.
    pub thompson: bool,
    /// Learning rate of Q of `sec`, in (0, 1\]; default 0.5.
    pub step_size: f64,
    /// Number of last visits of a category that `dump` averages, at least 1; default 32.
    pub window: u32,
    /// Temperature of the softmax of `sec` and `dump`, from 0.001 to 1000; default 0.1.
    pub temperature: f64,
    /// Share of `count` reserved for unvisited prompts, if there are any, in \[0, 1\]; default 0.1.
    pub unvisited: f64,
}

impl Default for Suggest {
    fn default() -> Self {
        Self {
            strategy: Strategy::default(),
            allocation: Allocation::default(),
            count: 32,
            rollouts: 8,
            min_rollouts: 2,
            max_rollouts: 64,
            budget: None,
            target: 0.5,
            band: None,
            rates: None,
            discount: 0.5,
            slow_discount: 0.9,
            prior: Prior::UNIFORM,
            thompson: true,
            step_size: 0.5,
            window: 32,
            temperature: 0.1,
            unvisited: 0.1,
        }
    }
}

/// A setting outside its limits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidSetting {
    /// Name of the field.
    pub field: &'static str,
    /// Constraint that the field must satisfy.
    pub must: &'static str,
}

impl fmt::Display for InvalidSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` must be {}", self.field, self.must)
    }
}

impl Error for InvalidSetting {}

impl Suggest {
    /// Validates every field.
    ///
    /// # Errors
    /// The first field outside its limits.
    pub fn check(&self) -> Result<(), InvalidSetting> {
        let share = |value: f64| (0.0..=1.0).contains(&value);
        let strength = |value: f64| (0.01..=1000.0).contains(&value);
        let require = |is_valid: bool, field, must| {
            if is_valid {
                Ok(())
            } else {
                Err(InvalidSetting { field, must })
            }
        };
        require(
            (1..=MAX_PROMPTS).contains(&self.count),
            "count",
            "from 1 to 100,000",
        )?;
        require(self.min_rollouts >= 1, "min_rollouts", "at least 1")?;
        require(
            (self.min_rollouts..=MAX_ROLLOUTS).contains(&self.max_rollouts),
            "max_rollouts",
            "from `min_rollouts` to 4,096",
        )?;
        require(
            (self.min_rollouts..=self.max_rollouts).contains(&self.rollouts),
            "rollouts",
            "from `min_rollouts` to `max_rollouts`",
        )?;
        let budgets = u64::from(self.min_rollouts)..=MAX_BUDGET;
        require(
            self.budget.is_none_or(|budget| budgets.contains(&budget)),
            "budget",
            "from `min_rollouts` to 1,000,000",
        )?;
        let all = u64::from(self.count) * u64::from(self.rollouts);
        let divided = self.allocation == Allocation::Knapsack && self.budget.is_none();
        require(
            !divided || all <= MAX_BUDGET,
            "rollouts",
            "at most 1,000,000 divided by `count` if `allocation` is `knapsack`",
        )?;
        require(share(self.target), "target", "from 0 to 1")?;
        let band = self
            .band
            .is_none_or(|[low, high]| share(low) && share(high) && low <= high);
        require(band, "band", "two numbers from 0 to 1, the lower one first")?;
        require(
            self.rates.is_none_or(|rates| rates.j() > 0.0),
            "rates",
            "two rates with a sum below 1",
        )?;
        require(share(self.discount), "discount", "from 0 to 1")?;
        require(share(self.slow_discount), "slow_discount", "from 0 to 1")?;
        require(
            strength(self.prior.alpha) && strength(self.prior.beta),
            "prior",
            "two numbers from 0.01 to 1000",
        )?;
        require(
            share(self.step_size) && self.step_size > 0.0,
            "step_size",
            "above 0 and at most 1",
        )?;
        require(self.window >= 1, "window", "at least 1")?;
        require(
            (0.001..=1000.0).contains(&self.temperature),
            "temperature",
            "from 0.001 to 1000",
        )?;
        require(share(self.unvisited), "unvisited", "from 0 to 1")
    }

    /// The desired share of right answers.
    #[must_use]
    pub fn goal(&self) -> Goal {
        self.band.map_or(Goal::Target(self.target), |[low, high]| {
            Goal::Band(low, high)
        })
    }

    /// Bounds of the filter.
    #[must_use]
    pub fn bounds(&self) -> [f64; 2] {
        self.band.unwrap_or([0.2, 0.8])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_has_a_default() {
        let settings: Suggest = serde_json::from_str("{}").unwrap();
        assert_eq!(settings, Suggest::default());
        assert_eq!(settings.check(), Ok(()));
    }

    #[test]
    fn rejects_unknown_fields_and_values() {
        assert!(serde_json::from_str::<Suggest>(r#"{"stratgy": "vade"}"#).is_err());
        assert!(serde_json::from_str::<Suggest>(r#"{"strategy": "best"}"#).is_err());
        assert!(serde_json::from_str::<Suggest>(r#"{"rates": {"rho0": 2, "rho1": 0}}"#).is_err());
    }

    #[test]
    fn names_match_their_json() {
        for strategy in Strategy::ALL {
            assert_eq!(serde_json::to_value(strategy).unwrap(), strategy.name());
            assert_eq!(Strategy::from_name(strategy.name()), Some(*strategy));
        }
        for allocation in Allocation::ALL {
            assert_eq!(serde_json::to_value(allocation).unwrap(), allocation.name());
            assert_eq!(Allocation::from_name(allocation.name()), Some(*allocation));
        }
    }

    #[test]
    fn errors_name_the_invalid_setting() {
        let cases = [
            (r#"{"count": 0}"#, "count"),
            (r#"{"count": 100001}"#, "count"),
            (r#"{"min_rollouts": 0}"#, "min_rollouts"),
            (r#"{"min_rollouts": 9, "max_rollouts": 8}"#, "max_rollouts"),
            (r#"{"max_rollouts": 4294967295}"#, "max_rollouts"),
            (
                r#"{"min_rollouts": 5000, "rollouts": 5000, "max_rollouts": 5000}"#,
                "max_rollouts",
            ),
            (r#"{"rollouts": 1}"#, "rollouts"),
            (r#"{"rollouts": 4097}"#, "rollouts"),
            (r#"{"budget": 1}"#, "budget"),
            (r#"{"budget": 18446744073709551615}"#, "budget"),
            (
                r#"{"allocation": "knapsack", "count": 100000, "rollouts": 64}"#,
                "rollouts",
            ),
            (r#"{"target": 1.5}"#, "target"),
            (r#"{"band": [0.8, 0.2]}"#, "band"),
            (r#"{"rates": {"rho0": 0.5, "rho1": 0.5}}"#, "rates"),
            (r#"{"discount": -1}"#, "discount"),
            (r#"{"slow_discount": 2}"#, "slow_discount"),
            (r#"{"prior": {"alpha": 0, "beta": 1}}"#, "prior"),
            (r#"{"step_size": 0}"#, "step_size"),
            (r#"{"window": 0}"#, "window"),
            (r#"{"temperature": 0}"#, "temperature"),
            (r#"{"unvisited": 1.1}"#, "unvisited"),
        ];
        for (text, field) in cases {
            let settings: Suggest = serde_json::from_str(text).unwrap();
            assert_eq!(settings.check().unwrap_err().field, field);
        }
        let count = serde_json::from_str::<Suggest>(r#"{"count": 0}"#).unwrap();
        assert_eq!(
            count.check().unwrap_err().to_string(),
            "`count` must be from 1 to 100,000"
        );
    }

    #[test]
    fn accepts_the_largest_request() {
        let text = r#"{"count": 100000, "min_rollouts": 4096, "rollouts": 4096, "max_rollouts": 4096,
                       "budget": 1000000}"#;
        assert_eq!(
            serde_json::from_str::<Suggest>(text).unwrap().check(),
            Ok(())
        );
    }
}

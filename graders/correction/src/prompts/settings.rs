//! What a request for prompts may set, with defaults and limits. Chooses nothing; that is
//! [`choose`](super::choose).

use std::error::Error;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::Wish;
use crate::Rates;
use crate::group::Prior;

/// How prompts are valued.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Strategy {
    /// Nearness of the believed share of right answers to the target or band ([`Wish`]; MoPPS).
    #[default]
    Mopps,
    /// Information of one more verdict under a two-scale belief ([`vade`](super::vade)).
    Vade,
    /// Q of the prompt's category, drawn by softmax ([`bandit::sec`](super::bandit::sec)).
    Sec,
    /// Upper confidence bound of the prompt's category, drawn by softmax
    /// ([`bandit::dump`](super::bandit::dump)).
    Dump,
    /// p (1 - p) of prompts within the band, the others not at all ([`filter`](super::filter)).
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

/// How rollouts are divided among the chosen prompts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Allocation {
    /// As many for each; what does not divide goes to the best.
    #[default]
    Even,
    /// By greatest total value ([`knapsack`](super::knapsack)).
    Knapsack,
    /// More for prompts below one half, equal treatment ([`dars`](super::dars)).
    Dars,
    /// More for prompts below one half, weighted by hardness ([`dars`](super::dars)).
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

/// Most prompts of one request.
pub const MOST_PROMPTS: u32 = 100_000;

/// Most rollouts of one prompt. An allocation looks at each of them, so the sizes of a request
/// bound its work.
pub const MOST_ROLLOUTS: u32 = 4_096;

/// Most rollouts of all prompts of one request, where a budget is said.
pub const MOST_BUDGET: u64 = 1_000_000;

/// Settings of [`suggest`](super::suggest). Every field has a default; unknown ones are errors.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Suggest {
    /// How prompts are valued; `mopps` unless said.
    pub strategy: Strategy,
    /// How rollouts are divided; `even` unless said.
    pub allocation: Allocation,
    /// How many prompts, from 1 to 100,000; 32.
    pub count: u32,
    /// Rollouts of a prompt where nothing divides a budget, from `least` to `most`; 8.
    pub rollouts: u32,
    /// Fewest rollouts of a prompt, at least 1; 2, because one rollout has nothing to be compared
    /// with.
    pub least: u32,
    /// Most rollouts of a prompt, at most 4,096; 64.
    pub most: u32,
    /// Rollouts of all prompts together, from `least` to 1,000,000; `rollouts` for each prompt
    /// unless said. Where it does not hold the least of `count` prompts, fewer are suggested.
    pub budget: Option<u64>,
    /// Share of right answers wished for, in \[0, 1\]; 0.5.
    pub target: f64,
    /// Shares wished for instead of a target, low and high, in \[0, 1\]. `filter` takes 0.2 to 0.8
    /// unless said.
    pub band: Option<[f64; 2]>,
    /// Rates of the channel, J above 0; a clean verifier unless said.
    pub rates: Option<Rates>,
    /// What is left of the weight of a visit at the next one, in \[0, 1\]; 0.5.
    pub discount: f64,
    /// The same on the slow scale of `vade`; 0.9.
    pub slow_discount: f64,
    /// Beta distribution of the share of right answers of a prompt nobody visited; `{"alpha": 1,
    /// "beta": 1}`. From 0.01 to 1000.
    pub prior: Prior,
    /// Whether `mopps` and `vade` value a random draw from the belief (Thompson) and not its mean;
    /// yes.
    pub thompson: bool,
    /// How far Q of `sec` moves towards what a step earned, in (0, 1\]; 0.5.
    pub step_size: f64,
    /// How many last visits of a category `dump` averages, at least 1; 32.
    pub window: u32,
    /// Temperature of the softmax of `sec` and `dump`, from 0.001 to 1000; 0.1.
    pub temperature: f64,
    /// Share of `count` kept for prompts nobody visited, as long as there are any, in \[0, 1\];
    /// 0.1.
    pub unvisited: f64,
}

impl Default for Suggest {
    fn default() -> Self {
        Self {
            strategy: Strategy::default(),
            allocation: Allocation::default(),
            count: 32,
            rollouts: 8,
            least: 2,
            most: 64,
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
pub struct BadSetting {
    /// Name of the field.
    pub field: &'static str,
    /// What it has to be.
    pub must: &'static str,
}

impl fmt::Display for BadSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` must be {}", self.field, self.must)
    }
}

impl Error for BadSetting {}

impl Suggest {
    /// Checks every field.
    ///
    /// # Errors
    /// The first field outside its limits.
    pub fn check(&self) -> Result<(), BadSetting> {
        let share = |value: f64| (0.0..=1.0).contains(&value);
        let strength = |value: f64| (0.01..=1000.0).contains(&value);
        let holds = |held: bool, field, must| {
            if held {
                Ok(())
            } else {
                Err(BadSetting { field, must })
            }
        };
        holds(
            (1..=MOST_PROMPTS).contains(&self.count),
            "count",
            "from 1 to 100,000",
        )?;
        holds(self.least >= 1, "least", "at least 1")?;
        holds(
            (self.least..=MOST_ROLLOUTS).contains(&self.most),
            "most",
            "from `least` to 4,096",
        )?;
        holds(
            (self.least..=self.most).contains(&self.rollouts),
            "rollouts",
            "from `least` to `most`",
        )?;
        let budgets = u64::from(self.least)..=MOST_BUDGET;
        holds(
            self.budget.is_none_or(|budget| budgets.contains(&budget)),
            "budget",
            "from `least` to 1,000,000",
        )?;
        let all = u64::from(self.count) * u64::from(self.rollouts);
        let divided = self.allocation == Allocation::Knapsack && self.budget.is_none();
        holds(
            !divided || all <= MOST_BUDGET,
            "rollouts",
            "at most 1,000,000 times `count` together where they are divided",
        )?;
        holds(share(self.target), "target", "from 0 to 1")?;
        let band = self
            .band
            .is_none_or(|[low, high]| share(low) && share(high) && low <= high);
        holds(band, "band", "two shares from 0 to 1, the lower one first")?;
        holds(
            self.rates.is_none_or(|rates| rates.j() > 0.0),
            "rates",
            "below 1 together",
        )?;
        holds(share(self.discount), "discount", "from 0 to 1")?;
        holds(share(self.slow_discount), "slow_discount", "from 0 to 1")?;
        holds(
            strength(self.prior.alpha) && strength(self.prior.beta),
            "prior",
            "two numbers from 0.01 to 1000",
        )?;
        holds(
            share(self.step_size) && self.step_size > 0.0,
            "step_size",
            "above 0 and at most 1",
        )?;
        holds(self.window >= 1, "window", "at least 1")?;
        holds(
            (0.001..=1000.0).contains(&self.temperature),
            "temperature",
            "from 0.001 to 1000",
        )?;
        holds(share(self.unvisited), "unvisited", "from 0 to 1")
    }

    /// What share of right answers is wished for.
    #[must_use]
    pub fn wish(&self) -> Wish {
        self.band.map_or(Wish::Target(self.target), |[low, high]| {
            Wish::Band(low, high)
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
    fn nothing_has_to_be_set() {
        let settings: Suggest = serde_json::from_str("{}").unwrap();
        assert_eq!(settings, Suggest::default());
        assert_eq!(settings.check(), Ok(()));
    }

    #[test]
    fn unknown_fields_are_errors() {
        assert!(serde_json::from_str::<Suggest>(r#"{"stratgy": "vade"}"#).is_err());
        assert!(serde_json::from_str::<Suggest>(r#"{"strategy": "best"}"#).is_err());
        assert!(serde_json::from_str::<Suggest>(r#"{"rates": {"rho0": 2, "rho1": 0}}"#).is_err());
    }

    #[test]
    fn names_are_those_of_requests() {
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
    fn a_bad_setting_is_named() {
        let cases = [
            (r#"{"count": 0}"#, "count"),
            (r#"{"count": 100001}"#, "count"),
            (r#"{"least": 0}"#, "least"),
            (r#"{"least": 9, "most": 8}"#, "most"),
            (r#"{"most": 4294967295}"#, "most"),
            (r#"{"least": 5000, "rollouts": 5000, "most": 5000}"#, "most"),
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
    fn the_largest_request_may_be_asked() {
        let text = r#"{"count": 100000, "least": 4096, "rollouts": 4096, "most": 4096, "budget": 1000000}"#;
        assert_eq!(
            serde_json::from_str::<Suggest>(text).unwrap().check(),
            Ok(())
        );
    }
}

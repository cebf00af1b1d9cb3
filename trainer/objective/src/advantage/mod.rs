//! Advantages of completions. The estimators of the service are in [`assay_rewards::group`];
//! this module adds those that require parameters or data other than the rewards of groups.
//!
//! A completion without a reward is masked: it does not contribute to any statistic. If an
//! estimator compares the members of a group, groups with fewer than two rewards are dropped. The
//! rows of both get advantage 0 and must be masked out of the loss.

mod graded;
mod group;
mod output;
mod returns;
mod sample;

use std::collections::BTreeMap;

use assay_rewards::{Estimator as ServiceEstimator, Group, group as service};
use serde::{Deserialize, Serialize};

use crate::ObjectiveError;
use crate::error::{MAX_PARAMETER, check_range};
use graded::{Graded, set_value};

pub use group::{Combine, Scale};
pub use output::Advantages;
pub use returns::token_rewards;
pub use sample::{Prompt, Sample};

/// An advantage estimator.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "estimator", rename_all = "snake_case", deny_unknown_fields)]
pub enum Advantage {
    /// (r - group mean) / (deviation + epsilon), with the unbiased deviation (GRPO, arXiv
    /// 2402.03300, section 4.1.2).
    Group {
        /// The deviation used. Default: `group`.
        #[serde(default)]
        scale: Scale,
        /// At least 0. Default: 1e-6, as in verl; TRL uses 1e-4, OpenRLHF 1e-9.
        #[serde(default = "epsilon")]
        epsilon: f64,
        /// Weights of the reward functions. Default: 1 each.
        #[serde(default)]
        weights: Vec<f64>,
        /// How several rewards are combined. Default: `sum_then_normalize`.
        #[serde(default)]
        combine: Combine,
    },
    /// An estimator of the service, computed here; its formula and source are at its variant.
    Named {
        /// The name in requests to the service.
        name: ServiceEstimator,
    },
    /// The advantage returned by the service with each grade, unchanged.
    Service {},
    /// Best reward - second best for the best completion of a group, 0 for the others (arXiv
    /// 2503.19595).
    Best {
        /// Divides by the group's deviation plus epsilon. Default: false.
        #[serde(default)]
        scale: bool,
        /// At least 0. Default: 1e-6.
        #[serde(default = "epsilon")]
        epsilon: f64,
    },
    /// One constant for passes and one for others; rows without a constant are masked (arXiv
    /// 2506.01347).
    Verdict {
        /// For passes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pass: Option<f64>,
        /// For all others.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fail: Option<f64>,
    },
    /// r - reward of the greedy completion (ReMax, arXiv 2310.10505).
    Greedy {},
    /// Discounted sum of the rewards of this and all later tokens, whitened over the tokens of the
    /// batch (REINFORCE++, arXiv 2501.03262).
    Returns {
        /// Discount per token, in \[0, 1\].
        gamma: f64,
    },
    /// Generalised advantage estimate (arXiv 1506.02438, equation 16) from the values of a critic,
    /// whitened over the tokens of the batch.
    Gae {
        /// Discount per token, in \[0, 1\].
        gamma: f64,
        /// In \[0, 1\]: 0 is the one-step error, 1 the return minus the value.
        lambda: f64,
    },
    /// The z-score in the group times the sum of decay^distance over this and all later tokens:
    /// eligibility traces summed for each token (based on GRPO-lambda, arXiv 2510.00194).
    Traces {
        /// gamma times lambda, in \[0, 1\].
        decay: f64,
        /// As in `group`.
        #[serde(default = "epsilon")]
        epsilon: f64,
    },
}

fn epsilon() -> f64 {
    service::advantage::EPSILON
}

impl Advantage {
    pub(crate) fn check(&self) -> Result<(), ObjectiveError> {
        let share = |name, value| check_range(name, value, 0.0..=1.0, "between 0 and 1");
        let finite =
            |name, value| check_range(name, value, -MAX_PARAMETER..=MAX_PARAMETER, "finite");
        match self {
            Self::Group {
                epsilon, weights, ..
            } => {
                check_range(
                    "advantage.epsilon",
                    *epsilon,
                    0.0..=MAX_PARAMETER,
                    "at least 0",
                )?;
                weights
                    .iter()
                    .try_for_each(|weight| finite("advantage.weights", *weight))
            }
            Self::Best { epsilon, .. } => check_range(
                "advantage.epsilon",
                *epsilon,
                0.0..=MAX_PARAMETER,
                "at least 0",
            ),
            Self::Verdict { pass, fail } => {
                if pass.is_none() && fail.is_none() {
                    return Err(ObjectiveError::Conflict(
                        "`verdict` requires `pass`, `fail` or both",
                    ));
                }
                pass.iter()
                    .chain(fail)
                    .try_for_each(|value| finite("advantage.verdict", *value))
            }
            Self::Returns { gamma } => share("advantage.gamma", *gamma),
            Self::Gae { gamma, lambda } => {
                share("advantage.gamma", *gamma)?;
                share("advantage.lambda", *lambda)
            }
            Self::Traces { decay, epsilon } => {
                check_range(
                    "advantage.epsilon",
                    *epsilon,
                    0.0..=MAX_PARAMETER,
                    "at least 0",
                )?;
                share("advantage.decay", *decay)
            }
            Self::Named { .. } | Self::Service {} | Self::Greedy {} => Ok(()),
        }
    }

    /// Whether the estimator compares the members of a group.
    fn compares(&self) -> bool {
        match self {
            Self::Group { .. } | Self::Best { .. } | Self::Traces { .. } => true,
            Self::Named { name } => !matches!(
                name,
                ServiceEstimator::Nsr
                    | ServiceEstimator::WReinforce
                    | ServiceEstimator::Backward
                    | ServiceEstimator::Forward
            ),
            Self::Service {}
            | Self::Verdict { .. }
            | Self::Greedy {}
            | Self::Returns { .. }
            | Self::Gae { .. } => false,
        }
    }

    /// Computes the advantages of a batch. `prompts` has data about the prompts of groups, by group
    /// number.
    ///
    /// # Errors
    /// A reward is not finite, or a row lacks data that the estimator requires.
    pub fn compute(
        &self,
        samples: &[Sample],
        prompts: &BTreeMap<usize, Prompt>,
    ) -> Result<Advantages, ObjectiveError> {
        let graded = Graded::new(samples, self.compares())?;
        let values = match self {
            Self::Group {
                scale,
                epsilon,
                weights,
                combine,
            } => one_per_row(group::normalized_rewards(
                &graded, *scale, *epsilon, weights, *combine,
            )?),
            Self::Named { name } => one_per_row(named(&graded, *name, prompts)),
            Self::Service {} => one_per_row(graded.each(|_, sample| Ok(sample.advantage))?),
            Self::Best { scale, epsilon } => one_per_row(group::best(&graded, *scale, *epsilon)?),
            Self::Verdict { pass, fail } => one_per_row(graded.each(|row, sample| {
                let what = "`verdict` requires `pass`";
                Ok(
                    if sample.pass.ok_or(ObjectiveError::Sample { row, what })? {
                        *pass
                    } else {
                        *fail
                    },
                )
            })?),
            Self::Greedy {} => one_per_row(graded.each(|row, sample| {
                let what = "`greedy` requires the reward of the greedy completion";
                let baseline = sample.greedy.ok_or(ObjectiveError::Sample { row, what })?;
                Ok(sample.reward().map(|reward| reward - baseline))
            })?),
            Self::Returns { gamma } => returns::whitened(returns::discounted(&graded, *gamma)?),
            Self::Gae { gamma, lambda } => {
                returns::whitened(returns::estimated(&graded, *gamma, *lambda)?)
            }
            Self::Traces { decay, epsilon } => {
                let scores = group::normalized_rewards(
                    &graded,
                    Scale::Group,
                    *epsilon,
                    &[],
                    Combine::SumThenNormalize,
                )?;
                returns::traced(&graded, &scores, *decay)
            }
        };
        let finite = |values: &Vec<f64>| values.iter().all(|value| value.is_finite());
        let values: Vec<_> = values
            .into_iter()
            .map(|values| values.filter(finite))
            .collect();
        Ok(Advantages {
            keep: values.iter().map(Option::is_some).collect(),
            values: values
                .into_iter()
                .map(|values| values.unwrap_or_else(|| vec![0.0]))
                .collect(),
            masked: samples
                .iter()
                .filter(|sample| sample.reward().is_none())
                .count(),
            dropped_groups: graded.dropped,
        })
    }
}

fn one_per_row(values: Vec<Option<f64>>) -> Vec<Option<Vec<f64>>> {
    values
        .into_iter()
        .map(|value| value.map(|value| vec![value]))
        .collect()
}

fn named(
    graded: &Graded<'_>,
    name: ServiceEstimator,
    prompts: &BTreeMap<usize, Prompt>,
) -> Vec<Option<f64>> {
    let members: Vec<_> = graded
        .groups
        .values()
        .map(|rows| graded.members(rows))
        .collect();
    let group = |(id, members)| {
        let prompt: Option<&Prompt> = prompts.get(id);
        let history = prompt
            .map(|prompt| prompt.history.as_slice())
            .filter(|history| !history.is_empty());
        Group {
            members,
            rates: prompt.and_then(|prompt| prompt.rates),
            history,
        }
    };
    let groups = graded.groups.keys().zip(members.iter().map(Vec::as_slice));
    let groups: Vec<Group<'_>> = groups.map(group).collect();
    let mut values = graded.none_per_row();
    for (rows, advantages) in graded
        .groups
        .values()
        .zip(service::advantages(name, &groups))
    {
        for (row, advantage) in rows.iter().zip(advantages) {
            set_value(&mut values, *row, advantage);
        }
    }
    values
}

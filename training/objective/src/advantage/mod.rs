//! How rewards of completions become advantages. What the service computes of groups is taken from
//! [`assay_correction::group`]; here is what needs more than the rewards of groups, or a parameter.
//!
//! A completion without a reward is masked: it votes in nothing. Where an estimator compares the
//! members of a group, a group with fewer than two rewards is dropped. The rows of both get the
//! advantage 0 and are to be masked out of the loss.

mod group;
mod output;
mod returns;
mod sample;

use std::collections::BTreeMap;

use assay_core::Reward;
use assay_correction::{Estimator, Group, Member, group as service};
use serde::{Deserialize, Serialize};

use crate::ObjectiveError;
use crate::error::{MOST, within};

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
        /// What the deviation is of. Default: `group`.
        #[serde(default)]
        scale: Scale,
        /// From 0 up. Default: 1e-6, as verl; TRL has 1e-4, OpenRLHF 1e-9.
        #[serde(default = "epsilon")]
        epsilon: f64,
        /// Weights of the reward functions. Default: 1 each.
        #[serde(default)]
        weights: Vec<f64>,
        /// When several rewards become one. Default: `sum_then_normalize`.
        #[serde(default)]
        combine: Combine,
    },
    /// An estimator of the service, by its name.
    Named {
        /// The name in requests to the service.
        name: Estimator,
    },
    /// The advantage that came with each grade, as it is.
    Service {},
    /// The best of the group gets its lead over the second best, the others 0 (arXiv 2503.19595).
    Best {
        /// Whether it is divided by the group's deviation plus epsilon. Default: no.
        #[serde(default)]
        scale: bool,
        /// From 0 up. Default: 1e-6.
        #[serde(default = "epsilon")]
        epsilon: f64,
    },
    /// A constant for each verdict; rows of a verdict without one are masked (arXiv 2506.01347).
    Verdict {
        /// For passes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        right: Option<f64>,
        /// For others.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        wrong: Option<f64>,
    },
    /// r less the reward of the greedy completion (ReMax, arXiv 2310.10505).
    Greedy {},
    /// Discounted sum of the rewards of tokens from each token on, whitened over the tokens of the
    /// batch (REINFORCE++, arXiv 2501.03262).
    Returns {
        /// Discount a token, in \[0, 1\].
        gamma: f64,
    },
    /// Generalised advantage estimate from values of a critic, whitened over the tokens of the
    /// batch (arXiv 1506.02438, equation 16).
    Gae {
        /// Discount a token, in \[0, 1\].
        gamma: f64,
        /// In \[0, 1\]: 0 is the error of one step, 1 the return less the value.
        lambda: f64,
    },
    /// The z-score of the group times the sum over later tokens, itself included, of decay to the
    /// power of the distance: eligibility traces summed for each token (after GRPO-lambda, arXiv
    /// 2510.00194).
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
        let share = |name, value| within(name, value, 0.0..=1.0, "from 0 to 1");
        let finite = |name, value| within(name, value, -MOST..=MOST, "a finite number");
        match self {
            Self::Group {
                epsilon, weights, ..
            } => {
                within("advantage.epsilon", *epsilon, 0.0..=MOST, "from 0 up")?;
                weights
                    .iter()
                    .try_for_each(|weight| finite("advantage.weights", *weight))
            }
            Self::Best { epsilon, .. } => {
                within("advantage.epsilon", *epsilon, 0.0..=MOST, "from 0 up")
            }
            Self::Verdict { right, wrong } => {
                if right.is_none() && wrong.is_none() {
                    return Err(ObjectiveError::Conflict(
                        "`verdict` needs `right`, `wrong` or both",
                    ));
                }
                right
                    .iter()
                    .chain(wrong)
                    .try_for_each(|value| finite("advantage.verdict", *value))
            }
            Self::Returns { gamma } => share("advantage.gamma", *gamma),
            Self::Gae { gamma, lambda } => {
                share("advantage.gamma", *gamma)?;
                share("advantage.lambda", *lambda)
            }
            Self::Traces { decay, epsilon } => {
                within("advantage.epsilon", *epsilon, 0.0..=MOST, "from 0 up")?;
                share("advantage.decay", *decay)
            }
            Self::Named { .. } | Self::Service {} | Self::Greedy {} => Ok(()),
        }
    }

    /// Whether it compares the members of a group.
    fn compares(&self) -> bool {
        match self {
            Self::Group { .. } | Self::Best { .. } | Self::Traces { .. } => true,
            Self::Named { name } => !matches!(
                name,
                Estimator::Nsr | Estimator::WReinforce | Estimator::Backward | Estimator::Forward
            ),
            Self::Service {}
            | Self::Verdict { .. }
            | Self::Greedy {}
            | Self::Returns { .. }
            | Self::Gae { .. } => false,
        }
    }

    /// Advantages of a batch. `prompts` holds what is known of groups beyond it, by their number.
    ///
    /// # Errors
    /// A reward is no finite number, or a row lacks what the estimator is made of.
    pub fn of(
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
            } => of_rows(group::scores(&graded, *scale, *epsilon, weights, *combine)?),
            Self::Named { name } => of_rows(named(&graded, *name, prompts)),
            Self::Service {} => of_rows(graded.each(|_, sample| Ok(sample.advantage))?),
            Self::Best { scale, epsilon } => of_rows(group::best(&graded, *scale, *epsilon)?),
            Self::Verdict { right, wrong } => of_rows(graded.each(|row, sample| {
                let what = "`verdict` needs to know whether it passed";
                Ok(
                    if sample.pass.ok_or(ObjectiveError::Sample { row, what })? {
                        *right
                    } else {
                        *wrong
                    },
                )
            })?),
            Self::Greedy {} => of_rows(graded.each(|row, sample| {
                let what = "`greedy` needs the reward of the greedy completion";
                let baseline = sample.greedy.ok_or(ObjectiveError::Sample { row, what })?;
                Ok(sample.reward().map(|reward| reward - baseline))
            })?),
            Self::Returns { gamma } => returns::whitened(returns::discounted(&graded, *gamma)?),
            Self::Gae { gamma, lambda } => {
                returns::whitened(returns::estimated(&graded, *gamma, *lambda)?)
            }
            Self::Traces { decay, epsilon } => {
                let scores = group::scores(
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

fn of_rows(values: Vec<Option<f64>>) -> Vec<Option<Vec<f64>>> {
    values
        .into_iter()
        .map(|value| value.map(|value| vec![value]))
        .collect()
}

/// A batch by groups, without what does not vote.
struct Graded<'a> {
    samples: &'a [Sample],
    /// Voting rows of every group.
    groups: BTreeMap<usize, Vec<usize>>,
    dropped: usize,
}

impl<'a> Graded<'a> {
    fn new(samples: &'a [Sample], compares: bool) -> Result<Self, ObjectiveError> {
        let mut groups: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (row, sample) in samples.iter().enumerate() {
            let rows = groups.entry(sample.group).or_default();
            if let Some(reward) = sample.reward() {
                if !reward.is_finite() {
                    return Err(ObjectiveError::Sample {
                        row,
                        what: "its reward is no finite number",
                    });
                }
                rows.push(row);
            }
        }
        let before = groups.len();
        if compares {
            groups.retain(|_, rows| rows.len() >= 2);
        }
        Ok(Self {
            samples,
            dropped: before - groups.len(),
            groups,
        })
    }

    /// `None` for every row.
    fn nothing<T: Clone>(&self) -> Vec<Option<T>> {
        vec![None; self.samples.len()]
    }

    /// Voting rows, by group and then in order.
    fn rows(&self) -> impl Iterator<Item = (usize, &'a Sample)> {
        let rows = self.groups.values().flatten();
        rows.filter_map(|row| Some((*row, self.samples.get(*row)?)))
    }

    /// `formula` of every voting row.
    fn each<T: Clone>(
        &self,
        formula: impl Fn(usize, &Sample) -> Result<Option<T>, ObjectiveError>,
    ) -> Result<Vec<Option<T>>, ObjectiveError> {
        let mut values = self.nothing();
        for (row, sample) in self.rows() {
            put(&mut values, row, formula(row, sample)?);
        }
        Ok(values)
    }

    /// The members of a group as the service sees them.
    #[expect(
        clippy::cast_precision_loss,
        reason = "completions are far shorter than 2^53 tokens"
    )]
    fn members(&self, rows: &[usize]) -> Vec<Member<'static>> {
        let samples = rows.iter().filter_map(|row| self.samples.get(*row));
        let member = |sample: &Sample| Member {
            reward: sample.reward().and_then(|reward| Reward::new(reward).ok()),
            pass: sample.pass,
            tokens: Some(sample.tokens as f64),
            answer: None,
        };
        samples.map(member).collect()
    }
}

fn put<T>(values: &mut [Option<T>], row: usize, value: Option<T>) {
    if let Some(slot) = values.get_mut(row) {
        *slot = value;
    }
}

fn named(
    graded: &Graded<'_>,
    name: Estimator,
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
    let known = graded.groups.keys().zip(members.iter().map(Vec::as_slice));
    let groups: Vec<Group<'_>> = known.map(group).collect();
    let mut values = graded.nothing();
    for (rows, advantages) in graded
        .groups
        .values()
        .zip(service::advantages(name, &groups))
    {
        for (row, advantage) in rows.iter().zip(advantages) {
            put(&mut values, *row, advantage);
        }
    }
    values
}

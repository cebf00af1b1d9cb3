//! Advantages from the rewards of a group, with the parameters that differ between trainers.

use assay_rewards::group::advantage::passk_top1;
use serde::{Deserialize, Serialize};

use super::graded::{Graded, set_value};
use crate::{ObjectiveError, Sample};

/// The standard deviation by which centred rewards are divided.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scale {
    /// That of the rewards of the group (GRPO, arXiv 2402.03300, section 4.1.2).
    #[default]
    Group,
    /// That of all rewards of the batch (arXiv 2508.08221).
    Batch,
    /// No division (Dr. GRPO, arXiv 2503.20783, section 3.2).
    None,
}

/// How several rewards of a completion are combined to one advantage.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Combine {
    /// The weighted sum is used as the reward.
    #[default]
    SumThenNormalize,
    /// Each reward is normalised in the group, and the weighted sum is normalised over the batch
    /// (GDPO, arXiv 2601.05242).
    NormalizeThenSum,
}

/// Mean and unbiased standard deviation; 0 for fewer than one and two numbers, respectively.
pub(super) fn moments(numbers: &[f64]) -> (f64, f64) {
    let n = numbers.len() as f64;
    if numbers.is_empty() {
        return (0.0, 0.0);
    }
    let mean = numbers.iter().sum::<f64>() / n;
    let squares: f64 = numbers.iter().map(|number| (number - mean).powi(2)).sum();
    (
        mean,
        if numbers.len() > 1 {
            (squares / (n - 1.0)).sqrt()
        } else {
            0.0
        },
    )
}

fn weighted_reward(row: usize, sample: &Sample, weights: &[f64]) -> Result<f64, ObjectiveError> {
    if !weights.is_empty() && weights.len() != sample.rewards.len() {
        return Err(ObjectiveError::Sample {
            row,
            what: "the number of rewards differs from the number of `weights`",
        });
    }
    let weight = |index: usize| weights.get(index).copied().unwrap_or(1.0);
    Ok(sample
        .rewards
        .iter()
        .enumerate()
        .filter_map(|(index, reward)| Some(weight(index) * (*reward)?))
        .sum())
}

/// Normalised rewards of all rows.
pub(super) fn normalized_rewards(
    graded: &Graded<'_>,
    scale: Scale,
    epsilon: f64,
    weights: &[f64],
    combine: Combine,
) -> Result<Vec<Option<f64>>, ObjectiveError> {
    match combine {
        Combine::SumThenNormalize => {
            let rewards =
                graded.each(|row, sample| weighted_reward(row, sample, weights).map(Some))?;
            Ok(normalized(graded, &rewards, scale, epsilon))
        }
        Combine::NormalizeThenSum => {
            let reward_functions = graded
                .samples
                .iter()
                .map(|sample| sample.rewards.len())
                .max()
                .unwrap_or(0);
            let mut normalized_samples = graded.samples.to_vec();
            for function in 0..reward_functions {
                let rewards =
                    graded.each(|_, sample| Ok(sample.rewards.get(function).copied().flatten()))?;
                for (row, score) in normalized(graded, &rewards, scale, epsilon)
                    .into_iter()
                    .enumerate()
                {
                    if let Some(reward) = normalized_samples
                        .get_mut(row)
                        .and_then(|sample| sample.rewards.get_mut(function))
                    {
                        *reward = score;
                    }
                }
            }
            let sums = graded.each(|row, _| match normalized_samples.get(row) {
                Some(sample) => weighted_reward(row, sample, weights).map(Some),
                None => Ok(None),
            })?;
            let (mean, deviation) = moments(&sums.iter().flatten().copied().collect::<Vec<_>>());
            Ok(sums
                .into_iter()
                .map(|sum| sum.map(|sum| (sum - mean) / (deviation + epsilon)))
                .collect())
        }
    }
}

/// (reward - mean of the group) / deviation, for all rows.
fn normalized(
    graded: &Graded<'_>,
    rewards: &[Option<f64>],
    scale: Scale,
    epsilon: f64,
) -> Vec<Option<f64>> {
    let reward = |row: &usize| rewards.get(*row).copied().flatten();
    let (_, batch_deviation) = moments(&rewards.iter().flatten().copied().collect::<Vec<_>>());
    let mut values = graded.none_per_row();
    for rows in graded.groups.values() {
        let (mean, group_deviation) = moments(&rows.iter().filter_map(reward).collect::<Vec<_>>());
        let divisor = match scale {
            Scale::Group => group_deviation + epsilon,
            Scale::Batch => batch_deviation + epsilon,
            Scale::None => 1.0,
        };
        for row in rows {
            set_value(
                &mut values,
                *row,
                reward(row).map(|reward| (reward - mean) / divisor),
            );
        }
    }
    values
}

/// The lead of the best completion of each group; divided by the deviation if `scale` is set.
pub(super) fn best(
    graded: &Graded<'_>,
    scale: bool,
    epsilon: f64,
) -> Result<Vec<Option<f64>>, ObjectiveError> {
    let mut values = graded.none_per_row();
    for rows in graded.groups.values() {
        let members = graded.members(rows);
        let rewards: Vec<f64> = members
            .iter()
            .filter_map(|member| Some(member.reward?.get()))
            .collect();
        let divisor = if scale {
            moments(&rewards).1 + epsilon
        } else {
            1.0
        };
        for (row, lead) in rows.iter().zip(passk_top1(&members)) {
            set_value(&mut values, *row, lead.map(|lead| lead / divisor));
        }
    }
    Ok(values)
}

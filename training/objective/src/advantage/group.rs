//! Advantages from the rewards of a group, with the parameters in which trainers differ.

use assay_correction::group::advantage::passk_top1;
use serde::{Deserialize, Serialize};

use super::{Graded, put};
use crate::{ObjectiveError, Sample};

/// The deviation that divides.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scale {
    /// That of the rewards of the group.
    #[default]
    Group,
    /// That of all rewards of the batch.
    Batch,
    /// None: nothing is divided (Dr. GRPO, arXiv 2503.20783, section 3.2).
    None,
}

/// How several rewards become one advantage.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Combine {
    /// Their weighted sum is the reward.
    #[default]
    SumThenNormalize,
    /// Each is normalised in the group; the weighted sum is normalised over the batch (GDPO, arXiv
    /// 2601.05242).
    NormalizeThenSum,
}

/// Mean and unbiased standard deviation; 0 for fewer than one and two numbers.
pub(super) fn moments(numbers: &[f64]) -> (f64, f64) {
    let n = count(numbers.len());
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

#[expect(
    clippy::cast_precision_loss,
    reason = "batches are far smaller than 2^53"
)]
fn count(numbers: usize) -> f64 {
    numbers as f64
}

fn weigh(row: usize, sample: &Sample, weights: &[f64]) -> Result<f64, ObjectiveError> {
    if !weights.is_empty() && weights.len() != sample.rewards.len() {
        return Err(ObjectiveError::Sample {
            row,
            what: "it has another number of rewards than there are `weights`",
        });
    }
    let weight = |at: usize| weights.get(at).copied().unwrap_or(1.0);
    Ok(sample
        .rewards
        .iter()
        .enumerate()
        .filter_map(|(at, reward)| Some(weight(at) * (*reward)?))
        .sum())
}

/// Scores of rows by group.
pub(super) fn scores(
    graded: &Graded<'_>,
    scale: Scale,
    epsilon: f64,
    weights: &[f64],
    combine: Combine,
) -> Result<Vec<Option<f64>>, ObjectiveError> {
    match combine {
        Combine::SumThenNormalize => {
            let rewards = graded.each(|row, sample| weigh(row, sample, weights).map(Some))?;
            Ok(normalized(graded, &rewards, scale, epsilon))
        }
        Combine::NormalizeThenSum => {
            let functions = graded
                .samples
                .iter()
                .map(|sample| sample.rewards.len())
                .max()
                .unwrap_or(0);
            let mut standing = graded.samples.to_vec();
            for function in 0..functions {
                let rewards =
                    graded.each(|_, sample| Ok(sample.rewards.get(function).copied().flatten()))?;
                for (row, score) in normalized(graded, &rewards, scale, epsilon)
                    .into_iter()
                    .enumerate()
                {
                    if let Some(reward) = standing
                        .get_mut(row)
                        .and_then(|sample| sample.rewards.get_mut(function))
                    {
                        *reward = score;
                    }
                }
            }
            let sums = graded.each(|row, _| match standing.get(row) {
                Some(sample) => weigh(row, sample, weights).map(Some),
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

/// Rewards of rows less the mean of their group, over a deviation.
fn normalized(
    graded: &Graded<'_>,
    rewards: &[Option<f64>],
    scale: Scale,
    epsilon: f64,
) -> Vec<Option<f64>> {
    let reward = |row: &usize| rewards.get(*row).copied().flatten();
    let (_, of_batch) = moments(&rewards.iter().flatten().copied().collect::<Vec<_>>());
    let mut values = graded.nothing();
    for rows in graded.groups.values() {
        let (mean, of_group) = moments(&rows.iter().filter_map(reward).collect::<Vec<_>>());
        let divisor = match scale {
            Scale::Group => of_group + epsilon,
            Scale::Batch => of_batch + epsilon,
            Scale::None => 1.0,
        };
        for row in rows {
            put(
                &mut values,
                *row,
                reward(row).map(|reward| (reward - mean) / divisor),
            );
        }
    }
    values
}

/// The lead of the best of each group, over the deviation if asked.
pub(super) fn best(
    graded: &Graded<'_>,
    scale: bool,
    epsilon: f64,
) -> Result<Vec<Option<f64>>, ObjectiveError> {
    let mut values = graded.nothing();
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
            put(&mut values, *row, lead.map(|lead| lead / divisor));
        }
    }
    Ok(values)
}

//! Advantages of tokens, from the rewards of this and later tokens.

use super::graded::{Graded, set_value};
use crate::{ObjectiveError, Sample};

/// Rewards of the tokens of a completion: its shaping, plus its reward on the last token. `row` is
/// the index of the sample, for the error.
///
/// # Errors
/// The length of `shaping` differs from the number of tokens.
pub fn token_rewards(row: usize, sample: &Sample) -> Result<Vec<f64>, ObjectiveError> {
    let mut rewards = match sample.shaping.len() {
        0 => vec![0.0; sample.tokens],
        length if length == sample.tokens => sample.shaping.clone(),
        _ => {
            return Err(ObjectiveError::Sample {
                row,
                what: "`shaping` must have one number per token",
            });
        }
    };
    if let Some(last) = rewards.last_mut() {
        *last += sample.reward().unwrap_or(0.0);
    }
    Ok(rewards)
}

/// Discounted sum of this and later rewards, for every token of every used row (REINFORCE++,
/// arXiv 2501.03262).
pub(super) fn discounted(
    graded: &Graded<'_>,
    gamma: f64,
) -> Result<Vec<Option<Vec<f64>>>, ObjectiveError> {
    graded.each(|row, sample| {
        let mut returns = token_rewards(row, sample)?;
        let mut later = 0.0;
        for reward in returns.iter_mut().rev() {
            later = *reward + gamma * later;
            *reward = later;
        }
        Ok(Some(returns))
    })
}

/// Generalised advantage estimates (arXiv 1506.02438, equation 16), for every token of every used
/// row; the value after the last token is 0.
pub(super) fn estimated(
    graded: &Graded<'_>,
    gamma: f64,
    lambda: f64,
) -> Result<Vec<Option<Vec<f64>>>, ObjectiveError> {
    graded.each(|row, sample| {
        let mut advantages = token_rewards(row, sample)?;
        if sample.values.len() != advantages.len() {
            return Err(ObjectiveError::Sample {
                row,
                what: "`gae` requires `values` with one number per token",
            });
        }
        let (mut later, mut value_after) = (0.0, 0.0);
        for (advantage, value) in advantages.iter_mut().zip(&sample.values).rev() {
            later = *advantage + gamma * value_after - value + gamma * lambda * later;
            (*advantage, value_after) = (later, *value);
        }
        Ok(Some(advantages))
    })
}

/// Scores of rows times the sum of decay^distance over this and all later tokens (based on
/// GRPO-lambda, arXiv 2510.00194).
pub(super) fn traced(
    graded: &Graded<'_>,
    scores: &[Option<f64>],
    decay: f64,
) -> Vec<Option<Vec<f64>>> {
    let mut values = graded.none_per_row();
    for (row, sample) in graded.rows() {
        let Some(score) = scores.get(row).copied().flatten() else {
            continue;
        };
        let mut trace = 0.0;
        let mut advantages = vec![0.0; sample.tokens];
        for advantage in advantages.iter_mut().rev() {
            trace = 1.0 + decay * trace;
            *advantage = score * trace;
        }
        set_value(&mut values, row, Some(advantages));
    }
    values
}

/// (x - mean) / sqrt(variance + 1e-8) over all tokens, with the unbiased variance (`masked_whiten`
/// of verl).
pub(super) fn whitened(mut values: Vec<Option<Vec<f64>>>) -> Vec<Option<Vec<f64>>> {
    let all: Vec<f64> = values.iter().flatten().flatten().copied().collect();
    let (mean, deviation) = super::group::moments(&all);
    let scale = (deviation * deviation + 1e-8).sqrt();
    for value in values.iter_mut().flatten().flatten() {
        *value = (*value - mean) / scale;
    }
    values
}

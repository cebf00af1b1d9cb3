//! Advantages of tokens: what a token led to.

use super::{Graded, put};
use crate::{ObjectiveError, Sample};

/// Rewards of the tokens of a completion: its shaping, and its reward on the last token.
///
/// # Errors
/// `row`, the place of the sample, has shaping for another number of tokens.
pub fn token_rewards(row: usize, sample: &Sample) -> Result<Vec<f64>, ObjectiveError> {
    let mut rewards = match sample.shaping.len() {
        0 => vec![0.0; sample.tokens],
        given if given == sample.tokens => sample.shaping.clone(),
        _ => {
            return Err(ObjectiveError::Sample {
                row,
                what: "it has not one `shaping` for each token",
            });
        }
    };
    if let Some(last) = rewards.last_mut() {
        *last += sample.reward().unwrap_or(0.0);
    }
    Ok(rewards)
}

/// Discounted sum of later rewards, for every token of every voting row.
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

/// Generalised advantage estimates, for every token of every voting row; the value after the last
/// token is 0.
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
                what: "`gae` needs one of `values` for each token",
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

/// Scores of rows times the sum of decayed traces from each token on.
pub(super) fn traced(
    graded: &Graded<'_>,
    scores: &[Option<f64>],
    decay: f64,
) -> Vec<Option<Vec<f64>>> {
    let mut values = graded.nothing();
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
        put(&mut values, row, Some(advantages));
    }
    values
}

/// (x - mean) / sqrt(variance + 1e-8) over all tokens, with the unbiased variance.
pub(super) fn whitened(mut values: Vec<Option<Vec<f64>>>) -> Vec<Option<Vec<f64>>> {
    let all: Vec<f64> = values.iter().flatten().flatten().copied().collect();
    let (mean, deviation) = super::group::moments(&all);
    let scale = (deviation * deviation + 1e-8).sqrt();
    for value in values.iter_mut().flatten().flatten() {
        *value = (*value - mean) / scale;
    }
    values
}

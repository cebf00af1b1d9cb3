//! Selection of one token per row of logits, from one random number per row.

use std::cmp::Ordering;

use assay_kernels::{Real, largest, sum, wide};
use rayon::prelude::*;

use super::sampling::Sampling;

/// Minimum number of rows per thread.
const ROWS: usize = 8;

/// The selected token of each row of logits and its log-probability. `numbers` has a random number
/// in \[0, 1) per row.
pub(super) fn choose(
    logits: &[f32],
    vocabulary: usize,
    sampling: &Sampling,
    numbers: &[f64],
) -> Vec<(u32, f32)> {
    let rows = logits
        .par_chunks_exact(vocabulary)
        .zip(numbers)
        .with_min_len(ROWS);
    rows.map_init(Vec::new, |weights, (logits, number)| {
        choose_one(logits, sampling, *number, weights)
    })
    .collect()
}

fn choose_one(
    logits: &[f32],
    sampling: &Sampling,
    number: f64,
    weights: &mut Vec<f32>,
) -> (u32, f32) {
    let scale: f32 = Real::narrow(1.0 / sampling.scoring_temperature());
    weights.resize(logits.len(), 0.0);
    let (most, total) = wide(
        #[inline(always)]
        || {
            let most = largest(logits) * scale;
            weights
                .iter_mut()
                .zip(logits)
                .for_each(|(weight, l)| *weight = (l * scale - most).exponential());
            (most, sum(weights))
        },
    );
    let token = if sampling.temperature > 0.0 {
        draw(weights, sampling, number)
    } else {
        most_likely(weights)
    };
    let log_prob = logits[token] * scale - most - total.ln();
    (crate::batch::to_u32(token), log_prob)
}

/// Index of the first largest weight.
fn most_likely(weights: &[f32]) -> usize {
    let mut best = 0;
    for (token, weight) in weights.iter().enumerate() {
        if *weight > weights[best] {
            best = token;
        }
    }
    best
}

/// An index drawn in proportion to its weight among those allowed by `sampling`.
fn draw(weights: &[f32], sampling: &Sampling, number: f64) -> usize {
    let all = sampling.top_k == 0 && sampling.top_p >= 1.0 && sampling.min_p <= 0.0;
    if all {
        return walk(weights.iter().copied().enumerate(), number)
            .unwrap_or_else(|| most_likely(weights));
    }
    let mut order: Vec<(usize, f32)> = weights.iter().copied().enumerate().collect();
    order.sort_by(|(token, weight), (other_token, other)| {
        other
            .partial_cmp(weight)
            .unwrap_or(Ordering::Equal)
            .then(token.cmp(other_token))
    });
    if sampling.top_k > 0 {
        order.truncate(sampling.top_k);
    }
    let total: f64 = weights.iter().map(|weight| f64::from(*weight)).sum();
    let mut before = 0.0;
    // The largest weight is 1, so weights are already relative to it.
    let allowed = order.iter().take_while(|(_, weight)| {
        let fits = before < sampling.top_p * total && f64::from(*weight) >= sampling.min_p;
        before += f64::from(*weight);
        fits
    });
    let count = allowed.count().max(1);
    walk(order[..count].iter().copied(), number).unwrap_or(order[0].0)
}

/// The index at which the cumulative weight exceeds `number` times the total (inverse transform).
fn walk(weights: impl Iterator<Item = (usize, f32)> + Clone, number: f64) -> Option<usize> {
    let total: f64 = weights.clone().map(|(_, weight)| f64::from(weight)).sum();
    let mut left = number * total;
    let mut last = None;
    for (token, weight) in weights.filter(|(_, weight)| *weight > 0.0) {
        left -= f64::from(weight);
        last = Some(token);
        if left < 0.0 {
            break;
        }
    }
    last
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Logits with the probabilities 0.3, 0.5 and 0.2.
    fn logits() -> Vec<f32> {
        [0.3f32, 0.5, 0.2].map(f32::ln).to_vec()
    }

    fn drawn(sampling: &Sampling, number: f64) -> u32 {
        choose(&logits(), 3, sampling, &[number])[0].0
    }

    #[test]
    fn draws_tokens_by_probability() {
        let all = Sampling::default();
        assert_eq!(
            [0.0, 0.29, 0.31, 0.79, 0.81, 0.999].map(|number| drawn(&all, number)),
            [0, 0, 1, 1, 2, 2]
        );
        let (token, log_prob) = choose(&logits(), 3, &all, &[0.9])[0];
        assert!(token == 2 && (log_prob - 0.2f32.ln()).abs() < 1e-6);
    }

    #[test]
    fn temperature_applies_to_samples_and_log_probabilities() {
        // Probabilities to the power of two: 0.09, 0.25, 0.04 of 0.38.
        let cold = Sampling {
            temperature: 0.5,
            ..Sampling::default()
        };
        let (token, log_prob) = choose(&logits(), 3, &cold, &[0.2])[0];
        assert!(token == 0 && (log_prob - (0.09f32 / 0.38).ln()).abs() < 1e-5);
        let greedy = Sampling {
            temperature: 0.0,
            ..Sampling::default()
        };
        assert_eq!([0.0, 0.99].map(|number| drawn(&greedy, number)), [1, 1]);
    }

    #[test]
    fn excludes_tokens_by_top_k_top_p_and_min_p() {
        for (sampling, expected) in [
            (
                Sampling {
                    top_k: 1,
                    ..Sampling::default()
                },
                [1, 1, 1],
            ),
            (
                Sampling {
                    top_k: 2,
                    ..Sampling::default()
                },
                [1, 1, 0],
            ),
            // 0.5 alone is below 0.6, so the next token is included.
            (
                Sampling {
                    top_p: 0.6,
                    ..Sampling::default()
                },
                [1, 1, 0],
            ),
            (
                Sampling {
                    top_p: 0.5,
                    ..Sampling::default()
                },
                [1, 1, 1],
            ),
            (
                Sampling {
                    min_p: 0.5,
                    ..Sampling::default()
                },
                [1, 1, 0],
            ),
        ] {
            assert_eq!(
                [0.0, 0.5, 0.99].map(|number| drawn(&sampling, number)),
                expected,
                "{sampling:?}"
            );
        }
    }
}

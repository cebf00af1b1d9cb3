//! One token of each row, by a random number each.

use std::cmp::Ordering;

use assay_kernels::{Real, largest, sum, wide};
use rayon::prelude::*;

use super::Sampling;

/// Rows one thread takes at a time.
const ROWS: usize = 8;

/// The token of each row of logits and the logarithm of its probability, for a random number in
/// \[0, 1) each.
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
    rows.map_init(Vec::new, |shares, (logits, number)| {
        choose_one(logits, sampling, *number, shares)
    })
    .collect()
}

fn choose_one(
    logits: &[f32],
    sampling: &Sampling,
    number: f64,
    shares: &mut Vec<f32>,
) -> (u32, f32) {
    let scale: f32 = Real::narrow(1.0 / sampling.scoring_temperature());
    shares.resize(logits.len(), 0.0);
    let (most, total) = wide(
        #[inline(always)]
        || {
            let most = largest(logits) * scale;
            shares
                .iter_mut()
                .zip(logits)
                .for_each(|(share, l)| *share = (l * scale - most).exponential());
            (most, sum(shares))
        },
    );
    let at = if sampling.temperature > 0.0 {
        draw(shares, sampling, number)
    } else {
        likeliest(shares)
    };
    let log_prob = logits[at] * scale - most - total.ln();
    (crate::batch::small(at), log_prob)
}

/// The first of the largest shares.
fn likeliest(shares: &[f32]) -> usize {
    let mut best = 0;
    for (at, share) in shares.iter().enumerate() {
        if *share > shares[best] {
            best = at;
        }
    }
    best
}

/// A place drawn by its share among those that are allowed.
fn draw(shares: &[f32], sampling: &Sampling, number: f64) -> usize {
    let all = sampling.top_k == 0 && sampling.top_p >= 1.0 && sampling.min_p <= 0.0;
    if all {
        return walk(shares.iter().copied().enumerate(), number)
            .unwrap_or_else(|| likeliest(shares));
    }
    let mut order: Vec<(usize, f32)> = shares.iter().copied().enumerate().collect();
    order.sort_by(|(at, one), (other_at, other)| {
        other
            .partial_cmp(one)
            .unwrap_or(Ordering::Equal)
            .then(at.cmp(other_at))
    });
    if sampling.top_k > 0 {
        order.truncate(sampling.top_k);
    }
    let total: f64 = shares.iter().map(|share| f64::from(*share)).sum();
    let mut before = 0.0;
    // The largest share is 1, so shares are already compared with it.
    let allowed = order.iter().take_while(|(_, share)| {
        let fits = before < sampling.top_p * total && f64::from(*share) >= sampling.min_p;
        before += f64::from(*share);
        fits
    });
    let count = allowed.count().max(1);
    walk(order[..count].iter().copied(), number).unwrap_or(order[0].0)
}

/// The place where the sum of shares passes the number's share of their total.
fn walk(shares: impl Iterator<Item = (usize, f32)> + Clone, number: f64) -> Option<usize> {
    let total: f64 = shares.clone().map(|(_, share)| f64::from(share)).sum();
    let mut left = number * total;
    let mut last = None;
    for (at, share) in shares.filter(|(_, share)| *share > 0.0) {
        left -= f64::from(share);
        last = Some(at);
        if left < 0.0 {
            break;
        }
    }
    last
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Probabilities 0.5, 0.3, 0.2.
    fn logits() -> Vec<f32> {
        [0.3f32, 0.5, 0.2].map(f32::ln).to_vec()
    }

    fn drawn(sampling: &Sampling, number: f64) -> u32 {
        choose(&logits(), 3, sampling, &[number])[0].0
    }

    #[test]
    fn a_token_is_drawn_by_its_probability() {
        let all = Sampling::default();
        assert_eq!(
            [0.0, 0.29, 0.31, 0.79, 0.81, 0.999].map(|number| drawn(&all, number)),
            [0, 0, 1, 1, 2, 2]
        );
        let (token, log_prob) = choose(&logits(), 3, &all, &[0.9])[0];
        assert!(token == 2 && (log_prob - 0.2f32.ln()).abs() < 1e-6);
    }

    #[test]
    fn a_temperature_sharpens_what_is_drawn_and_what_is_told() {
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
    fn what_is_not_allowed_is_not_drawn() {
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
            // 0.5 alone is under 0.6, so the next one is needed.
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

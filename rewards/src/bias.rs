//! What a judge's scores depend on besides the quality of an answer: its length, and the model that
//! wrote it.

use std::collections::BTreeMap;

use crate::clustered;
use crate::interval::{Estimate, Interval, Z};

/// Fewest items from which a correlation is estimated.
const MIN_ITEMS: usize = 10;

/// Spearman's correlation of pairs of numbers with its 95 % interval, by Fisher's transformation
/// with the variance of Bonett and Wright (2000, doi 10.1007/BF02294183). `None` with fewer than 10
/// pairs, or if all first or all second numbers are equal.
#[must_use]
pub fn spearman(pairs: &[(f64, f64)]) -> Option<Estimate> {
    if pairs.len() < MIN_ITEMS {
        return None;
    }
    let first = ranks(pairs.iter().map(|pair| pair.0));
    let second = ranks(pairs.iter().map(|pair| pair.1));
    let value = correlation(&first, &second)?;
    let n = pairs.len() as f64;
    let half = Z * ((1.0 + value * value / 2.0) / (n - 3.0)).sqrt();
    // The transformation of 1 is infinite.
    let transformed = value.clamp(-1.0 + 1e-12, 1.0 - 1e-12).atanh();
    Some(Estimate {
        value,
        interval: Interval {
            low: (transformed - half).tanh(),
            high: (transformed + half).tanh(),
        },
    })
}

/// The ranks of numbers, from 1. Equal numbers share the mean of their ranks.
fn ranks(numbers: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut sorted: Vec<(usize, f64)> = numbers.enumerate().collect();
    sorted.sort_by(|a, b| a.1.total_cmp(&b.1));
    let mut ranks = vec![0.0; sorted.len()];
    let mut before = 0;
    for equal in sorted.chunk_by(|a, b| a.1 == b.1) {
        let rank = before as f64 + (equal.len() as f64 + 1.0) / 2.0;
        equal.iter().for_each(|(at, _)| ranks[*at] = rank);
        before += equal.len();
    }
    ranks
}

/// Pearson's correlation; `None` if a side does not vary.
fn correlation(first: &[f64], second: &[f64]) -> Option<f64> {
    let mean = |numbers: &[f64]| numbers.iter().sum::<f64>() / numbers.len() as f64;
    let (mean_first, mean_second) = (mean(first), mean(second));
    let (mut product, mut of_first, mut of_second) = (0.0, 0.0, 0.0);
    for (a, b) in first.iter().zip(second) {
        let (a, b) = (a - mean_first, b - mean_second);
        product += a * b;
        of_first += a * a;
        of_second += b * b;
    }
    let scale = (of_first * of_second).sqrt();
    (scale > 0.0).then(|| (product / scale).clamp(-1.0, 1.0))
}

/// The score of an answer to a prompt, and whether the judge's own model wrote it.
#[derive(Debug, Clone, Copy)]
pub struct Authored<'a> {
    /// The prompt.
    pub prompt: &'a str,
    /// Whether the judge's own model wrote the answer.
    pub own: bool,
    /// The score.
    pub score: f64,
}

/// By how much a judge scores answers of its own model higher than answers of others to the same
/// prompt: the mean over the prompts with both, with its 95 % interval, and their number. `None`
/// with fewer than two such prompts.
///
/// Answers of the own model may be better: compare the number with that of another judge.
#[must_use]
pub fn self_preference(answers: &[Authored<'_>]) -> Option<(Estimate, usize)> {
    let mut prompts: BTreeMap<&str, [(f64, f64); 2]> = BTreeMap::new();
    for answer in answers {
        let sides = prompts.entry(answer.prompt).or_default();
        let (count, sum) = &mut sides[usize::from(answer.own)];
        *count += 1.0;
        *sum += answer.score;
    }
    let differences: Vec<f64> = prompts
        .into_values()
        .filter(|sides| sides.iter().all(|(count, _)| *count > 0.0))
        .map(|[other, own]| own.1 / own.0 - other.1 / other.0)
        .collect();
    let n = differences.len();
    if n < 2 {
        return None;
    }
    let mean = differences.iter().sum::<f64>() / n as f64;
    let squares: f64 = differences
        .iter()
        .map(|difference| ((difference - mean) / n as f64).powi(2))
        .sum();
    Some((clustered::estimate(mean, squares, n as u64), n))
}

#[cfg(test)]
mod tests {
    use assay_base::Random;

    use super::*;

    #[test]
    fn correlations_match_reference_values() {
        // scipy.stats.spearmanr of the same numbers.
        let first = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0];
        let second = [2.0, 1.0, 4.0, 3.0, 7.0, 5.0, 6.0, 10.0, 8.0, 9.0];
        let pairs: Vec<_> = first.into_iter().zip(second).collect();
        let found = spearman(&pairs).unwrap();
        assert!((found.value - 0.903_030_3).abs() < 1e-6, "{found:?}");
        assert!(
            found.interval.low > 0.5 && found.interval.high < 1.0,
            "{found:?}"
        );
        let ties: Vec<_> = first.into_iter().map(|x| (x, f64::from(x > 5.0))).collect();
        let found = spearman(&ties).unwrap();
        assert!((found.value - 0.870_388_3).abs() < 1e-6, "{found:?}");
        let constant: Vec<_> = first.into_iter().map(|x| (x, 1.0)).collect();
        assert!(spearman(&constant).is_none() && spearman(&pairs[..9]).is_none());
    }

    #[test]
    fn intervals_of_correlations_cover() {
        let mut random = Random::new(7);
        let mut covered = 0;
        for _ in 0..400 {
            let pairs: Vec<_> = (0..60)
                .map(|_| (random.uniform(), random.uniform()))
                .collect();
            let interval = spearman(&pairs).unwrap().interval;
            covered += usize::from(interval.low <= 0.0 && interval.high >= 0.0);
        }
        assert!((368..=392).contains(&covered), "{covered} of 400");
    }

    #[test]
    fn self_preference_is_measured_within_prompts() {
        let mut answers = Vec::new();
        let prompts: Vec<String> = (0..20).map(|at| at.to_string()).collect();
        for (at, prompt) in (0_u32..).zip(&prompts) {
            let base = f64::from(at) / 40.0;
            let noise = f64::from(at % 2) * 0.02;
            for (own, bonus) in [(true, 0.3 + noise), (false, 0.0), (false, 0.2)] {
                let score = base + bonus;
                answers.push(Authored { prompt, own, score });
            }
        }
        // Without an answer of the other side, a prompt does not count.
        answers.push(Authored {
            prompt: "alone",
            own: true,
            score: 0.0,
        });
        let (found, count) = self_preference(&answers).unwrap();
        assert_eq!(count, 20);
        assert!((found.value - 0.21).abs() < 1e-9, "{found:?}");
        assert!(
            found.interval.low > 0.2 && found.interval.high < 0.22,
            "{found:?}"
        );
        assert!(self_preference(&answers[..3]).is_none());
    }
}

//! The efficiency of a correct query relative to the gold, with the buckets of R-VES (BIRD
//! mini-dev, 2024). R-VES measures seconds; this module compares steps.

/// Steps of the gold divided by steps of the prediction. Above 1, the prediction is faster.
pub(crate) fn ratio(gold: u64, prediction: u64) -> f64 {
    gold.max(1) as f64 / prediction.max(1) as f64
}

/// The R-VES reward of a ratio.
pub(crate) fn bucket(ratio: f64) -> f64 {
    let buckets = [(2.0, 1.25), (1.0, 1.0), (0.5, 0.75), (0.25, 0.5)];
    buckets
        .iter()
        .find(|(least, _)| ratio >= *least)
        .map_or(0.25, |(_, reward)| *reward)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_include_their_lower_bound() {
        let of = |gold, prediction| bucket(ratio(gold, prediction));
        assert_eq!(
            [of(20, 10), of(10, 10), of(10, 20), of(10, 40), of(10, 41)],
            [1.25, 1.0, 0.75, 0.5, 0.25]
        );
        assert_eq!(of(0, 0), 1.0);
    }
}

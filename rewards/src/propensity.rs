//! Weights for items with a reward, where the rewards of others are missing, so that the weighted
//! items represent all.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::Tally;

/// The weight of an item with a reward.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Propensity {
    /// Share of the items of its stratum that have a reward, in (0, 1\].
    pub observed: f64,
    /// 1 / `observed`, at most the limit, divided by the mean of all weights; above 0.
    pub weight: f64,
    /// Effective number of the weighted items (sum w)^2 / sum w^2 (Kish 1965).
    pub effective: f64,
}

/// Inverse-probability weights (Horvitz and Thompson 1952, doi 10.1080/01621459.1952.10483446),
/// normalised to a mean of 1 (Hajek 1971). Each item has a stratum and whether it has a reward; the
/// probability of a reward is the share of the stratum that has one. `None` for items without a
/// reward.
///
/// A mean with these weights is unbiased if rewards within a stratum are missing independently of
/// their value, and no weight is limited. `most` is at least 1; a weight that is limited to it
/// trades variance for bias.
#[must_use]
pub fn inverse_probability<K: Ord>(items: &[(K, bool)], most: f64) -> Vec<Option<Propensity>> {
    let mut strata: BTreeMap<&K, (usize, usize)> = BTreeMap::new();
    for (stratum, has_reward) in items {
        let (n, observed) = strata.entry(stratum).or_default();
        *n += 1;
        *observed += usize::from(*has_reward);
    }
    let share = |stratum: &K| {
        strata
            .get(stratum)
            .map_or(1.0, |(n, observed)| *observed as f64 / *n as f64)
    };
    let limited = |share: f64| (1.0 / share).min(most);
    let mut tally = Tally::default();
    for (stratum, (_, observed)) in &strata {
        if *observed > 0 {
            tally.add(&Tally::of(*observed as f64), limited(share(stratum)));
        }
    }
    let count = items.iter().filter(|(_, has_reward)| *has_reward).count() as f64;
    let propensity = |(stratum, has_reward): &(K, bool)| {
        has_reward.then(|| Propensity {
            observed: share(stratum),
            weight: limited(share(stratum)) * count / tally.sum,
            effective: tally.effective(),
        })
    };
    items.iter().map(propensity).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weighted_items_represent_all() {
        // Stratum a: 3 of 4 have a reward; b: 1 of 4.
        let items = [
            ("a", true),
            ("a", true),
            ("a", true),
            ("a", false),
            ("b", true),
            ("b", false),
            ("b", false),
            ("b", false),
        ];
        let found = inverse_probability(&items, 10.0);
        // 4/3, 4/3, 4/3 and 4 have the mean 2.
        let weights: Vec<f64> = found.iter().flatten().map(|of| of.weight).collect();
        for (weight, expected) in weights.iter().zip([2.0 / 3.0, 2.0 / 3.0, 2.0 / 3.0, 2.0]) {
            assert!((weight - expected).abs() < 1e-12, "{weights:?}");
        }
        // (8)^2 / (3 * 16/9 + 16)
        assert!((found[0].unwrap().effective - 3.0).abs() < 1e-12);
        assert_eq!(found[3], None);
        let limited = inverse_probability(&items, 2.0);
        // 4/3 and 2 have the mean 1.5.
        assert!((limited[4].unwrap().weight - 2.0 / 1.5).abs() < 1e-12);
    }

    #[test]
    fn weights_are_one_if_nothing_is_missing() {
        let found = inverse_probability(&[(1, true), (2, true)], 4.0);
        assert!(
            found
                .iter()
                .flatten()
                .all(|of| (of.weight - 1.0).abs() < 1e-12)
        );
        assert_eq!(inverse_probability(&[(1, false)], 4.0), [None]);
        assert_eq!(inverse_probability::<u8>(&[], 4.0), []);
    }
}

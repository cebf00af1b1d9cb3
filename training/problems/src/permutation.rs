//! An order of the numbers below a bound that is drawn from a key and kept nowhere.

use assay_core::Random;

/// Rounds of the network. Four make a permutation that no polynomial test tells from a random one
/// where the halves are large (Luby and Rackoff 1988, doi 10.1137/0217022); halves of a few bits
/// need more.
const ROUNDS: u64 = 8;

/// A bijection of the numbers below a size: a balanced Feistel network over the next power of four,
/// walked along its cycle until it is back below the size (Black and Rogaway 2002, doi
/// 10.1007/3-540-45760-7_9, section 4).
#[derive(Debug, Clone)]
pub(crate) struct Permutation {
    size: u64,
    half_bits: u32,
    keys: [u64; ROUNDS as usize],
}

impl Permutation {
    /// The permutation of the numbers below `size` that these words name.
    pub(crate) fn new(size: u64, words: &[u64]) -> Self {
        let bits = u64::BITS - size.saturating_sub(1).leading_zeros();
        let mut random = Random::stream(words);
        Self {
            size,
            half_bits: bits.div_ceil(2).max(1),
            keys: std::array::from_fn(|_| random.bits()),
        }
    }

    /// Where `place` goes. `None` from the size on.
    ///
    /// The network has at most four times as many numbers as a size above 1, so that on average at
    /// most four steps are taken. The walk ends because a cycle that begins below the size comes
    /// back there.
    pub(crate) fn get(&self, place: u64) -> Option<u64> {
        if place >= self.size {
            return None;
        }
        let mut at = self.step(place);
        while at >= self.size {
            at = self.step(at);
        }
        Some(at)
    }

    fn step(&self, at: u64) -> u64 {
        let mask = (1 << self.half_bits) - 1;
        let (mut left, mut right) = (at >> self.half_bits, at & mask);
        for key in self.keys {
            let mixed = Random::new(key ^ right).bits() >> (u64::BITS - self.half_bits);
            (left, right) = (right, left ^ mixed);
        }
        left << self.half_bits | right
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_number_comes_once(size in 0u64..3_000, words in prop::collection::vec(any::<u64>(), 0..4)) {
            let permutation = Permutation::new(size, &words);
            let mut all: Vec<u64> = (0..size).filter_map(|place| permutation.get(place)).collect();
            all.sort_unstable();
            prop_assert_eq!(all, (0..size).collect::<Vec<_>>());
            prop_assert_eq!(permutation.get(size), None);
        }

        #[test]
        fn large_sizes_stay_within(size in 1u64.., at in any::<u64>(), word in any::<u64>()) {
            let permutation = Permutation::new(size, &[word]);
            prop_assert!(permutation.get(at % size).is_some_and(|at| at < size));
        }
    }

    #[test]
    fn orders_of_a_small_set_are_alike_likely() {
        // All 24 orders of four things, over 24,000 keys: each about 1,000 times.
        let mut seen = std::collections::BTreeMap::new();
        for key in 0..24_000 {
            let permutation = Permutation::new(4, &[key]);
            let order: Vec<_> = (0..4).filter_map(|place| permutation.get(place)).collect();
            *seen.entry(order).or_insert(0u32) += 1;
        }
        assert_eq!(seen.len(), 24);
        assert!(
            seen.values().all(|count| count.abs_diff(1_000) < 160),
            "{seen:?}"
        );
    }
}

//! A random order of the numbers below a bound, computed from a key without storing it.

use assay_base::Random;

/// Rounds of the network. For large halves, four rounds yield a permutation that no polynomial-time
/// test distinguishes from a random one (Luby and Rackoff 1988, doi 10.1137/0217022). Halves of a
/// few bits need more.
const ROUNDS: u64 = 8;

/// A bijection of the numbers below a size: a balanced Feistel network over the next power of four,
/// applied repeatedly until the result is below the size (cycle walking, Black and Rogaway 2002,
/// doi 10.1007/3-540-45760-7_9, section 4).
#[derive(Debug, Clone)]
pub(crate) struct Permutation {
    size: u64,
    half_bits: u32,
    keys: [u64; ROUNDS as usize],
}

impl Permutation {
    /// The permutation of the numbers below `size` for a key.
    pub(crate) fn new(size: u64, key: &[u64]) -> Self {
        let bits = u64::BITS - size.saturating_sub(1).leading_zeros();
        let mut random = Random::stream(key);
        Self {
            size,
            half_bits: bits.div_ceil(2).max(1),
            keys: std::array::from_fn(|_| random.bits()),
        }
    }

    /// The number at a position; `None` if the position is not below the size.
    ///
    /// For sizes above 1, the network permutes at most four times as many numbers as the size, so
    /// on average at most four steps are taken. The walk terminates because each cycle that starts
    /// below the size returns there.
    pub(crate) fn get(&self, position: u64) -> Option<u64> {
        if position >= self.size {
            return None;
        }
        let mut number = self.step(position);
        while number >= self.size {
            number = self.step(number);
        }
        Some(number)
    }

    fn step(&self, number: u64) -> u64 {
        let mask = (1 << self.half_bits) - 1;
        let (mut left, mut right) = (number >> self.half_bits, number & mask);
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
        fn yields_every_number_once(
            size in 0u64..3_000, key in prop::collection::vec(any::<u64>(), 0..4),
        ) {
            let permutation = Permutation::new(size, &key);
            let mut all: Vec<u64> = (0..size)
                .filter_map(|position| permutation.get(position))
                .collect();
            all.sort_unstable();
            prop_assert_eq!(all, (0..size).collect::<Vec<_>>());
            prop_assert_eq!(permutation.get(size), None);
        }

        #[test]
        fn stays_below_large_sizes(
            size in 1u64.., position in any::<u64>(), key in any::<u64>(),
        ) {
            let permutation = Permutation::new(size, &[key]);
            prop_assert!(permutation.get(position % size).is_some_and(|number| number < size));
        }
    }

    #[test]
    fn draws_orders_of_small_sets_uniformly() {
        // All 24 orders of four numbers, over 24,000 keys: each about 1,000 times.
        let mut seen = std::collections::BTreeMap::new();
        for key in 0..24_000 {
            let permutation = Permutation::new(4, &[key]);
            let order: Vec<_> = (0..4).filter_map(|n| permutation.get(n)).collect();
            *seen.entry(order).or_insert(0u32) += 1;
        }
        assert_eq!(seen.len(), 24);
        assert!(
            seen.values().all(|count| count.abs_diff(1_000) < 160),
            "{seen:?}"
        );
    }
}

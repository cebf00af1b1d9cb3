//! Pseudorandom numbers that depend only on the seed, on every machine. Contains the generator
//! only.

use std::f64::consts::TAU;

/// SplitMix64 (Steele, Lea and Flood 2014, doi 10.1145/2660193.2660195): one addition and three
/// mixing steps per number. Every seed starts a separate stream.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// Creates the stream of a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Creates the stream with this name, a list of integers. They are mixed in one after the
    /// other, so streams for different purposes differ.
    #[must_use]
    pub fn stream(name: &[u64]) -> Self {
        let mut random = Self(0);
        for part in name {
            random.0 ^= part.wrapping_mul(0xD6E8_FEB8_6659_FD93);
            random.0 = random.bits();
        }
        random
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Uniform in \[0, 1).
    pub fn uniform(&mut self) -> f64 {
        const UNIT: f64 = 1.0 / (1u64 << 53) as f64;
        (self.bits() >> 11) as f64 * UNIT
    }

    /// True with this probability.
    pub fn bernoulli(&mut self, probability: f64) -> bool {
        self.uniform() < probability
    }

    /// True with this probability in percent.
    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// Binomial: the number of successes in `n` trials with this probability.
    pub fn count(&mut self, n: u32, probability: f64) -> u32 {
        (0..n).map(|_| u32::from(self.bernoulli(probability))).sum()
    }

    /// An index drawn with these probabilities, which must sum to 1; 0 if the list is empty.
    pub fn index(&mut self, probabilities: &[f64]) -> usize {
        let mut left = self.uniform();
        for (at, probability) in probabilities.iter().enumerate() {
            left -= probability;
            if left < 0.0 {
                return at;
            }
        }
        probabilities.len().saturating_sub(1)
    }

    /// Standard normal (Box and Muller 1958).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        radius * (TAU * self.uniform()).cos()
    }

    /// Uniform below `bound`; 0 if the bound is 0.
    pub fn below(&mut self, bound: usize) -> usize {
        let wide = u128::from(self.bits()) * bound as u128;
        usize::try_from(wide >> 64).unwrap_or_default()
    }

    /// Uniform integer between `least` and `most`, inclusive.
    pub fn between(&mut self, least: i64, most: i64) -> i64 {
        let span = usize::try_from(most.saturating_sub(least))
            .unwrap_or_default()
            .saturating_add(1);
        least.saturating_add(i64::try_from(self.below(span)).unwrap_or_default())
    }

    /// A uniformly chosen element; `None` if the list is empty.
    pub fn pick<'a, T>(&mut self, among: &'a [T]) -> Option<&'a T> {
        among.get(self.below(among.len()))
    }

    /// Shuffles the list; every order is equally likely (Fisher and Yates).
    pub fn shuffle<T>(&mut self, all: &mut [T]) {
        for last in (1..all.len()).rev() {
            all.swap(last, self.below(last + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_published_stream() {
        // Reference output of splitmix64.c for the state 1234567.
        let mut random = Random::new(1_234_567);
        assert_eq!(random.bits(), 6_457_827_717_110_365_317);
        assert_eq!(random.bits(), 3_203_168_211_198_807_973);
    }

    #[test]
    fn has_the_expected_moments() {
        let mut random = Random::stream(&[1]);
        let n = 40_000;
        let (mut mean, mut square, mut uniform) = (0.0, 0.0, 0.0);
        for _ in 0..n {
            let normal = random.normal();
            mean += normal / f64::from(n);
            square += normal * normal / f64::from(n);
            uniform += random.uniform() / f64::from(n);
        }
        assert!(mean.abs() < 0.02 && (square - 1.0).abs() < 0.03 && (uniform - 0.5).abs() < 0.006);
    }

    #[test]
    fn respects_bounds_and_keeps_elements_when_shuffling() {
        let mut random = Random::stream(&[2, 3]);
        assert!(
            (0..1_000).all(|_| random.below(7) < 7 && (-2..=4).contains(&random.between(-2, 4)))
        );
        assert_eq!((random.below(0), random.pick::<u8>(&[])), (0, None));
        let mut all: Vec<usize> = (0..50).collect();
        random.shuffle(&mut all);
        assert_ne!(all, (0..50).collect::<Vec<_>>());
        all.sort_unstable();
        assert_eq!(all, (0..50).collect::<Vec<_>>());
    }
}

//! Random numbers that are the same on every machine. Owns the generator; knows nothing of what they are for.

use std::f64::consts::TAU;

/// SplitMix64 (Steele, Lea and Flood 2014, doi 10.1145/2660193.2660195): one addition and three mixing steps a number, and
/// every seed starts a stream of its own.
#[derive(Debug, Clone)]
pub(crate) struct Random(u64);

impl Random {
    /// The stream of this name: the words are mixed in one after the other, so that streams of different purposes differ.
    pub(crate) fn stream(words: &[u64]) -> Self {
        let mut random = Self(0);
        for word in words {
            random.0 ^= word.wrapping_mul(0xD6E8_FEB8_6659_FD93);
            random.0 = random.bits();
        }
        random
    }

    /// 64 random bits.
    pub(crate) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Uniform in \[0, 1).
    #[expect(clippy::cast_precision_loss, reason = "53 bits are what an f64 holds exactly")]
    pub(crate) fn uniform(&mut self) -> f64 {
        const UNIT: f64 = 1.0 / (1u64 << 53) as f64;
        (self.bits() >> 11) as f64 * UNIT
    }

    /// True with this probability.
    pub(crate) fn happens(&mut self, probability: f64) -> bool {
        self.uniform() < probability
    }

    /// Standard normal (Box and Muller 1958).
    pub(crate) fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        radius * (TAU * self.uniform()).cos()
    }

    /// Index drawn with these probabilities, which sum to 1.
    pub(crate) fn index(&mut self, probabilities: &[f64]) -> usize {
        let mut left = self.uniform();
        for (at, probability) in probabilities.iter().enumerate() {
            left -= probability;
            if left < 0.0 {
                return at;
            }
        }
        probabilities.len() - 1
    }

    /// How many of `n` happen with this probability.
    pub(crate) fn count(&mut self, n: u32, probability: f64) -> u32 {
        (0..n).map(|_| u32::from(self.happens(probability))).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_is_the_published_one() {
        // Reference output of splitmix64.c for the state 1234567.
        let mut random = Random(1_234_567);
        assert_eq!(random.bits(), 6_457_827_717_110_365_317);
        assert_eq!(random.bits(), 3_203_168_211_198_807_973);
    }

    #[test]
    fn numbers_have_the_moments_they_should() {
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
}

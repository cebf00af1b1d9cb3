//! Numbers that look random and are the same for the same seed, on every machine: SplitMix64 (Steele, Lea and Flood, 2014).

/// A source of such numbers.
#[derive(Debug, Clone)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`; 0 for a bound of 0.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        let wide = u128::from(self.next()) * bound as u128;
        usize::try_from(wide >> 64).unwrap_or_default()
    }

    /// True in so many of a hundred cases.
    pub(crate) fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// One of these.
    pub(crate) fn pick<'a, T>(&mut self, among: &'a [T]) -> Option<&'a T> {
        among.get(self.below(among.len()))
    }

    /// A whole number between two, both included.
    pub(crate) fn between(&mut self, least: i64, most: i64) -> i64 {
        let span = usize::try_from(most.saturating_sub(least)).unwrap_or_default().saturating_add(1);
        least.saturating_add(i64::try_from(self.below(span)).unwrap_or_default())
    }
}

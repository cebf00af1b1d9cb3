//! Sampling of arms by softmax without replacement. A tree of sums finds and updates an arm in time
//! logarithmic in the number of arms. The caller provides random numbers and reports exhausted
//! arms.

/// Shares are recomputed when their sum falls to this value: arms that are unlikely relative to
/// exhausted ones would otherwise be drawn with little or no precision.
const UNDERFLOW: f64 = 1e-200;

/// Shares exp((value - best) / temperature) of arms, where `best` is the value of the best arm that
/// was left when they were last computed.
///
/// The share of an arm is computed at most twice. At a recomputation, the best arm left is at least
/// 460 temperatures below the previous best (ln 1e-200), and the exponential is 0 from 746 below.
pub(super) struct SoftmaxTree<'v> {
    values: &'v [f64],
    temperature: f64,
    /// Arms by value, best first.
    order: Vec<usize>,
    /// Number of arms at the start of `order` that are known to be exhausted.
    exhausted: usize,
    /// Node n is the sum of nodes 2n and 2n + 1; the last half are the arms. Sums are recomputed by
    /// addition only: the rounding error of subtractions could exceed the shares left.
    sums: Vec<f64>,
    leaves: usize,
}

impl<'v> SoftmaxTree<'v> {
    /// Creates a tree for arms with these finite values. Shares are computed by
    /// [`SoftmaxTree::refresh`].
    pub(super) fn new(values: &'v [f64], temperature: f64) -> Self {
        let mut order: Vec<usize> = (0..values.len()).collect();
        order.sort_by(|a, b| values[*b].total_cmp(&values[*a]));
        let leaves = values.len().max(1).next_power_of_two();
        Self {
            values,
            temperature,
            order,
            exhausted: 0,
            sums: vec![0.0; 2 * leaves],
            leaves,
        }
    }

    /// Recomputes the shares of the `available` arms if the current ones are too small to sample
    /// from. Returns false if no arm is left.
    pub(super) fn refresh(&mut self, available: impl Fn(usize) -> bool) -> bool {
        if self.sums[1] > UNDERFLOW {
            return true;
        }
        while let Some(arm) = self
            .order
            .get(self.exhausted)
            .copied()
            .filter(|arm| !available(*arm))
        {
            self.set(arm, 0.0);
            self.exhausted += 1;
        }
        let best = self
            .order
            .get(self.exhausted)
            .map_or(0.0, |arm| self.values[*arm]);
        for at in self.exhausted..self.order.len() {
            let arm = self.order[at];
            // `max` returns 0 for NaN.
            let share = ((self.values[arm] - best) / self.temperature)
                .exp()
                .max(0.0);
            if share <= 0.0 {
                break;
            }
            self.set(arm, if available(arm) { share } else { 0.0 });
        }
        self.sums[1] > 0.0
    }

    /// The arm at quantile `u` in \[0, 1\] of the shares. Its share is above 0.
    pub(super) fn sample(&self, u: f64) -> usize {
        let (mut left, mut node) = (u * self.sums[1], 1);
        while node < self.leaves {
            node *= 2;
            if left >= self.sums[node] && self.sums[node + 1] > 0.0 {
                left -= self.sums[node];
                node += 1;
            }
        }
        node - self.leaves
    }

    /// Removes an arm.
    pub(super) fn remove(&mut self, arm: usize) {
        self.set(arm, 0.0);
    }

    fn set(&mut self, arm: usize, share: f64) {
        let mut node = self.leaves + arm;
        self.sums[node] = share;
        while node > 1 {
            node /= 2;
            self.sums[node] = self.sums[2 * node] + self.sums[2 * node + 1];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::bandit::softmax;
    use super::*;

    #[test]
    fn sample_inverts_the_cumulative_shares() {
        // ln 2 and 0 at temperature 1: 2/2, 1/2, 2/2 with sum 2.5; boundaries at 0.4 and 0.6.
        let values = [2f64.ln(), 0.0, 2f64.ln()];
        let mut tree = SoftmaxTree::new(&values, 1.0);
        assert!(tree.refresh(|_| true));
        let found = [0.0, 0.39, 0.41, 0.59, 0.61, 1.0].map(|u| tree.sample(u));
        assert_eq!(found, [0, 0, 1, 1, 2, 2]);
        // Without the first arm the boundary is at 1/3.
        tree.remove(0);
        assert_eq!([0.0, 0.33, 0.34, 1.0].map(|u| tree.sample(u)), [1, 1, 2, 2]);
    }

    #[test]
    fn samples_with_the_frequencies_of_the_softmax() {
        let values = [0.3, -0.2, 0.1, 0.9, 0.35];
        let mut tree = SoftmaxTree::new(&values, 0.4);
        assert!(tree.refresh(|_| true));
        let mut found = [0u32; 5];
        for n in 0..100_000u32 {
            found[tree.sample((f64::from(n) + 0.5) / 100_000.0)] += 1;
        }
        for (found, share) in found.iter().zip(softmax(&values, 0.4)) {
            assert!((f64::from(*found) / 100_000.0 - share).abs() < 2e-5);
        }
    }

    #[test]
    fn refresh_fails_without_available_arms() {
        assert!(!SoftmaxTree::new(&[], 0.1).refresh(|_| true));
        assert!(!SoftmaxTree::new(&[1.0, 2.0], 0.1).refresh(|_| false));
        assert!(!SoftmaxTree::new(&[f64::NAN, 2.0], 0.1).refresh(|_| true));
    }
}

//! Shares of arms by softmax, kept in a tree of sums so that one is found and one is changed in the
//! logarithm of their number. Rolls no dice and knows no prompts: the number to look for, and which
//! arms are used up, are handed in.

/// Sum of the shares left from which on they are weighed anew: an arm so unlikely beside those that
/// are used up would be drawn with few digits, or with none.
const VANISHED: f64 = 1e-200;

/// exp((value - best) / temperature) of each arm, `best` the value of the best arm that was left
/// when they were weighed last.
///
/// Whatever the values, an arm is weighed twice at most: when shares have vanished, the best one
/// left lies at least 460 temperatures below the last best (ln 1e-200), and an exponential is 0
/// from 746 below.
pub(super) struct Shares<'v> {
    values: &'v [f64],
    temperature: f64,
    /// Arms by value, the best first.
    order: Vec<usize>,
    /// Arms of the order that are used up for certain.
    used: usize,
    /// Node n has the sum of nodes 2n and 2n + 1; arms are the last half. Sums are made of sums and
    /// never by taking off, which would leave more rounding than the shares left.
    sums: Vec<f64>,
    leaves: usize,
}

impl<'v> Shares<'v> {
    /// Arms of these values, finite ones; nothing is weighed yet.
    pub(super) fn new(values: &'v [f64], temperature: f64) -> Self {
        let mut order: Vec<usize> = (0..values.len()).collect();
        order.sort_by(|a, b| values[*b].total_cmp(&values[*a]));
        let leaves = values.len().max(1).next_power_of_two();
        Self {
            values,
            temperature,
            order,
            used: 0,
            sums: vec![0.0; 2 * leaves],
            leaves,
        }
    }

    /// Sees to it that there are shares to draw from, for which those of the arms that are `open`
    /// may be weighed anew. False where no arm is left.
    pub(super) fn renew(&mut self, open: impl Fn(usize) -> bool) -> bool {
        if self.sums[1] > VANISHED {
            return true;
        }
        while let Some(arm) = self.order.get(self.used).copied().filter(|arm| !open(*arm)) {
            self.set(arm, 0.0);
            self.used += 1;
        }
        let best = self
            .order
            .get(self.used)
            .map_or(0.0, |arm| self.values[*arm]);
        for at in self.used..self.order.len() {
            let arm = self.order[at];
            // `max` takes 0 for what is no number.
            let share = ((self.values[arm] - best) / self.temperature)
                .exp()
                .max(0.0);
            if share <= 0.0 {
                break;
            }
            self.set(arm, if open(arm) { share } else { 0.0 });
        }
        self.sums[1] > 0.0
    }

    /// The arm that a number from 0 to 1 points at when the shares lie end to end; one with a
    /// share.
    pub(super) fn at(&self, u: f64) -> usize {
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

    /// Takes the arm out.
    pub(super) fn close(&mut self, arm: usize) {
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
    fn arms_lie_end_to_end() {
        // ln 2 and 0 at temperature 1: 2/2, 1/2, 2/2 of 2.5 together; ends at 0.4 and 0.6.
        let values = [2f64.ln(), 0.0, 2f64.ln()];
        let mut shares = Shares::new(&values, 1.0);
        assert!(shares.renew(|_| true));
        let found = [0.0, 0.39, 0.41, 0.59, 0.61, 1.0].map(|u| shares.at(u));
        assert_eq!(found, [0, 0, 1, 1, 2, 2]);
        // Without the first: ends at 1/3.
        shares.close(0);
        assert_eq!([0.0, 0.33, 0.34, 1.0].map(|u| shares.at(u)), [1, 1, 2, 2]);
    }

    #[test]
    fn an_arm_is_found_as_often_as_the_softmax_says() {
        let values = [0.3, -0.2, 0.1, 0.9, 0.35];
        let mut shares = Shares::new(&values, 0.4);
        assert!(shares.renew(|_| true));
        let mut found = [0u32; 5];
        for n in 0..100_000u32 {
            found[shares.at((f64::from(n) + 0.5) / 100_000.0)] += 1;
        }
        for (found, share) in found.iter().zip(softmax(&values, 0.4)) {
            assert!((f64::from(*found) / 100_000.0 - share).abs() < 2e-5);
        }
    }

    #[test]
    fn nothing_is_drawn_from_nothing() {
        assert!(!Shares::new(&[], 0.1).renew(|_| true));
        assert!(!Shares::new(&[1.0, 2.0], 0.1).renew(|_| false));
        assert!(!Shares::new(&[f64::NAN, 2.0], 0.1).renew(|_| true));
    }
}

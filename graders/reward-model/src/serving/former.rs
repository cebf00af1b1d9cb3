//! Which of the waiting sequences make the next batch. Knows nothing of time, threads or models.
//!
//! A window, some batches wide, is kept filled from the lanes in turn. A batch is its first sequence and those of like length:
//! what is of one length ends at one time, and a model that pads wastes little. Nothing is put off for long: the first of the
//! window always goes, and what was passed over twice goes before what fits better.

use super::lanes::{Lanes, Waiting};

/// Lengths within one bucket are as good as equal.
const BUCKET_TOKENS: usize = 64;

/// How often a sequence may be passed over for the sake of others.
const MOST_PASSED: u32 = 2;

/// Width of the window in batches: what enters it leaves with the third batch at the latest, when all fit well.
const WINDOW_BATCHES: usize = 3;

/// How much a batch may hold. A sequence of more tokens makes a batch alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Budget {
    pub(super) tokens: usize,
    pub(super) rows: usize,
}

/// The sequences that are looked at, those that have been there for longest first.
pub(super) struct Window<T> {
    waiting: Vec<Waiting<T>>,
    tokens: usize,
    budget: Budget,
}

impl<T> Window<T> {
    /// An empty window, wide enough for batches of `budget`.
    pub(super) fn new(budget: Budget) -> Self {
        Self { waiting: Vec::new(), tokens: 0, budget }
    }

    /// Fills up from the lanes.
    pub(super) fn fill(&mut self, lanes: &mut Lanes<T>) {
        while self.tokens < self.budget.tokens.saturating_mul(WINDOW_BATCHES)
            && self.waiting.len() < self.budget.rows.saturating_mul(WINDOW_BATCHES)
        {
            let Some(next) = lanes.pop() else { return };
            self.tokens += next.tokens;
            self.waiting.push(next);
        }
    }

    /// Takes out what `chosen` says, in order.
    pub(super) fn take(&mut self, mut chosen: impl FnMut(&Waiting<T>) -> bool) -> Vec<Waiting<T>> {
        let taken: Vec<_> = self.waiting.extract_if(.., |waiting| chosen(waiting)).collect();
        self.tokens -= taken.iter().map(|waiting| waiting.tokens).sum::<usize>();
        taken
    }

    /// The sequence that the next batch is about.
    pub(super) fn first(&self) -> Option<&Waiting<T>> {
        self.waiting.first()
    }

    /// Tokens in the window.
    pub(super) fn tokens(&self) -> usize {
        self.tokens
    }

    /// Takes the next batch out, within `budget`, in the order in which they came: the first sequence, and of those that are its
    /// `kin` the ones passed over too often, then the nearest in length. Empty only when the window is.
    pub(super) fn form(&mut self, budget: Budget, kin: impl Fn(&T, &T) -> bool) -> Vec<Waiting<T>> {
        let Some(first) = self.waiting.first() else { return Vec::new() };
        let mut places: Vec<usize> =
            (1..self.waiting.len()).filter(|at| kin(&first.what, &self.waiting[*at].what)).collect();
        let length = bucket(first.tokens);
        places.sort_by_key(|at| {
            let other = &self.waiting[*at];
            if other.passed >= MOST_PASSED { (0, 0) } else { (1, bucket(other.tokens).abs_diff(length)) }
        });
        let mut chosen = vec![false; self.waiting.len()];
        chosen[0] = true;
        let mut left =
            Budget { tokens: budget.tokens.saturating_sub(first.tokens), rows: budget.rows.saturating_sub(1) };
        for at in places {
            let tokens = self.waiting[at].tokens;
            if left.rows == 0 {
                break;
            }
            if tokens <= left.tokens {
                left = Budget { tokens: left.tokens - tokens, rows: left.rows - 1 };
                chosen[at] = true;
            }
        }
        let mut chosen = chosen.into_iter();
        let batch = self.take(|_| chosen.next().unwrap_or_default());
        for waiting in &mut self.waiting {
            waiting.passed += 1;
        }
        batch
    }
}

fn bucket(tokens: usize) -> usize {
    tokens.div_ceil(BUCKET_TOKENS)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::*;

    const WIDE: Budget = Budget { tokens: 1_000, rows: 4 };

    fn window(lengths: &[usize], budget: Budget) -> Window<usize> {
        let mut lanes = Lanes::default();
        lanes.push(&Arc::from("a"), lengths.iter().copied().enumerate().map(|(at, tokens)| (tokens, at)));
        let mut window = Window::new(budget);
        window.fill(&mut lanes);
        window
    }

    fn next(window: &mut Window<usize>, budget: Budget) -> Vec<usize> {
        window.form(budget, |_, _| true).into_iter().map(|waiting| waiting.what).collect()
    }

    #[test]
    fn a_batch_is_the_first_and_the_nearest_in_length() {
        let mut window = window(&[100, 400, 90, 300, 110, 30, 100], WIDE);
        assert_eq!(next(&mut window, WIDE), [0, 2, 4, 6]);
        assert_eq!(next(&mut window, WIDE), [1, 3, 5]);
        assert!(next(&mut window, WIDE).is_empty());
    }

    #[test]
    fn what_was_passed_over_twice_goes_before_what_fits_better() {
        let pairs = Budget { tokens: 5_000, rows: 2 };
        let mut lanes = Lanes::default();
        lanes.push(&Arc::from("a"), [10, 300, 600, 2_000, 10, 300, 600].into_iter().enumerate().map(|(at, n)| (n, at)));
        let mut window = Window::new(pairs);
        window.fill(&mut lanes);
        assert_eq!(next(&mut window, pairs), [0, 4]);
        assert_eq!(next(&mut window, pairs), [1, 5]);
        window.fill(&mut lanes);
        assert_eq!(next(&mut window, pairs), [2, 3], "6 is nearer to 2, and came later");
        assert_eq!(next(&mut window, pairs), [6]);
    }

    #[test]
    fn what_is_longer_than_the_budget_goes_alone() {
        let mut window = window(&[5_000, 10], Budget { tokens: 5_000, rows: 4 });
        assert_eq!(next(&mut window, WIDE), [0]);
        assert_eq!(next(&mut window, WIDE), [1]);
    }

    #[test]
    fn a_batch_has_one_kin() {
        let mut window = window(&[10, 10, 10, 10], WIDE);
        let batch: Vec<_> = window.form(WIDE, |a, b| a % 2 == b % 2).into_iter().map(|waiting| waiting.what).collect();
        assert_eq!(batch, [0, 2]);
    }

    proptest! {
        #[test]
        fn batches_keep_to_the_budget_and_nothing_waits_past_its_place(
            lengths in prop::collection::vec(1..600usize, 1..40),
            kinds in 1..4usize,
        ) {
            let mut window = window(&lengths, Budget { tokens: usize::MAX, rows: 1_000 });
            let mut seen = vec![];
            for turn in 0.. {
                let front = window.first().map(|waiting| waiting.what);
                let batch = window.form(WIDE, |a, b| a % kinds == b % kinds);
                let Some(first) = batch.first() else { break };
                prop_assert_eq!(Some(first.what), front);
                prop_assert!(batch.len() == 1 || batch.iter().map(|waiting| waiting.tokens).sum::<usize>() <= WIDE.tokens);
                prop_assert!(batch.len() <= WIDE.rows);
                for waiting in batch {
                    prop_assert!(turn <= waiting.what, "sequence {} ran in batch {turn}", waiting.what);
                    prop_assert_eq!(waiting.passed as usize, turn);
                    seen.push(waiting.what);
                }
            }
            seen.sort_unstable();
            prop_assert_eq!(seen, (0..lengths.len()).collect::<Vec<_>>());
            prop_assert_eq!(window.tokens(), 0);
        }
    }
}

//! Pairs calls with expected calls. The number of pairs is maximal, so that no order of calls or of
//! expectations changes a verdict.

use crate::task::Order;

/// For each expected call, the index of its call, if it has one.
pub(crate) type Pairs = Vec<Option<usize>>;

/// A maximum matching. `matches(expected, actual)` returns whether two calls may be paired.
pub(crate) fn pairs(
    expected: usize,
    actual: usize,
    order: Order,
    mut matches: impl FnMut(usize, usize) -> bool,
) -> Pairs {
    let candidates: Vec<Vec<usize>> = (0..expected)
        .map(|e| (0..actual).filter(|m| matches(e, *m)).collect())
        .collect();
    match order {
        Order::Any => any_order(&candidates, actual),
        Order::Sequence => in_sequence(&candidates, actual),
    }
}

/// Maximum bipartite matching by augmenting paths (Kuhn 1955). An expected call may use the call of
/// another one if that one can be matched with a different call.
fn any_order(candidates: &[Vec<usize>], actual: usize) -> Pairs {
    let mut holder: Vec<Option<usize>> = vec![None; actual];
    for expected in 0..candidates.len() {
        let mut seen = vec![false; actual];
        augment(expected, candidates, &mut seen, &mut holder);
    }
    let mut pairs = vec![None; candidates.len()];
    for (call, holder) in holder.iter().enumerate() {
        if let Some(expected) = holder {
            pairs[*expected] = Some(call);
        }
    }
    pairs
}

/// Finds a call for `expected`. The depth of the recursion is at most the number of expected calls,
/// which is bounded.
fn augment(
    expected: usize,
    candidates: &[Vec<usize>],
    seen: &mut [bool],
    holder: &mut [Option<usize>],
) -> bool {
    for call in &candidates[expected] {
        if std::mem::replace(&mut seen[*call], true) {
            continue;
        }
        if holder[*call].is_none_or(|other| augment(other, candidates, seen, holder)) {
            holder[*call] = Some(expected);
            return true;
        }
    }
    false
}

/// The longest common subsequence.
fn in_sequence(candidates: &[Vec<usize>], actual: usize) -> Pairs {
    let mut longest = vec![vec![0u32; actual + 1]; candidates.len() + 1];
    for e in (0..candidates.len()).rev() {
        for m in (0..actual).rev() {
            let both = if candidates[e].binary_search(&m).is_ok() {
                longest[e + 1][m + 1] + 1
            } else {
                0
            };
            longest[e][m] = both.max(longest[e + 1][m]).max(longest[e][m + 1]);
        }
    }
    let mut pairs = vec![None; candidates.len()];
    let (mut e, mut m) = (0, 0);
    while e < candidates.len() && m < actual {
        if candidates[e].binary_search(&m).is_ok() && longest[e][m] == longest[e + 1][m + 1] + 1 {
            pairs[e] = Some(m);
            (e, m) = (e + 1, m + 1);
        } else if longest[e][m] == longest[e + 1][m] {
            e += 1;
        } else {
            m += 1;
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn size(pairs: &Pairs) -> usize {
        pairs.iter().flatten().count()
    }

    #[test]
    fn matching_is_not_greedy() {
        // The first expected call matches both calls, the second only the first: greedy matching
        // would leave it unmatched.
        let candidates = [[true, true], [true, false]];
        assert_eq!(
            pairs(2, 2, Order::Any, |e, m| candidates[e][m]),
            [Some(1), Some(0)]
        );
    }

    #[test]
    fn compares_sequences_in_order() {
        let matches = |e: usize, m: usize| ["a", "b", "c"][e] == ["b", "a", "x", "c"][m];
        assert_eq!(size(&pairs(3, 4, Order::Any, matches)), 3);
        assert_eq!(size(&pairs(3, 4, Order::Sequence, matches)), 2);
    }

    /// The maximum number of pairs, by exhaustive search.
    fn best(
        candidates: &[Vec<bool>],
        from: usize,
        taken: &mut Vec<bool>,
        after: Option<usize>,
    ) -> usize {
        let Some(row) = candidates.get(from) else {
            return 0;
        };
        let mut max = best(candidates, from + 1, taken, after);
        for (call, matches) in row.iter().enumerate() {
            if *matches && !taken[call] && after.is_none_or(|after| call >= after) {
                taken[call] = true;
                max = max.max(1 + best(candidates, from + 1, taken, after.map(|_| call + 1)));
                taken[call] = false;
            }
        }
        max
    }

    proptest! {
        #[test]
        fn finds_a_maximum_matching(
            candidates in prop::collection::vec(prop::collection::vec(any::<bool>(), 5), 0..6)
        ) {
            let matches = |e: usize, m: usize| candidates[e][m];
            let any = pairs(candidates.len(), 5, Order::Any, matches);
            prop_assert_eq!(size(&any), best(&candidates, 0, &mut vec![false; 5], None));
            let sequence = pairs(candidates.len(), 5, Order::Sequence, matches);
            prop_assert_eq!(size(&sequence), best(&candidates, 0, &mut vec![false; 5], Some(0)));
            let taken: Vec<usize> = sequence.iter().flatten().copied().collect();
            prop_assert!(taken.is_sorted_by(|a, b| a < b));
            for (e, m) in any.iter().enumerate().filter_map(|(e, m)| m.map(|m| (e, m))) {
                prop_assert!(candidates[e][m]);
            }
        }
    }
}

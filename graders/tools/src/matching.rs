//! Pairs calls with expected calls. The number of pairs is maximal, so that no order of calls or of
//! expectations changes a verdict.

use crate::task::Order;

/// For each expected call, the matching call.
pub(crate) type Pairs = Vec<Option<usize>>;

/// A maximum matching; `is_it(expected, made)` returns whether two may be paired.
pub(crate) fn pairs(
    expected: usize,
    made: usize,
    order: Order,
    mut is_it: impl FnMut(usize, usize) -> bool,
) -> Pairs {
    let may: Vec<Vec<usize>> = (0..expected)
        .map(|e| (0..made).filter(|m| is_it(e, *m)).collect())
        .collect();
    match order {
        Order::Any => any_order(&may, made),
        Order::Sequence => in_sequence(&may, made),
    }
}

/// Maximum bipartite matching by augmenting paths (Kuhn 1955): an expected call may take the call
/// of another if that one can be matched with a different call.
fn any_order(may: &[Vec<usize>], made: usize) -> Pairs {
    let mut holder: Vec<Option<usize>> = vec![None; made];
    for expected in 0..may.len() {
        let mut seen = vec![false; made];
        augment(expected, may, &mut seen, &mut holder);
    }
    let mut pairs = vec![None; may.len()];
    for (call, holder) in holder.iter().enumerate() {
        if let Some(expected) = holder {
            pairs[*expected] = Some(call);
        }
    }
    pairs
}

/// The recursion is as deep as the number of expected calls, which is bounded.
fn augment(
    expected: usize,
    may: &[Vec<usize>],
    seen: &mut [bool],
    holder: &mut [Option<usize>],
) -> bool {
    for call in &may[expected] {
        if std::mem::replace(&mut seen[*call], true) {
            continue;
        }
        if holder[*call].is_none_or(|other| augment(other, may, seen, holder)) {
            holder[*call] = Some(expected);
            return true;
        }
    }
    false
}

/// The longest common subsequence.
fn in_sequence(may: &[Vec<usize>], made: usize) -> Pairs {
    let mut longest = vec![vec![0u32; made + 1]; may.len() + 1];
    for e in (0..may.len()).rev() {
        for m in (0..made).rev() {
            let both = if may[e].binary_search(&m).is_ok() {
                longest[e + 1][m + 1] + 1
            } else {
                0
            };
            longest[e][m] = both.max(longest[e + 1][m]).max(longest[e][m + 1]);
        }
    }
    let mut pairs = vec![None; may.len()];
    let (mut e, mut m) = (0, 0);
    while e < may.len() && m < made {
        if may[e].binary_search(&m).is_ok() && longest[e][m] == longest[e + 1][m + 1] + 1 {
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
        let may = [[true, true], [true, false]];
        assert_eq!(
            pairs(2, 2, Order::Any, |e, m| may[e][m]),
            [Some(1), Some(0)]
        );
    }

    #[test]
    fn compares_sequences_in_order() {
        let is_it = |e: usize, m: usize| ["a", "b", "c"][e] == ["b", "a", "x", "c"][m];
        assert_eq!(size(&pairs(3, 4, Order::Any, is_it)), 3);
        assert_eq!(size(&pairs(3, 4, Order::Sequence, is_it)), 2);
    }

    /// The maximum number of pairs, by exhaustive search.
    fn best(may: &[Vec<bool>], from: usize, taken: &mut Vec<bool>, after: Option<usize>) -> usize {
        let Some(row) = may.get(from) else { return 0 };
        let mut most = best(may, from + 1, taken, after);
        for (call, fits) in row.iter().enumerate() {
            if *fits && !taken[call] && after.is_none_or(|after| call >= after) {
                taken[call] = true;
                most = most.max(1 + best(may, from + 1, taken, after.map(|_| call + 1)));
                taken[call] = false;
            }
        }
        most
    }

    proptest! {
        #[test]
        fn finds_a_maximum_matching(may in proptest::collection::vec(proptest::collection::vec(any::<bool>(), 5), 0..6)) {
            let is_it = |e: usize, m: usize| may[e][m];
            let any = pairs(may.len(), 5, Order::Any, is_it);
            prop_assert_eq!(size(&any), best(&may, 0, &mut vec![false; 5], None));
            let sequence = pairs(may.len(), 5, Order::Sequence, is_it);
            prop_assert_eq!(size(&sequence), best(&may, 0, &mut vec![false; 5], Some(0)));
            let taken: Vec<usize> = sequence.iter().flatten().copied().collect();
            prop_assert!(taken.is_sorted_by(|a, b| a < b));
            for (e, m) in any.iter().enumerate().filter_map(|(e, m)| m.map(|m| (e, m))) {
                prop_assert!(may[e][m]);
            }
        }
    }
}

//! Cutting submissions into requests. A group is never cut: its numbers are relative to its
//! members.

use std::collections::{HashMap, VecDeque};

use super::Submission;

/// Whole groups of one request, each the positions of its members.
pub(super) type Batch = Vec<Vec<usize>>;

/// The groups in the order they first appear, members in the order of the submissions.
pub(super) fn groups(submissions: &[Submission<'_>]) -> Batch {
    let mut places: HashMap<&str, usize> = HashMap::new();
    let mut groups: Batch = Vec::new();
    for (at, submission) in submissions.iter().enumerate() {
        let place = *places.entry(&submission.group).or_insert_with(|| {
            groups.push(Vec::new());
            groups.len() - 1
        });
        groups[place].push(at);
    }
    groups
}

/// Batches of at most `most` items, in order; a larger group is one of its own.
pub(super) fn batches(groups: Batch, most: usize) -> VecDeque<Batch> {
    let mut batches: VecDeque<Batch> = VecDeque::new();
    let mut items = 0;
    for group in groups {
        items += group.len();
        match batches.back_mut() {
            Some(batch) if items <= most => batch.push(group),
            _ => {
                items = group.len();
                batches.push_back(vec![group]);
            }
        }
    }
    batches
}

/// The first and the second half of the groups; `None` of a single one.
pub(super) fn halves(mut batch: Batch) -> Option<(Batch, Batch)> {
    let second = batch.split_off(batch.len() / 2);
    (!batch.is_empty()).then_some((batch, second))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn no_group_is_cut_and_nothing_is_lost(sizes in prop::collection::vec(1usize..9, 0..30), most in 0usize..20) {
            let mut next = 0..;
            let groups: Batch = sizes.iter().map(|size| next.by_ref().take(*size).collect()).collect();
            let batches = batches(groups.clone(), most);
            for batch in &batches {
                let items: usize = batch.iter().map(Vec::len).sum();
                prop_assert!(items <= most || batch.len() == 1);
            }
            prop_assert_eq!(batches.into_iter().flatten().collect::<Batch>(), groups);
        }
    }

    #[test]
    fn halves_end_at_single_groups() {
        assert_eq!(
            halves(vec![vec![0], vec![1, 2], vec![3]]),
            Some((vec![vec![0]], vec![vec![1, 2], vec![3]]))
        );
        assert_eq!(halves(vec![vec![0, 1]]), None);
    }
}

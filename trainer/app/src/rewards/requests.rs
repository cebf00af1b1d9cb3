//! Splits submissions into requests. A group is never split, because its numbers are relative to
//! its members.

use std::collections::{HashMap, VecDeque};

use super::submission::Submission;

/// Whole groups, each as the indices of its submissions.
pub(super) type GroupIndices = Vec<Vec<usize>>;

/// The groups in order of first appearance, with members in the order of the submissions.
pub(super) fn groups(submissions: &[Submission<'_>]) -> GroupIndices {
    let mut group_of: HashMap<&str, usize> = HashMap::new();
    let mut groups: GroupIndices = Vec::new();
    for (index, submission) in submissions.iter().enumerate() {
        let group = *group_of.entry(&submission.group).or_insert_with(|| {
            groups.push(Vec::new());
            groups.len() - 1
        });
        groups[group].push(index);
    }
    groups
}

/// Splits groups into requests of at most `limit` items, in order; a larger group is alone.
pub(super) fn split(groups: GroupIndices, limit: usize) -> VecDeque<GroupIndices> {
    let mut requests: VecDeque<GroupIndices> = VecDeque::new();
    let mut items = 0;
    for group in groups {
        items += group.len();
        match requests.back_mut() {
            Some(request) if items <= limit => request.push(group),
            _ => {
                items = group.len();
                requests.push_back(vec![group]);
            }
        }
    }
    requests
}

/// The first and the second half of the groups; `None` for a single group.
pub(super) fn halves(mut batch: GroupIndices) -> Option<(GroupIndices, GroupIndices)> {
    let second = batch.split_off(batch.len() / 2);
    (!batch.is_empty()).then_some((batch, second))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn splits_between_groups_without_loss(
            sizes in prop::collection::vec(1usize..9, 0..30), limit in 0usize..20,
        ) {
            let mut next = 0..;
            let group = |size: &usize| next.by_ref().take(*size).collect();
            let groups: GroupIndices = sizes.iter().map(group).collect();
            let requests = split(groups.clone(), limit);
            for request in &requests {
                let items: usize = request.iter().map(Vec::len).sum();
                prop_assert!(items <= limit || request.len() == 1);
            }
            prop_assert_eq!(requests.into_iter().flatten().collect::<GroupIndices>(), groups);
        }
    }

    #[test]
    fn halves_groups_down_to_single_ones() {
        assert_eq!(
            halves(vec![vec![0], vec![1, 2], vec![3]]),
            Some((vec![vec![0]], vec![vec![1, 2], vec![3]]))
        );
        assert_eq!(halves(vec![vec![0, 1]]), None);
    }
}

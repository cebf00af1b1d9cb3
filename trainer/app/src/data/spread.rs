//! Classification of groups by whether their rewards differ.

/// The groups of a batch, classified by the spread of their rewards.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Spread {
    /// Indices of the groups with different rewards.
    pub mixed: Vec<usize>,
    /// Number of groups whose rewards are all equal; their advantages are 0.
    pub same: usize,
    /// Number of groups with fewer than two rewards, which cannot be compared.
    pub too_few: usize,
}

/// Classifies groups by whether their rewards differ (dynamic sampling of DAPO, arXiv 2503.14476,
/// equation 11; for rewards of 0 and 1, `mixed` is its condition `0 < right < G`). Members without
/// a reward are ignored.
#[must_use]
pub fn group_spread(groups: &[Vec<Option<f64>>]) -> Spread {
    let mut spread = Spread::default();
    for (index, rewards) in groups.iter().enumerate() {
        let mut graded = rewards.iter().flatten();
        match graded.next() {
            Some(first) if graded.any(|reward| reward != first) => spread.mixed.push(index),
            _ if rewards.iter().flatten().nth(1).is_none() => spread.too_few += 1,
            _ => spread.same += 1,
        }
    }
    spread
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classifies_groups_by_spread() {
        let groups = [
            vec![Some(0.0), Some(1.0)],
            vec![Some(1.0), Some(1.0), None],
            vec![Some(1.0), None],
            vec![None],
            vec![],
            vec![None, Some(0.25), Some(0.25), Some(0.5)],
        ];
        assert_eq!(
            group_spread(&groups),
            Spread {
                mixed: vec![0, 5],
                same: 1,
                too_few: 3
            }
        );
    }
}

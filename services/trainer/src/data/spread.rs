//! Which groups have something to teach.

/// The groups of a batch by what their scores show.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Kept {
    /// Groups whose graded members differ, by position.
    pub mixed: Vec<usize>,
    /// How many groups have the same score throughout: their advantages are 0.
    pub same: usize,
    /// How many groups have fewer than two graded members: there is nothing to compare.
    pub too_few: usize,
}

/// Keeps groups whose scores differ (dynamic sampling of DAPO, Yu et al. 2025, arXiv 2503.14476,
/// equation 11, whose condition `0 < right < G` this is for scores of 0 and 1). A member without a
/// score is masked: it neither fails nor passes.
#[must_use]
pub fn keep(groups: &[Vec<Option<f64>>]) -> Kept {
    let mut kept = Kept::default();
    for (at, scores) in groups.iter().enumerate() {
        let mut graded = scores.iter().flatten();
        match graded.next() {
            Some(first) if graded.any(|score| score != first) => kept.mixed.push(at),
            _ if scores.iter().flatten().nth(1).is_none() => kept.too_few += 1,
            _ => kept.same += 1,
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_kept_for_their_spread() {
        let groups = [
            vec![Some(0.0), Some(1.0)],
            vec![Some(1.0), Some(1.0), None],
            vec![Some(1.0), None],
            vec![None],
            vec![],
            vec![None, Some(0.25), Some(0.25), Some(0.5)],
        ];
        assert_eq!(
            keep(&groups),
            Kept {
                mixed: vec![0, 5],
                same: 1,
                too_few: 3
            }
        );
    }
}

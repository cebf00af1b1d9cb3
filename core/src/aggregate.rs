//! Arithmetic of rubrics, which the grader `rubric` and reward policies share.

/// Concave map of \[0, 1\] onto itself, g(s) = (1 + c) s / (1 + c s) with c >= 0, extended outside
/// by its tangents (own derivation). c = 0 is the identity. The larger c, the less an increase of a
/// high score is worth compared with an increase of a low score.
#[must_use]
pub fn saturated(score: f64, c: f64) -> f64 {
    if score < 0.0 {
        (1.0 + c) * score
    } else if score > 1.0 {
        1.0 + (score - 1.0) / (1.0 + c)
    } else {
        (1.0 + c) * score / (1.0 + c * score)
    }
}

/// Rubric of points (RuscaRL, arXiv 2508.16949, as in its code): S = sum points b / sum of positive
/// points, where b in \[0, 1\] is the score of the part. `terms` has (points, b). At most 1, and
/// below 0 if faults outweigh. `None` without positive points.
#[must_use]
pub fn points(terms: &[(f64, f64)]) -> Option<f64> {
    let best: f64 = terms.iter().map(|(points, _)| points.max(0.0)).sum();
    (best > 0.0).then(|| terms.iter().map(|(points, met)| points * met).sum::<f64>() / best)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_divided_by_the_positive_ones() {
        // (5 * 1 + 3 * 0.5 - 4 * 1) / (5 + 3)
        assert_eq!(points(&[(5.0, 1.0), (3.0, 0.5), (-4.0, 1.0)]), Some(0.3125));
        assert_eq!(points(&[(5.0, 0.0), (-4.0, 1.0)]), Some(-0.8));
        assert_eq!(points(&[(-4.0, 1.0)]), None);
    }

    #[test]
    fn saturation_keeps_both_ends_and_raises_what_is_between() {
        for c in [0.0, 1.0, 9.0] {
            assert_eq!((saturated(0.0, c), saturated(1.0, c)), (0.0, 1.0));
        }
        assert_eq!(saturated(0.5, 0.0), 0.5);
        assert_eq!(saturated(0.5, 1.0), 2.0 / 3.0);
    }
}

//! Difficulty filter: keeps prompts that are neither solved nor hopeless. It uses the expected
//! share of right answers only; the uncertainty of the share is part of [`Belief`](super::Belief).

/// Learnability p (1 - p), in \[0, 1/4\], of a prompt whose share of right answers `p` is within
/// \[`low`, `high`\]; `None` if the prompt is filtered out.
///
/// Online difficulty filtering (arXiv 2504.03380), which shows that p (1 - p) is, up to a constant,
/// a lower bound of the expected improvement.
#[must_use]
pub fn learnability(p: f64, low: f64, high: f64) -> Option<f64> {
    (low..=high)
        .contains(&p)
        .then(|| (p * (1.0 - p)).clamp(0.0, 0.25))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_solved_and_hopeless_prompts() {
        // 0.3 * 0.7.
        assert!((learnability(0.3, 0.2, 0.8).unwrap() - 0.21).abs() < 1e-12);
        assert!(learnability(0.2, 0.2, 0.8).is_some() && learnability(0.8, 0.2, 0.8).is_some());
        assert_eq!(
            (learnability(0.1, 0.2, 0.8), learnability(0.9, 0.2, 0.8)),
            (None, None)
        );
        assert_eq!(learnability(f64::NAN, 0.2, 0.8), None);
    }
}

//! Keeps prompts that are neither solved nor hopeless, the more even the better. Looks at the
//! believed share alone; how sure the belief is belongs to [`Belief`](super::Belief).

/// p (1 - p), from 0 to 1/4, of a prompt whose share of right answers is within the bounds, both
/// included; `None` of one that is filtered out (online difficulty filtering, arXiv 2504.03380,
/// which bounds the expected improvement of a prompt from below by p (1 - p) up to a constant).
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
    fn solved_and_hopeless_prompts_are_out() {
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

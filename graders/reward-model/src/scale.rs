//! Mean and standard deviation of raw scores, as `affine` normalisation declares them.

/// Width of the middle half of a normal distribution, in standard deviations.
const MIDDLE_HALF: f64 = 1.348_979_5;

/// Collects raw scores.
#[derive(Debug, Clone, Default)]
pub struct RawScale {
    raw: Vec<f64>,
}

/// The raw scores have no scale.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the scale needs inputs with different scores: {0} inputs were scored, and the middle half of \
     their scores is equal"
)]
pub struct NoScale(usize);

impl RawScale {
    /// Adds a raw score.
    pub fn add(&mut self, raw: f32) {
        self.raw.push(f64::from(raw));
    }

    /// Number of scores, and their mean and standard deviation. Both are estimated from the
    /// quartiles, so that a few extreme scores do not compress all others.
    ///
    /// # Errors
    /// The middle half of the scores is equal, or there are none.
    pub fn estimate(mut self) -> Result<(usize, f64, f64), NoScale> {
        self.raw.sort_by(f64::total_cmp);
        let [low, mean, high] = [0.25, 0.5, 0.75].map(|share| quantile(&self.raw, share));
        let std = (high - low) / MIDDLE_HALF;
        if std.is_finite() && std > 0.0 {
            Ok((self.raw.len(), mean, std))
        } else {
            Err(NoScale(self.raw.len()))
        }
    }
}

/// Quantile of sorted numbers, interpolated; NaN without numbers.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    // An index of a vector.
    let at = share * sorted.len().saturating_sub(1) as f64;
    let number = |at: f64| sorted.get(at as usize).copied().unwrap_or(f64::NAN);
    let (below, above) = (number(at.floor()), number(at.ceil()));
    below + (above - below) * at.fract()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(raw: impl IntoIterator<Item = f32>) -> Result<(usize, f64, f64), NoScale> {
        let mut scale = RawScale::default();
        raw.into_iter().for_each(|raw| scale.add(raw));
        scale.estimate()
    }

    #[test]
    fn extreme_scores_hardly_change_the_scale() {
        let (count, mean, std) = estimate((0..101u8).map(f32::from)).unwrap();
        assert_eq!((count, mean), (101, 50.0));
        assert!((std - 50.0 / 1.349).abs() < 0.01, "{std}");
        let (_, shifted, wider) = estimate((0..101u8).map(f32::from).chain([1e30, -1e30])).unwrap();
        assert_eq!(shifted, 50.0);
        assert!((wider / std - 1.0).abs() < 0.03, "{wider} {std}");
    }

    #[test]
    fn equal_scores_have_no_scale() {
        for raw in [vec![], vec![1.0], vec![3.0; 8]] {
            let error = estimate(raw).unwrap_err().to_string();
            assert!(error.contains("different scores"), "{error}");
        }
    }
}

//! Sums that stay finite. Measures, and rewards computed from them, may be any finite number. The
//! sum of two can overflow to infinity, and infinity can later become NaN. Neither the database nor
//! JSON can represent these.

/// The nearest finite number; 0 for NaN.
#[must_use]
pub fn finite(number: f64) -> f64 {
    if number.is_nan() {
        0.0
    } else {
        number.clamp(f64::MIN, f64::MAX)
    }
}

/// Adds `number` to `sum`, which saturates at the largest finite numbers.
pub fn add(sum: &mut f64, number: f64) {
    *sum = finite(finite(*sum) + finite(number));
}

/// The square, at most the largest finite number.
#[must_use]
pub fn square(number: f64) -> f64 {
    finite(number * number)
}

/// The mean of `count` numbers with this sum; `None` if `count` is 0.
#[must_use]
pub fn mean(sum: f64, count: u64) -> Option<f64> {
    (count > 0).then(|| finite(sum) / count as f64)
}

/// The population standard deviation of `count` numbers with this sum and sum of squares; `None` if
/// `count` is 0.
#[must_use]
pub fn deviation(sum: f64, squares: f64, count: u64) -> Option<f64> {
    let mean = mean(sum, count)?;
    // Rounding can turn a variance of 0 into a small negative number.
    Some(
        (finite(squares) / count as f64 - square(mean))
            .max(0.0)
            .sqrt(),
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn sums_saturate_and_recover() {
        let mut sum = 1e308;
        add(&mut sum, 1e308);
        assert_eq!(sum.to_bits(), f64::MAX.to_bits());
        add(&mut sum, -1e308);
        assert!(sum > 0.0 && sum.is_finite());
        let mut stored_by_an_earlier_release = f64::INFINITY;
        add(&mut stored_by_an_earlier_release, f64::NEG_INFINITY);
        assert!(stored_by_an_earlier_release.abs() < 1.0);
    }

    #[test]
    fn computes_mean_and_deviation() {
        assert_eq!(
            (mean(2.0, 4), deviation(2.0, 2.0, 4)),
            (Some(0.5), Some(0.5))
        );
        assert_eq!((mean(0.0, 0), deviation(0.0, 0.0, 0)), (None, None));
        assert_eq!(deviation(0.3, 0.029_999_999, 3), Some(0.0));
    }

    proptest! {
        #[test]
        fn keeps_sums_finite(numbers in prop::collection::vec(prop::num::f64::ANY, 0..20)) {
            let (mut sum, mut squares) = (0.0, 0.0);
            for number in &numbers {
                add(&mut sum, *number);
                add(&mut squares, square(*number));
            }
            prop_assert!(sum.is_finite() && squares.is_finite());
            let count = numbers.len() as u64;
            prop_assert!(mean(sum, count).is_none_or(f64::is_finite));
            prop_assert!(deviation(sum, squares, count).is_none_or(f64::is_finite));
        }
    }
}

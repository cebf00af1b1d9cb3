//! Functions on the outputs of models. They are shared, so that every module uses the same formula,
//! and are finite for all finite inputs.

/// `1 / (1 + exp(-x))`.
#[must_use]
pub fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// `(1 + x / (1 + |x|)) / 2`: in \[0, 1\] and 0.5 at 0, like [`sigmoid`]. Its slope falls with the
/// square of the number instead of exponentially, so large numbers remain distinguishable: 22 and
/// 23 differ by 9e-4, after a sigmoid by 2e-10.
#[must_use]
pub fn softsign(x: f64) -> f64 {
    // Equal to the formula, and finite for infinite numbers.
    if x < 0.0 {
        0.5 / (1.0 - x)
    } else {
        1.0 - 0.5 / (1.0 + x)
    }
}

/// `exp(x)` divided by the sum over all numbers. The largest number is subtracted first: without it
/// the exponential overflows for large numbers.
#[must_use]
pub fn softmax(numbers: &[f32]) -> Vec<f32> {
    let largest = numbers.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let powers: Vec<f64> = numbers
        .iter()
        .map(|number| (f64::from(*number) - f64::from(largest)).exp())
        .collect();
    let sum: f64 = powers.iter().sum();
    powers
        .into_iter()
        .map(|power| narrow(power / sum))
        .collect()
}

/// The vector of length 1 in the same direction. The zero vector is returned unchanged.
#[must_use]
pub fn unit(vector: &[f32]) -> Vec<f32> {
    let length = vector
        .iter()
        .map(|part| f64::from(*part) * f64::from(*part))
        .sum::<f64>()
        .sqrt();
    let scale = if length > 0.0 { 1.0 / length } else { 1.0 };
    vector
        .iter()
        .map(|part| narrow(f64::from(*part) * scale))
        .collect()
}

fn narrow(number: f64) -> f32 {
    // Numbers of models are f32.
    number as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn computes_softmax_of_distant_numbers() {
        assert_eq!(softmax(&[-100.0, 5.0]), [0.0, 1.0]);
        assert_eq!(softmax(&[1e30, 1e30]), [0.5, 0.5]);
        assert!((softmax(&[1.0, 2.0, 3.0]).iter().sum::<f32>() - 1.0).abs() < 1e-6);
    }

    #[test]
    fn computes_sigmoid_of_large_numbers() {
        assert_eq!([-1e30, 0.0, 1e30].map(sigmoid), [0.0, 0.5, 1.0]);
    }

    #[test]
    fn softsign_keeps_differences_of_large_numbers() {
        assert_eq!(
            [f64::NEG_INFINITY, 0.0, f64::INFINITY].map(softsign),
            [0.0, 0.5, 1.0]
        );
        for x in [-40.0, -1.5, 0.0, 0.25, 22.0] {
            let formula = f64::midpoint(1.0, x / (1.0 + f64::abs(x)));
            assert!((softsign(x) - formula).abs() < 1e-15, "{x}");
        }
        assert!(softsign(23.0) - softsign(22.0) > 9e-4);
        assert!(sigmoid(23.0) - sigmoid(22.0) < 3e-10);
    }

    #[test]
    fn normalises_vectors_except_zero() {
        assert_eq!(unit(&[3.0, 4.0]), [0.6, 0.8]);
        assert_eq!(unit(&[0.0, 0.0]), [0.0, 0.0]);
    }
}

//! What is done to numbers of models in more than one room: the same formula everywhere, finite
//! wherever its inputs are.

/// `1 / (1 + exp(-x))`.
#[must_use]
pub fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// `exp(x)` over the sum of all. The largest is taken off first: taking any other off overflows for
/// numbers like -100 and 5.
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

/// The vector of length 1 in the same direction; one of length 0 stays.
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

#[expect(clippy::cast_possible_truncation, reason = "numbers of models are f32")]
fn narrow(number: f64) -> f32 {
    number as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_of_far_numbers_are_numbers() {
        assert_eq!(softmax(&[-100.0, 5.0]), [0.0, 1.0]);
        assert_eq!(softmax(&[1e30, 1e30]), [0.5, 0.5]);
        assert!((softmax(&[1.0, 2.0, 3.0]).iter().sum::<f32>() - 1.0).abs() < 1e-6);
    }

    #[test]
    fn a_sigmoid_of_far_numbers_is_finite() {
        assert_eq!([-1e30, 0.0, 1e30].map(sigmoid), [0.0, 0.5, 1.0]);
    }

    #[test]
    fn a_unit_vector_has_length_one_or_none() {
        assert_eq!(unit(&[3.0, 4.0]), [0.6, 0.8]);
        assert_eq!(unit(&[0.0, 0.0]), [0.0, 0.0]);
    }
}

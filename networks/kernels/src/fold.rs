//! Sums and maxima in eight lanes: quick, and always in the same order.

use crate::Real;

/// Folds in eight lanes, then the rest and the lanes in order. `start` must be neutral.
pub fn fold<T: Real>(numbers: &[T], start: T, f: impl Fn(T, T) -> T) -> T {
    let mut lanes = [start; 8];
    let chunks = numbers.chunks_exact(8);
    let rest = chunks.remainder();
    for chunk in chunks {
        lanes.iter_mut().zip(chunk).for_each(|(lane, number)| *lane = f(*lane, *number));
    }
    rest.iter().chain(&lanes).fold(start, |sum, number| f(sum, *number))
}

/// The largest of some numbers, [`Real::LOWEST`] of none.
#[must_use]
pub fn largest<T: Real>(numbers: &[T]) -> T {
    fold(numbers, T::LOWEST, T::most)
}

/// The sum of some numbers.
#[must_use]
pub fn sum<T: Real>(numbers: &[T]) -> T {
    fold(numbers, T::ZERO, |a, b| a + b)
}

/// The sum of the products of two rows of one length.
#[must_use]
pub fn dot<T: Real>(one: &[T], other: &[T]) -> T {
    let mut lanes = [T::ZERO; 8];
    let (ones, others) = (one.chunks_exact(8), other.chunks_exact(8));
    let rest = ones.remainder().iter().zip(others.remainder());
    let rest = rest.fold(T::ZERO, |sum, (one, other)| sum + *one * *other);
    for (one, other) in ones.zip(others) {
        for lane in 0..8 {
            lanes[lane] += one[lane] * other[lane];
        }
    }
    lanes.iter().fold(rest, |sum, lane| sum + *lane)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_counts_once() {
        let numbers: Vec<f64> = (1..=21).map(f64::from).collect();
        assert_eq!(sum(&numbers), 231.0);
        assert_eq!(largest(&numbers), 21.0);
        // n (n + 1) (2 n + 1) / 6.
        assert_eq!(dot(&numbers, &numbers), 3_311.0);
        assert_eq!((sum::<f32>(&[]), largest::<f32>(&[])), (0.0, f32::NEG_INFINITY));
    }
}

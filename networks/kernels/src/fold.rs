//! Sums and maxima in eight lanes: quick, and always in the same order. Inlined, for loops that run
//! [`wide`](crate::wide).

use crate::Real;

/// Folds in eight lanes, then the lanes in pairs, then the rest. `start` must be neutral.
#[inline(always)]
pub fn fold<T: Real>(numbers: &[T], start: T, f: impl Fn(T, T) -> T) -> T {
    let mut lanes = [start; 8];
    let chunks = numbers.chunks_exact(8);
    let rest = chunks.remainder();
    for chunk in chunks {
        lanes
            .iter_mut()
            .zip(chunk)
            .for_each(|(lane, number)| *lane = f(*lane, *number));
    }
    rest.iter()
        .fold(joined(lanes, &f), |sum, number| f(sum, *number))
}

/// Lanes in pairs, and those in pairs.
#[inline(always)]
fn joined<T: Real>(lanes: [T; 8], f: impl Fn(T, T) -> T) -> T {
    // Seen from here the compiler would keep two lanes to a register, in the loop before as well.
    let [a, b, c, d, e, g, h, i] = std::hint::black_box(lanes);
    f(f(f(a, e), f(c, h)), f(f(b, g), f(d, i)))
}

/// The largest of some numbers, [`Real::LOWEST`] of none.
#[inline(always)]
#[must_use]
pub fn largest<T: Real>(numbers: &[T]) -> T {
    fold(numbers, T::LOWEST, T::most)
}

/// The sum of some numbers.
#[inline(always)]
#[must_use]
pub fn sum<T: Real>(numbers: &[T]) -> T {
    fold(numbers, T::ZERO, |a, b| a + b)
}

/// The sum of the products of two rows of one length.
#[inline(always)]
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
    joined(lanes, |one, other| one + other) + rest
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
        assert_eq!(
            (sum::<f32>(&[]), largest::<f32>(&[])),
            (0.0, f32::NEG_INFINITY)
        );
    }
}

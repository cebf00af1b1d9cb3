//! Sums and maxima in eight lanes, always in the same order. Inlined, for loops that run in
//! [`wide`](crate::wide).

use crate::Real;

/// Folds the numbers in eight lanes, then combines the lanes in pairs, then folds the remainder.
/// `start` must be the neutral element of `f`.
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
        .fold(combine_lanes(lanes, &f), |sum, number| f(sum, *number))
}

/// Combines the lanes in pairs, and the results in pairs.
#[inline(always)]
fn combine_lanes<T: Real>(lanes: [T; 8], f: impl Fn(T, T) -> T) -> T {
    // Without the black box, the compiler would keep two lanes per register in the loop before this
    // call as well.
    let [a, b, c, d, e, g, h, i] = std::hint::black_box(lanes);
    f(f(f(a, e), f(c, h)), f(f(b, g), f(d, i)))
}

/// Largest of the numbers, or [`Real::LOWEST`] if there are none.
#[inline(always)]
#[must_use]
pub fn largest<T: Real>(numbers: &[T]) -> T {
    fold(numbers, T::LOWEST, T::larger)
}

/// Sum of the numbers, or 0 if there are none.
#[inline(always)]
#[must_use]
pub fn sum<T: Real>(numbers: &[T]) -> T {
    fold(numbers, T::ZERO, |a, b| a + b)
}

/// Dot product of two rows of the same length.
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
    combine_lanes(lanes, |one, other| one + other) + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folds_every_number_once() {
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

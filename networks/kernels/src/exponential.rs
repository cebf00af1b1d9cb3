//! Vectorised exponential with the same result on every machine.

use crate::wide;

/// Replaces each number with its exponential. The relative error is below 2e-7. Numbers below -87
/// become 0. Numbers above 88 are treated as 88, so the result is never infinite.
pub fn exponentials(numbers: &mut [f32]) {
    wide(
        #[inline(always)]
        || {
            numbers
                .iter_mut()
                .for_each(|number| *number = exponential(*number))
        },
    );
}

/// Exponential of one number. Inlined so that the compiler can vectorise a loop around it.
#[inline(always)]
pub(crate) fn exponential(number: f32) -> f32 {
    /// Adding this constant rounds to the nearest integer and leaves it in the lowest bits of the
    /// mantissa.
    const ROUND: f32 = 12_582_912.0;
    /// Natural logarithm of 2 in two parts. The first has few bits, so that its products are exact.
    const LN2: (f32, f32) = (0.693_359_4, -2.121_944_4e-4);
    let x = number.clamp(-87.0, 88.0);
    let shifted = x * std::f32::consts::LOG2_E + ROUND;
    let whole = shifted - ROUND;
    let rest = x - whole * LN2.0 - whole * LN2.1;
    // Taylor series to the seventh power: |rest| is at most 0.35.
    let series = 1.0 / 5_040.0;
    let series = series * rest + 1.0 / 720.0;
    let series = series * rest + 1.0 / 120.0;
    let series = series * rest + 1.0 / 24.0;
    let series = series * rest + 1.0 / 6.0;
    let series = series * rest + 0.5;
    let series = series * rest + 1.0;
    let series = series * rest + 1.0;
    // The lowest bits of `shifted` become the exponent. The bits of `ROUND` above them are shifted
    // out.
    let power = f32::from_bits((shifted.to_bits().wrapping_add(127)) << 23);
    if number < -87.0 { 0.0 } else { series * power }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_the_f64_exponential() {
        let numbers: Vec<f32> = (-86_000..=88_000).map(|n| n as f32 / 1_000.0).collect();
        let mut found = numbers.clone();
        exponentials(&mut found);
        for (x, found) in numbers.iter().zip(found) {
            let expected = f64::from(*x).exp();
            assert!(
                (f64::from(found) / expected - 1.0).abs() < 2e-7,
                "{x}: {found}, expected {expected}"
            );
        }
    }

    #[test]
    fn maps_masked_numbers_to_zero() {
        let mut numbers = [f32::NEG_INFINITY, -1e30, -88.0, 0.0];
        exponentials(&mut numbers);
        assert_eq!(numbers, [0.0, 0.0, 0.0, 1.0]);
    }
}

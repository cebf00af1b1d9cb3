//! The exponential of many numbers at once, the same on every machine.

use crate::wide;

/// Replaces each number by its exponential. Relative error below 2e-7; numbers under -87 become 0,
/// over 88 infinity is not reached.
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

/// The exponential of one number. Inlined, so that a loop around it works on many at once.
#[inline(always)]
pub(crate) fn exponential(number: f32) -> f32 {
    /// Adding it leaves the nearest whole number in the last bits.
    const ROUND: f32 = 12_582_912.0;
    /// Natural logarithm of 2 in two parts, the first with few bits so that its products are exact.
    const LN2: (f32, f32) = (0.693_359_4, -2.121_944_4e-4);
    let x = number.clamp(-87.0, 88.0);
    let shifted = x * std::f32::consts::LOG2_E + ROUND;
    let whole = shifted - ROUND;
    let rest = x - whole * LN2.0 - whole * LN2.1;
    // Taylor's series to the seventh power: |rest| is at most 0.35.
    let series = 1.0 / 5_040.0;
    let series = series * rest + 1.0 / 720.0;
    let series = series * rest + 1.0 / 120.0;
    let series = series * rest + 1.0 / 24.0;
    let series = series * rest + 1.0 / 6.0;
    let series = series * rest + 0.5;
    let series = series * rest + 1.0;
    let series = series * rest + 1.0;
    // The last bits of what was shifted become the exponent; those of `ROUND` above them are lost.
    let power = f32::from_bits((shifted.to_bits().wrapping_add(127)) << 23);
    if number < -87.0 { 0.0 } else { series * power }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_exponential() {
        let numbers: Vec<f32> = (-86_000..=88_000).map(|n| n as f32 / 1_000.0).collect();
        let mut found = numbers.clone();
        exponentials(&mut found);
        for (x, found) in numbers.iter().zip(found) {
            let expected = f64::from(*x).exp();
            assert!(
                (f64::from(found) / expected - 1.0).abs() < 2e-7,
                "{x}: {found} for {expected}"
            );
        }
    }

    #[test]
    fn what_is_masked_becomes_nothing() {
        let mut numbers = [f32::NEG_INFINITY, -1e30, -88.0, 0.0];
        exponentials(&mut numbers);
        assert_eq!(numbers, [0.0, 0.0, 0.0, 1.0]);
    }
}

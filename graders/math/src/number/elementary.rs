//! Elementary functions of balls: constants, exponential, logarithm, sine and cosine, arctangent.
//!
//! A function is evaluated at the midpoint, in fixed point with [`GUARD`] extra bits. The radius of
//! the argument then widens the result by the mean value theorem. Formulas: Brent and Zimmermann,
//! "Modern Computer Arithmetic", chapter 4.
//!
//! Errors are counted in units of the last fixed-point place. An operation rounds down and costs at
//! most one unit. A series of n terms costs about 2n units, and each halving of the argument that
//! is undone at the end multiplies the error by 2 (exponential, arctangent, sine) or 4 (cosine,
//! whose error starts at 2 units). [`SLACK`] covers that at every precision.

use std::sync::OnceLock;

use num_bigint::BigInt;
use num_traits::{One, Signed, ToPrimitive, Zero};

use super::ball::{Ball, BallError, BallResult, MAX_EXPONENT};

/// Largest precision of a result, in bits. `decide::scalar` requests at most 24,000, to which
/// `Complex::pow` adds up to 80.
pub(crate) const MAX_PRECISION: u64 = 24_576;

/// Bits of the fixed-point numbers beyond the precision of the result.
const GUARD: u64 = 40;

/// Radius of a result before it is rounded, in units of the last place.
const SLACK: u64 = 1 << 24;

// Rounding hides the slack: it must be less than the bits that rounding drops.
const _: () = assert!(SLACK < 1u64 << GUARD);

/// Bits of the cached values of pi, e and ln 2. Values with more bits are computed on each request.
/// Limits are computed with 1,024 bits (`decide::approach`).
pub(crate) const CACHED_BITS: u64 = 1_200;

/// Magnitude of the largest argument of the exponential, as a power of two.
const MAX_EXP_MAGNITUDE: i64 = 46;

// exp(2^46) = 2^(2^46 / ln 2) is less than 2^(2^47).
const _: () = assert!(1i64 << (MAX_EXP_MAGNITUDE + 1) < MAX_EXPONENT);

/// Magnitude of the largest angle, as a power of two: its reduction needs as many bits of pi. The
/// step budget rejects angles from about 2^6,200 on before (`decide::evaluate` charges for the
/// reduction).
const MAX_ANGLE_MAGNITUDE: i64 = 20_000;

/// Bits of the longest fixed-point number: of a large angle, or of a tiny one, which takes up to
/// `prec` more bits.
const MAX_FIXED_BITS: u64 = {
    let large = MAX_PRECISION + GUARD + MAX_ANGLE_MAGNITUDE.unsigned_abs();
    let tiny = 2 * MAX_PRECISION + GUARD;
    if large > tiny { large } else { tiny }
};

// Of the constants pi has the largest error. The series of arctan(1/5) has at most bits / 4 terms
// that cost two units each; Machin's formula multiplies them by 16 and adds less than one unit a
// bit for arctan(1/239).
const _: () = assert!(9 * MAX_FIXED_BITS < SLACK);

/// Halvings of the argument of the exponential: its series starts below `2^-8`.
const EXP_HALVINGS: u64 = 8;

/// Halvings of an angle: one in `[0, pi/2)` becomes less than `2^-5`.
const COS_HALVINGS: u64 = 6;

/// Halvings of the arctangent: an argument below 2 becomes less than `2^-4`.
const ATAN_HALVINGS: u64 = 5;

/// Most terms of the series of the exponential and the sine. The assertions below prove that the
/// last one is less than a unit, so that the series never ends early.
const MAX_TAYLOR_TERMS: u32 = 4_000;

/// `b` such that `x^n / n! < 2^-b` for `n = terms` and `0 <= x < 2^-argument_bits`.
const fn taylor_bits(terms: u32, argument_bits: u32) -> u32 {
    let (mut bits, mut n) = (0, 1);
    while n <= terms {
        bits += n.ilog2() + argument_bits;
        n += 1;
    }
    bits
}

const _: () = assert!(
    taylor_bits(MAX_TAYLOR_TERMS, 8) as u64
        > MAX_PRECISION + GUARD + MAX_EXP_MAGNITUDE.unsigned_abs()
);
const _: () = assert!(taylor_bits(MAX_TAYLOR_TERMS, 5) as u64 > MAX_FIXED_BITS);

/// Largest power in the series of arctan and artanh, never reached. An argument of arctan is less
/// than `2^-4` after its halvings, and tiny ones take as many more bits a term. An argument of
/// artanh is less than `2^-(4 + bits/256)`, so that its series ends before the power 260.
const MAX_ODD_POWER: u32 = 8_000;

const _: () = assert!(4 * MAX_ODD_POWER as u64 > MAX_PRECISION + GUARD);

fn point(bits: u64) -> i64 {
    i64::try_from(bits).unwrap_or(i64::MAX)
}

fn from_fixed(mid: BigInt, bits: u64, prec: u64) -> BallResult<Ball> {
    Ball::within(mid, SLACK, -point(bits)).rounded(prec)
}

/// `arctan(1/n)`, or `artanh(1/n)`, by its Taylor series in fixed point.
fn arc_of_inverse(n: u32, bits: u64, hyperbolic: bool) -> BigInt {
    let mut power = (BigInt::one() << bits) / n;
    let square = n * n;
    let mut sum = power.clone();
    let mut odd = 1u32;
    let mut minus = !hyperbolic;
    loop {
        power /= square;
        if power.is_zero() {
            return sum;
        }
        odd += 2;
        let term = &power / odd;
        if minus {
            sum -= term;
        } else {
            sum += term;
        }
        if !hyperbolic {
            minus = !minus;
        }
    }
}

fn pi_fixed(bits: u64) -> BigInt {
    fn compute(bits: u64) -> BigInt {
        // Machin (1706): pi = 16 arctan(1/5) - 4 arctan(1/239).
        (arc_of_inverse(5, bits, false) * 4 - arc_of_inverse(239, bits, false)) * 4
    }
    static PI: OnceLock<BigInt> = OnceLock::new();
    if bits > CACHED_BITS {
        return compute(bits);
    }
    PI.get_or_init(|| compute(CACHED_BITS + GUARD)) >> (CACHED_BITS + GUARD - bits)
}

fn ln2_fixed(bits: u64) -> BigInt {
    fn compute(bits: u64) -> BigInt {
        arc_of_inverse(3, bits, true) * 2
    }
    static LN2: OnceLock<BigInt> = OnceLock::new();
    if bits > CACHED_BITS {
        return compute(bits);
    }
    LN2.get_or_init(|| compute(CACHED_BITS + GUARD)) >> (CACHED_BITS + GUARD - bits)
}

/// The number pi.
pub(crate) fn pi(prec: u64) -> BallResult<Ball> {
    let bits = prec + GUARD;
    from_fixed(pi_fixed(bits), bits, prec)
}

fn e_fixed(bits: u64) -> BigInt {
    fn compute(bits: u64) -> BigInt {
        let mut term: BigInt = BigInt::one() << bits;
        let mut sum = term.clone();
        let mut k = 1u32;
        while !term.is_zero() {
            term /= k;
            sum += &term;
            k += 1;
        }
        sum
    }
    static E: OnceLock<BigInt> = OnceLock::new();
    if bits > CACHED_BITS {
        return compute(bits);
    }
    E.get_or_init(|| compute(CACHED_BITS + GUARD)) >> (CACHED_BITS + GUARD - bits)
}

/// Euler's number e.
pub(crate) fn e(prec: u64) -> BallResult<Ball> {
    let bits = prec + GUARD;
    from_fixed(e_fixed(bits), bits, prec)
}

/// `exp(x)`.
pub(crate) fn exp(x: &Ball, prec: u64) -> BallResult<Ball> {
    debug_assert!(prec <= MAX_PRECISION);
    if x.is_zero() {
        return Ok(Ball::small(1));
    }
    let size = x.magnitude();
    if size > MAX_EXP_MAGNITUDE {
        return Err(BallError::TooLarge);
    }
    let bits = prec + GUARD + u64::try_from(size.max(0)).unwrap_or(0);
    let wide = x.fixed(point(bits))?;
    let ln2 = ln2_fixed(bits);
    // x = quotient · ln 2 + rest with 0 <= rest < ln 2. The quotient multiplies the error of ln 2,
    // by up to 2^size. The `size` extra bits of the fixed point make up for that.
    let quotient = &wide / &ln2 - i32::from(wide.is_negative());
    let rest = wide - &quotient * ln2;
    let exponent = quotient.to_i64().ok_or(BallError::TooLarge)?;
    let small = rest >> EXP_HALVINGS;
    let mut sum: BigInt = (BigInt::one() << bits) + &small;
    let mut term = small.clone();
    let mut n = 1u32;
    loop {
        n += 1;
        term = ((&term * &small) >> bits) / n;
        if term.is_zero() || n > MAX_TAYLOR_TERMS {
            debug_assert!(term.is_zero(), "the series of exp was cut off");
            break;
        }
        sum += &term;
    }
    for _ in 0..EXP_HALVINGS {
        sum = (&sum * &sum) >> bits;
    }
    let at_mid = from_fixed(sum, bits, prec)?.scaled(exponent);
    // |exp(m + r) - exp(m)| <= exp(m) · 2 r for r <= 1.
    let radius = x.radius();
    if radius.magnitude() > 0 {
        return Err(BallError::Straddles);
    }
    let spread = at_mid.abs().mul(&radius.scaled(1), 64)?;
    at_mid.widened(&spread, prec)
}

/// `ln(x)` for positive x. [`BallError::Undefined`] otherwise.
pub(crate) fn ln(x: &Ball, prec: u64) -> BallResult<Ball> {
    debug_assert!(prec <= MAX_PRECISION);
    if x.sign()? <= 0 {
        return Err(BallError::Undefined);
    }
    let mid = x.midpoint();
    // x = m · 2^k with 1/2 <= m < 1.
    let k = mid.magnitude();
    // Square roots bring m near 1, where the series of artanh is short. Each one takes a bit of the
    // result.
    let roots = 3 + prec / 256;
    let bits = prec + GUARD + 16 + roots;
    let mut m = mid.scaled(-k).fixed(point(bits))?;
    for _ in 0..roots {
        m = (m << bits).sqrt();
    }
    let one = BigInt::one() << bits;
    let t: BigInt = ((&m - &one) << bits) / (&m + &one);
    let square = (&t * &t) >> bits;
    let mut power = t.clone();
    let mut sum = t;
    let mut odd = 1u32;
    loop {
        power = (&power * &square) >> bits;
        odd += 2;
        // An arithmetic shift ends at -1 for negative numbers: both 0 and -1 end the series.
        if power.bits() <= 1 || odd > MAX_ODD_POWER {
            debug_assert!(power.bits() <= 1, "an odd series was cut off");
            break;
        }
        sum += &power / odd;
    }
    let at_mid = from_fixed(sum, bits, prec + 16)?.scaled(point(roots + 1));
    let shift =
        Ball::within(ln2_fixed(bits), SLACK, -point(bits)).mul(&Ball::small(k), prec + 16)?;
    let at_mid = at_mid.add(&shift, prec)?;
    if x.is_exact() {
        return Ok(at_mid);
    }
    // |ln(x) - ln(m)| <= r / (m - r).
    let nearest = mid.sub(&x.radius(), 64)?;
    let spread = x.radius().mul(&nearest.recip(64)?, 64)?;
    at_mid.widened(&spread, prec)
}

/// `(sin x, cos x)`.
pub(crate) fn sin_cos(x: &Ball, prec: u64) -> BallResult<(Ball, Ball)> {
    debug_assert!(prec <= MAX_PRECISION);
    if x.is_zero() {
        return Ok((Ball::small(0), Ball::small(1)));
    }
    let size = x.magnitude();
    if size > MAX_ANGLE_MAGNITUDE {
        return Err(BallError::TooLarge);
    }
    let bits = prec + GUARD + u64::try_from(size.max(0)).unwrap_or(0);
    // A tiny argument keeps its relative precision only with as many more bits.
    let bits = bits + size.min(0).unsigned_abs().min(prec);
    let wide = x.fixed(point(bits))?;
    let half_pi = pi_fixed(bits) >> 1u8;
    let quadrant = &wide / &half_pi - i32::from(wide.is_negative());
    let rest = wide - &quadrant * half_pi;
    let turn = (&quadrant % 4i32).to_i32().unwrap_or(0).rem_euclid(4);
    let small = rest >> COS_HALVINGS;
    let square = (&small * &small) >> bits;
    let mut term = small.clone();
    let mut sin = small;
    let mut n = 1u32;
    let mut minus = true;
    loop {
        term = ((&term * &square) >> bits) / ((n + 1) * (n + 2));
        n += 2;
        if term.is_zero() || n > MAX_TAYLOR_TERMS {
            debug_assert!(term.is_zero(), "the series of the sine was cut off");
            break;
        }
        if minus {
            sin -= &term;
        } else {
            sin += &term;
        }
        minus = !minus;
    }
    // The square root is taken near 1. Near 0 it would double the bits of an error.
    let (one, two) = (BigInt::one() << bits, BigInt::one() << (bits + 1));
    let root = ((BigInt::one() << (2 * bits)) - &sin * &sin).sqrt();
    // With v = 1 - cos a: sin 2a = 2 sin a (1 - v) and 1 - cos 2a = 2 v (2 - v).
    let mut versine = &one - root;
    for _ in 0..COS_HALVINGS {
        sin = (sin * (&one - &versine)) >> (bits - 1);
        versine = (&versine * (&two - &versine)) >> (bits - 1);
    }
    let cos = one - versine;
    let (sin, cos) = match turn {
        0 => (sin, cos),
        1 => (cos, -sin),
        2 => (-sin, -cos),
        _ => (-cos, sin),
    };
    let finish = |value: BigInt| -> BallResult<Ball> {
        Ball::within(value, SLACK, -point(bits))
            .widened(&x.radius(), prec)?
            .rounded(prec)
    };
    Ok((finish(sin)?, finish(cos)?))
}

/// `arctan(x)`.
pub(crate) fn atan(x: &Ball, prec: u64) -> BallResult<Ball> {
    debug_assert!(prec <= MAX_PRECISION);
    if x.is_zero() {
        return Ok(x.clone());
    }
    let mid = x.midpoint();
    if mid.magnitude() > 1 {
        // arctan x = ±pi/2 - arctan(1/x)
        let inner = atan(&mid.recip(prec + 8)?, prec)?;
        let half_pi = pi(prec)?.scaled(-1);
        let half_pi = if mid.mid().is_negative() {
            half_pi.neg()
        } else {
            half_pi
        };
        return half_pi.sub(&inner, prec)?.widened(&x.radius(), prec);
    }
    let bits = prec + GUARD + mid.magnitude().min(0).unsigned_abs().min(prec);
    let mut t = mid.fixed(point(bits))?;
    let one = BigInt::one() << bits;
    // arctan t = 2 arctan(t / (1 + sqrt(1 + t²)))
    for _ in 0..ATAN_HALVINGS {
        let root = ((BigInt::one() << (2 * bits)) + &t * &t).sqrt();
        t = (t << bits) / (&one + root);
    }
    let square = (&t * &t) >> bits;
    let mut power = t.clone();
    let mut sum = t;
    let mut odd = 1u32;
    let mut minus = true;
    loop {
        power = (&power * &square) >> bits;
        odd += 2;
        if power.bits() <= 1 || odd > MAX_ODD_POWER {
            debug_assert!(power.bits() <= 1, "an odd series was cut off");
            break;
        }
        let term = &power / odd;
        if minus {
            sum -= term;
        } else {
            sum += term;
        }
        minus = !minus;
    }
    from_fixed(sum << ATAN_HALVINGS, bits, prec)?.widened(&x.radius(), prec)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PREC: u64 = 256;

    fn assert_zero(ball: &Ball) {
        assert!(ball.contains_zero(), "{ball:?}");
        assert!(ball.magnitude() < -200, "{ball:?}");
    }

    fn small(value: i64) -> Ball {
        Ball::small(value)
    }

    #[test]
    fn logarithm_inverts_exponential() {
        for k in [-300, -7, -1, 1, 2, 30, 700] {
            let back = ln(&exp(&small(k), PREC + 10).unwrap(), PREC).unwrap();
            assert_zero(&back.sub(&small(k), PREC).unwrap());
        }
    }

    #[test]
    fn squares_of_sine_and_cosine_add_to_one() {
        for k in [-20, -3, -1, 1, 2, 5, 100, 12_345] {
            let (sin, cos) = sin_cos(&small(k), PREC).unwrap();
            let sum = sin
                .mul(&sin, PREC)
                .unwrap()
                .add(&cos.mul(&cos, PREC).unwrap(), PREC)
                .unwrap();
            assert_zero(&sum.sub(&small(1), PREC).unwrap());
        }
    }

    /// Balls of a low precision contain values of a higher one, also next to zeros.
    #[test]
    fn balls_contain_the_values_of_higher_precision() {
        let near = |value: Ball, distance: i64| {
            let exact = value.midpoint();
            exact.add(&small(3).scaled(-distance), 4_000).unwrap()
        };
        let half_pi = pi(2_000).unwrap().scaled(-1);
        for distance in [0, 1, 20, 29, 60, 90, 120, 150, 183, 250, 400, 900] {
            for prec in [64, 128, 256, 500, 1_100, 3_000, 6_000] {
                let wide = prec + 1_500;
                let agree = |low: &Ball, high: &Ball, what: &str| {
                    let difference = low.sub(high, wide).unwrap();
                    assert!(difference.contains_zero(), "{what} {distance} {prec}");
                };
                for turns in [-1_001, -3, -2, -1, 0, 1, 2, 3, 4, 700] {
                    let angle = half_pi.mul(&small(turns), 4_000).unwrap();
                    let angle = near(angle, distance);
                    let low = sin_cos(&angle, prec).unwrap();
                    let high = sin_cos(&angle, wide).unwrap();
                    agree(&low.0, &high.0, "sin");
                    agree(&low.1, &high.1, "cos");
                }
                for value in [1, 2, 1_000] {
                    let x = near(small(value), distance);
                    for (what, function) in [
                        ("ln", ln as fn(&Ball, u64) -> BallResult<Ball>),
                        ("exp", exp),
                        ("atan", atan),
                    ] {
                        agree(
                            &function(&x, prec).unwrap(),
                            &function(&x, wide).unwrap(),
                            what,
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn sine_of_pi_is_zero() {
        let (sin, cos) = sin_cos(&pi(PREC).unwrap(), PREC).unwrap();
        assert!(sin.contains_zero() && sin.magnitude() < -100, "{sin:?}");
        assert_zero(&cos.add(&small(1), PREC).unwrap());
        let sixth = pi(PREC)
            .unwrap()
            .mul(&small(6).recip(PREC).unwrap(), PREC)
            .unwrap();
        let (sin, _) = sin_cos(&sixth, PREC).unwrap();
        assert_zero(&sin.scaled(1).sub(&small(1), PREC).unwrap());
    }

    #[test]
    fn arctangent_of_one_is_a_quarter_of_pi() {
        for (x, quarters) in [(1, 1), (-1, -1)] {
            let quarter = atan(&small(x), PREC).unwrap();
            let expected = pi(PREC).unwrap().scaled(-2);
            let expected = if quarters < 0 {
                expected.neg()
            } else {
                expected
            };
            assert_zero(&quarter.sub(&expected, PREC).unwrap());
        }
        // arctan 2 + arctan 3 + arctan 1 = pi
        let sum = atan(&small(2), PREC)
            .unwrap()
            .add(&atan(&small(3), PREC).unwrap(), PREC)
            .unwrap()
            .add(&atan(&small(1), PREC).unwrap(), PREC)
            .unwrap();
        assert_zero(&sum.sub(&pi(PREC).unwrap(), PREC).unwrap());
    }
}

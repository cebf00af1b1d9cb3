//! Elementary functions of balls: constants, exponential, logarithm, sine and cosine, arctangent.
//!
//! Each is evaluated at the midpoint in fixed point with 40 guard bits, where every rounding costs
//! at most one unit and no loop runs longer than a few hundred rounds, so 2^20 units cover them
//! all; the radius of the argument then widens the result by the mean value theorem. Formulas:
//! Brent and Zimmermann, "Modern Computer Arithmetic", chapter 4.

use std::sync::OnceLock;

use num_bigint::BigInt;
use num_traits::{One, Signed, ToPrimitive, Zero};

use super::ball::{Ball, Known, Unknown};

const GUARD: u64 = 40;

/// Units of the last place that cover all roundings of one function.
const SLACK: u64 = 1 << 20;

/// Bits of the constants kept for all comparisons; more are computed when asked for.
pub(crate) const KEPT: u64 = 1_200;

/// Arguments beyond this power of two are refused: reducing them needs as many bits of pi.
const MAX_ARGUMENT: i64 = 20_000;

fn point(bits: u64) -> i64 {
    i64::try_from(bits).unwrap_or(i64::MAX)
}

fn from_fixed(mid: BigInt, bits: u64, prec: u64) -> Known<Ball> {
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
        // Machin 1706.
        (arc_of_inverse(5, bits, false) * 4 - arc_of_inverse(239, bits, false)) * 4
    }
    static KEPT_PI: OnceLock<BigInt> = OnceLock::new();
    if bits > KEPT {
        return compute(bits);
    }
    KEPT_PI.get_or_init(|| compute(KEPT + GUARD)) >> (KEPT + GUARD - bits)
}

fn ln2_fixed(bits: u64) -> BigInt {
    fn compute(bits: u64) -> BigInt {
        arc_of_inverse(3, bits, true) * 2
    }
    static KEPT_LN2: OnceLock<BigInt> = OnceLock::new();
    if bits > KEPT {
        return compute(bits);
    }
    KEPT_LN2.get_or_init(|| compute(KEPT + GUARD)) >> (KEPT + GUARD - bits)
}

/// The circle constant.
pub(crate) fn pi(prec: u64) -> Known<Ball> {
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
    static KEPT_E: OnceLock<BigInt> = OnceLock::new();
    if bits > KEPT {
        return compute(bits);
    }
    KEPT_E.get_or_init(|| compute(KEPT + GUARD)) >> (KEPT + GUARD - bits)
}

/// Napier's constant.
pub(crate) fn e(prec: u64) -> Known<Ball> {
    let bits = prec + GUARD;
    from_fixed(e_fixed(bits), bits, prec)
}

/// `exp(x)`.
pub(crate) fn exp(x: &Ball, prec: u64) -> Known<Ball> {
    if x.is_zero() {
        return Ok(Ball::small(1));
    }
    let size = x.magnitude();
    if size > 46 {
        return Err(Unknown::TooLarge);
    }
    let bits = prec + GUARD + u64::try_from(size.max(0)).unwrap_or(0);
    let wide = x.fixed(point(bits))?;
    let ln2 = ln2_fixed(bits);
    // x = quotient · ln 2 + rest with 0 <= rest < ln 2. A quotient of 46 bits magnifies the error
    // of ln 2 by as much, which the extra bits above pay for.
    let quotient = &wide / &ln2 - i32::from(wide.is_negative());
    let rest = wide - &quotient * ln2;
    let exponent = quotient.to_i64().ok_or(Unknown::TooLarge)?;
    let halvings = 8u64;
    let small = rest >> halvings;
    let mut sum: BigInt = (BigInt::one() << bits) + &small;
    let mut term = small.clone();
    let mut n = 1u32;
    loop {
        n += 1;
        term = ((&term * &small) >> bits) / n;
        if term.is_zero() || n > 4_000 {
            break;
        }
        sum += &term;
    }
    for _ in 0..halvings {
        sum = (&sum * &sum) >> bits;
    }
    let at_mid = from_fixed(sum, bits, prec)?.scaled(exponent);
    // |exp(m + r) - exp(m)| <= exp(m) · 2 r for r <= 1.
    let radius = x.radius();
    if radius.magnitude() > 0 {
        return Err(Unknown::Straddles);
    }
    let spread = at_mid.abs().mul(&radius.scaled(1), 64)?;
    at_mid.widened(&spread, prec)
}

/// `ln(x)` for positive x.
pub(crate) fn ln(x: &Ball, prec: u64) -> Known<Ball> {
    if x.sign()? <= 0 {
        return Err(Unknown::Undefined);
    }
    let mid = x.midpoint();
    // x = m · 2^k with 1/2 <= m < 1.
    let k = mid.magnitude();
    let bits = prec + GUARD + 16;
    let mut m = mid.scaled(-k).fixed(point(bits))?;
    // Square roots bring m near 1, where the series of artanh is short; each doubles the error of
    // the result.
    let roots = 3 + bits / 256;
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
        // An arithmetic shift leaves -1 for tiny negative numbers: both ends count as nothing.
        if power.bits() <= 1 || odd > 8_000 {
            break;
        }
        sum += &power / odd;
    }
    let log_m = sum << (roots + 1);
    let at_mid = from_fixed(log_m, bits, prec + 16)?;
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
pub(crate) fn sin_cos(x: &Ball, prec: u64) -> Known<(Ball, Ball)> {
    if x.is_zero() {
        return Ok((Ball::small(0), Ball::small(1)));
    }
    let size = x.magnitude();
    if size > MAX_ARGUMENT {
        return Err(Unknown::TooLarge);
    }
    let bits = prec + GUARD + u64::try_from(size.max(0)).unwrap_or(0);
    // A tiny argument keeps its relative precision only with as many bits more.
    let bits = bits + size.min(0).unsigned_abs().min(prec);
    let wide = x.fixed(point(bits))?;
    let half_pi = pi_fixed(bits) >> 1u8;
    let quadrant = &wide / &half_pi - i32::from(wide.is_negative());
    let rest = wide - &quadrant * half_pi;
    let turn = (&quadrant % 4i32).to_i32().unwrap_or(0).rem_euclid(4);
    let halvings = 6u64;
    let small = rest >> halvings;
    let square = (&small * &small) >> bits;
    // 1 - cos of the small angle, which loses nothing where cos itself would.
    let mut term: BigInt = &square >> 1u8;
    let mut versine = term.clone();
    let mut n = 2u32;
    let mut minus = true;
    loop {
        term = ((&term * &square) >> bits) / ((n + 1) * (n + 2));
        n += 2;
        if term.is_zero() || n > 4_000 {
            break;
        }
        if minus {
            versine -= &term;
        } else {
            versine += &term;
        }
        minus = !minus;
    }
    // 1 - cos 2a = 2 (1 - cos a)(1 + cos a) = 2 v (2 - v).
    let two = BigInt::one() << (bits + 1);
    for _ in 0..halvings {
        versine = (&versine * (&two - &versine)) >> (bits - 1);
    }
    let one = BigInt::one() << bits;
    let cos = &one - &versine;
    // sin² = v (2 - v); the angle lies in [0, pi/2), so the sine is not negative.
    let sin_square: BigInt = &versine * (&two - &versine);
    let sin = if sin_square.is_negative() {
        BigInt::zero()
    } else {
        sin_square.sqrt()
    };
    let (sin, cos) = match turn {
        0 => (sin, cos),
        1 => (cos, -sin),
        2 => (-sin, -cos),
        _ => (-cos, sin),
    };
    let finish = |value: BigInt| -> Known<Ball> {
        // Near a zero of the sine the square root magnifies the slack of its square to the square
        // root of it.
        let ball = Ball::within(value, SLACK, -point(bits));
        let root_slack = Ball::dyadic(BigInt::from(SLACK), -point(bits / 2 + 10));
        let ball = if ball.magnitude() < -point(bits / 2) {
            ball.widened(&root_slack, prec)?
        } else {
            ball
        };
        ball.widened(&x.radius(), prec)?.rounded(prec)
    };
    Ok((finish(sin)?, finish(cos)?))
}

/// `arctan(x)`.
pub(crate) fn atan(x: &Ball, prec: u64) -> Known<Ball> {
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
    let halvings = 5u64;
    for _ in 0..halvings {
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
        if power.bits() <= 1 || odd > 8_000 {
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
    from_fixed(sum << halvings, bits, prec)?.widened(&x.radius(), prec)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PREC: u64 = 256;

    fn zero(ball: &Ball) {
        assert!(ball.contains_zero(), "{ball:?}");
        assert!(ball.magnitude() < -200, "{ball:?}");
    }

    fn small(value: i64) -> Ball {
        Ball::small(value)
    }

    #[test]
    fn logarithm_undoes_exponential() {
        for k in [-300, -7, -1, 1, 2, 30, 700] {
            let back = ln(&exp(&small(k), PREC + 10).unwrap(), PREC).unwrap();
            zero(&back.sub(&small(k), PREC).unwrap());
        }
    }

    #[test]
    fn sine_and_cosine_lie_on_the_circle() {
        for k in [-20, -3, -1, 1, 2, 5, 100, 12_345] {
            let (sin, cos) = sin_cos(&small(k), PREC).unwrap();
            let sum = sin
                .mul(&sin, PREC)
                .unwrap()
                .add(&cos.mul(&cos, PREC).unwrap(), PREC)
                .unwrap();
            zero(&sum.sub(&small(1), PREC).unwrap());
        }
    }

    #[test]
    fn the_sine_of_pi_is_zero() {
        let (sin, cos) = sin_cos(&pi(PREC).unwrap(), PREC).unwrap();
        assert!(sin.contains_zero() && sin.magnitude() < -100, "{sin:?}");
        zero(&cos.add(&small(1), PREC).unwrap());
        let sixth = pi(PREC)
            .unwrap()
            .mul(&small(6).recip(PREC).unwrap(), PREC)
            .unwrap();
        let (sin, _) = sin_cos(&sixth, PREC).unwrap();
        zero(&sin.scaled(1).sub(&small(1), PREC).unwrap());
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
            zero(&quarter.sub(&expected, PREC).unwrap());
        }
        // arctan 2 + arctan 3 + arctan 1 = pi
        let sum = atan(&small(2), PREC)
            .unwrap()
            .add(&atan(&small(3), PREC).unwrap(), PREC)
            .unwrap()
            .add(&atan(&small(1), PREC).unwrap(), PREC)
            .unwrap();
        zero(&sum.sub(&pi(PREC).unwrap(), PREC).unwrap());
    }
}

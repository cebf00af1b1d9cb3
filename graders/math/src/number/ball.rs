//! Certified real arithmetic. A ball is a midpoint and a radius that together contain the true
//! value, rounding errors included.
//!
//! The value is `mid · 2^exp ± rad · 2^exp`. The exponent floats, so tiny and huge values keep
//! their relative precision. A simplified version of van der Hoeven, "Ball arithmetic" (2009), and
//! Johansson, "Arb" (2017).

use num_bigint::{BigInt, BigUint, Sign};
use num_traits::{One, Signed, ToPrimitive, Zero};

use super::Rational;
use super::rational::{MAX_BITS, MAX_GCD_BITS};

/// Largest absolute value of an exponent. Numbers beyond it are compared by structure or not at
/// all. `elementary::exp` checks at compile time that its results stay below it.
pub(super) const MAX_EXPONENT: i64 = 1 << 48;

// Products add two exponents, and alignment subtracts two: both must fit an `i64` with bits to
// spare for the lengths of midpoints.
const _: () = assert!(MAX_EXPONENT < i64::MAX / 4);

/// Bits of the radius after rounding. A radius needs no more digits than that.
const RADIUS_BITS: u64 = 32;

// `from_parts` adds two units to a radius of this length and stores it in a `u64`.
const _: () = assert!(RADIUS_BITS < 63);

/// Largest shift that aligns two operands or lengthens a radicand, in bits. The result takes
/// 500 kB. Operands whose exponents are further apart are added without a shift, so a larger shift
/// would need an operand of more than 4,000,000 bits.
const MAX_SHIFT: i64 = 4_000_000;

// Numbers of an expression have up to `MAX_BITS` bits: any two of them can be aligned.
const _: () = assert!(MAX_SHIFT.unsigned_abs() > 2 * MAX_BITS);

/// Largest shift to the left that [`Ball::fixed`] makes, in bits: an integer that is taken out of a
/// ball is no longer than one that is read.
const MAX_FIXED_SHIFT: i64 = 1_000_000;

const _: () = assert!(MAX_FIXED_SHIFT.unsigned_abs() <= MAX_BITS);

/// Largest absolute value of the exponent of a midpoint that becomes a rational. Limits and
/// integrals add two such rationals, which takes a greatest common divisor.
const MAX_MIDPOINT_EXPONENT: u64 = 8_000;

// The denominators of two such rationals are within the limit of `Rational::add`.
const _: () = assert!(2 * MAX_MIDPOINT_EXPONENT <= MAX_GCD_BITS);

/// Why an operation on balls has no result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BallError {
    /// The ball contains a pole, a branch point or a jump. More precision may help.
    Straddles,
    /// The function has no value there.
    Undefined,
    /// The result or an intermediate number exceeds a size limit.
    TooLarge,
}

/// Result of an operation on balls.
pub(crate) type BallResult<T> = Result<T, BallError>;

/// A real number known up to a radius.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ball {
    mid: BigInt,
    rad: u64,
    exp: i64,
}

impl Ball {
    /// An exact integer.
    pub(crate) fn integer(value: BigInt) -> Self {
        Self {
            mid: value,
            rad: 0,
            exp: 0,
        }
    }

    /// A small exact integer.
    pub(crate) fn small(value: i64) -> Self {
        Self::integer(BigInt::from(value))
    }

    /// `mid · 2^exp` exactly.
    pub(crate) fn dyadic(mid: BigInt, exp: i64) -> Self {
        Self { mid, rad: 0, exp }
    }

    /// `mid · 2^exp` up to `rad · 2^exp`.
    pub(crate) fn within(mid: BigInt, rad: u64, exp: i64) -> Self {
        Self { mid, rad, exp }
    }

    /// A rational, rounded to `prec` bits.
    pub(crate) fn rational(value: &Rational, prec: u64) -> BallResult<Self> {
        if value.is_integer() {
            return Self::integer(value.num().clone()).rounded(prec);
        }
        // Fractions over a power of two are exact, so that terms which cancel at a point cancel to
        // 0.
        let twos = value.den().trailing_zeros().unwrap_or(0);
        if twos + 1 == value.den().bits() {
            let exp = -i64::try_from(twos).map_err(|_| BallError::TooLarge)?;
            return Self::dyadic(value.num().clone(), exp).rounded(prec);
        }
        let shift = prec + 2 + value.den().bits().saturating_sub(value.num().bits());
        let mid = (value.num() << shift) / value.den();
        let exp = -i64::try_from(shift).map_err(|_| BallError::TooLarge)?;
        Self { mid, rad: 1, exp }.rounded(prec)
    }

    /// The integer `mid` of the midpoint `mid · 2^exp`.
    pub(crate) fn mid(&self) -> &BigInt {
        &self.mid
    }

    /// The midpoint as an exact number.
    pub(crate) fn midpoint(&self) -> Self {
        Self {
            mid: self.mid.clone(),
            rad: 0,
            exp: self.exp,
        }
    }

    /// Whether the radius is 0.
    pub(crate) fn is_exact(&self) -> bool {
        self.rad == 0
    }

    /// Whether it is exactly 0.
    pub(crate) fn is_zero(&self) -> bool {
        self.rad == 0 && self.mid.is_zero()
    }

    /// Whether the ball contains 0.
    pub(crate) fn contains_zero(&self) -> bool {
        self.mid.magnitude() <= &BigUint::from(self.rad)
    }

    /// The sign: -1, 0 or 1, where 0 means an exact 0. [`BallError::Straddles`] if the ball
    /// contains other numbers besides 0.
    pub(crate) fn sign(&self) -> BallResult<i8> {
        if self.is_zero() {
            return Ok(0);
        }
        if self.contains_zero() {
            return Err(BallError::Straddles);
        }
        Ok(if self.mid.is_negative() { -1 } else { 1 })
    }

    /// Smallest `k` with `|x| < 2^k` for all x in the ball; `i64::MIN` for an exact 0.
    pub(crate) fn magnitude(&self) -> i64 {
        let top = self.mid.magnitude() + self.rad;
        if top.is_zero() {
            return i64::MIN;
        }
        i64::try_from(top.bits()).unwrap_or(MAX_EXPONENT) + self.exp
    }

    /// Rounds the midpoint to about `prec` bits and the radius to [`RADIUS_BITS`] bits.
    pub(crate) fn rounded(self, prec: u64) -> BallResult<Self> {
        Self::from_parts(self.mid, BigUint::from(self.rad), self.exp, prec)
    }

    fn from_parts(mid: BigInt, rad: BigUint, exp: i64, prec: u64) -> BallResult<Self> {
        let drop_mid = mid.bits().saturating_sub(prec);
        let drop_rad = rad.bits().saturating_sub(RADIUS_BITS);
        let drop = drop_mid.max(drop_rad);
        let drop_i64 = i64::try_from(drop).map_err(|_| BallError::TooLarge)?;
        let exp = exp.checked_add(drop_i64).ok_or(BallError::TooLarge)?;
        if exp.abs() > MAX_EXPONENT {
            return Err(BallError::TooLarge);
        }
        if drop == 0 {
            let rad = rad.to_u64().ok_or(BallError::TooLarge)?;
            return Ok(Self { mid, rad, exp });
        }
        // One unit for the bits dropped from the midpoint, one for the bits dropped from the
        // radius.
        let rad = (rad >> drop).to_u64().ok_or(BallError::TooLarge)? + 2;
        Ok(Self {
            mid: mid >> drop,
            rad,
            exp,
        })
    }

    /// `-x`.
    pub(crate) fn neg(&self) -> Self {
        Self {
            mid: -&self.mid,
            rad: self.rad,
            exp: self.exp,
        }
    }

    /// `|x|`.
    pub(crate) fn abs(&self) -> Self {
        if self.contains_zero() && !self.is_exact() {
            // The ball `[0, |mid| + rad]`, around its middle.
            let top = self.mid.abs() + self.rad;
            let half: BigInt = (&top >> 1u8) + 1u8;
            // A smaller radius would no longer contain 0.
            debug_assert!(half.bits() <= 64, "the radius of |x| does not fit 64 bits");
            let rad = half.to_u64().unwrap_or(u64::MAX);
            return Self {
                mid: half,
                rad,
                exp: self.exp,
            };
        }
        Self {
            mid: self.mid.abs(),
            rad: self.rad,
            exp: self.exp,
        }
    }

    /// `x · 2^k` exactly.
    pub(crate) fn scaled(&self, k: i64) -> Self {
        Self {
            mid: self.mid.clone(),
            rad: self.rad,
            exp: self.exp.saturating_add(k),
        }
    }

    /// `x + y`.
    pub(crate) fn add(&self, other: &Self, prec: u64) -> BallResult<Self> {
        let (high, low) = if self.exp >= other.exp {
            (self, other)
        } else {
            (other, self)
        };
        if low.is_zero() {
            return Ok(high.clone());
        }
        if high.is_zero() {
            return Ok(low.clone());
        }
        let gap = high.exp - low.exp;
        let wide = i64::try_from(2 * prec + 64).map_err(|_| BallError::TooLarge)?;
        if gap > wide && low.magnitude() < high.exp {
            // The lower number is less than one unit of the higher one. Refine the higher one until
            // its unit is small, then add the lower one to the radius.
            let refine = wide - 64;
            let exp = high.exp - refine;
            let mid = &high.mid << refine;
            let rad = (BigUint::from(high.rad) << refine) + 1u8;
            if low.magnitude() <= exp {
                return Self::from_parts(mid, rad, exp, prec);
            }
        }
        if gap > MAX_SHIFT {
            return Err(BallError::TooLarge);
        }
        let mid = (&high.mid << gap) + &low.mid;
        let rad = (BigUint::from(high.rad) << gap) + low.rad;
        Self::from_parts(mid, rad, low.exp, prec)
    }

    /// `x - y`.
    pub(crate) fn sub(&self, other: &Self, prec: u64) -> BallResult<Self> {
        self.add(&other.neg(), prec)
    }

    /// `x · y`.
    pub(crate) fn mul(&self, other: &Self, prec: u64) -> BallResult<Self> {
        let mid = &self.mid * &other.mid;
        let rad = if self.rad == 0 && other.rad == 0 {
            BigUint::zero()
        } else {
            self.mid.magnitude() * other.rad
                + other.mid.magnitude() * self.rad
                + BigUint::from(self.rad) * other.rad
        };
        Self::from_parts(mid, rad, self.exp.saturating_add(other.exp), prec)
    }

    /// `1 / x`.
    pub(crate) fn recip(&self, prec: u64) -> BallResult<Self> {
        if self.is_zero() {
            return Err(BallError::Undefined);
        }
        if self.contains_zero() {
            return Err(BallError::Straddles);
        }
        let shift = self.mid.bits() + prec + 2;
        let one = BigInt::one() << shift;
        let mid = &one / &self.mid;
        let rad = if self.rad == 0 {
            BigUint::one()
        } else {
            // |1/m - 1/x| <= r / (|m| (|m| - r)), rounded up.
            let size = self.mid.magnitude();
            let nearest = size - self.rad;
            (BigUint::from(self.rad) << shift) / (size * nearest) + 2u8
        };
        let shift = i64::try_from(shift).map_err(|_| BallError::TooLarge)?;
        let exp = self
            .exp
            .checked_neg()
            .and_then(|exp| exp.checked_sub(shift));
        Self::from_parts(mid, rad, exp.ok_or(BallError::TooLarge)?, prec)
    }

    /// The real `index`-th root; of a negative number only for an odd `index`.
    pub(crate) fn root(&self, index: u32, prec: u64) -> BallResult<Self> {
        if index == 0 {
            return Err(BallError::Undefined);
        }
        if self.is_zero() {
            return Ok(self.clone());
        }
        if self.mid.sign() == Sign::Minus {
            if !self.contains_zero() && index.is_multiple_of(2) {
                return Err(BallError::Undefined);
            }
            if index % 2 == 1 {
                return Ok(self.neg().root(index, prec)?.neg());
            }
        }
        let degree = i64::from(index);
        // Make the exponent a multiple of the index, with enough bits for the precision.
        let want = prec.saturating_mul(u64::from(index)) + 4;
        let mut shift = i64::try_from(want.saturating_sub(self.mid.bits())).unwrap_or(0);
        if shift > MAX_SHIFT {
            return Err(BallError::TooLarge);
        }
        shift += (self.exp - shift).rem_euclid(degree);
        let exp = (self.exp - shift) / degree;
        let root_of = |value: BigInt| (value << shift).nth_root(index);
        let high = root_of(&self.mid + self.rad) + 1;
        let low = if self.contains_zero() {
            // Odd roots of `[-r, r]` extend below 0.
            if index % 2 == 1 {
                -&high
            } else {
                BigInt::zero()
            }
        } else {
            root_of(&self.mid - self.rad)
        };
        let mid: BigInt = (&high + &low) >> 1u8;
        let rad: BigInt = ((high - low) >> 1u8) + 1;
        Self::from_parts(mid, rad.magnitude().clone(), exp, prec)
    }

    /// Adds `|mag|` to the radius.
    pub(crate) fn widened(&self, mag: &Self, prec: u64) -> BallResult<Self> {
        let top = mag.mid.magnitude() + mag.rad;
        if top.is_zero() {
            return Ok(self.clone());
        }
        // The radius is aligned with the ball.
        let gap = mag.exp.saturating_sub(self.exp);
        if gap >= 0 {
            if gap > MAX_SHIFT {
                return Err(BallError::TooLarge);
            }
            let rad = (top << gap) + self.rad;
            return Self::from_parts(self.mid.clone(), rad, self.exp, prec);
        }
        // One unit for the bits shifted out. A shift of 2^40 leaves nothing of any `top`.
        let rad = (top >> gap.unsigned_abs().min(1 << 40)) + 1u8 + self.rad;
        Self::from_parts(self.mid.clone(), rad, self.exp, prec)
    }

    /// The midpoint as a rational; `None` if its exponent exceeds [`MAX_MIDPOINT_EXPONENT`].
    pub(crate) fn exact_midpoint(&self) -> Option<Rational> {
        if self.exp.unsigned_abs() > MAX_MIDPOINT_EXPONENT {
            return None;
        }
        if self.exp >= 0 {
            return Some(Rational::integer(&self.mid << self.exp));
        }
        Rational::new(self.mid.clone(), BigInt::one() << self.exp.unsigned_abs())
    }

    /// The radius as an exact number.
    pub(crate) fn radius(&self) -> Self {
        Self {
            mid: BigInt::from(self.rad),
            rad: 0,
            exp: self.exp,
        }
    }

    /// The midpoint as a fixed-point integer with `bits` bits after the point, rounded down.
    /// [`BallError::TooLarge`] if it needs a shift by more than [`MAX_FIXED_SHIFT`] bits.
    pub(crate) fn fixed(&self, bits: i64) -> BallResult<BigInt> {
        let shift = self.exp.saturating_add(bits);
        if shift >= 0 {
            if shift > MAX_FIXED_SHIFT {
                return Err(BallError::TooLarge);
            }
            Ok(&self.mid << shift)
        } else {
            Ok(&self.mid >> shift.unsigned_abs())
        }
    }

    /// The largest integer that is not above the number. [`BallError::Straddles`] if it differs
    /// within the ball.
    pub(crate) fn floor(&self) -> BallResult<BigInt> {
        if self.exp >= 0 && self.rad > 0 {
            return Err(BallError::Straddles);
        }
        if self.exp >= 0 {
            return self.fixed(0);
        }
        let shift = self.exp.unsigned_abs();
        let low: BigInt = (&self.mid - self.rad) >> shift;
        let high: BigInt = (&self.mid + self.rad) >> shift;
        if low == high {
            Ok(low)
        } else {
            Err(BallError::Straddles)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PREC: u64 = 128;

    fn ball(num: i64, den: i64) -> Ball {
        Ball::rational(&Rational::ratio(num, den), PREC).unwrap()
    }

    #[test]
    fn sum_contains_true_value() {
        let zero = ball(1, 3).add(&ball(1, 6), PREC).unwrap();
        assert!(zero.sub(&ball(1, 2), PREC).unwrap().contains_zero());
        assert!(!zero.sub(&ball(1, 3), PREC).unwrap().contains_zero());
    }

    #[test]
    fn square_of_root_contains_radicand() {
        let two = ball(2, 1).root(2, PREC).unwrap();
        let square = two.mul(&two, PREC).unwrap();
        let error = square.sub(&ball(2, 1), PREC).unwrap();
        assert!(error.contains_zero() && error.magnitude() < -100);
    }

    #[test]
    fn keeps_relative_precision_of_tiny_numbers() {
        let tiny = Ball::dyadic(BigInt::one(), -1_000_000);
        let twice = tiny.add(&tiny, PREC).unwrap();
        assert!(!twice.sub(&tiny, PREC).unwrap().contains_zero());
    }

    #[test]
    fn adds_distant_exponents_without_long_midpoint() {
        let sum = Ball::dyadic(BigInt::one(), 1 << 40)
            .add(&Ball::small(1), PREC)
            .unwrap();
        assert!(sum.mid().bits() <= PREC + 1 && !sum.is_exact());
    }

    #[test]
    fn floor_is_known_only_if_it_is_the_same_in_the_whole_ball() {
        assert_eq!(Ball::small(-7).floor(), Ok(BigInt::from(-7)));
        assert_eq!(ball(-15, 2).floor(), Ok(BigInt::from(-8)));
        assert_eq!(ball(22, 3).floor(), Ok(BigInt::from(7)));
        // [3, 4], [6, 8] and [12, 16].
        for exp in [-1, 0, 1] {
            assert_eq!(
                Ball::within(BigInt::from(7), 1, exp).floor(),
                Err(BallError::Straddles)
            );
        }
    }

    #[test]
    fn widened_ball_contains_the_whole_change() {
        let change = Ball::within(BigInt::from(-3), 2, 0);
        assert_eq!(
            Ball::small(10).widened(&change, PREC),
            Ok(Ball::within(BigInt::from(10), 5, 0))
        );
    }
}

//! Exact rationals in lowest terms. An operation returns `None` if the size or the cost of its
//! result exceeds a limit; the expression then stays unevaluated.

use std::fmt;

use num_bigint::{BigInt, Sign};
use num_integer::Integer;
use num_traits::{One, Signed, ToPrimitive, Zero};

/// Largest integer that is formed, in bits. A literal of 200,000 digits has 664,386.
pub(crate) const MAX_BITS: u64 = 1_000_000;

/// Largest numbers of which the greatest common divisor is computed, in bits. The algorithm is
/// quadratic; at this size it takes about 2 ms.
pub(super) const MAX_GCD_BITS: u64 = 16_000;

/// A fraction in lowest terms with a positive denominator. `Ord` compares the parts, not the
/// values; it serves canonical forms.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rational {
    num: BigInt,
    den: BigInt,
}

/// Most digits before the point of a literal; 300,000 digits have 996,579 bits.
const MAX_WHOLE_DIGITS: usize = 300_000;

/// Most digits after the point of a literal, trailing zeros not counted.
const MAX_FRACTION_DIGITS: usize = 2_000;

/// Largest absolute value of the power of ten of a literal.
const MAX_DECIMAL_EXPONENT: i64 = 4_000;

// log2(10) is less than 3.33.
const _: () = assert!(MAX_WHOLE_DIGITS as u64 * 333 / 100 <= MAX_BITS);

/// Largest part of a rational that is printed in decimal digits, in bits. Conversion to decimal is
/// quadratic, and evidence keeps only 2,000 characters.
const MAX_PRINTED_BITS: u64 = 8_000;

impl Rational {
    /// An integer.
    #[must_use]
    pub fn integer(value: BigInt) -> Self {
        Self {
            num: value,
            den: BigInt::one(),
        }
    }

    /// A small integer.
    #[must_use]
    pub fn small(value: i64) -> Self {
        Self::integer(BigInt::from(value))
    }

    /// `num / den` in lowest terms; `None` if the denominator is zero or the parts are too large to
    /// reduce.
    #[must_use]
    pub fn new(num: BigInt, den: BigInt) -> Option<Self> {
        if den.is_zero() {
            return None;
        }
        let (num, den) = if den.is_negative() {
            (-num, -den)
        } else {
            (num, den)
        };
        if den.is_one() {
            return Some(Self { num, den });
        }
        if num.is_zero() {
            return Some(Self::integer(num));
        }
        let common = gcd(&num, &den)?;
        if common.is_one() {
            return Some(Self { num, den });
        }
        Some(Self {
            num: num / &common,
            den: den / common,
        })
    }

    /// `num / den` of small integers; `den` must not be zero.
    #[must_use]
    pub fn ratio(num: i64, den: i64) -> Self {
        Self::new(BigInt::from(num), BigInt::from(den)).unwrap_or_else(|| Self::small(num))
    }

    /// Numerator.
    #[must_use]
    pub fn num(&self) -> &BigInt {
        &self.num
    }

    /// Denominator, positive.
    #[must_use]
    pub fn den(&self) -> &BigInt {
        &self.den
    }

    /// Bits of the numerator and the denominator together.
    #[must_use]
    pub fn bits(&self) -> u64 {
        self.num.bits() + self.den.bits()
    }

    /// Whether the denominator is 1.
    #[must_use]
    pub fn is_integer(&self) -> bool {
        self.den.is_one()
    }

    /// Whether it is 0.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        self.num.is_zero()
    }

    /// Whether it is 1.
    #[must_use]
    pub fn is_one(&self) -> bool {
        self.num.is_one() && self.den.is_one()
    }

    /// Whether it is below 0.
    #[must_use]
    pub fn is_negative(&self) -> bool {
        self.num.is_negative()
    }

    /// The value, if it is an integer that fits an `i64`.
    #[must_use]
    pub fn to_i64(&self) -> Option<i64> {
        if self.is_integer() {
            self.num.to_i64()
        } else {
            None
        }
    }

    /// `-self`.
    #[must_use]
    pub fn neg(&self) -> Self {
        Self {
            num: -&self.num,
            den: self.den.clone(),
        }
    }

    /// `|self|`.
    #[must_use]
    pub fn abs(&self) -> Self {
        Self {
            num: self.num.abs(),
            den: self.den.clone(),
        }
    }

    /// `self + other`, after Knuth, "The Art of Computer Programming", volume 2, 4.5.1. Most pairs
    /// of denominators have no common divisor; the sum then needs no reduction, which would take
    /// four times as long.
    #[must_use]
    pub fn add(&self, other: &Self) -> Option<Self> {
        if self.is_integer() && other.is_integer() {
            return Some(Self::integer(&self.num + &other.num));
        }
        if self.bits() + other.bits() > MAX_GCD_BITS * 2 {
            return None;
        }
        let common = gcd(&self.den, &other.den)?;
        if common.is_one() {
            let num = &self.num * &other.den + &other.num * &self.den;
            return Some(Self {
                num,
                den: &self.den * &other.den,
            });
        }
        let (own, others) = (&self.den / &common, &other.den / &common);
        let num = &self.num * &others + &other.num * &own;
        let part = Self::new(num, common)?;
        Some(Self {
            num: part.num,
            den: part.den * own * others,
        })
    }

    /// `self - other`.
    #[must_use]
    pub fn sub(&self, other: &Self) -> Option<Self> {
        self.add(&other.neg())
    }

    /// `self · other`, reduced crosswise before the multiplication (Knuth, as for
    /// [`add`](Self::add)).
    #[must_use]
    pub fn mul(&self, other: &Self) -> Option<Self> {
        if self.bits() + other.bits() > MAX_BITS {
            return None;
        }
        if self.is_integer() && other.is_integer() {
            return Some(Self::integer(&self.num * &other.num));
        }
        let crossed = |num: &BigInt, den: &BigInt| Self::new(num.clone(), den.clone());
        let (left, right) = (
            crossed(&self.num, &other.den)?,
            crossed(&other.num, &self.den)?,
        );
        Some(Self {
            num: left.num * right.num,
            den: left.den * right.den,
        })
    }

    /// `1 / self`; `None` for 0.
    #[must_use]
    pub fn recip(&self) -> Option<Self> {
        match self.num.sign() {
            Sign::NoSign => None,
            Sign::Plus => Some(Self {
                num: self.den.clone(),
                den: self.num.clone(),
            }),
            Sign::Minus => Some(Self {
                num: -&self.den,
                den: -&self.num,
            }),
        }
    }

    /// `self / other`; `None` for a zero divisor.
    #[must_use]
    pub fn div(&self, other: &Self) -> Option<Self> {
        self.mul(&other.recip()?)
    }

    /// `self ^ exponent`; `None` for 0 to a power that is not positive, and for results of more
    /// than `max_bits` bits.
    #[must_use]
    pub fn pow(&self, exponent: i64, max_bits: u64) -> Option<Self> {
        if exponent < 0 {
            return self.recip()?.pow(exponent.checked_neg()?, max_bits);
        }
        if self.is_zero() && exponent == 0 {
            return None;
        }
        if self.is_zero() || self.num.magnitude().is_one() && self.is_integer() {
            let odd = exponent % 2 == 1;
            return Some(match (exponent, odd) {
                (0, _) => Self::small(1),
                (_, true) => self.clone(),
                (_, false) => self.abs(),
            });
        }
        let size = self.bits().checked_mul(u64::try_from(exponent).ok()?)?;
        if size > max_bits {
            return None;
        }
        let exponent = u32::try_from(exponent).ok()?;
        // A power of a fraction in lowest terms is in lowest terms.
        Some(Self {
            num: self.num.pow(exponent),
            den: self.den.pow(exponent),
        })
    }

    /// An upper bound of the 64-bit limbs of both parts of [`pow`](Self::pow) together; `None` if
    /// that has no result.
    pub(crate) fn pow_limbs(&self, exponent: i64, max_bits: u64) -> Option<u64> {
        let exponent = exponent.unsigned_abs();
        if self.bits().checked_mul(exponent)? > max_bits {
            // Powers of 0, 1 and -1 have a result, of one limb.
            return (self.bits() <= 2).then_some(1);
        }
        let bits = |value: &BigInt| {
            // log2 x <= (k + log2 top^7 / 7), where x < top · 2^k and top^7 fits 128 bits.
            let dropped = value.bits().saturating_sub(16);
            let top: BigInt = (value.abs() >> dropped) + BigInt::from(u8::from(dropped > 0));
            let seventh = top.pow(7u32).bits() - u64::from(top.is_one());
            (dropped * exponent).saturating_add((seventh * exponent).div_ceil(7))
        };
        Some((bits(&self.num) + bits(&self.den)) / 64 + 1)
    }

    /// The `index`-th root, if it is rational; of a negative number only for an odd `index`.
    #[must_use]
    pub fn root(&self, index: u32) -> Option<Self> {
        if self.bits() > MAX_GCD_BITS || index == 0 || self.is_negative() && index.is_multiple_of(2)
        {
            return None;
        }
        let exact = |value: &BigInt| {
            let root = value.nth_root(index);
            (root.pow(index) == *value).then_some(root)
        };
        Some(Self {
            num: exact(&self.num)?,
            den: exact(&self.den)?,
        })
    }

    /// The largest integer that is not above the number.
    #[must_use]
    pub fn floor(&self) -> BigInt {
        self.num.div_floor(&self.den)
    }

    /// Whether `self < other` by value; `None` if the parts are too large to compare.
    #[must_use]
    pub fn less(&self, other: &Self) -> Option<bool> {
        if self.is_integer() && other.is_integer() {
            return Some(self.num < other.num);
        }
        if self.bits().saturating_add(other.bits()) > MAX_BITS {
            return None;
        }
        Some(&self.num * &other.den < &other.num * &self.den)
    }

    /// Reads the digits before and after an optional point, and an optional power of ten, exactly.
    /// `None` beyond `MAX_WHOLE_DIGITS`, `MAX_FRACTION_DIGITS` or `MAX_DECIMAL_EXPONENT`.
    #[must_use]
    pub fn from_decimal(whole: &str, fraction: &str, power: i64) -> Option<Self> {
        let fraction = fraction.trim_end_matches('0');
        if whole.len() > MAX_WHOLE_DIGITS
            || fraction.len() > MAX_FRACTION_DIGITS
            || power.abs() > MAX_DECIMAL_EXPONENT
        {
            return None;
        }
        let mut digits = String::with_capacity(whole.len() + fraction.len());
        digits.push_str(whole);
        digits.push_str(fraction);
        let mantissa = integer_from_digits(digits.as_bytes())?;
        let power = power.checked_sub(i64::try_from(fraction.len()).ok()?)?;
        if power == 0 {
            return Some(Self::integer(mantissa));
        }
        let scale = BigInt::from(10).pow(u32::try_from(power.unsigned_abs()).ok()?);
        if power >= 0 {
            Some(Self::integer(mantissa * scale))
        } else {
            Self::new(mantissa, scale)
        }
    }
}

/// Reads decimal digits by divide and conquer, so that the cost is that of a few large products:
/// 200,000 digits take about 3 ms; digit by digit they would take 40 ms.
#[must_use]
pub(crate) fn integer_from_digits(digits: &[u8]) -> Option<BigInt> {
    fn read(digits: &[u8], powers: &mut Vec<BigInt>) -> Option<BigInt> {
        const LEAF: usize = 256;
        if digits.len() <= LEAF {
            return BigInt::parse_bytes(digits, 10);
        }
        let mut level = 0;
        while LEAF << (level + 1) < digits.len() {
            level += 1;
        }
        while powers.len() <= level {
            let next = match powers.last() {
                Some(last) => last * last,
                None => BigInt::from(10).pow(u32::try_from(LEAF).ok()?),
            };
            powers.push(next);
        }
        let (high, low) = digits.split_at(digits.len() - (LEAF << level));
        let high = read(high, powers)?;
        let low = read(low, powers)?;
        Some(high * powers.get(level)? + low)
    }
    // Nearly all numbers fit 64 bits.
    if digits.len() <= 18 {
        let value = digits.iter().try_fold(0u64, |value, digit| {
            digit
                .is_ascii_digit()
                .then(|| value * 10 + u64::from(digit - b'0'))
        });
        return value.map(BigInt::from);
    }
    read(digits, &mut Vec::new())
}

fn gcd(a: &BigInt, b: &BigInt) -> Option<BigInt> {
    if let (Some(a), Some(b)) = (a.magnitude().to_u64(), b.magnitude().to_u64()) {
        return Some(BigInt::from(a.gcd(&b)));
    }
    if a.magnitude().is_one() || b.magnitude().is_one() {
        return Some(BigInt::one());
    }
    // The denominator of the midpoint of a ball is a power of two. It shares only twos with the
    // other number.
    let (a_twos, b_twos) = (
        a.trailing_zeros().unwrap_or(0),
        b.trailing_zeros().unwrap_or(0),
    );
    if a_twos + 1 == a.bits() || b_twos + 1 == b.bits() {
        return Some(BigInt::one() << a_twos.min(b_twos));
    }
    if a.bits().min(b.bits()) > MAX_GCD_BITS || a.bits().max(b.bits()) > 4 * MAX_GCD_BITS {
        return None;
    }
    Some(a.gcd(b))
}

impl fmt::Display for Rational {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let part = |value: &BigInt| {
            if value.bits() > MAX_PRINTED_BITS {
                format!("(integer of {} bits)", value.bits())
            } else {
                value.to_string()
            }
        };
        if self.is_integer() {
            f.write_str(&part(&self.num))
        } else {
            write!(f, "{}/{}", part(&self.num), part(&self.den))
        }
    }
}

impl fmt::Debug for Rational {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_decimals_exactly() {
        assert_eq!(
            Rational::from_decimal("0", "250", 0),
            Some(Rational::ratio(1, 4))
        );
        assert_eq!(
            Rational::from_decimal("3", "5", 2),
            Some(Rational::small(350))
        );
        assert_eq!(Rational::from_decimal("1", "", 999_999_999), None);
    }

    #[test]
    fn reads_long_literals() {
        let digits = "9876543210".repeat(500);
        assert_eq!(
            integer_from_digits(digits.as_bytes()),
            digits.parse::<BigInt>().ok()
        );
    }

    #[test]
    fn limits_size_of_powers() {
        assert_eq!(Rational::small(2).pow(1 << 40, 1 << 20), None);
        assert_eq!(
            Rational::small(-1).pow(i64::MAX, 8),
            Some(Rational::small(-1))
        );
        assert_eq!(
            Rational::ratio(2, 3).pow(-2, 100),
            Some(Rational::ratio(9, 4))
        );
    }

    #[test]
    fn takes_only_rational_roots() {
        assert_eq!(Rational::ratio(9, 4).root(2), Some(Rational::ratio(3, 2)));
        assert_eq!(Rational::small(2).root(2), None);
        assert_eq!(Rational::small(-8).root(3), Some(Rational::small(-2)));
    }
}

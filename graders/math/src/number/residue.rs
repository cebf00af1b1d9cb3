//! Arithmetic modulo 61-bit primes, for identity testing of rational functions.
//!
//! Two different rational functions agree at a random point modulo a random prime with a
//! probability of about `degree / 2^61` (Schwartz 1980, Zippel 1979), whatever their coefficients,
//! unless the prime divides all of these. Two primes are used. A hash of the two expressions
//! selects them, so no fixed number is always taken for zero.

use num_bigint::BigInt;
use num_integer::Integer;
use num_traits::ToPrimitive;

use super::Rational;

/// The largest primes below `2^61 - k·10^15` for `k = 1..=16`. None of them has a form that occurs
/// in expressions.
const PRIMES: [u64; 16] = [
    2_304_843_009_213_693_833,
    2_303_843_009_213_693_947,
    2_302_843_009_213_693_937,
    2_301_843_009_213_693_929,
    2_300_843_009_213_693_941,
    2_299_843_009_213_693_921,
    2_298_843_009_213_693_913,
    2_297_843_009_213_693_891,
    2_296_843_009_213_693_861,
    2_295_843_009_213_693_949,
    2_294_843_009_213_693_909,
    2_293_843_009_213_693_913,
    2_292_843_009_213_693_943,
    2_291_843_009_213_693_911,
    2_290_843_009_213_693_951,
    2_289_843_009_213_693_943,
];

/// The field of one prime.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Field {
    p: u64,
}

/// A fraction of residues. Its denominator is never 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Residue {
    num: u64,
    den: u64,
}

impl Field {
    /// The field that `seed` selects.
    pub(crate) fn new(seed: u64) -> Self {
        let index = usize::try_from(seed % 16).unwrap_or(0);
        Self {
            p: PRIMES.get(index).copied().unwrap_or(PRIMES[0]),
        }
    }

    fn mul_raw(self, a: u64, b: u64) -> u64 {
        let product = u128::from(a) * u128::from(b) % u128::from(self.p);
        u64::try_from(product).unwrap_or(0)
    }

    fn add_raw(self, a: u64, b: u64) -> u64 {
        // Both are below 2^61, so the sum fits.
        let sum = a + b;
        if sum >= self.p { sum - self.p } else { sum }
    }

    /// A residue from any 64 bits.
    pub(crate) fn element(self, bits: u64) -> Residue {
        Residue {
            num: bits % self.p,
            den: 1,
        }
    }

    fn reduce(self, value: &BigInt) -> u64 {
        if let Some(small) = value.to_i64() {
            let residue = i128::from(small).rem_euclid(i128::from(self.p));
            return u64::try_from(residue).unwrap_or(0);
        }
        value.mod_floor(&BigInt::from(self.p)).to_u64().unwrap_or(0)
    }

    /// A rational; `None` when the prime divides its denominator.
    pub(crate) fn rational(self, value: &Rational) -> Option<Residue> {
        let den = self.reduce(value.den());
        (den != 0).then(|| Residue {
            num: self.reduce(value.num()),
            den,
        })
    }

    /// `a + b`.
    pub(crate) fn add(self, a: Residue, b: Residue) -> Residue {
        if a.den == b.den {
            return Residue {
                num: self.add_raw(a.num, b.num),
                den: a.den,
            };
        }
        Residue {
            num: self.add_raw(self.mul_raw(a.num, b.den), self.mul_raw(b.num, a.den)),
            den: self.mul_raw(a.den, b.den),
        }
    }

    /// `a · b`.
    pub(crate) fn mul(self, a: Residue, b: Residue) -> Residue {
        Residue {
            num: self.mul_raw(a.num, b.num),
            den: if a.den == 1 && b.den == 1 {
                1
            } else {
                self.mul_raw(a.den, b.den)
            },
        }
    }

    /// `1 / a`; `None` at a pole.
    pub(crate) fn recip(self, a: Residue) -> Option<Residue> {
        (a.num != 0).then_some(Residue {
            num: a.den,
            den: a.num,
        })
    }

    fn pow_raw(self, base: u64, exponent: &BigInt) -> u64 {
        // By Fermat exponents are taken modulo p - 1.
        let order = BigInt::from(self.p - 1);
        let mut exponent = exponent.mod_floor(&order).to_u64().unwrap_or(0);
        let mut square = base;
        let mut power = 1;
        while exponent > 0 {
            if exponent & 1 == 1 {
                power = self.mul_raw(power, square);
            }
            square = self.mul_raw(square, square);
            exponent >>= 1;
        }
        power
    }

    /// `a ^ exponent`; `None` at a pole and for `0 ^ 0`.
    pub(crate) fn pow(self, a: Residue, exponent: &BigInt) -> Option<Residue> {
        if exponent.sign() == num_bigint::Sign::Minus {
            return self.pow(self.recip(a)?, &-exponent);
        }
        if a.num == 0 {
            return (exponent.sign() == num_bigint::Sign::Plus).then_some(a);
        }
        Some(Residue {
            num: self.pow_raw(a.num, exponent),
            den: if a.den == 1 {
                1
            } else {
                self.pow_raw(a.den, exponent)
            },
        })
    }

    /// Whether two fractions are the same residue.
    pub(crate) fn same(self, a: Residue, b: Residue) -> bool {
        self.mul_raw(a.num, b.den) == self.mul_raw(b.num, a.den)
    }

    /// The residue of a fraction, in `0..p`.
    pub(crate) fn value(self, a: Residue) -> u64 {
        if a.den == 1 {
            return a.num;
        }
        let inverse = self.pow_raw(a.den, &BigInt::from(self.p - 2));
        self.mul_raw(a.num, inverse)
    }
}

impl Residue {
    /// Whether it is 0.
    pub(crate) fn is_zero(self) -> bool {
        self.num == 0
    }
}

/// One round of splitmix64 (Steele, Lea and Flood 2014): a well-mixed permutation of 64 bits.
pub(crate) fn mix(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn primes_are_prime() {
        // Deterministic Miller-Rabin: the first twelve primes as bases decide all numbers below
        // 2^64 (Sorenson and Webster 2015).
        for p in PRIMES {
            let field = Field { p };
            let (mut odd, mut twos) = (p - 1, 0);
            while odd % 2 == 0 {
                odd /= 2;
                twos += 1;
            }
            for base in [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37] {
                let mut power = field.pow_raw(base, &BigInt::from(odd));
                let mut passes = power == 1 || power == p - 1;
                for _ in 1..twos {
                    power = field.mul_raw(power, power);
                    passes |= power == p - 1;
                }
                assert!(passes, "{p} is not prime");
            }
        }
    }

    #[test]
    fn adds_and_multiplies_fractions() {
        let field = Field::new(0);
        let half = field.rational(&Rational::ratio(1, 2)).unwrap();
        let third = field.rational(&Rational::ratio(1, 3)).unwrap();
        let five_sixths = field.rational(&Rational::ratio(5, 6)).unwrap();
        assert!(field.same(field.add(half, third), five_sixths));
        assert_eq!(
            field.value(field.mul(half, field.element(2))),
            field.value(field.element(1))
        );
    }
}

//! Polynomials in one variable with rational coefficients, and their real roots.
//!
//! Roots are isolated between the roots of the derivative and bisected. A root that is rational is
//! found exactly: it is the simplest rational in its bracket.

use num_bigint::{BigInt, Sign};
use num_integer::Integer as _;
use num_traits::{One as _, Signed as _, Zero as _};

use crate::budget::{Budget, Exhausted};
use crate::number::Rational;

/// Steps of finding the simplest rational in an interval.
pub(super) const SIMPLEST_STEPS: u64 = 400;

/// Highest degree of which roots are searched.
const MAX_DEGREE: usize = 24;

/// Largest coefficient that is computed with, in bits.
const MAX_BITS: u64 = 4_000;

/// Bits after the point to which roots are bisected, beyond the size of the coefficients.
const ROOT_BITS: u64 = 64;

/// The same for irrational roots of quadratic polynomials, which are not bisected.
const SQUARE_ROOT_BITS: u64 = 192;

/// Steps of an operation on coefficients of a few limbs.
const OPERATION_STEPS: u64 = 12;

/// A polynomial: its coefficients from the constant one, the last one not 0. Empty for 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Polynomial(Vec<Rational>);

fn charge(operations: usize, bits: u64, budget: &Budget) -> Result<(), Exhausted> {
    let limbs = bits / 64;
    budget.charge(operations as u64 * (OPERATION_STEPS + limbs + limbs * limbs / 8))
}

impl Polynomial {
    pub(super) fn constant(value: Rational) -> Self {
        Self::of(vec![value])
    }

    /// The variable itself.
    pub(super) fn variable() -> Self {
        Self(vec![Rational::small(0), Rational::small(1)])
    }

    fn of(mut coefficients: Vec<Rational>) -> Self {
        while coefficients.last().is_some_and(Rational::is_zero) {
            coefficients.pop();
        }
        Self(coefficients)
    }

    pub(super) fn is_constant(&self) -> bool {
        self.0.len() < 2
    }

    fn bits(&self) -> u64 {
        self.0.iter().map(Rational::bits).max().unwrap_or(0)
    }

    /// The value at a number; `None` if it is too large.
    pub(super) fn value(
        &self,
        at: &Rational,
        budget: &Budget,
    ) -> Result<Option<Rational>, Exhausted> {
        let length = self.0.len();
        charge(2 * length, self.bits() + length as u64 * at.bits(), budget)?;
        let next = |total: Rational, value: &Rational| total.mul(at)?.add(value);
        let mut items = self.0.iter().rev();
        Ok(items.try_fold(Rational::small(0), next))
    }

    /// The integral between two numbers, and the larger of the two values of the antiderivative, of
    /// which it is the difference; `None` if it is too large.
    pub(super) fn integral(
        &self,
        low: &Rational,
        high: &Rational,
        budget: &Budget,
    ) -> Result<Option<(Rational, Rational)>, Exhausted> {
        charge(self.0.len(), self.bits(), budget)?;
        let over = |(degree, value): (i64, &Rational)| value.mul(&Rational::ratio(1, degree));
        let antiderivative = (1..).zip(&self.0).map(over).collect::<Option<Vec<_>>>();
        let Some(mut coefficients) = antiderivative else {
            return Ok(None);
        };
        coefficients.insert(0, Rational::small(0));
        let antiderivative = Self(coefficients);
        let (Some(low), Some(high)) = (
            antiderivative.value(low, budget)?,
            antiderivative.value(high, budget)?,
        ) else {
            return Ok(None);
        };
        let larger = if low.abs().less(&high.abs()) == Some(true) {
            high.abs()
        } else {
            low.abs()
        };
        Ok(high.sub(&low).map(|area| (area, larger)))
    }

    /// `self + other`; `None` if it is too large.
    pub(super) fn add(&self, other: &Self, budget: &Budget) -> Result<Option<Self>, Exhausted> {
        let length = self.0.len().max(other.0.len());
        charge(length, self.bits() + other.bits(), budget)?;
        let zero = Rational::small(0);
        let sum = |at| {
            let [a, b] = [&self.0, &other.0].map(|items| items.get(at).unwrap_or(&zero));
            a.add(b).filter(|sum| sum.bits() <= MAX_BITS)
        };
        Ok((0..length).map(sum).collect::<Option<_>>().map(Self::of))
    }

    /// `self · other`; `None` if it is too large.
    pub(super) fn mul(&self, other: &Self, budget: &Budget) -> Result<Option<Self>, Exhausted> {
        if self.0.is_empty() || other.0.is_empty() {
            return Ok(Some(Self(Vec::new())));
        }
        let length = self.0.len() + other.0.len() - 1;
        if length > MAX_DEGREE + 1 {
            return Ok(None);
        }
        let bits = self.bits() + other.bits();
        charge(2 * self.0.len() * other.0.len(), bits, budget)?;
        let mut product = vec![Rational::small(0); length];
        for (i, a) in self.0.iter().enumerate() {
            for (total, b) in product.iter_mut().skip(i).zip(&other.0) {
                let Some(sum) = a.mul(b).and_then(|term| total.add(&term)) else {
                    return Ok(None);
                };
                *total = sum;
            }
        }
        let product = Self::of(product);
        Ok((product.bits() <= MAX_BITS).then_some(product))
    }

    /// The real roots and, with `turns` or from the third degree on, those of the derivatives: a
    /// double root need not change the sign, but is a root of the derivative.
    pub(super) fn roots(&self, turns: bool, budget: &Budget) -> Result<Vec<Rational>, Exhausted> {
        charge(2 * self.0.len(), self.bits(), budget)?;
        let common = self.0.iter().fold(BigInt::one(), |so_far, value| {
            if so_far.bits() > MAX_BITS {
                so_far
            } else {
                so_far.lcm(value.den())
            }
        });
        let whole: Vec<BigInt> = self
            .0
            .iter()
            .map(|value| value.num() * (&common / value.den()))
            .collect();
        if common.bits() > MAX_BITS {
            return Ok(Vec::new());
        }
        let mut found = real_roots(&whole, budget)?;
        if turns && whole.len() == 3 {
            found.extend(real_roots(&slope(&whole), budget)?);
        }
        Ok(found)
    }
}

fn slope(coefficients: &[BigInt]) -> Vec<BigInt> {
    let rest = coefficients.iter().enumerate().skip(1);
    rest.map(|(degree, value)| value * degree).collect()
}

/// The real roots of a polynomial with integer coefficients, from the third degree on with those
/// of its derivatives.
fn real_roots(coefficients: &[BigInt], budget: &Budget) -> Result<Vec<Rational>, Exhausted> {
    match coefficients {
        [] | [_] => Ok(Vec::new()),
        [zeroth, first] => Ok(Rational::new(-zeroth, first.clone()).into_iter().collect()),
        [c, b, a] => quadratic(a, b, c, budget),
        _ => {
            let turns = real_roots(&slope(coefficients), budget)?;
            let mut found = bisected(coefficients, &turns, budget)?;
            found.extend(turns);
            Ok(found)
        }
    }
}

fn size(coefficients: &[BigInt]) -> u64 {
    coefficients.iter().map(BigInt::bits).max().unwrap_or(0)
}

fn quadratic(
    a: &BigInt,
    b: &BigInt,
    c: &BigInt,
    budget: &Budget,
) -> Result<Vec<Rational>, Exhausted> {
    let bits = SQUARE_ROOT_BITS + size(&[a.clone(), b.clone(), c.clone()]);
    charge(12, 4 * bits, budget)?;
    let discriminant: BigInt = b * b - a * c * 4;
    if discriminant.is_negative() {
        return Ok(Vec::new());
    }
    let exact = discriminant.sqrt();
    let (root, shift) = if &exact * &exact == discriminant {
        (exact, 0)
    } else {
        ((discriminant << (2 * bits)).sqrt(), bits)
    };
    let twice: BigInt = (a * 2) << shift;
    let middle: BigInt = -b << shift;
    let ends = [&middle - &root, middle + &root];
    let mut found: Vec<Rational> = ends
        .into_iter()
        .filter_map(|end| Rational::new(end, twice.clone()))
        .collect();
    found.dedup();
    Ok(found)
}

/// The sign at `k / 2^shift`.
fn sign_at(coefficients: &[BigInt], k: &BigInt, shift: u64) -> Sign {
    let mut total = BigInt::zero();
    let mut scale = 0;
    for value in coefficients.iter().rev() {
        total = total * k + (value << scale);
        scale += shift;
    }
    total.sign()
}

/// The roots at which the sign changes. Between two neighbours of `turns` there is at most one.
fn bisected(
    coefficients: &[BigInt],
    turns: &[Rational],
    budget: &Budget,
) -> Result<Vec<Rational>, Exhausted> {
    let shift = ROOT_BITS + size(coefficients);
    // Cauchy's bound: no root is larger than 1 plus the largest quotient of coefficients.
    let last = coefficients.last().map_or(0, BigInt::bits);
    let bound = BigInt::one() << (size(coefficients) + 2 - last.min(size(coefficients)) + shift);
    let mut ends: Vec<BigInt> = turns
        .iter()
        .map(|turn| (turn.num() << shift).div_floor(turn.den()))
        .collect();
    ends.push(-bound.clone());
    ends.push(bound);
    ends.sort();
    ends.dedup();
    let bits = shift * coefficients.len() as u64;
    let mut found = Vec::new();
    charge(ends.len() * coefficients.len(), bits, budget)?;
    for pair in ends.windows(2) {
        let [low, high] = pair else { continue };
        let (mut low, mut high) = (low.clone(), high.clone());
        let (below, above) = (
            sign_at(coefficients, &low, shift),
            sign_at(coefficients, &high, shift),
        );
        if below == Sign::NoSign {
            found.extend(Rational::new(low.clone(), BigInt::one() << shift));
        }
        if below == above || below == Sign::NoSign || above == Sign::NoSign {
            continue;
        }
        while &high - &low > BigInt::one() {
            charge(coefficients.len(), bits, budget)?;
            let middle: BigInt = (&low + &high) >> 1u8;
            if sign_at(coefficients, &middle, shift) == below {
                low = middle;
            } else {
                high = middle;
            }
        }
        charge(4 * coefficients.len(), bits, budget)?;
        budget.charge(shift)?;
        found.push(root_between(coefficients, &low, &high, shift));
    }
    Ok(found)
}

/// The rational root in a bracket, or else its lower end.
fn root_between(coefficients: &[BigInt], low: &BigInt, high: &BigInt, shift: u64) -> Rational {
    let scale: BigInt = BigInt::one() << shift;
    let (num, den) = simplest((low.clone(), scale.clone()), (high.clone(), scale.clone()));
    let mut total = BigInt::zero();
    let mut power = BigInt::one();
    for value in coefficients.iter().rev() {
        total = total * &num + value * &power;
        power *= &den;
    }
    let exact = total.is_zero().then(|| Rational::new(num, den)).flatten();
    exact
        .or_else(|| Rational::new(low.clone(), scale))
        .unwrap_or_else(|| Rational::small(0))
}

/// The fraction with the smallest denominator in a closed interval.
pub(super) fn simplest_between(low: &Rational, high: &Rational) -> Option<Rational> {
    let parts = |value: &Rational| (value.num().clone(), value.den().clone());
    let (num, den) = simplest(parts(low), parts(high));
    Rational::new(num, den)
}

/// The fraction with the smallest denominator in a closed interval, by continued fractions.
fn simplest(low: (BigInt, BigInt), high: (BigInt, BigInt)) -> (BigInt, BigInt) {
    let (mut low, mut high) = (low, high);
    let mut quotients = Vec::new();
    loop {
        let whole = low.0.div_floor(&low.1);
        let rest = &low.0 - &whole * &low.1;
        let beyond = &high.0 - &whole * &high.1;
        if rest.is_zero() || beyond >= high.1 {
            quotients.push(if rest.is_zero() { whole } else { whole + 1 });
            break;
        }
        quotients.push(whole);
        (low, high) = ((high.1, beyond), (low.1, rest));
    }
    let mut fraction = (BigInt::one(), BigInt::zero());
    for quotient in quotients.into_iter().rev() {
        fraction = (quotient * &fraction.0 + &fraction.1, fraction.0);
    }
    fraction
}

#[cfg(test)]
mod tests {
    use super::*;

    fn roots(coefficients: &[i64]) -> Vec<String> {
        let polynomial = Polynomial::of(coefficients.iter().map(|c| Rational::small(*c)).collect());
        let mut found = polynomial.roots(false, &Budget::default()).unwrap();
        found.sort_by(|a, b| {
            if a.less(b) == Some(true) {
                std::cmp::Ordering::Less
            } else {
                std::cmp::Ordering::Greater
            }
        });
        found.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn finds_rational_roots_exactly() {
        assert_eq!(roots(&[-7, 2]), ["7/2"]);
        assert_eq!(roots(&[12, -7, 1]), ["3", "4"]);
        assert_eq!(roots(&[2500, -100, 1]), ["50"]);
        assert_eq!(roots(&[1, 0, 1]), [""; 0]);
        // (3x - 1)(x - 2)(x + 5), with the roots of its derivatives.
        let found = roots(&[10, -33, 8, 3]);
        for root in ["-5", "1/3", "2"] {
            assert!(found.iter().any(|own| own == root), "{found:?}");
        }
    }

    #[test]
    fn approximates_irrational_roots() {
        let polynomial = Polynomial::of([-2, 0, 1].map(Rational::small).to_vec());
        let found = polynomial.roots(false, &Budget::default()).unwrap();
        let error = found[1]
            .mul(&found[1])
            .unwrap()
            .sub(&Rational::small(2))
            .unwrap();
        assert!(error.abs().less(&Rational::ratio(1, 1 << 40)) == Some(true));
    }
}

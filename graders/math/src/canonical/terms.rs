//! Polynomials with rational coefficients: sums of monomials in generators, in lexicographic order.
//! Generators are numbers here; [`field`](super::field) knows what they are.

use std::collections::BTreeMap;

use super::Stop;
use crate::budget::Budget;
use crate::number::Rational;

/// Maximum number of terms of a polynomial.
const MAX_TERMS: usize = 200;

/// Largest coefficient, in bits.
const MAX_BITS: u64 = 2_048;

/// Largest exponent.
const MAX_EXPONENT: u32 = 1 << 20;

/// Bytes of a term and its place in the map, without the digits of the coefficient.
const TERM_BYTES: u64 = 160;

/// Position of a generator in the list of its field.
pub(super) type Generator = usize;

/// Generators with positive exponents, in descending order: the derived order is lexicographic.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Monomial(pub(super) Vec<(Generator, u32)>);

impl Monomial {
    pub(super) fn is_one(&self) -> bool {
        self.0.is_empty()
    }

    /// The exponent of a generator.
    pub(super) fn exponent(&self, generator: Generator) -> u32 {
        let found = self.0.iter().find(|(own, _)| *own == generator);
        found.map_or(0, |(_, exponent)| *exponent)
    }

    /// The monomial without a generator.
    pub(super) fn without(&self, generator: Generator) -> Self {
        let rest = self.0.iter().filter(|(own, _)| *own != generator);
        Self(rest.copied().collect())
    }

    pub(super) fn times(&self, other: &Self) -> Result<Self, Stop> {
        let mut all = Vec::with_capacity(self.0.len() + other.0.len());
        let (mut own, mut others) = (self.0.iter().peekable(), other.0.iter().peekable());
        loop {
            let next = match (own.peek(), others.peek()) {
                (Some(a), Some(b)) if a.0 == b.0 => {
                    let exponent = a.1 + b.1;
                    if exponent > MAX_EXPONENT {
                        return Err(Stop::TooLarge);
                    }
                    others.next();
                    own.next().map(|(generator, _)| (*generator, exponent))
                }
                (Some(a), Some(b)) if a.0 < b.0 => others.next().copied(),
                (Some(_), _) => own.next().copied(),
                (None, _) => others.next().copied(),
            };
            match next {
                Some(next) => all.push(next),
                None => return Ok(Self(all)),
            }
        }
    }

    /// The quotient, if it is a monomial.
    fn divided(&self, other: &Self) -> Option<Self> {
        let mut rest = Vec::with_capacity(self.0.len());
        let mut matched = 0;
        for (generator, exponent) in &self.0 {
            let divisor = other.exponent(*generator);
            matched += usize::from(divisor > 0);
            let left = exponent.checked_sub(divisor)?;
            if left > 0 {
                rest.push((*generator, left));
            }
        }
        (matched == other.0.len()).then_some(Self(rest))
    }

    /// The greatest common divisor.
    pub(super) fn common(&self, other: &Self) -> Self {
        let both = self.0.iter().filter_map(|(generator, exponent)| {
            let least = other.exponent(*generator).min(*exponent);
            (least > 0).then_some((*generator, least))
        });
        Self(both.collect())
    }
}

/// A polynomial. Coefficients are not zero.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Terms(BTreeMap<Monomial, Rational>);

/// The work of one operation on a term.
fn charge(coefficient: &Rational, budget: &Budget) -> Result<(), Stop> {
    let limbs = coefficient.bits() / 64 + 1;
    budget.charge(18 + limbs * limbs)?;
    budget.charge_bytes(TERM_BYTES + 8 * limbs)?;
    Ok(())
}

impl Terms {
    pub(super) fn constant(value: Rational) -> Self {
        Self::term(Monomial::default(), value)
    }

    pub(super) fn int(value: i64) -> Self {
        Self::constant(Rational::small(value))
    }

    pub(super) fn term(monomial: Monomial, coefficient: Rational) -> Self {
        let mut all = BTreeMap::new();
        if !coefficient.is_zero() {
            all.insert(monomial, coefficient);
        }
        Self(all)
    }

    /// A generator.
    pub(super) fn generator(generator: Generator, exponent: u32) -> Self {
        if exponent == 0 {
            return Self::int(1);
        }
        Self::term(Monomial(vec![(generator, exponent)]), Rational::small(1))
    }

    pub(super) fn is_zero(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = (&Monomial, &Rational)> {
        self.0.iter()
    }

    /// The value, if it is a number.
    pub(super) fn as_constant(&self) -> Option<Rational> {
        if self.is_zero() {
            return Some(Rational::small(0));
        }
        match self.as_single()? {
            (monomial, value) if monomial.is_one() => Some(value.clone()),
            _ => None,
        }
    }

    pub(super) fn is_one(&self) -> bool {
        self.as_constant().is_some_and(|value| value.is_one())
    }

    /// The only term, if there is one.
    pub(super) fn as_single(&self) -> Option<(&Monomial, &Rational)> {
        let mut all = self.0.iter();
        all.next().filter(|_| all.next().is_none())
    }

    /// The generators that occur, in ascending order.
    pub(super) fn generators(&self) -> Vec<Generator> {
        let all = self.0.keys().flat_map(|monomial| &monomial.0);
        let mut all: Vec<Generator> = all.map(|(generator, _)| *generator).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// The highest exponent of a generator.
    pub(super) fn degree(&self, generator: Generator) -> u32 {
        let exponents = self.0.keys().map(|monomial| monomial.exponent(generator));
        exponents.max().unwrap_or(0)
    }

    pub(super) fn add_term(
        &mut self,
        monomial: Monomial,
        coefficient: &Rational,
        budget: &Budget,
    ) -> Result<(), Stop> {
        charge(coefficient, budget)?;
        let sum = match self.0.get(&monomial) {
            Some(own) => own.add(coefficient).ok_or(Stop::TooLarge)?,
            None => coefficient.clone(),
        };
        if sum.bits() > MAX_BITS {
            return Err(Stop::TooLarge);
        }
        if sum.is_zero() {
            self.0.remove(&monomial);
        } else {
            self.0.insert(monomial, sum);
        }
        if self.len() > MAX_TERMS {
            return Err(Stop::TooLarge);
        }
        Ok(())
    }

    pub(super) fn plus(mut self, other: &Self, budget: &Budget) -> Result<Self, Stop> {
        for (monomial, coefficient) in &other.0 {
            self.add_term(monomial.clone(), coefficient, budget)?;
        }
        Ok(self)
    }

    pub(super) fn scaled(&self, factor: &Rational, budget: &Budget) -> Result<Self, Stop> {
        self.shifted(&Monomial::default(), factor, budget)
    }

    /// The product with a term.
    pub(super) fn shifted(
        &self,
        monomial: &Monomial,
        factor: &Rational,
        budget: &Budget,
    ) -> Result<Self, Stop> {
        let mut all = Self::default();
        for (own, coefficient) in &self.0 {
            charge(coefficient, budget)?;
            let product = coefficient.mul(factor).ok_or(Stop::TooLarge)?;
            all.add_term(own.times(monomial)?, &product, budget)?;
        }
        Ok(all)
    }

    pub(super) fn minus(self, other: &Self, budget: &Budget) -> Result<Self, Stop> {
        let other = other.scaled(&Rational::small(-1), budget)?;
        self.plus(&other, budget)
    }

    /// The product, without the relations between generators.
    pub(super) fn times(&self, other: &Self, budget: &Budget) -> Result<Self, Stop> {
        let (few, many) = if self.len() <= other.len() {
            (self, other)
        } else {
            (other, self)
        };
        let mut total = Self::default();
        for (monomial, coefficient) in &few.0 {
            total = total.plus(&many.shifted(monomial, coefficient, budget)?, budget)?;
        }
        Ok(total)
    }

    /// The quotient; `None` if there is a remainder.
    pub(super) fn divided(&self, divisor: &Self, budget: &Budget) -> Result<Option<Self>, Stop> {
        let Some((leading, by)) = divisor.0.last_key_value() else {
            return Ok(None);
        };
        let mut rest = self.clone();
        let mut quotient = Self::default();
        while let Some((monomial, coefficient)) = rest.0.last_key_value() {
            let Some(monomial) = monomial.divided(leading) else {
                return Ok(None);
            };
            let factor = coefficient.div(by).ok_or(Stop::TooLarge)?;
            rest = rest.minus(&divisor.shifted(&monomial, &factor, budget)?, budget)?;
            quotient.add_term(monomial, &factor, budget)?;
        }
        Ok(Some(quotient))
    }

    /// The coefficients of the powers of a generator, by exponent.
    pub(super) fn by_power(&self, generator: Generator) -> BTreeMap<u32, Self> {
        let mut all: BTreeMap<u32, Self> = BTreeMap::new();
        for (monomial, coefficient) in &self.0 {
            let power = all.entry(monomial.exponent(generator)).or_default();
            let rest = monomial.without(generator);
            power.0.insert(rest, coefficient.clone());
        }
        all
    }

    /// The largest positive number by which the polynomial can be divided such that its
    /// coefficients are integers.
    pub(super) fn content(&self, budget: &Budget) -> Result<Rational, Stop> {
        let mut coefficients = self.0.values();
        let Some(first) = coefficients.next() else {
            return Ok(Rational::small(1));
        };
        let mut total = first.abs();
        for coefficient in coefficients {
            charge(coefficient, budget)?;
            total = common(&total, coefficient).ok_or(Stop::TooLarge)?;
        }
        Ok(total)
    }

    /// The monomial that divides every term.
    pub(super) fn common_monomial(&self) -> Monomial {
        let mut all = self.0.keys();
        let first = all.next().cloned().unwrap_or_default();
        all.fold(first, |so_far, monomial| so_far.common(monomial))
    }

    /// The polynomial without a monomial that divides every term.
    pub(super) fn without_monomial(&self, divisor: &Monomial) -> Self {
        let all = self.0.iter().filter_map(|(monomial, coefficient)| {
            Some((monomial.divided(divisor)?, coefficient.clone()))
        });
        Self(all.collect())
    }
}

/// The largest rational of which all are integer multiples.
pub(super) fn common_divisor(all: &[&Rational]) -> Option<Rational> {
    let zero = Rational::small(0);
    let total = all
        .iter()
        .try_fold(zero, |so_far, value| common(&so_far, value));
    total.filter(|total| !total.is_zero())
}

/// The largest rational of which both are integer multiples.
fn common(a: &Rational, b: &Rational) -> Option<Rational> {
    use num_integer::Integer as _;
    Rational::new(a.num().gcd(b.num()), a.den().lcm(b.den()))
}

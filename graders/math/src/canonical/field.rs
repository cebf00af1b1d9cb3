//! Quotients of polynomials in generators that may have relations, such as `i² = -1`.

use std::cell::RefCell;

use super::Stop;
use super::gcd::gcd;
use super::terms::{Generator, Monomial, Terms};
use crate::budget::Budget;
use crate::number::Rational;
use crate::tree::Expr;

/// Maximum number of generators of one value.
const MAX_GENERATORS: usize = 24;

/// Highest power of a sum that is expanded.
const MAX_POWER: u32 = 32;

/// Rounds of making a denominator rational.
const MAX_ROUNDS: usize = 8;

/// What is known of a generator.
#[derive(Debug, Clone)]
pub(super) struct Known {
    /// The generator as it is written.
    pub(super) expr: Expr,
    /// A power that is a polynomial in the generators before it.
    pub(super) relation: Option<Relation>,
    /// Whether its values at real points are positive.
    pub(super) positive: bool,
}

/// `generator ^ index = value`.
#[derive(Debug, Clone)]
pub(super) struct Relation {
    pub(super) index: u32,
    pub(super) value: Terms,
}

/// The generators of a value, and the budget of its operations.
pub(super) struct Field<'b> {
    pub(super) budget: &'b Budget,
    known: RefCell<Vec<Known>>,
}

/// A quotient of polynomials. The denominator is not zero.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fraction {
    pub(super) num: Terms,
    pub(super) den: Terms,
}

impl Fraction {
    pub(super) fn of(num: Terms) -> Self {
        Self {
            num,
            den: Terms::int(1),
        }
    }

    pub(super) fn constant(value: Rational) -> Self {
        Self::of(Terms::constant(value))
    }

    pub(super) fn int(value: i64) -> Self {
        Self::of(Terms::int(value))
    }

    pub(super) fn ratio(num: i64, den: i64) -> Self {
        Self::constant(Rational::ratio(num, den))
    }

    pub(super) fn is_zero(&self) -> bool {
        self.num.is_zero()
    }

    /// The polynomial, if the denominator is 1.
    pub(super) fn as_terms(&self) -> Option<&Terms> {
        self.den.is_one().then_some(&self.num)
    }

    pub(super) fn as_constant(&self) -> Option<Rational> {
        self.as_terms()?.as_constant()
    }
}

impl<'b> Field<'b> {
    pub(super) fn new(budget: &'b Budget) -> Self {
        Self {
            budget,
            known: RefCell::new(Vec::new()),
        }
    }

    pub(super) fn known(&self, generator: Generator) -> Result<Known, Stop> {
        self.budget.charge(8)?;
        let known = self.known.borrow();
        known.get(generator).cloned().ok_or(Stop::Unsupported)
    }

    /// The generator that is written like this.
    pub(super) fn generator(&self, new: Known) -> Result<Generator, Stop> {
        let mut known = self.known.borrow_mut();
        for (at, own) in known.iter().enumerate() {
            if crate::tree::charged::identical(&own.expr, &new.expr, self.budget)? {
                return Ok(at);
            }
        }
        if known.len() == MAX_GENERATORS {
            return Err(Stop::TooLarge);
        }
        known.push(new);
        Ok(known.len() - 1)
    }

    /// A generator without a relation.
    pub(super) fn free(&self, expr: Expr) -> Result<Fraction, Stop> {
        self.one(expr, false, None)
    }

    pub(super) fn one(
        &self,
        expr: Expr,
        positive: bool,
        relation: Option<Relation>,
    ) -> Result<Fraction, Stop> {
        let generator = self.generator(Known {
            expr,
            relation,
            positive,
        })?;
        Ok(Fraction::of(Terms::generator(generator, 1)))
    }

    /// The places of the generators in the order of their expressions, so that nothing depends on
    /// the order in which they were found.
    pub(super) fn ranks(&self) -> Result<Vec<usize>, Stop> {
        let known = self.known.borrow();
        self.budget.charge(20 * known.len() as u64)?;
        let mut order: Vec<usize> = (0..known.len()).collect();
        order.sort_by(|a, b| {
            known
                .get(*a)
                .map(|k| &k.expr)
                .cmp(&known.get(*b).map(|k| &k.expr))
        });
        let mut ranks = vec![0; order.len()];
        for (rank, at) in order.into_iter().enumerate() {
            if let Some(own) = ranks.get_mut(at) {
                *own = rank;
            }
        }
        Ok(ranks)
    }

    /// Whether the coefficient of the last term is negative, in an order of terms that depends on
    /// the expressions alone.
    pub(super) fn is_negative(&self, terms: &Terms) -> Result<bool, Stop> {
        let ranks = self.ranks()?;
        self.budget.charge(8 * terms.len() as u64)?;
        let key = |monomial: &Monomial| {
            let mut key: Vec<(usize, u32)> = (monomial.0.iter())
                .map(|(generator, exponent)| {
                    (ranks.get(*generator).copied().unwrap_or(0), *exponent)
                })
                .collect();
            key.sort_unstable_by(|a, b| b.cmp(a));
            key
        };
        let last = terms.iter().max_by_key(|(monomial, _)| key(monomial));
        Ok(last.is_some_and(|(_, coefficient)| coefficient.is_negative()))
    }

    /// The product of polynomials.
    pub(super) fn product(&self, a: &Terms, b: &Terms) -> Result<Terms, Stop> {
        self.reduced(a.times(b, self.budget)?)
    }

    /// The polynomial with relations applied.
    fn reduced(&self, mut terms: Terms) -> Result<Terms, Stop> {
        loop {
            let found = terms.generators().into_iter().rev().find_map(|generator| {
                let known = self.known.borrow();
                let relation = known.get(generator)?.relation.clone()?;
                (terms.degree(generator) >= relation.index).then_some((generator, relation))
            });
            self.budget.charge(4 * terms.len() as u64)?;
            let Some((generator, relation)) = found else {
                return Ok(terms);
            };
            let mut total = Terms::default();
            for (exponent, coefficient) in terms.by_power(generator) {
                let rest = Terms::generator(generator, exponent % relation.index);
                let mut part = coefficient.times(&rest, self.budget)?;
                for _ in 0..exponent / relation.index {
                    part = part.times(&relation.value, self.budget)?;
                }
                total = total.plus(&part, self.budget)?;
            }
            terms = total;
        }
    }

    pub(super) fn plus(&self, a: &Fraction, b: &Fraction) -> Result<Fraction, Stop> {
        if a.den == b.den {
            return Ok(Fraction {
                num: a.num.clone().plus(&b.num, self.budget)?,
                den: a.den.clone(),
            });
        }
        let left = self.product(&a.num, &b.den)?;
        let right = self.product(&b.num, &a.den)?;
        Ok(Fraction {
            num: left.plus(&right, self.budget)?,
            den: self.product(&a.den, &b.den)?,
        })
    }

    pub(super) fn minus(&self, a: &Fraction, b: &Fraction) -> Result<Fraction, Stop> {
        self.plus(a, &self.negative(b)?)
    }

    pub(super) fn negative(&self, a: &Fraction) -> Result<Fraction, Stop> {
        self.times(a, &Fraction::int(-1))
    }

    pub(super) fn times(&self, a: &Fraction, b: &Fraction) -> Result<Fraction, Stop> {
        Ok(Fraction {
            num: self.product(&a.num, &b.num)?,
            den: self.product(&a.den, &b.den)?,
        })
    }

    pub(super) fn divided(&self, a: &Fraction, b: &Fraction) -> Result<Fraction, Stop> {
        self.times(a, &self.inverse(b)?)
    }

    pub(super) fn inverse(&self, a: &Fraction) -> Result<Fraction, Stop> {
        if a.is_zero() {
            return Err(Stop::Unsupported);
        }
        Ok(Fraction {
            num: a.den.clone(),
            den: a.num.clone(),
        })
    }

    /// A power with an integer exponent.
    pub(super) fn power(&self, base: &Fraction, exponent: i64) -> Result<Fraction, Stop> {
        if exponent < 0 {
            return self.power(&self.inverse(base)?, -exponent);
        }
        let exponent = u32::try_from(exponent).map_err(|_| Stop::TooLarge)?;
        Ok(Fraction {
            num: self.terms_power(&base.num, exponent)?,
            den: self.terms_power(&base.den, exponent)?,
        })
    }

    fn terms_power(&self, base: &Terms, exponent: u32) -> Result<Terms, Stop> {
        if base.as_single().is_none() && exponent > MAX_POWER {
            return Err(Stop::TooLarge);
        }
        let mut total = Terms::int(1);
        let mut square = base.clone();
        let mut left = exponent;
        while left > 0 {
            if left % 2 == 1 {
                total = self.product(&total, &square)?;
            }
            left /= 2;
            if left > 0 {
                square = self.product(&square, &square)?;
            }
        }
        Ok(total)
    }

    /// The fraction in lowest terms, with a denominator of integer coefficients, and without roots
    /// if they can be removed.
    pub(super) fn lowest(&self, fraction: &Fraction) -> Result<Fraction, Stop> {
        let Fraction { mut num, mut den } = self.rational_denominator(fraction.clone())?;
        if num.is_zero() {
            return Ok(Fraction::int(0));
        }
        if den.as_constant().is_none() {
            let shared = gcd(&num, &den, self.budget)?;
            if shared.as_constant().is_none() {
                let exact = |terms: &Terms| -> Result<Terms, Stop> {
                    terms
                        .divided(&shared, self.budget)?
                        .ok_or(Stop::Unsupported)
                };
                (num, den) = (exact(&num)?, exact(&den)?);
            }
        }
        let mut factor = den.content(self.budget)?.recip().ok_or(Stop::TooLarge)?;
        if self.is_negative(&den)? {
            factor = factor.neg();
        }
        Ok(Fraction {
            num: num.scaled(&factor, self.budget)?,
            den: den.scaled(&factor, self.budget)?,
        })
    }

    /// Multiplies by conjugates until the denominator is free of square roots.
    fn rational_denominator(&self, mut fraction: Fraction) -> Result<Fraction, Stop> {
        for _ in 0..MAX_ROUNDS {
            let mut conjugate = None;
            for generator in fraction.den.generators().into_iter().rev() {
                let Some(relation) = self.known(generator)?.relation else {
                    continue;
                };
                let exponent = fraction.den.degree(generator);
                if let Some((monomial, _)) = fraction.den.as_single() {
                    debug_assert_eq!(monomial.exponent(generator), exponent);
                    conjugate = Some(Terms::generator(generator, relation.index - exponent));
                    break;
                }
                if relation.index == 2 {
                    let minus = Rational::small(-1);
                    let mut other = Terms::default();
                    for (exponent, coefficient) in fraction.den.by_power(generator) {
                        let part = coefficient
                            .times(&Terms::generator(generator, exponent), self.budget)?;
                        let part = if exponent == 1 {
                            part.scaled(&minus, self.budget)?
                        } else {
                            part
                        };
                        other = other.plus(&part, self.budget)?;
                    }
                    conjugate = Some(other);
                    break;
                }
            }
            let Some(conjugate) = conjugate else {
                return Ok(fraction);
            };
            fraction = Fraction {
                num: self.product(&fraction.num, &conjugate)?,
                den: self.product(&fraction.den, &conjugate)?,
            };
            if fraction.den.is_zero() {
                return Err(Stop::Unsupported);
            }
        }
        Err(Stop::TooLarge)
    }
}

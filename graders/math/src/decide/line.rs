//! A real function of several variables on a line on which all but one are fixed: where it may
//! change its sign.
//!
//! Quotients of polynomials have exact roots. Those of other functions are approximated between two
//! values of different signs.

use std::rc::Rc;

use num_bigint::BigInt;
use num_traits::One as _;

use super::evaluate::{NoValue, Point, ball};
use super::polynomial::{Polynomial, SIMPLEST_STEPS, simplest_between};
use super::resolved;
use super::scan::{Change, exact};
use crate::budget::{Budget, Exhausted};
use crate::normal::derive::derivative;
use crate::normal::fold;
use crate::number::Rational;
use crate::number::ball::Ball;
use crate::tree::{Expr, Function};

/// Precision of constants in a polynomial, and of values next to a change, in bits.
const CONSTANT_PREC: u64 = 128;
const VALUE_PREC: u64 = 224;

/// Bits to which a change of sign is found.
const CHANGE_BITS: u64 = 140;

/// Bits of a value in double precision that are right.
const ROUNDING_BITS: i64 = 44;

/// Most values that are taken to find a change of sign.
const MAX_ITERATIONS: usize = 60;

/// Largest exponent of a power that is expanded.
const MAX_EXPONENT: i64 = 24;

/// Values of all symbols, of which one varies.
#[derive(Clone)]
pub(super) struct Line<'a, 'v> {
    pub(super) symbols: &'v [(&'a str, bool)],
    pub(super) values: &'v [Rational],
    /// Index of the symbol that varies.
    pub(super) varying: usize,
    pub(super) complex: bool,
    /// Bits beyond the usual ones to which zeros are found.
    pub(super) resolution: u64,
}

/// A numerator and a denominator.
pub(super) type Quotient = (Polynomial, Polynomial);

impl<'a> Line<'a, '_> {
    pub(super) fn name(&self) -> &'a str {
        self.symbols.get(self.varying).map_or("", |(name, _)| *name)
    }

    /// The point of the line with this value.
    pub(super) fn point(&self, value: &Rational, prec: u64) -> Point<'a> {
        let free: Rc<[(&str, Rational)]> = self
            .symbols
            .iter()
            .zip(self.values)
            .enumerate()
            .map(|(at, ((name, _), own))| {
                let value = if at == self.varying { value } else { own };
                (*name, value.clone())
            })
            .collect();
        Point::new(free, self.complex, prec)
    }

    pub(super) fn varies(&self, expr: &Expr) -> bool {
        let name = self.name();
        expr.any(&|part| matches!(part, Expr::Symbol(own) if **own == *name))
    }

    /// A quotient of polynomials in the variable; `None` if the function is not one. With a
    /// `sample`, functions that are one near this value, such as absolute values, count as well.
    pub(super) fn quotient(
        &self,
        expr: &'a Expr,
        sample: Option<&Rational>,
        budget: &Budget,
    ) -> Result<Option<Quotient>, Exhausted> {
        budget.charge(20)?;
        let one = || Polynomial::constant(Rational::small(1));
        match expr {
            Expr::Number(value) => Ok(Some((Polynomial::constant(value.clone()), one()))),
            Expr::Symbol(name) if **name == *self.name() => {
                Ok(Some((Polynomial::variable(), one())))
            }
            Expr::Symbol(name) => {
                let at = self.symbols.iter().position(|(own, _)| *own == &**name);
                let value = at.and_then(|at| self.values.get(at));
                Ok(value.map(|value| (Polynomial::constant(value.clone()), one())))
            }
            Expr::Sum(items) => {
                let mut total = (Polynomial::constant(Rational::small(0)), one());
                for item in items {
                    let Some((num, den)) = self.quotient(item, sample, budget)? else {
                        return Ok(None);
                    };
                    let sum = if den == total.1 {
                        total.0.add(&num, budget)?.map(|num| (num, den))
                    } else {
                        let (Some(left), Some(right), Some(den)) = (
                            total.0.mul(&den, budget)?,
                            num.mul(&total.1, budget)?,
                            total.1.mul(&den, budget)?,
                        ) else {
                            return Ok(None);
                        };
                        left.add(&right, budget)?.map(|num| (num, den))
                    };
                    let Some(sum) = sum else {
                        return Ok(None);
                    };
                    total = sum;
                }
                Ok(Some(total))
            }
            Expr::Product(items) => {
                let mut total = (one(), one());
                for item in items {
                    let Some(factor) = self.quotient(item, sample, budget)? else {
                        return Ok(None);
                    };
                    let Some(product) = times(&total, &factor, budget)? else {
                        return Ok(None);
                    };
                    total = product;
                }
                Ok(Some(total))
            }
            Expr::Power(pair) if self.varies(expr) => {
                let Some(exponent) = pair.1.as_number().and_then(Rational::to_i64) else {
                    return Ok(None);
                };
                if exponent.abs() > MAX_EXPONENT {
                    return Ok(None);
                }
                let Some(base) = self.quotient(&pair.0, sample, budget)? else {
                    return Ok(None);
                };
                let mut total = (one(), one());
                for _ in 0..exponent.abs() {
                    let Some(product) = times(&total, &base, budget)? else {
                        return Ok(None);
                    };
                    total = product;
                }
                Ok(Some(if exponent < 0 {
                    (total.1, total.0)
                } else {
                    total
                }))
            }
            Expr::Call(function, items) if self.varies(expr) => match sample {
                Some(sample) => self.piece(*function, items, sample, budget),
                None => Ok(None),
            },
            other if self.varies(other) => Ok(None),
            other => {
                let point = self.point(&Rational::small(0), CONSTANT_PREC + self.resolution);
                match ball(other, &point, budget) {
                    Ok(value) => Ok(value
                        .real()
                        .ok()
                        .and_then(Ball::exact_midpoint)
                        .map(|value| (Polynomial::constant(value), one()))),
                    Err(NoValue::Exhausted) => Err(Exhausted),
                    Err(_) => Ok(None),
                }
            }
        }
    }

    /// The quotient of polynomials that a function is near a value.
    fn piece(
        &self,
        function: Function,
        items: &'a [Expr],
        sample: &Rational,
        budget: &Budget,
    ) -> Result<Option<Quotient>, Exhausted> {
        if !matches!(
            function,
            Function::Abs
                | Function::Sign
                | Function::Min
                | Function::Max
                | Function::Floor
                | Function::Ceil
        ) {
            return Ok(None);
        }
        let mut best: Option<(Quotient, Rational)> = None;
        for item in items {
            let Some(quotient) = self.quotient(item, Some(sample), budget)? else {
                return Ok(None);
            };
            let (num, den) = (
                quotient.0.value(sample, budget)?,
                quotient.1.value(sample, budget)?,
            );
            let Some(value) = num.zip(den).and_then(|(num, den)| num.div(&den)) else {
                return Ok(None);
            };
            let better = best
                .as_ref()
                .is_none_or(|(_, own)| value.less(own) == Some(function == Function::Min));
            if better {
                best = Some((quotient, value));
            }
        }
        let Some((quotient, value)) = best else {
            return Ok(None);
        };
        let sign = if value.is_negative() { -1 } else { 1 };
        let constant = |value| Polynomial::constant(value);
        Ok(match function {
            Function::Abs => quotient
                .0
                .mul(&constant(Rational::small(sign)), budget)?
                .map(|num| (num, quotient.1)),
            Function::Min | Function::Max => Some(quotient),
            _ => {
                let level = match function {
                    Function::Sign => Rational::small(sign),
                    Function::Floor => Rational::integer(value.floor()),
                    _ => Rational::integer(-value.neg().floor()),
                };
                Some((constant(level), constant(Rational::small(1))))
            }
        })
    }

    /// The values of the variable at which a quotient of polynomials has one of these values or a
    /// pole, with `turns` also those at which it may have an extremum; `None` if the function is
    /// not a quotient of polynomials, near `sample` if there is one.
    pub(super) fn roots(
        &self,
        expr: &'a Expr,
        levels: &[i64],
        turns: bool,
        sample: Option<&Rational>,
        budget: &Budget,
    ) -> Result<Option<Vec<Rational>>, Exhausted> {
        let Some((num, den)) = self.quotient(expr, sample, budget)? else {
            return Ok(None);
        };
        let mut found = Vec::new();
        for level in levels {
            let level = Polynomial::constant(Rational::small(-level));
            let Some(shift) = den.mul(&level, budget)? else {
                return Ok(None);
            };
            if let Some(difference) = num.add(&shift, budget)? {
                found.extend(difference.roots(turns, budget)?);
            }
        }
        if !den.is_constant() {
            found.extend(den.roots(turns, budget)?);
        }
        Ok(Some(found))
    }

    /// The value of a function at a value of the variable; `None` where it has none, or may be 0.
    fn value(
        &self,
        expr: &'a Expr,
        value: &Rational,
        budget: &Budget,
    ) -> Result<Option<Rational>, Exhausted> {
        let point = self.point(value, VALUE_PREC + self.resolution);
        let found = match ball(expr, &point, budget) {
            Ok(found) => found,
            Err(NoValue::Exhausted) => return Err(Exhausted),
            Err(_) => return Ok(None),
        };
        let real = found.real().ok().filter(|real| real.sign().is_ok());
        Ok(real.and_then(Ball::exact_midpoint))
    }

    /// A value at which a function changes its sign or touches 0, to more than double precision.
    pub(super) fn refined(
        &self,
        expr: &Expr,
        change: Change,
        budget: &Budget,
    ) -> Result<Option<Rational>, Exhausted> {
        let Some((low, high)) = exact(change.low).zip(exact(change.high)) else {
            return Ok(None);
        };
        if change.touches {
            return self.extremum(expr, &low, &high, budget);
        }
        // The last bits of values in double precision may be wrong.
        let wider = |end: &Rational, sign: i64| {
            let rounding = Rational::small(2).pow(-ROUNDING_BITS, 4_000)?;
            let size = end.abs().add(&rounding)?.mul(&rounding)?;
            end.add(&size.mul(&Rational::small(sign))?)
        };
        let line: Line<'_, '_> = self.clone();
        let found = match (wider(&low, -1), wider(&high, 1)) {
            (Some(low), Some(high)) => line.between(expr, &low, &high, budget)?,
            _ => None,
        };
        Ok(found.or(Some(high)))
    }

    /// Where the formula that a function has between two values has its extremum.
    fn extremum(
        &self,
        expr: &Expr,
        low: &Rational,
        high: &Rational,
        budget: &Budget,
    ) -> Result<Option<Rational>, Exhausted> {
        let Some(middle) = inside(low, high, &Rational::ratio(1, 2), 8) else {
            return Ok(None);
        };
        let line: Line<'_, '_> = self.clone();
        let point = line.point(&middle, CONSTANT_PREC);
        let Some(formula) = resolved::near(expr, &point, budget)? else {
            return Ok(None);
        };
        let Some(slope) = derivative(&formula, self.name(), budget)? else {
            return Ok(None);
        };
        let slope = fold(&slope, budget)?;
        let line: Line<'_, '_> = self.clone();
        line.between(&slope, low, high, budget)
    }

    /// Where a function changes its sign between two values, if its signs at them differ.
    fn between(
        &self,
        expr: &'a Expr,
        low: &Rational,
        high: &Rational,
        budget: &Budget,
    ) -> Result<Option<Rational>, Exhausted> {
        let (below, above) = (
            self.value(expr, low, budget)?,
            self.value(expr, high, budget)?,
        );
        match (below, above) {
            (Some(below), Some(above)) if below.is_negative() != above.is_negative() => {
                self.change(expr, (low, &below), (high, &above), budget)
            }
            _ => Ok(None),
        }
    }

    /// Where a function changes its sign between two values: by the Illinois method (Dowell and
    /// Jarratt, \"A modified regula falsi method for computing the root of an equation\", 1971),
    /// with bisections in between because the function may jump.
    fn change(
        &self,
        expr: &'a Expr,
        low: (&Rational, &Rational),
        high: (&Rational, &Rational),
        budget: &Budget,
    ) -> Result<Option<Rational>, Exhausted> {
        let negative = low.1.is_negative();
        let (mut low, mut below) = (low.0.clone(), low.1.abs());
        let (mut high, mut above) = (high.0.clone(), high.1.abs());
        let half = Rational::ratio(1, 2);
        let narrow = Rational::small(2).pow(
            -i64::try_from(self.resolution + CHANGE_BITS).unwrap_or(0),
            8_000,
        );
        for step in 0..MAX_ITERATIONS {
            let share = if step % 3 == 2 {
                Some(half.clone())
            } else {
                below.add(&above).and_then(|both| below.div(&both))
            };
            let Some(middle) = share.and_then(|share| inside(&low, &high, &share, 64)) else {
                return Ok(None);
            };
            let Some(value) = self.value(expr, &middle, budget)? else {
                return Ok(Some(middle));
            };
            let near = |other: &Rational| {
                let distance = other.sub(&middle)?.abs();
                distance.less(narrow.as_ref()?)
            };
            if value.is_zero() {
                return Ok(Some(middle));
            }
            if near(&low) == Some(true) || near(&high) == Some(true) {
                budget.charge(SIMPLEST_STEPS)?;
                return Ok(simplest_between(&low, &high));
            }
            if value.is_negative() == negative {
                (low, below) = (middle, value.abs());
                above = above.mul(&half).unwrap_or(above);
            } else {
                (high, above) = (middle, value.abs());
                below = below.mul(&half).unwrap_or(below);
            }
        }
        Ok(Some(high))
    }
}

fn times(a: &Quotient, b: &Quotient, budget: &Budget) -> Result<Option<Quotient>, Exhausted> {
    let num = a.0.mul(&b.0, budget)?;
    let den = a.1.mul(&b.1, budget)?;
    Ok(num.zip(den))
}

/// The number at this share of the way between two others, rounded to `bits` bits of the way.
pub(super) fn inside(
    low: &Rational,
    high: &Rational,
    share: &Rational,
    bits: u64,
) -> Option<Rational> {
    let width = high.sub(low)?;
    let shift = (width.den().bits() + bits).saturating_sub(width.num().bits());
    let scale = Rational::integer(BigInt::one() << shift);
    let value = low.add(&width.mul(share)?)?.mul(&scale)?;
    Rational::new(value.floor(), BigInt::one() << shift)
}

/// Sorts numbers and removes equal ones.
pub(super) fn sort(values: &mut Vec<Rational>) {
    values.sort_by(|a, b| match (a.less(b), b.less(a)) {
        (Some(true), _) => std::cmp::Ordering::Less,
        (_, Some(true)) => std::cmp::Ordering::Greater,
        _ => std::cmp::Ordering::Equal,
    });
    values.dedup();
}

/// Whether a function cannot be negative or zero as far as its form shows: an exponential.
pub(super) fn is_positive(expr: &Expr) -> bool {
    use crate::tree::Constant;
    match expr {
        Expr::Number(value) => !value.is_negative() && !value.is_zero(),
        Expr::Constant(Constant::Pi | Constant::E) => true,
        Expr::Power(pair) => is_positive(&pair.0),
        Expr::Call(Function::Cosh, _) => true,
        _ => false,
    }
}

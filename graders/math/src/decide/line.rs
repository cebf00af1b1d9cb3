//! A real function of several variables on a line on which all but one are fixed: where it may
//! change its sign.
//!
//! Quotients of polynomials have exact roots. Other functions are evaluated at a grid, and a change
//! of sign is bisected.

use std::rc::Rc;

use num_bigint::BigInt;
use num_traits::One as _;

use super::evaluate::{NoValue, Point, ball};
use super::polynomial::Polynomial;
use crate::budget::{Budget, Exhausted};
use crate::normal::derive::derivative;
use crate::normal::fold;
use crate::number::Rational;
use crate::number::ball::Ball;
use crate::tree::{Expr, Function};

/// Precision of constants in a polynomial, and of the values at a grid, in bits.
const CONSTANT_PREC: u64 = 128;
const GRID_PREC: u64 = 64;

/// Bisections of an interval of the grid.
const BISECTIONS: usize = 40;

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
}

/// A numerator and a denominator.
type Quotient = (Polynomial, Polynomial);

impl<'a> Line<'a, '_> {
    fn name(&self) -> &'a str {
        self.symbols.get(self.varying).map_or("", |(name, _)| *name)
    }

    /// The point of the line with this value.
    fn point(&self, value: &Rational, prec: u64) -> Point<'a> {
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

    fn varies(&self, expr: &Expr) -> bool {
        let name = self.name();
        expr.any(&|part| matches!(part, Expr::Symbol(own) if **own == *name))
    }

    /// A quotient of polynomials in the variable; `None` if the function is not one.
    fn quotient(&self, expr: &'a Expr, budget: &Budget) -> Result<Option<Quotient>, Exhausted> {
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
                    let Some((num, den)) = self.quotient(item, budget)? else {
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
                    let Some(factor) = self.quotient(item, budget)? else {
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
                let Some(base) = self.quotient(&pair.0, budget)? else {
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
            other if self.varies(other) => Ok(None),
            other => {
                let point = self.point(&Rational::small(0), CONSTANT_PREC);
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

    /// The values of the variable at which a quotient of polynomials has one of these values or a
    /// pole, with `turns` also those at which it may have an extremum; `None` if the function is
    /// not a quotient of polynomials.
    pub(super) fn roots(
        &self,
        expr: &'a Expr,
        levels: &[i64],
        turns: bool,
        budget: &Budget,
    ) -> Result<Option<Vec<Rational>>, Exhausted> {
        let Some((num, den)) = self.quotient(expr, budget)? else {
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

    /// The sign of a function at a value of the variable; `None` where it has none.
    fn sign(
        &self,
        expr: &'a Expr,
        value: &Rational,
        budget: &Budget,
    ) -> Result<Option<i8>, Exhausted> {
        match ball(expr, &self.point(value, GRID_PREC), budget) {
            Ok(found) => Ok(found.real().ok().and_then(|real| real.sign().ok())),
            Err(NoValue::Exhausted) => Err(Exhausted),
            Err(_) => Ok(None),
        }
    }

    /// Approximate values at which a function that is no quotient of polynomials, or its
    /// derivative, changes its sign between two neighbours of a sorted grid.
    pub(super) fn changes(
        &self,
        expr: &'a Expr,
        grid: &[Rational],
        budget: &Budget,
    ) -> Result<Vec<Rational>, Exhausted> {
        let mut grid = grid.to_vec();
        let mut found = Vec::new();
        if let Some(slope) = derivative(expr, self.name(), budget)? {
            let slope = fold(&slope, budget)?;
            let line = Line {
                symbols: self.symbols,
                values: self.values,
                varying: self.varying,
                complex: self.complex,
            };
            found = line.sign_changes(&slope, &grid, budget)?;
            grid.extend(found.iter().cloned());
            sort(&mut grid);
        }
        found.extend(self.sign_changes(expr, &grid, budget)?);
        Ok(found)
    }

    fn sign_changes<'b>(
        &self,
        expr: &'b Expr,
        grid: &[Rational],
        budget: &Budget,
    ) -> Result<Vec<Rational>, Exhausted>
    where
        'a: 'b,
    {
        let line: Line<'b, '_> = Line {
            symbols: self.symbols,
            values: self.values,
            varying: self.varying,
            complex: self.complex,
        };
        let mut found = Vec::new();
        let mut before: Option<(&Rational, i8)> = None;
        for value in grid {
            let Some(sign) = line.sign(expr, value, budget)? else {
                continue;
            };
            if let Some((low, below)) = before
                && below != sign
                && below != 0
                && sign != 0
            {
                found.extend(line.bisected(expr, (low, below), value, budget)?);
            } else if sign == 0 {
                found.push(value.clone());
            }
            before = Some((value, sign));
        }
        Ok(found)
    }

    fn bisected(
        &self,
        expr: &'a Expr,
        low: (&Rational, i8),
        high: &Rational,
        budget: &Budget,
    ) -> Result<Option<Rational>, Exhausted> {
        let (mut lower, below) = (low.0.clone(), low.1);
        let mut upper = high.clone();
        for _ in 0..BISECTIONS {
            let Some(middle) = between(&lower, &upper) else {
                return Ok(None);
            };
            match self.sign(expr, &middle, budget)? {
                Some(sign) if sign == below => lower = middle,
                Some(0) | None => return Ok(Some(middle)),
                Some(_) => upper = middle,
            }
        }
        Ok(Some(upper))
    }
}

fn times(a: &Quotient, b: &Quotient, budget: &Budget) -> Result<Option<Quotient>, Exhausted> {
    let num = a.0.mul(&b.0, budget)?;
    let den = a.1.mul(&b.1, budget)?;
    Ok(num.zip(den))
}

/// A short number about in the middle of two others.
fn between(low: &Rational, high: &Rational) -> Option<Rational> {
    inside(low, high, &Rational::ratio(1, 2), 3)
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

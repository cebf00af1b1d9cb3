//! The formula that a function with pieces has on the piece of a point: `|x - 3|` is `3 - x` at 1.
//!
//! If two functions have the same formula there, they agree on the whole piece, however large or
//! small their values are.

use num_bigint::BigInt;

use super::evaluate::{NoValue, Point, ball};
use super::{branches, formal};
use crate::budget::{Budget, Exhausted};
use crate::canonical;
use crate::normal::fold;
use crate::number::Rational;
use crate::number::ball::{Ball, BallError};
use crate::number::complex::Complex;
use crate::tree::charged::{copied, identical};
use crate::tree::{Expr, Function};

/// Values below `2^-ZERO_BITS` are 0 at the end of a piece: ends are found to more bits. Values
/// that differ by more than `2^-DIFFERENCE_BITS`, and by more than these bits of their size, are
/// different.
const ZERO_BITS: i64 = 60;
const DIFFERENCE_BITS: i64 = 50;
const SIZE_BITS: i64 = 140;

/// Why there is no formula.
enum Stop {
    /// A sign is not known to this precision, or a function has no value.
    Unknown,
    Exhausted,
}

impl From<Exhausted> for Stop {
    fn from(_: Exhausted) -> Self {
        Self::Exhausted
    }
}

impl From<NoValue> for Stop {
    fn from(none: NoValue) -> Self {
        match none {
            NoValue::Exhausted => Self::Exhausted,
            _ => Self::Unknown,
        }
    }
}

/// Whether two functions are proved to have the same formula near a point.
pub(super) fn same(
    a: &Expr,
    b: &Expr,
    point: &Point<'_>,
    budget: &Budget,
) -> Result<bool, Exhausted> {
    let resolving = Resolving::new(point, false, budget);
    let (a, b) = match (resolving.formula(a), resolving.formula(b)) {
        (Ok(a), Ok(b)) => (fold(&a, budget)?, fold(&b, budget)?),
        (Err(Stop::Exhausted), _) | (_, Err(Stop::Exhausted)) => return Err(Exhausted),
        _ => return Ok(false),
    };
    Ok(identical(&a, &b, budget)?
        || formal::same(&a, &b, point.complex, budget)?
        || canonical::same(&a, &b, budget)?)
}

/// The formula of a function near a point, if it is known.
pub(super) fn near(
    expr: &Expr,
    point: &Point<'_>,
    budget: &Budget,
) -> Result<Option<Expr>, Exhausted> {
    match Resolving::new(point, false, budget).formula(expr) {
        Ok(formula) => fold(&formula, budget).map(Some),
        Err(Stop::Exhausted) => Err(Exhausted),
        Err(Stop::Unknown) => Ok(None),
    }
}

/// Whether two functions differ at the end of a piece that the point approximates: at `√2`, the
/// sign of `x² - 2` is 0.
pub(super) fn differ_at_end(
    a: &Expr,
    b: &Expr,
    point: &Point<'_>,
    budget: &Budget,
) -> Result<bool, Exhausted> {
    let resolving = Resolving::new(point, true, budget);
    let value = |side| -> Result<Complex, Stop> {
        let formula = fold(&resolving.formula(side)?, budget)?;
        resolving.value(&formula)
    };
    match (value(a), value(b)) {
        (Ok(a), Ok(b)) => {
            let size = a.magnitude().max(b.magnitude()).max(0);
            let difference = a.sub(&b, point.prec);
            Ok(difference.is_ok_and(|difference| {
                let limit = (size - SIZE_BITS).max(-DIFFERENCE_BITS);
                !difference.contains_zero() && difference.magnitude() > limit
            }))
        }
        (Err(Stop::Exhausted), _) | (_, Err(Stop::Exhausted)) => Err(Exhausted),
        _ => Ok(false),
    }
}

struct Resolving<'a, 'p> {
    point: &'a Point<'p>,
    /// Whether values next to 0 are 0.
    at_end: bool,
    budget: &'a Budget,
}

impl<'a, 'p> Resolving<'a, 'p> {
    fn new(point: &'a Point<'p>, at_end: bool, budget: &'a Budget) -> Self {
        Self {
            point,
            at_end,
            budget,
        }
    }

    fn formula(&self, expr: &Expr) -> Result<Expr, Stop> {
        self.budget.charge(4)?;
        Ok(match expr {
            // Conditions in a sum may depend on its variable.
            Expr::Bound(..) | Expr::Number(_) | Expr::Symbol(_) | Expr::Constant(_) => {
                copied(expr, self.budget)?
            }
            Expr::Call(
                function @ (Function::Abs | Function::Sign | Function::Floor | Function::Ceil),
                items,
            ) => match items.as_slice() {
                [item] => self.level(*function, self.formula(item)?)?,
                _ => return Err(Stop::Unknown),
            },
            Expr::Call(function @ (Function::Min | Function::Max), items) => {
                let items = items.iter().map(|item| self.formula(item));
                self.extremum(*function, items.collect::<Result<_, _>>()?)?
            }
            // The root of a square.
            Expr::Power(pair) if pair.1 == Expr::Number(Rational::ratio(1, 2)) => match &pair.0 {
                Expr::Power(square) if square.1.is_int(2) => {
                    self.level(Function::Abs, self.formula(&square.0)?)?
                }
                _ => self.parts(expr)?,
            },
            Expr::Cases(rows) => self.formula(self.row(rows)?)?,
            _ => self.parts(expr)?,
        })
    }

    fn parts(&self, expr: &Expr) -> Result<Expr, Stop> {
        expr.try_map_children(&mut |child| self.formula(child))
    }

    /// The formula of a function that is a multiple of its argument, or a number.
    fn level(&self, function: Function, item: Expr) -> Result<Expr, Stop> {
        use std::ops::Neg as _;
        let value = self.real(&item)?;
        Ok(match function {
            Function::Abs => match self.sign_of(&value)? {
                0 => Expr::int(0),
                1 => item,
                _ => item.neg(),
            },
            Function::Sign => Expr::int(self.sign_of(&value)?.into()),
            Function::Floor => Expr::Number(Rational::integer(self.floor(&value)?)),
            _ => Expr::Number(Rational::integer(-self.floor(&value.neg())?)),
        })
    }

    fn value(&self, expr: &Expr) -> Result<Complex, Stop> {
        Ok(ball(expr, self.point, self.budget)?)
    }

    fn real(&self, expr: &Expr) -> Result<Ball, Stop> {
        self.value(expr)?.real().cloned().map_err(unknown)
    }

    fn sign_of(&self, value: &Ball) -> Result<i8, Stop> {
        if self.at_end && value.magnitude() < -ZERO_BITS {
            return Ok(0);
        }
        value.sign().map_err(unknown)
    }

    fn floor(&self, value: &Ball) -> Result<BigInt, Stop> {
        if self.at_end {
            let half = Ball::small(1).scaled(-1);
            let nearest = value.add(&half, self.point.prec).map_err(unknown)?;
            let nearest = nearest.floor().map_err(unknown)?;
            let distance = value.sub(&Ball::integer(nearest.clone()), self.point.prec);
            if self.sign_of(&distance.map_err(unknown)?)? == 0 {
                return Ok(nearest);
            }
        }
        value.floor().map_err(unknown)
    }

    /// The formula of the row that applies.
    fn row<'e>(&self, rows: &'e [Vec<Expr>]) -> Result<&'e Expr, Stop> {
        let sign = |difference: &Ball| {
            let sign = self.sign_of(difference);
            sign.map_err(|_| NoValue::AtPoint(BallError::Straddles))
        };
        let at = branches::row(rows, self.point, self.budget, &sign)?;
        let row = rows.get(at).and_then(|row| row.first());
        row.ok_or(Stop::Unknown)
    }

    /// The operand that is the extremum.
    fn extremum(&self, function: Function, items: Vec<Expr>) -> Result<Expr, Stop> {
        let mut best: Option<(Expr, Ball)> = None;
        for item in items {
            let value = self.real(&item)?;
            let better = match &best {
                Some((_, own)) => {
                    let difference = value.sub(own, self.point.prec).map_err(unknown)?;
                    (self.sign_of(&difference)? < 0) == (function == Function::Min)
                }
                None => true,
            };
            if better {
                best = Some((item, value));
            }
        }
        best.map(|(item, _)| item).ok_or(Stop::Unknown)
    }
}

fn unknown<E>(_: E) -> Stop {
    Stop::Unknown
}

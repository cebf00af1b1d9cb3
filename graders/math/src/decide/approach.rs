//! Values that are approached: limits, definite integrals, infinite sums.
//!
//! Each is computed twice, in two different steps towards it, and has a value only where both agree
//! to [`AGREED_BITS`] beyond its size. That is no proof, but no two elementary expressions are
//! known to agree so far without being equal. Integrals by tanh-sinh, exp-sinh and sinh-sinh
//! quadrature (Takahasi and Mori, "Double exponential formulas for numerical integration", 1974),
//! sums by Levin's u-transform ("Development of non-linear transformations for improving
//! convergence of sequences", 1973).

use std::sync::OnceLock;

use num_bigint::BigInt;
use num_traits::One;

use super::evaluate::{NoValue, Point, ball};
use crate::budget::Budget;
use crate::number::Rational;
use crate::number::ball::{Ball, BallResult, BallError};
use crate::number::complex::Complex;
use crate::number::elementary;
use crate::tree::{Constant, Expr};

/// Bits to which two approaches agree, beyond the size of the value.
pub(crate) const AGREED_BITS: i64 = 80;

/// Bits to which two sums of a quadrature agree. Halving its step squares its error, so the finer
/// sum has twice as many right.
const HALF_BITS: i64 = 44;

/// Bits each value on the way is computed to.
pub(crate) const PREC: u64 = 256;

/// Bits on the way to a limit, of which differences of nearly equal numbers cancel most.
const LIMIT_PREC: u64 = 1_024;

/// How near a limit's point is approached, as powers of two.
const STEPS: [i64; 2] = [110, 150];

/// Bits by which a value that goes to 0 is smaller at the nearer step.
const SHRINKING: i64 = 20;

/// Terms of a sum the two transforms use.
const TERMS: [i64; 2] = [28, 34];

/// Values on the way that count for one: an integral takes hundreds of them, and few answers have
/// one.
const SHARE: u64 = 4;

/// Largest parameter of the double exponential map: further out all weights vanish.
const FURTHEST: i64 = 5;

/// Whether an expression has a part that is approached.
pub(crate) fn is_approached(expr: &Expr) -> bool {
    use crate::tree::Binder::{Integral, Limit, Sum};
    match expr {
        Expr::Bound(Limit, ..) => true,
        Expr::Bound(Integral, _, parts) => parts.len() == 3,
        Expr::Bound(Sum, _, parts) => {
            matches!(parts.get(1), Some(Expr::Constant(Constant::Infinity)))
        }
        _ => false,
    }
}

/// The value both approaches agree on to `bits` beyond `size`, which makes the finer one good to
/// [`AGREED_BITS`].
fn agreed(coarse: &Complex, fine: Complex, size: i64, bits: i64) -> Result<Complex, NoValue> {
    if coarse.sub(&fine, PREC)?.magnitude() > size.saturating_sub(bits) {
        return Err(NoValue::Here(BallError::Undefined));
    }
    if fine.is_zero() {
        return Ok(fine);
    }
    let doubt = Ball::dyadic(BigInt::one(), size.saturating_sub(AGREED_BITS).max(-8_000));
    Ok(Complex {
        re: fine.re.widened(&doubt, PREC)?,
        im: fine.im,
    })
}

/// A function of one variable at exact places.
struct Along<'a> {
    name: &'a str,
    body: &'a Expr,
    point: &'a Point<'a>,
    prec: u64,
    budget: &'a Budget,
}

impl Along<'_> {
    /// A limit of limits, an integral over integrals: each place would cost a whole approach.
    fn is_nested(&self) -> bool {
        self.body.any(&is_approached)
    }

    fn at(&self, place: Rational) -> Result<Complex, NoValue> {
        let mut values = self.point.values.clone();
        values.push((self.name, place));
        let point = Point {
            values,
            complex: self.point.complex,
            prec: self.prec,
            seed: self.point.seed,
        };
        let own = Budget::new(self.budget.left().saturating_mul(SHARE));
        let value = ball(self.body, &point, &own);
        self.budget.charge(own.used() / SHARE)?;
        value
    }

    /// At the midpoint of a ball.
    fn near(&self, place: &Ball) -> Result<Complex, NoValue> {
        self.at(place
            .exact_midpoint()
            .ok_or(NoValue::Here(BallError::TooLarge))?)
    }
}

/// About `2^power` as an exact number that is no whole one, nor any simple fraction: at whole
/// numbers `cos 2πx` would be constant.
fn two(power: i64) -> Result<Rational, NoValue> {
    let odd = if power % 4 == 2 {
        Rational::ratio(1_361, 1_009)
    } else {
        Rational::ratio(1_523, 1_013)
    };
    Rational::small(2)
        .pow(power, 4_000)
        .and_then(|two| two.mul(&odd))
        .ok_or(NoValue::Here(BallError::TooLarge))
}

/// The limit of `body` where `name` goes to `target`.
pub(crate) fn limit(
    name: &str,
    target: &Expr,
    body: &Expr,
    point: &Point<'_>,
    budget: &Budget,
) -> Result<Complex, NoValue> {
    let along = Along {
        name,
        body,
        point,
        prec: LIMIT_PREC,
        budget,
    };
    if along.is_nested() {
        return Err(NoValue::Anywhere);
    }
    let from = |offset: &dyn Fn(i64) -> Result<Rational, NoValue>| -> Result<Complex, NoValue> {
        let [coarse, fine] = STEPS.map(|step| along.at(offset(step)?));
        let (coarse, fine) = (coarse?, fine?);
        // What shrinks with the distance goes to 0, what stays is as large as it is.
        let shrinks = fine.magnitude() < coarse.magnitude().saturating_sub(SHRINKING);
        let size = if shrinks { 0 } else { fine.magnitude() };
        agreed(&coarse, fine, size, AGREED_BITS)
    };
    let (target, sides): (&Expr, &[i64]) = match target {
        Expr::Apply(side, parts) => match (&**side, parts.as_slice()) {
            ("from above", [target]) => (target, &[1]),
            ("from below", [target]) => (target, &[-1]),
            _ => return Err(NoValue::Anywhere),
        },
        Expr::Constant(Constant::Infinity) => return from(&|step| two(step)),
        Expr::Product(items) => match items.as_slice() {
            [sign, Expr::Constant(Constant::Infinity)]
            | [Expr::Constant(Constant::Infinity), sign]
                if sign.is_int(-1) =>
            {
                return from(&|step| Ok(two(step)?.neg()));
            }
            _ => (target, &[1, -1]),
        },
        _ => (target, &[1, -1]),
    };
    let target = ball(
        target,
        &Point {
            values: point.values.clone(),
            prec: LIMIT_PREC,
            ..*point
        },
        budget,
    )?;
    let target = target
        .real()?
        .exact_midpoint()
        .ok_or(NoValue::Here(BallError::TooLarge))?;
    let mut found: Option<Complex> = None;
    for side in sides {
        let offset = |step: i64| {
            let offset = two(-step)?.mul(&Rational::small(*side));
            offset
                .and_then(|offset| offset.add(&target))
                .ok_or(NoValue::Here(BallError::TooLarge))
        };
        let next = from(&offset)?;
        found = Some(match &found {
            // Both sides have a doubt of their own; around 0 there is nothing else.
            Some(other) => {
                let size = next.magnitude().max(other.magnitude());
                let apart = other.sub(&next, PREC)?.magnitude();
                if size > 4 - AGREED_BITS && apart > size - AGREED_BITS + 4 {
                    return Err(NoValue::Anywhere);
                }
                next
            }
            None => next,
        });
    }
    found.ok_or(NoValue::Anywhere)
}

/// One end of an interval of integration.
enum End {
    At(Ball),
    /// At infinity, with its sign.
    Far(i64),
}

/// The integral of `body` over `name` between two ends.
pub(crate) fn integral(
    name: &str,
    ends: [&Expr; 2],
    body: &Expr,
    point: &Point<'_>,
    budget: &Budget,
) -> Result<Complex, NoValue> {
    let at = Point {
        values: point.values.clone(),
        prec: PREC,
        ..*point
    };
    let end = |expr: &Expr| -> Result<End, NoValue> {
        Ok(match expr {
            Expr::Constant(Constant::Infinity) => End::Far(1),
            Expr::Product(items) if items.contains(&Expr::Constant(Constant::Infinity)) => {
                End::Far(-1)
            }
            other => End::At(ball(other, &at, budget)?.real()?.clone()),
        })
    };
    let along = Along {
        name,
        body,
        point,
        prec: PREC,
        budget,
    };
    if along.is_nested() {
        return Err(NoValue::Anywhere);
    }
    let [low, high] = ends;
    match (end(low)?, end(high)?) {
        (End::At(low), End::At(high)) => between(&along, &low, &high),
        (End::At(low), End::Far(1)) => beyond(&along, &low, 1),
        (End::Far(-1), End::At(high)) => beyond(&along, &high, -1),
        (End::Far(-1), End::Far(1)) => everywhere(&along),
        _ => Err(NoValue::Anywhere),
    }
}

/// Place and weight for one value of the parameter: the place as its distance from an end, both for
/// an interval of length one.
type Node = (Ball, Ball);

/// Finest steps of the parameter to one unit, a power of two times the coarsest.
const FINEST: i64 = 64;
const COARSEST: i64 = 8;

/// The nodes of one map for all values of the parameter from 0 on in steps of the finest, made
/// once.
fn nodes(
    kept: &'static OnceLock<Vec<Option<Node>>>,
    node: fn(&Rational) -> BallResult<Node>,
    k: i64,
) -> Option<&'static Node> {
    let all = kept.get_or_init(|| {
        (0..=FURTHEST * FINEST)
            .map(|k| node(&Rational::ratio(k, FINEST)).ok())
            .collect()
    });
    all.get(usize::try_from(k).ok()?)?.as_ref()
}

/// `∫ f` as sums over a finer and finer parameter, until two agree. `term` gives the weighted value
/// for the parameter's size, in finest steps, and its sign.
fn quadrature(
    budget: &Budget,
    term: &dyn Fn(i64, bool) -> Result<Complex, NoValue>,
) -> Result<Complex, NoValue> {
    let mut before: Option<Complex> = None;
    let mut total = Complex::from(Ball::small(0));
    // Of the largest term: what cancels leaves its doubt behind.
    let mut size = i64::MIN;
    let mut per_unit = COARSEST;
    while per_unit <= FINEST {
        let width = FINEST / per_unit;
        for positive in [true, false] {
            let (mut vanished, mut last) = (0, i64::MIN);
            // Every other place was seen with the wider step; 0 belongs to one direction.
            let (mut k, step) = if before.is_some() {
                (1, 2)
            } else {
                (i64::from(!positive), 1)
            };
            while k <= FURTHEST * per_unit && vanished < 3 {
                budget.charge(200)?;
                let next = match term(k * width, positive) {
                    Ok(next) => next,
                    // Beyond what can be computed nothing is left to add.
                    Err(NoValue::Here(_)) if vanished > 0 => break,
                    Err(error) => return Err(error),
                };
                k += step;
                size = size.max(next.magnitude());
                let negligible = next.magnitude() < size.saturating_sub(AGREED_BITS + 24);
                vanished = if negligible { vanished + 1 } else { 0 };
                total = total.add(&next, PREC)?;
                last = next.magnitude();
            }
            // What has not died away at the end of the table diverges.
            if vanished == 0 && last > size.saturating_sub(HALF_BITS) {
                return Err(NoValue::Here(BallError::Undefined));
            }
        }
        let step = Ball::rational(&Rational::ratio(1, per_unit), PREC)?;
        let fine = total.mul(&step.into(), PREC)?;
        if let Some(coarse) = &before
            && let Ok(value) = agreed(coarse, fine.clone(), size, HALF_BITS)
        {
            return Ok(value);
        }
        before = Some(fine);
        per_unit *= 2;
    }
    Err(NoValue::Here(BallError::Undefined))
}

/// `π/2 sinh t` and `π/2 cosh t`.
fn double_exponential(t: &Rational) -> BallResult<(Ball, Ball)> {
    let up = elementary::exp(&Ball::rational(t, PREC)?, PREC)?;
    let down = up.recip(PREC)?;
    let quarter_pi = elementary::pi(PREC)?.scaled(-2);
    Ok((
        quarter_pi.mul(&up.sub(&down, PREC)?, PREC)?,
        quarter_pi.mul(&up.add(&down, PREC)?, PREC)?,
    ))
}

/// tanh-sinh: `x = b - (b - a) / (1 + e^(π sinh t))`.
fn between(along: &Along<'_>, low: &Ball, high: &Ball) -> Result<Complex, NoValue> {
    static KEPT: OnceLock<Vec<Option<Node>>> = OnceLock::new();
    // Distance to the nearer end, which keeps its precision however small.
    fn node(t: &Rational) -> BallResult<Node> {
        let (sinh, cosh) = double_exponential(t)?;
        let grown = elementary::exp(&sinh.scaled(1), PREC)?;
        let over = Ball::small(1).add(&grown, PREC)?.recip(PREC)?;
        let weight = over
            .mul(&over, PREC)?
            .mul(&grown, PREC)?
            .mul(&cosh.scaled(1), PREC)?;
        Ok((over, weight))
    }
    let width = high.sub(low, PREC)?;
    quadrature(along.budget, &|k, from_high| {
        let too_far = NoValue::Here(BallError::TooLarge);
        let (distance, weight) = nodes(&KEPT, node, k).ok_or(too_far)?;
        let distance = width.mul(distance, PREC)?.exact_midpoint();
        let end = if from_high { high } else { low }.exact_midpoint();
        let place = distance.zip(end).and_then(|(distance, end)| {
            if from_high {
                end.sub(&distance)
            } else {
                end.add(&distance)
            }
        });
        Ok(along
            .at(place.ok_or(too_far)?)?
            .mul(&width.mul(weight, PREC)?.into(), PREC)?)
    })
}

/// exp-sinh: `x = a ± e^(π/2 sinh t)`.
fn beyond(along: &Along<'_>, end: &Ball, sign: i64) -> Result<Complex, NoValue> {
    static KEPT: OnceLock<Vec<Option<Node>>> = OnceLock::new();
    fn node(t: &Rational) -> BallResult<Node> {
        let (sinh, cosh) = double_exponential(t)?;
        Ok((elementary::exp(&sinh, PREC)?, cosh))
    }
    quadrature(along.budget, &|k, positive| {
        let (distance, rate) = nodes(&KEPT, node, k).ok_or(NoValue::Here(BallError::TooLarge))?;
        let distance = if positive {
            distance.clone()
        } else {
            distance.recip(PREC)?
        };
        let place = if sign > 0 {
            end.add(&distance, PREC)?
        } else {
            end.sub(&distance, PREC)?
        };
        Ok(along
            .near(&place)?
            .mul(&distance.mul(rate, PREC)?.into(), PREC)?)
    })
}

/// sinh-sinh: `x = sinh(π/2 sinh t)`.
fn everywhere(along: &Along<'_>) -> Result<Complex, NoValue> {
    static KEPT: OnceLock<Vec<Option<Node>>> = OnceLock::new();
    fn node(t: &Rational) -> BallResult<Node> {
        let (sinh, cosh) = double_exponential(t)?;
        let up = elementary::exp(&sinh, PREC)?;
        let down = up.recip(PREC)?;
        let weight = up.add(&down, PREC)?.scaled(-1).mul(&cosh, PREC)?;
        Ok((up.sub(&down, PREC)?.scaled(-1), weight))
    }
    quadrature(along.budget, &|k, positive| {
        let (place, weight) = nodes(&KEPT, node, k).ok_or(NoValue::Here(BallError::TooLarge))?;
        let place = if positive { place.clone() } else { place.neg() };
        Ok(along.near(&place)?.mul(&weight.clone().into(), PREC)?)
    })
}

/// The sum of `body` for all whole `name` from `low` on.
pub(crate) fn series(
    name: &str,
    low: i64,
    body: &Expr,
    point: &Point<'_>,
    budget: &Budget,
) -> Result<Complex, NoValue> {
    // The transform cancels five bits a term.
    let prec = PREC + 6 * TERMS[1].unsigned_abs();
    let along = Along {
        name,
        body,
        point,
        prec,
        budget,
    };
    if along.is_nested() {
        return Err(NoValue::Anywhere);
    }
    let mut terms = Vec::new();
    let mut sums = Vec::new();
    let mut total = Ball::small(0);
    for k in 0..=TERMS[1] {
        let term = along
            .at(Rational::small(low.saturating_add(k)))?
            .real()?
            .clone();
        total = total.add(&term, prec)?;
        terms.push(term);
        sums.push(total.clone());
    }
    if !converges(&terms)? {
        return Err(NoValue::Here(BallError::Undefined));
    }
    let last = terms.last().map_or(0, Ball::magnitude);
    let size = terms.iter().map(Ball::magnitude).max().unwrap_or(0);
    if last <= size.saturating_sub(AGREED_BITS + 24) {
        // Fast enough to need no transform.
        let before = sums
            .get(sums.len() - 9)
            .cloned()
            .unwrap_or_else(|| Ball::small(0));
        return agreed(&before.into(), total.into(), size, AGREED_BITS);
    }
    let [coarse, fine] = TERMS.map(|order| levin(&terms, &sums, order, prec));
    agreed(&coarse?.into(), fine?.into(), size, AGREED_BITS)
}

/// Raabe's test on the last terms: of one sign they must fall faster than `1/n`; else they must
/// fall.
fn converges(terms: &[Ball]) -> Result<bool, NoValue> {
    let (Some(last), Some(before)) = (
        terms.last(),
        terms.len().checked_sub(2).and_then(|at| terms.get(at)),
    ) else {
        return Ok(false);
    };
    if last.contains_zero() || before.contains_zero() {
        // Only terms that have vanished altogether are no trouble.
        return Ok(terms.iter().rev().take(8).all(Ball::is_zero));
    }
    let ratio = before.mul(&last.recip(PREC)?, PREC)?;
    let n = Ball::small(i64::try_from(terms.len()).unwrap_or(i64::MAX));
    let excess = ratio.abs().sub(&Ball::small(1), PREC)?.mul(&n, PREC)?;
    let least = if ratio.sign()? > 0 {
        Ball::rational(&Rational::ratio(21, 20), PREC)?
    } else {
        Ball::small(0)
    };
    Ok(excess.sub(&least, PREC)?.sign()? > 0)
}

/// Levin's u-transform of the given order.
fn levin(terms: &[Ball], sums: &[Ball], order: i64, prec: u64) -> Result<Ball, NoValue> {
    let (mut top, mut bottom) = (Ball::small(0), Ball::small(0));
    let mut binomial = BigInt::one();
    for (j, (term, sum)) in (0..=order).zip(terms.iter().zip(sums)) {
        let share = Rational::ratio(j + 1, order + 1).pow(order - 2, 100_000);
        let share = Ball::rational(&share.ok_or(NoValue::Here(BallError::TooLarge))?, prec)?;
        let sign = if j % 2 == 0 {
            binomial.clone()
        } else {
            -&binomial
        };
        let weight = Ball::integer(sign)
            .mul(&share, prec)?
            .mul(&term.recip(prec)?, prec)?;
        top = top.add(&weight.mul(sum, prec)?, prec)?;
        bottom = bottom.add(&weight, prec)?;
        binomial = binomial * (order - j) / (j + 1);
    }
    Ok(top.mul(&bottom.recip(prec)?, prec)?)
}

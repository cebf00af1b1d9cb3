//! Values that are computed by approximation: limits, definite integrals, infinite sums.
//!
//! Each is computed twice, with two different steps, and has a value only if both agree to
//! [`AGREED_BITS`] bits beyond its size. This is not a proof, but no two different elementary
//! expressions are known to agree so far. Integrals use tanh-sinh, exp-sinh and sinh-sinh
//! quadrature (Takahasi and Mori, "Double exponential formulas for numerical integration", 1974),
//! sums use Levin's u-transform ("Development of non-linear transformations for improving
//! convergence of sequences", 1973).

use std::sync::OnceLock;

use num_bigint::BigInt;
use num_traits::One;

use super::evaluate::{NoValue, Point, ball};
use super::oscillating::{self, Wave};
use super::segments::{self, Integrand};
use crate::budget::Budget;
use crate::number::Rational;
use crate::number::ball::{Ball, BallError, BallResult};
use crate::number::complex::Complex;
use crate::number::elementary;
use crate::tree::{Constant, Expr};

/// Bits to which the two results agree, beyond the size of the value.
pub(crate) const AGREED_BITS: i64 = 80;

// The finer of two sums that agree to `QUADRATURE_BITS` is correct to `AGREED_BITS`.
const _: () = assert!(2 * QUADRATURE_BITS >= AGREED_BITS);

/// Bits to which two sums of a quadrature agree. Halving the step squares the error, so the finer
/// sum has twice as many correct bits.
pub(super) const QUADRATURE_BITS: i64 = 44;

/// Precision of the values that are added, in bits.
pub(crate) const PREC: u64 = 256;

/// Precision of the terms of a quadrature whose function does not cancel, in bits: two words.
const SHORT_PREC: u64 = 128;

/// Correct bits of a term that are enough: those of negligible terms.
const TERM_BITS: i64 = AGREED_BITS + 24;

/// Precision of the values of which a limit is taken, in bits: differences of nearly equal numbers
/// cancel most of them.
const LIMIT_PREC: u64 = 1_024;

/// Distances from the point of a limit at which values are taken, as negative powers of two.
const LIMIT_STEPS: [i64; 2] = [110, 150];

/// A value that is smaller by so many bits at the smaller distance converges to 0.
const SHRINK_BITS: i64 = 20;

/// Orders of the two transforms of a sum.
const LEVIN_ORDERS: [i64; 2] = [28, 34];

/// Values of an integrand that are charged as one: an integral takes hundreds of them, and few
/// answers have one.
const BUDGET_SHARE: u64 = 4;

/// Largest parameter of the double exponential maps: all weights vanish beyond it.
const MAX_PARAMETER: i64 = 5;

/// Whether an expression is a limit, a definite integral or an infinite sum.
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

/// The finer of two values that agree to `bits` beyond `size`, which makes it correct to
/// [`AGREED_BITS`].
pub(super) fn agreed(
    coarse: &Complex,
    fine: Complex,
    size: i64,
    bits: i64,
) -> Result<Complex, NoValue> {
    if coarse.sub(&fine, PREC)?.magnitude() > size.saturating_sub(bits) {
        return Err(NoValue::AtPoint(BallError::Undefined));
    }
    if fine.is_zero() {
        return Ok(fine);
    }
    let uncertainty = Ball::dyadic(BigInt::one(), size.saturating_sub(AGREED_BITS).max(-8_000));
    Ok(Complex {
        re: fine.re.widened(&uncertainty, PREC)?,
        im: fine.im,
    })
}

/// A function of one variable that is evaluated at exact arguments.
pub(super) struct Univariate<'a> {
    pub(super) name: &'a str,
    pub(super) body: &'a Expr,
    pub(super) point: &'a Point<'a>,
    pub(super) prec: u64,
    pub(super) budget: &'a Budget,
}

impl Univariate<'_> {
    /// Whether the function contains a limit, integral or infinite sum itself: each argument would
    /// cost a whole approximation.
    fn is_nested(&self) -> bool {
        self.body.any(&is_approached)
    }

    fn at(&self, argument: Rational) -> Result<Complex, NoValue> {
        self.at_precision(argument, self.prec)
    }

    fn at_precision(&self, argument: Rational, prec: u64) -> Result<Complex, NoValue> {
        let mut point = self.point.with(self.name, argument);
        point.prec = prec;
        let scaled = self.budget.scaled(BUDGET_SHARE);
        let value = ball(self.body, &point, &scaled);
        self.budget.absorb_scaled(&scaled, BUDGET_SHARE)?;
        value
    }

    /// The value at an argument times a weight, with as few bits as are enough.
    fn weighted(&self, argument: Rational, weight: &Ball) -> Result<Complex, NoValue> {
        let coarse = match self.at_precision(argument.clone(), SHORT_PREC) {
            Err(NoValue::Exhausted) => return Err(NoValue::Exhausted),
            coarse => coarse.ok().filter(is_enough),
        };
        let value = match coarse {
            Some(value) => value,
            None => self.at(argument)?,
        };
        Ok(value.mul(&weight.clone().into(), PREC)?)
    }

    /// The value at the midpoint of a ball.
    pub(super) fn at_midpoint(&self, argument: &Ball) -> Result<Complex, NoValue> {
        self.at(middle(argument)?)
    }
}

fn middle(argument: &Ball) -> Result<Rational, NoValue> {
    argument
        .exact_midpoint()
        .ok_or(NoValue::AtPoint(BallError::TooLarge))
}

/// Whether a value is correct to [`TERM_BITS`].
fn is_enough(value: &Complex) -> bool {
    let least = value.magnitude().saturating_sub(TERM_BITS);
    let exact = |part: &Ball| part.is_exact() || part.radius().magnitude() <= least;
    exact(&value.re) && value.im.as_ref().is_none_or(exact)
}

/// About `2^power`, as an exact number that is neither an integer nor a simple fraction: at
/// integers `cos 2πx` would be constant.
fn near_power_of_two(power: i64) -> Result<Rational, NoValue> {
    let odd = if power % 4 == 2 {
        Rational::ratio(1_361, 1_009)
    } else {
        Rational::ratio(1_523, 1_013)
    };
    Rational::small(2)
        .pow(power, 4_000)
        .and_then(|power| power.mul(&odd))
        .ok_or(NoValue::AtPoint(BallError::TooLarge))
}

/// The limit of `body` as `name` approaches `target`.
pub(crate) fn limit(
    name: &str,
    target: &Expr,
    body: &Expr,
    point: &Point<'_>,
    budget: &Budget,
) -> Result<Complex, NoValue> {
    let function = Univariate {
        name,
        body,
        point,
        prec: LIMIT_PREC,
        budget,
    };
    if function.is_nested() {
        return Err(NoValue::Unsupported);
    }
    let from = |offset: &dyn Fn(i64) -> Result<Rational, NoValue>| -> Result<Complex, NoValue> {
        let [coarse, fine] = LIMIT_STEPS.map(|step| function.at(offset(step)?));
        let (coarse, fine) = (coarse?, fine?);
        // A value that shrinks with the distance converges to 0; its own size does not count.
        let shrinks = fine.magnitude() < coarse.magnitude().saturating_sub(SHRINK_BITS);
        let size = if shrinks { 0 } else { fine.magnitude() };
        agreed(&coarse, fine, size, AGREED_BITS)
    };
    let (target, sides): (&Expr, &[i64]) = match target {
        Expr::Apply(side, parts) => match (&**side, parts.as_slice()) {
            ("from above", [target]) => (target, &[1]),
            ("from below", [target]) => (target, &[-1]),
            _ => return Err(NoValue::Unsupported),
        },
        Expr::Constant(Constant::Infinity) => return from(&|step| near_power_of_two(step)),
        Expr::Product(items) => match items.as_slice() {
            [sign, Expr::Constant(Constant::Infinity)]
            | [Expr::Constant(Constant::Infinity), sign]
                if sign.is_int(-1) =>
            {
                return from(&|step| Ok(near_power_of_two(step)?.neg()));
            }
            _ => (target, &[1, -1]),
        },
        _ => (target, &[1, -1]),
    };
    let target = ball(target, &point.at_precision(LIMIT_PREC), budget)?;
    let target = target
        .real()?
        .exact_midpoint()
        .ok_or(NoValue::AtPoint(BallError::TooLarge))?;
    let mut found: Option<Complex> = None;
    for side in sides {
        let offset = |step: i64| {
            let offset = near_power_of_two(-step)?.mul(&Rational::small(*side));
            offset
                .and_then(|offset| offset.add(&target))
                .ok_or(NoValue::AtPoint(BallError::TooLarge))
        };
        let next = from(&offset)?;
        found = Some(match &found {
            // The limits from both sides are uncertain; around 0 the uncertainty is all there is.
            Some(other) => {
                let size = next.magnitude().max(other.magnitude());
                let apart = other.sub(&next, PREC)?.magnitude();
                if size > 4 - AGREED_BITS && apart > size - AGREED_BITS + 4 {
                    return Err(NoValue::Unsupported);
                }
                next
            }
            None => next,
        });
    }
    found.ok_or(NoValue::Unsupported)
}

/// One end of an interval of integration.
enum End {
    Finite(Ball),
    /// Infinity with a sign.
    Infinite(i64),
}

/// The integral of `body` over `name` between `ends`.
pub(crate) fn integral(
    name: &str,
    ends: [&Expr; 2],
    body: &Expr,
    point: &Point<'_>,
    budget: &Budget,
) -> Result<Complex, NoValue> {
    let at = point.at_precision(PREC);
    let end = |expr: &Expr| -> Result<End, NoValue> {
        Ok(match expr {
            Expr::Constant(Constant::Infinity) => End::Infinite(1),
            Expr::Product(items) if items.contains(&Expr::Constant(Constant::Infinity)) => {
                End::Infinite(-1)
            }
            other => End::Finite(ball(other, &at, budget)?.real()?.clone()),
        })
    };
    let function = Univariate {
        name,
        body,
        point,
        prec: PREC,
        budget,
    };
    if function.is_nested() {
        return Err(NoValue::Unsupported);
    }
    let [low, high] = ends;
    let (low, high) = (end(low)?, end(high)?);
    let integrand = Integrand::of(name, body, point);
    let kinks = match &integrand {
        Some(integrand) => kinks(integrand, &low, &high, budget)?,
        None => Vec::new(),
    };
    let mut total = Complex::from(Ball::small(0));
    let mut start = low;
    for kink in kinks {
        let kink = End::Finite(Ball::rational(&kink, PREC)?);
        total = total.add(&piece(&function, integrand.as_ref(), &start, &kink)?, PREC)?;
        start = kink;
    }
    Ok(total.add(&piece(&function, integrand.as_ref(), &start, &high)?, PREC)?)
}

/// The kinks of an integrand between two ends, in the direction of the integral.
fn kinks(
    integrand: &Integrand<'_>,
    low: &End,
    high: &End,
    budget: &Budget,
) -> Result<Vec<Rational>, NoValue> {
    let middle = |end: &End| match end {
        End::Finite(value) => value.exact_midpoint(),
        End::Infinite(_) => None,
    };
    let (from, to) = (middle(low), middle(high));
    let sizes: Vec<Rational> = from.iter().chain(&to).map(Rational::abs).collect();
    let reversed = matches!((&from, &to), (Some(from), Some(to)) if to.less(from) == Some(true));
    let (least, most) = if reversed { (&to, &from) } else { (&from, &to) };
    let found = integrand.kinks(&sizes, budget)?;
    let mut inside = segments::between(found, least.as_ref(), most.as_ref())
        .ok_or(NoValue::AtPoint(BallError::TooLarge))?;
    if reversed {
        inside.reverse();
    }
    Ok(inside)
}

/// The integral over a piece.
fn piece(
    function: &Univariate<'_>,
    integrand: Option<&Integrand<'_>>,
    low: &End,
    high: &End,
) -> Result<Complex, NoValue> {
    if let Some(value) = wave(function, low, high)? {
        return Ok(value);
    }
    match (low, high) {
        (End::Finite(low), End::Finite(high)) => {
            if let (Some(integrand), Some(from), Some(to)) =
                (integrand, low.exact_midpoint(), high.exact_midpoint())
                && let Some((area, size)) = integrand.exactly(&from, &to, function.budget)?
            {
                let area = Ball::rational(&area, PREC)?;
                if area.is_zero() {
                    return Ok(area.into());
                }
                let bits = Ball::rational(&size, PREC)?.magnitude() - AGREED_BITS;
                let uncertainty = Ball::within(BigInt::ZERO, 1, bits.max(-8_000));
                return Ok(area.add(&uncertainty, PREC)?.into());
            }
            bounded(function, low, high)
        }
        (End::Finite(low), End::Infinite(1)) => half_line(function, low, 1),
        (End::Infinite(-1), End::Finite(high)) => half_line(function, high, -1),
        (End::Infinite(-1), End::Infinite(1)) => real_line(function),
        _ => Err(NoValue::Unsupported),
    }
}

/// The integral of a wave over a half-line from 0, or over the whole line; `None` for others.
fn wave(function: &Univariate<'_>, low: &End, high: &End) -> Result<Option<Complex>, NoValue> {
    let signs: &[i64] = match (low, high) {
        (End::Finite(low), End::Infinite(1)) if low.is_zero() => &[1],
        (End::Infinite(-1), End::Finite(high)) if high.is_zero() => &[-1],
        (End::Infinite(-1), End::Infinite(1)) => &[1, -1],
        _ => return Ok(None),
    };
    let function = oscillating::with_precision(function);
    let mut total = Complex::from(Ball::small(0));
    for sign in signs {
        let Some(wave) = Wave::of(&function, *sign)? else {
            return Ok(None);
        };
        let half = wave.integral(&function, *sign)?;
        total = total.add(&half, PREC)?;
        if signs.len() > 1 && oscillating::is_even(&function)? {
            return Ok(Some(total.add(&half, PREC)?));
        }
    }
    Ok(Some(total))
}

/// Argument and weight for one value of the parameter. The argument of an interval of length one is
/// given as the distance from an end.
type Node = (Ball, Ball);

/// Steps of the parameter per unit, of the finest and of the coarsest sum. The finest is a power of
/// two times the coarsest.
const FINEST_STEPS: i64 = 64;
const COARSEST_STEPS: i64 = 8;

const _: () = assert!(FINEST_STEPS % COARSEST_STEPS == 0);

/// The node of one map for the parameter `k / FINEST_STEPS`. The nodes are computed once.
fn nodes(
    cache: &'static OnceLock<Vec<Option<Node>>>,
    node: fn(&Rational) -> BallResult<Node>,
    k: i64,
) -> Option<&'static Node> {
    let all = cache.get_or_init(|| {
        (0..=MAX_PARAMETER * FINEST_STEPS)
            .map(|k| node(&Rational::ratio(k, FINEST_STEPS)).ok())
            .collect()
    });
    all.get(usize::try_from(k).ok()?)?.as_ref()
}

/// `∫ f` as sums with finer and finer steps of the parameter, until two agree. `term` returns the
/// weighted value for an absolute value of the parameter, in finest steps, and its sign.
fn quadrature(
    budget: &Budget,
    term: &dyn Fn(i64, bool) -> Result<Complex, NoValue>,
) -> Result<Complex, NoValue> {
    let mut before: Option<Complex> = None;
    let mut total = Complex::from(Ball::small(0));
    // Size of the largest term: cancellation leaves its uncertainty behind.
    let mut size = i64::MIN;
    let mut per_unit = COARSEST_STEPS;
    while per_unit <= FINEST_STEPS {
        let width = FINEST_STEPS / per_unit;
        for positive in [true, false] {
            let (mut vanished, mut last) = (0, i64::MIN);
            // Every other argument belongs to the wider step; 0 belongs to one direction.
            let (mut k, step) = if before.is_some() {
                (1, 2)
            } else {
                (i64::from(!positive), 1)
            };
            while k <= MAX_PARAMETER * per_unit && vanished < 3 {
                budget.charge(200)?;
                let next = match term(k * width, positive) {
                    Ok(next) => next,
                    // Terms that are too extreme to compute are negligible.
                    Err(NoValue::AtPoint(_)) if vanished > 0 => break,
                    Err(error) => return Err(error),
                };
                k += step;
                size = size.max(next.magnitude());
                let negligible = next.magnitude() < size.saturating_sub(TERM_BITS);
                vanished = if negligible { vanished + 1 } else { 0 };
                total = total.add(&next, PREC)?;
                last = next.magnitude();
            }
            // An integrand that has not vanished at the end of the table diverges.
            if vanished == 0 && last > size.saturating_sub(QUADRATURE_BITS) {
                return Err(NoValue::AtPoint(BallError::Undefined));
            }
        }
        let step = Ball::rational(&Rational::ratio(1, per_unit), PREC)?;
        let fine = total.mul(&step.into(), PREC)?;
        if let Some(coarse) = &before
            && let Ok(value) = agreed(coarse, fine.clone(), size, QUADRATURE_BITS)
        {
            return Ok(value);
        }
        before = Some(fine);
        per_unit *= 2;
    }
    Err(NoValue::AtPoint(BallError::Undefined))
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
fn bounded(function: &Univariate<'_>, low: &Ball, high: &Ball) -> Result<Complex, NoValue> {
    static NODES: OnceLock<Vec<Option<Node>>> = OnceLock::new();
    // The distance to the nearer end, which keeps its precision however small it is.
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
    quadrature(function.budget, &|k, from_high| {
        let too_far = NoValue::AtPoint(BallError::TooLarge);
        let (distance, weight) = nodes(&NODES, node, k).ok_or(too_far)?;
        let distance = width.mul(distance, PREC)?.exact_midpoint();
        let end = if from_high { high } else { low }.exact_midpoint();
        let argument = distance.zip(end).and_then(|(distance, end)| {
            if from_high {
                end.sub(&distance)
            } else {
                end.add(&distance)
            }
        });
        function.weighted(argument.ok_or(too_far)?, &width.mul(weight, PREC)?)
    })
}

/// exp-sinh: `x = a ± e^(π/2 sinh t)`.
fn half_line(function: &Univariate<'_>, end: &Ball, sign: i64) -> Result<Complex, NoValue> {
    static NODES: OnceLock<Vec<Option<Node>>> = OnceLock::new();
    fn node(t: &Rational) -> BallResult<Node> {
        let (sinh, cosh) = double_exponential(t)?;
        Ok((elementary::exp(&sinh, PREC)?, cosh))
    }
    quadrature(function.budget, &|k, positive| {
        let (distance, rate) =
            nodes(&NODES, node, k).ok_or(NoValue::AtPoint(BallError::TooLarge))?;
        let distance = if positive {
            distance.clone()
        } else {
            distance.recip(PREC)?
        };
        let argument = if sign > 0 {
            end.add(&distance, PREC)?
        } else {
            end.sub(&distance, PREC)?
        };
        function.weighted(middle(&argument)?, &distance.mul(rate, PREC)?)
    })
}

/// sinh-sinh: `x = sinh(π/2 sinh t)`.
fn real_line(function: &Univariate<'_>) -> Result<Complex, NoValue> {
    static NODES: OnceLock<Vec<Option<Node>>> = OnceLock::new();
    fn node(t: &Rational) -> BallResult<Node> {
        let (sinh, cosh) = double_exponential(t)?;
        let up = elementary::exp(&sinh, PREC)?;
        let down = up.recip(PREC)?;
        let weight = up.add(&down, PREC)?.scaled(-1).mul(&cosh, PREC)?;
        Ok((up.sub(&down, PREC)?.scaled(-1), weight))
    }
    quadrature(function.budget, &|k, positive| {
        let (argument, weight) =
            nodes(&NODES, node, k).ok_or(NoValue::AtPoint(BallError::TooLarge))?;
        let argument = if positive {
            argument.clone()
        } else {
            argument.neg()
        };
        function.weighted(middle(&argument)?, weight)
    })
}

/// The sum of `body` for the integers from `low` on.
pub(crate) fn series(
    name: &str,
    low: i64,
    body: &Expr,
    point: &Point<'_>,
    budget: &Budget,
) -> Result<Complex, NoValue> {
    // The transform cancels about five bits per term.
    let prec = PREC + 6 * LEVIN_ORDERS[1].unsigned_abs();
    let function = Univariate {
        name,
        body,
        point,
        prec,
        budget,
    };
    if function.is_nested() {
        return Err(NoValue::Unsupported);
    }
    let mut terms = Vec::new();
    let mut sums = Vec::new();
    let mut total = Ball::small(0);
    for k in 0..=LEVIN_ORDERS[1] {
        let term = function
            .at(Rational::small(low.saturating_add(k)))?
            .real()?
            .clone();
        total = total.add(&term, prec)?;
        terms.push(term);
        sums.push(total.clone());
    }
    if !converges(&terms)? {
        return Err(NoValue::AtPoint(BallError::Undefined));
    }
    let last = terms.last().map_or(0, Ball::magnitude);
    let size = terms.iter().map(Ball::magnitude).max().unwrap_or(0);
    if last <= size.saturating_sub(TERM_BITS) {
        // The sum converges fast enough without the transform.
        let before = sums
            .get(sums.len() - 9)
            .cloned()
            .unwrap_or_else(|| Ball::small(0));
        return agreed(&before.into(), total.into(), size, AGREED_BITS);
    }
    let [coarse, fine] = LEVIN_ORDERS.map(|order| levin(&terms, &sums, order, prec));
    agreed(&coarse?.into(), fine?.into(), size, AGREED_BITS)
}

/// Raabe's test on the last terms: terms of one sign must decrease faster than `1/n`, others must
/// decrease.
fn converges(terms: &[Ball]) -> Result<bool, NoValue> {
    let (Some(last), Some(before)) = (
        terms.last(),
        terms.len().checked_sub(2).and_then(|at| terms.get(at)),
    ) else {
        return Ok(false);
    };
    if last.contains_zero() || before.contains_zero() {
        // Zeros are allowed only if all of the last terms are zero.
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

/// Levin's u-transform of order `order`.
fn levin(terms: &[Ball], sums: &[Ball], order: i64, prec: u64) -> Result<Ball, NoValue> {
    let (mut top, mut bottom) = (Ball::small(0), Ball::small(0));
    let mut binomial = BigInt::one();
    for (j, (term, sum)) in (0..=order).zip(terms.iter().zip(sums)) {
        let share = Rational::ratio(j + 1, order + 1).pow(order - 2, 100_000);
        let share = Ball::rational(&share.ok_or(NoValue::AtPoint(BallError::TooLarge))?, prec)?;
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

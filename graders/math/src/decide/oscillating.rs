//! Integrals of waves over a half-line, `∫ g(x) sin ωx dx` from 0 on: the double exponential
//! formula whose nodes approach the zeros of the wave (Ooura and Mori, "The double exponential
//! formula for oscillatory functions over the half infinite interval", 1991).

use std::ops::Neg as _;
use std::sync::OnceLock;

use super::affine::{coefficients, mentions};
use super::approach::{self, PREC, QUADRATURE_BITS, Univariate};
use super::evaluate::{NoValue, ball};
use super::formal;
use crate::normal::fold;
use crate::number::Rational;
use crate::number::ball::{Ball, BallError, BallResult};
use crate::number::complex::Complex;
use crate::number::elementary;
use crate::tree::charged::{charge_copy, replaced};
use crate::tree::{Expr, Function};

/// Steps of the parameter per unit of two sums. The bits of a sum are proportional to its steps, so
/// the finer one is correct to [`approach::AGREED_BITS`] if they agree to [`QUADRATURE_BITS`].
const STEPS: [i64; 2] = [20, 40];

/// Fifths of the largest parameter: `e^(-6 sinh t)` is below `2^-280` beyond it.
const MAX_FIFTHS: i64 = 21;

/// Precision of the terms, in bits.
const TERM_PREC: u64 = 160;

/// Steps of a node beyond the evaluation of the integrand.
const NODE_STEPS: u64 = 40;

/// Exponents of two of arguments between which the other factors must decrease by `DECREASE` bits.
/// `1/√x` decreases by two.
const FAR: [i64; 2] = [8, 13];
const DECREASE: i64 = 2;

/// A factor `sin ωx` or `cos ωx` of an integrand.
pub(super) struct Wave {
    is_cosine: bool,
    rate: Ball,
}

impl Wave {
    /// The wave in an integrand whose other factors contain none and vanish at infinity; `sign` is
    /// that of infinity.
    pub(super) fn of(function: &Univariate<'_>, sign: i64) -> Result<Option<Self>, NoValue> {
        let budget = function.budget;
        charge_copy(function.body, budget)?;
        let Expr::Product(factors) = function.body else {
            return Ok(None);
        };
        let varies = |factor: &&Expr| factor.any(&|part| is_wave(part, function.name));
        let mut waves = factors.iter().filter(varies);
        let (Some(Expr::Call(kind, angle)), None) = (waves.next(), waves.next()) else {
            return Ok(None);
        };
        let ([angle], Function::Sin | Function::Cos) = (angle.as_slice(), kind) else {
            return Ok(None);
        };
        let Some((start, rate)) = coefficients(angle, function.name, budget)? else {
            return Ok(None);
        };
        if !fold(&start, budget)?.is_int(0) {
            return Ok(None);
        }
        let rate = fold(&rate, budget)?;
        let rate = ball(&rate, &function.point.at_precision(PREC), budget)?;
        let rate = rate.real()?.abs();
        if rate.contains_zero() {
            return Ok(None);
        }
        let rest: Vec<&Expr> = factors.iter().filter(|factor| !varies(factor)).collect();
        let [near, far] = FAR.map(|power| size_at(&rest, function, power, sign));
        let (near, far) = (near?, far?);
        if far > near - DECREASE || far >= 0 {
            return Err(NoValue::AtPoint(BallError::Undefined));
        }
        Ok(Some(Self {
            is_cosine: *kind == Function::Cos,
            rate,
        }))
    }

    /// The integral from 0 to infinity with this sign.
    pub(super) fn integral(
        &self,
        function: &Univariate<'_>,
        sign: i64,
    ) -> Result<Complex, NoValue> {
        let [coarse, fine] = STEPS.map(|steps| self.sum(function, sign, steps));
        let (coarse, fine) = (coarse?, fine?);
        let size = fine.magnitude();
        approach::agreed(&coarse, fine, size, QUADRATURE_BITS)
    }

    fn sum(&self, function: &Univariate<'_>, sign: i64, steps: i64) -> Result<Complex, NoValue> {
        let no_value = NoValue::AtPoint(BallError::TooLarge);
        let nodes = nodes(steps, self.is_cosine).ok_or(no_value)?;
        // The nodes approach multiples of π/ω.
        let scale = elementary::pi(PREC)?
            .mul(&self.rate.recip(PREC)?, PREC)?
            .mul(&Ball::small(steps), PREC)?;
        let mut total = Complex::from(Ball::small(0));
        for (place, weight) in nodes {
            function.budget.charge(NODE_STEPS)?;
            let distance = place.mul(&scale, PREC)?;
            let argument = if sign > 0 { distance } else { distance.neg() };
            let value = function.at_midpoint(&argument)?;
            total = total.add(&value.mul(&weight.clone().into(), PREC)?, PREC)?;
        }
        let step = Ball::rational(&Rational::ratio(1, steps), PREC)?;
        Ok(total.mul(&scale.mul(&step, PREC)?.into(), PREC)?)
    }
}

/// Whether an integrand is even, by its form.
pub(super) fn is_even(function: &Univariate<'_>) -> Result<bool, NoValue> {
    let budget = function.budget;
    let reflected = Expr::symbol(function.name).neg();
    let reflected = replaced(function.body, function.name, &reflected, budget)?;
    Ok(formal::same(
        function.body,
        &fold(&reflected, budget)?,
        false,
        budget,
    )?)
}

/// The same function with the precision of the terms.
pub(super) fn with_precision<'a>(function: &Univariate<'a>) -> Univariate<'a> {
    Univariate {
        prec: TERM_PREC,
        ..*function
    }
}

fn is_wave(part: &Expr, name: &str) -> bool {
    match part {
        Expr::Call(
            Function::Sin
            | Function::Cos
            | Function::Tan
            | Function::Cot
            | Function::Sec
            | Function::Csc
            | Function::Floor
            | Function::Ceil
            | Function::Mod,
            _,
        ) => mentions(part, name),
        _ => false,
    }
}

/// The exponent of two of a product of factors near `±2^power`.
fn size_at(
    factors: &[&Expr],
    function: &Univariate<'_>,
    power: i64,
    sign: i64,
) -> Result<i64, NoValue> {
    let far = Rational::small(2)
        .pow(power, 1_000)
        .and_then(|far| far.mul(&Rational::ratio(sign * 1_361, 1_009)));
    let mut point = function.point.with(
        function.name,
        far.ok_or(NoValue::AtPoint(BallError::TooLarge))?,
    );
    point.prec = TERM_PREC;
    let mut size = 0i64;
    for factor in factors {
        size = size.saturating_add(ball(factor, &point, function.budget)?.magnitude());
    }
    Ok(size)
}

/// The place of a node in units of the scale, and its weight.
type Node = (Ball, Ball);

/// The nodes of a sum. They are computed once.
fn nodes(steps: i64, is_cosine: bool) -> Option<&'static [Node]> {
    static NODES: [OnceLock<Option<Vec<Node>>>; 4] = [const { OnceLock::new() }; 4];
    let at = STEPS.iter().position(|own| *own == steps)?;
    let cache = NODES.get(2 * at + usize::from(is_cosine))?;
    let all = cache.get_or_init(|| {
        let last = MAX_FIFTHS * steps / 5;
        let half = i64::from(is_cosine);
        let parameters = (-last..=last).map(|k| Rational::ratio(2 * k + half, 2 * steps));
        parameters.map(|t| node(&t).ok()).collect()
    });
    all.as_deref()
}

/// `t / (1 - e^(-6 sinh t))` and its derivative.
fn node(t: &Rational) -> BallResult<Node> {
    if t.is_zero() {
        return Ok((
            Ball::rational(&Rational::ratio(1, 6), PREC)?,
            Ball::rational(&Rational::ratio(1, 2), PREC)?,
        ));
    }
    let t = Ball::rational(t, PREC)?;
    let up = elementary::exp(&t, PREC)?;
    let down = up.recip(PREC)?;
    let three = Ball::small(3);
    let exponent = down.sub(&up, PREC)?.mul(&three, PREC)?;
    let slope = up.add(&down, PREC)?.mul(&three, PREC)?;
    let small = elementary::exp(&exponent, PREC)?;
    let over = Ball::small(1).sub(&small, PREC)?.recip(PREC)?;
    let place = t.mul(&over, PREC)?;
    let change = place.mul(&slope, PREC)?.mul(&small, PREC)?;
    let weight = Ball::small(1).sub(&change, PREC)?.mul(&over, PREC)?;
    Ok((place, weight))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_approach_multiples_of_the_step() {
        let (place, weight) = node(&Rational::small(4)).unwrap();
        let apart = place.sub(&Ball::small(4), PREC).unwrap();
        assert!(apart.magnitude() < -200);
        assert!(weight.sub(&Ball::small(1), PREC).unwrap().magnitude() < -200);
    }
}

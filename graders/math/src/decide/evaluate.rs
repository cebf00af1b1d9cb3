//! The value of an expression at a point, as a residue or as a complex ball. An expression without
//! a value there is an error.

use std::cell::Cell;
use std::hash::Hasher;
use std::rc::Rc;

use num_bigint::BigInt;
use num_traits::{One, ToPrimitive};

use super::{approach, ball_cost, branches};
use crate::budget::{Budget, Exhausted};
use crate::number::Rational;
use crate::number::ball::{Ball, BallError};
use crate::number::complex::Complex;
use crate::number::elementary;
use crate::number::residue::{Field, Residue, mix};
use crate::tree::charged::charge_visit;
use crate::tree::{Binder, Constant, Expr, Function};

/// Most terms of a sum, or factors of a product, that are evaluated.
const MAX_TERMS: i64 = 4_000;

/// Precision of the arguments of unknown functions, and the bits after the point that count.
const ARGUMENT_PREC: u64 = 192;
const ARGUMENT_BITS: i64 = 64;

/// Why an expression has no value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoValue {
    /// It has none at this point, or none at this precision.
    AtPoint(BallError),
    /// No row of a piecewise definition applies at this point.
    NoRow,
    /// Expressions of this kind are not evaluated.
    Unsupported,
    /// The step budget is exhausted.
    Exhausted,
}

impl From<Exhausted> for NoValue {
    fn from(_: Exhausted) -> Self {
        Self::Exhausted
    }
}

impl From<BallError> for NoValue {
    fn from(unknown: BallError) -> Self {
        Self::AtPoint(unknown)
    }
}

/// Start of an FNV-1a hash.
pub(crate) const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;

/// An FNV-1a hash, the same on every machine.
pub(crate) struct Fnv(pub(crate) u64);

impl Hasher for Fnv {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    fn write_usize(&mut self, value: usize) {
        self.write_u64(value as u64);
    }

    fn write_isize(&mut self, value: isize) {
        self.write_i64(value as i64);
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = mix(self.0 ^ value);
    }
}

/// The FNV-1a hash of a name.
pub(crate) fn hash(name: &str) -> u64 {
    let mut hasher = Fnv(FNV_OFFSET);
    hasher.write(name.as_bytes());
    hasher.finish()
}

/// The residue of a rational function. Symbols and transcendental constants have random values
/// drawn from `seed`.
///
/// Pi and e are treated as symbols: an identity that is true for symbols is true for them, and no
/// other identity between them is known.
pub(crate) fn residue(
    expr: &Expr,
    field: Field,
    seed: u64,
    budget: &Budget,
) -> Result<Residue, NoValue> {
    budget.charge(4)?;
    let at = |expr: &Expr| residue(expr, field, seed, budget);
    let pole = NoValue::AtPoint(BallError::Undefined);
    match expr {
        Expr::Number(value) => {
            budget.charge(value.bits() / 64)?;
            field.rational(value).ok_or(pole)
        }
        Expr::Symbol(name) => Ok(field.element(mix(hash(name) ^ seed))),
        Expr::Constant(Constant::Pi) => Ok(field.element(mix(1 ^ seed))),
        Expr::Constant(Constant::E) => Ok(field.element(mix(2 ^ seed))),
        Expr::Sum(items) => {
            let mut total = field.element(0);
            for item in items {
                total = field.add(total, at(item)?);
            }
            Ok(total)
        }
        Expr::Product(items) => {
            let mut total = field.element(1);
            for item in items {
                total = field.mul(total, at(item)?);
            }
            Ok(total)
        }
        Expr::Power(pair) => match &pair.1 {
            Expr::Number(exponent) if exponent.is_integer() => {
                let bits = exponent.num().bits();
                budget.charge(10 + bits / 32 + 2 * bits.min(64))?;
                field.pow(at(&pair.0)?, exponent.num()).ok_or(pole)
            }
            _ => Err(NoValue::Unsupported),
        },
        Expr::Apply(name, items) => {
            let mut state = hash(name);
            for item in items {
                budget.charge(20)?;
                state = mix(state ^ field.value(at(item)?));
            }
            Ok(field.element(mix(state ^ seed)))
        }
        _ => Err(NoValue::Unsupported),
    }
}

/// A point: a rational for each symbol, and whether values may be complex.
#[derive(Clone)]
pub(crate) struct Point<'a> {
    /// Values of free symbols, sorted by name. Shared, because there may be thousands.
    pub(crate) free: Rc<[(&'a str, Rational)]>,
    /// Values of bound variables, the innermost one last.
    pub(crate) bound: Vec<(&'a str, Rational)>,
    pub(crate) complex: bool,
    pub(crate) prec: u64,
    /// Seed for the values of unknown functions.
    pub(crate) seed: u64,
    /// Largest exponent of two of an exponential at this point, see [`growth`](Self::growth).
    growth: Rc<Cell<u64>>,
}

impl<'a> Point<'a> {
    /// The point of a constant, which has no symbols.
    pub(crate) fn of_constant(complex: bool, prec: u64) -> Self {
        Self::new(Rc::new([]), complex, prec)
    }

    /// The point with these values, sorted by name.
    pub(crate) fn new(free: Rc<[(&'a str, Rational)]>, complex: bool, prec: u64) -> Self {
        Self {
            free,
            bound: Vec::new(),
            complex,
            prec,
            seed: 0,
            growth: Rc::new(Cell::new(0)),
        }
    }

    /// The bits that exponentials evaluated at this point may be larger or smaller than 1: to fewer
    /// bits `1 + e^-500` is 1.
    pub(crate) fn growth(&self) -> u64 {
        self.growth.get()
    }

    /// Notes an exponential with this exponent.
    fn note_growth(&self, exponent: &Complex) {
        // e^x is 2^(1.45 x), and x is below 2^size.
        let size = exponent.re.magnitude().clamp(0, 60);
        let bits = if size < 4 { 0 } else { (3 << size) / 2 };
        self.growth.set(self.growth.get().max(bits));
    }

    /// The same point at another precision.
    pub(crate) fn at_precision(&self, prec: u64) -> Self {
        Self {
            prec,
            ..self.clone()
        }
    }

    /// The same point with a value for a bound variable.
    pub(crate) fn with(&self, name: &'a str, value: Rational) -> Self {
        let mut inner = self.clone();
        inner.bound.push((name, value));
        inner
    }

    /// The value of a name.
    pub(super) fn value(&self, name: &str) -> Option<&Rational> {
        let bound = self.bound.iter().rev().find(|(own, _)| *own == name);
        let found = bound.or_else(|| {
            let at = self.free.binary_search_by(|(own, _)| (*own).cmp(name));
            self.free.get(at.ok()?)
        });
        found.map(|(_, value)| value)
    }
}

/// The value of an expression at a point.
pub(crate) fn ball<'a>(
    expr: &'a Expr,
    point: &Point<'a>,
    budget: &Budget,
) -> Result<Complex, NoValue> {
    let prec = point.prec;
    budget.charge(ball_cost::node(prec))?;
    let at = |expr: &'a Expr| ball(expr, point, budget);
    let value = match expr {
        Expr::Number(value) => {
            budget.charge(value.bits() / 32)?;
            Ball::rational(value, prec)?.into()
        }
        Expr::Symbol(name) => {
            let value = point.value(name).ok_or(NoValue::Unsupported)?;
            Ball::rational(value, prec)?.into()
        }
        Expr::Constant(constant @ (Constant::Pi | Constant::E)) => {
            budget.charge(ball_cost::constant(prec))?;
            if *constant == Constant::Pi {
                elementary::pi(prec)?.into()
            } else {
                elementary::e(prec)?.into()
            }
        }
        Expr::Constant(Constant::I) => Complex::i(),
        Expr::Sum(items) => {
            let mut total = Complex::from(Ball::small(0));
            for item in items {
                total = total.add(&at(item)?, prec)?;
            }
            total
        }
        Expr::Product(items) => {
            let mut total = Complex::from(Ball::small(1));
            for item in items {
                total = total.mul(&at(item)?, prec)?;
            }
            total
        }
        Expr::Power(pair) => match (&pair.0, &pair.1) {
            (base, Expr::Number(exponent)) => {
                budget.charge(ball_cost::power(exponent.num().bits(), prec))?;
                if !exponent.is_integer() {
                    let index = exponent.den().to_u64().unwrap_or(u64::MAX);
                    budget.charge(ball_cost::root(index.min(1 << 20), prec))?;
                }
                at(base)?.powq(exponent, prec)?
            }
            (Expr::Constant(Constant::E), exponent) => {
                budget.charge(ball_cost::exponential(prec))?;
                let exponent = at(exponent)?;
                point.note_growth(&exponent);
                exponent.exp(prec)?
            }
            (base, exponent) => {
                let (base, exponent) = (at(base)?, at(exponent)?);
                match exact_integer(&exponent) {
                    Some(n) => {
                        budget.charge(ball_cost::power(
                            u64::from(64 - n.unsigned_abs().leading_zeros()),
                            prec,
                        ))?;
                        base.powi(n, prec)?
                    }
                    None => {
                        budget.charge(
                            ball_cost::logarithm(prec) + 2 * ball_cost::exponential(prec),
                        )?;
                        point.note_growth(&exponent);
                        base.pow(&exponent, prec)?
                    }
                }
            }
        },
        Expr::Call(function, items) => {
            let mut arguments = Vec::with_capacity(items.len());
            for item in items {
                arguments.push(at(item)?);
            }
            call(*function, &arguments, point, budget)?
        }
        Expr::Apply(name, items) => {
            // An unknown function has equal values at equal arguments.
            let mut state = mix(hash(name) ^ point.seed);
            for item in items {
                state = mix(state ^ argument_hash(item, point, budget)?);
            }
            budget.charge(100)?;
            Ball::dyadic(BigInt::from(mix(state) >> 3) + (BigInt::one() << 61), -61).into()
        }
        Expr::Quantity(inner, unit) if &**unit == "°" => {
            let angle = at(inner)?.mul(&elementary::pi(prec)?.into(), prec)?;
            angle.mul(&Ball::small(180).recip(prec)?.into(), prec)?
        }
        Expr::Cases(rows) => branches::value(rows, point, budget)?,
        Expr::Bound(binder @ (Binder::Sum | Binder::Product), name, parts) => {
            series(*binder, name, parts, point, budget)?
        }
        Expr::Bound(Binder::Integral, name, parts) => match parts.as_slice() {
            [low, high, body] => approach::integral(name, [low, high], body, point, budget)?,
            _ => return Err(NoValue::Unsupported),
        },
        Expr::Bound(Binder::Limit, name, parts) => match parts.as_slice() {
            [target, body] => approach::limit(name, target, body, point, budget)?,
            _ => return Err(NoValue::Unsupported),
        },
        _ => return Err(NoValue::Unsupported),
    };
    if !point.complex && value.im.is_some() {
        return Err(NoValue::AtPoint(BallError::Undefined));
    }
    Ok(value)
}

/// A hash of an argument of an unknown function: of its value, rounded to [`ARGUMENT_BITS`] bits
/// after the point, or of its normal form if it has no value.
fn argument_hash<'a>(item: &'a Expr, point: &Point<'a>, budget: &Budget) -> Result<u64, NoValue> {
    let value = match ball(item, &point.at_precision(ARGUMENT_PREC), budget) {
        Ok(value) => value
            .real()
            .ok()
            .and_then(|real| real.fixed(ARGUMENT_BITS + 1).ok()),
        Err(NoValue::Exhausted) => return Err(NoValue::Exhausted),
        Err(_) => None,
    };
    let Some(value) = value else {
        charge_text(item, budget)?;
        return Ok(hash(&item.to_string()));
    };
    let rounded: BigInt = (value + 1) >> 1u8;
    budget.charge(rounded.bits() / 16)?;
    let digits = rounded.iter_u64_digits();
    let sign = u64::from(rounded.sign() == num_bigint::Sign::Minus);
    Ok(digits.fold(sign, |state, digit| mix(state ^ digit)))
}

/// Charges the texts of the arguments of an unknown function, beyond the few nodes that most have.
fn charge_text(expr: &Expr, budget: &Budget) -> Result<(), Exhausted> {
    const NODES: u64 = 8;
    let size = Cell::new(0u64);
    let exceeded = expr.any(&|part| {
        let digits = part.as_number().map_or(0, |value| value.bits() / 64);
        size.set(size.get() + 1 + digits);
        size.get() > budget.left()
    });
    if exceeded {
        return budget.charge(size.get());
    }
    budget.charge(size.get().saturating_sub(NODES) * 20)
}

fn exact_integer(value: &Complex) -> Option<i64> {
    let real = value.real().ok()?;
    if !real.is_exact() {
        return None;
    }
    let floor = real.floor().ok()?;
    let back = Ball::integer(floor.clone());
    let same = real.sub(&back, 256).ok()?.is_zero();
    same.then(|| floor.to_i64()).flatten()
}

fn series<'a>(
    binder: Binder,
    name: &'a str,
    parts: &'a [Expr],
    point: &Point<'a>,
    budget: &Budget,
) -> Result<Complex, NoValue> {
    let [low, high, body] = parts else {
        return Err(NoValue::Unsupported);
    };
    if matches!(high, Expr::Ellipsis) || name.is_empty() {
        return Err(NoValue::Unsupported);
    }
    let end = |expr: &'a Expr| -> Result<i64, NoValue> {
        exact_integer(&ball(expr, point, budget)?).ok_or(NoValue::AtPoint(BallError::Undefined))
    };
    if matches!(high, Expr::Constant(Constant::Infinity)) {
        return if binder == Binder::Sum {
            approach::series(name, end(low)?, body, point, budget)
        } else {
            Err(NoValue::Unsupported)
        };
    }
    let ends = [low, high];
    let (low, high) = (end(low)?, end(high)?);
    if high < low && has_free_end(ends, point, budget)? {
        return Err(NoValue::AtPoint(BallError::Undefined));
    }
    if high.checked_sub(low).is_none_or(|count| count > MAX_TERMS) {
        return Err(NoValue::AtPoint(BallError::TooLarge));
    }
    let sum = binder == Binder::Sum;
    let mut total = Complex::from(Ball::small(i64::from(!sum)));
    budget.charge(6 * point.bound.len() as u64)?;
    let mut inner = point.with(name, Rational::small(low));
    for n in low..=high {
        if let Some((_, value)) = inner.bound.last_mut() {
            *value = Rational::small(n);
        }
        let term = ball(body, &inner, budget)?;
        total = if sum {
            total.add(&term, point.prec)?
        } else {
            total.mul(&term, point.prec)?
        };
    }
    Ok(total)
}

/// Whether the ends of a sum are functions of free variables only. Such a sum has a value only
/// where it has a term: `n` is a natural number in `\sum_{k=1}^n k`. Sums in the range of another
/// index may be empty.
fn has_free_end(ends: [&Expr; 2], point: &Point<'_>, budget: &Budget) -> Result<bool, Exhausted> {
    let mut symbols = false;
    for end in ends {
        charge_visit(end, 1 + point.bound.len() as u64 / 4, budget)?;
        let is_bound = |part: &Expr| {
            matches!(part, Expr::Symbol(name)
                if point.bound.iter().any(|(own, _)| **own == **name))
        };
        if end.any(&is_bound) {
            return Ok(false);
        }
        symbols |= end.any(&|part| matches!(part, Expr::Symbol(_)));
    }
    Ok(symbols)
}

fn call(
    function: Function,
    arguments: &[Complex],
    point: &Point<'_>,
    budget: &Budget,
) -> Result<Complex, NoValue> {
    let prec = point.prec;
    budget.charge(match function {
        Function::Abs
        | Function::Sign
        | Function::Floor
        | Function::Ceil
        | Function::Min
        | Function::Max
        | Function::Re
        | Function::Im
        | Function::Conjugate
            if arguments.iter().all(|argument| argument.im.is_none()) =>
        {
            ball_cost::node(prec)
        }
        _ => ball_cost::exponential(prec),
    })?;
    if matches!(
        function,
        Function::Sin
            | Function::Cos
            | Function::Tan
            | Function::Cot
            | Function::Sec
            | Function::Csc
    ) {
        // The reduction of a large angle needs as many digits of pi, and computing them is
        // quadratic in their number.
        let size = arguments.first().map_or(0, |angle| {
            u64::try_from(angle.magnitude().max(0)).unwrap_or(0)
        });
        budget.charge((size / 16).saturating_mul(size / 16))?;
    }
    let one = Complex::from(Ball::small(1));
    let real = |at: usize| -> Result<&Ball, NoValue> {
        Ok(arguments.get(at).ok_or(NoValue::Unsupported)?.real()?)
    };
    let integer = |at: usize| -> Result<i64, NoValue> {
        exact_integer(arguments.get(at).ok_or(NoValue::Unsupported)?)
            .ok_or(NoValue::AtPoint(BallError::Undefined))
    };
    let first = arguments.first().ok_or(NoValue::Unsupported)?;
    let quotient = |num: Ball, den: &Ball| -> Result<Complex, NoValue> {
        Ok(num.mul(&den.recip(prec)?, prec)?.into())
    };
    let exponentials = || -> Result<(Ball, Ball), NoValue> {
        // The square of the smaller one is what `tanh` differs from 1 by.
        point.note_growth(&first.add(first, prec)?);
        let up = elementary::exp(real(0)?, prec)?;
        let down = up.recip(prec)?;
        Ok((up, down))
    };
    Ok(match function {
        Function::Sin => elementary::sin_cos(real(0)?, prec)?.0.into(),
        Function::Cos => elementary::sin_cos(real(0)?, prec)?.1.into(),
        Function::Tan => {
            let (sin, cos) = elementary::sin_cos(real(0)?, prec)?;
            quotient(sin, &cos)?
        }
        Function::Cot => {
            let (sin, cos) = elementary::sin_cos(real(0)?, prec)?;
            quotient(cos, &sin)?
        }
        Function::Sec => {
            let (_, cos) = elementary::sin_cos(real(0)?, prec)?;
            cos.recip(prec)?.into()
        }
        Function::Csc => {
            let (sin, _) = elementary::sin_cos(real(0)?, prec)?;
            sin.recip(prec)?.into()
        }
        Function::Arcsin => arcsin(real(0)?, prec)?.into(),
        Function::Arccos => {
            let half_pi = elementary::pi(prec)?.scaled(-1);
            half_pi.sub(&arcsin(real(0)?, prec)?, prec)?.into()
        }
        Function::Arctan => elementary::atan(real(0)?, prec)?.into(),
        Function::Arccot => {
            let half_pi = elementary::pi(prec)?.scaled(-1);
            half_pi
                .sub(&elementary::atan(real(0)?, prec)?, prec)?
                .into()
        }
        Function::Sinh => {
            let (up, down) = exponentials()?;
            up.sub(&down, prec)?.scaled(-1).into()
        }
        Function::Cosh => {
            let (up, down) = exponentials()?;
            up.add(&down, prec)?.scaled(-1).into()
        }
        Function::Tanh => {
            let (up, down) = exponentials()?;
            quotient(up.sub(&down, prec)?, &up.add(&down, prec)?)?
        }
        Function::Arsinh | Function::Arcosh => {
            // ln(x + sqrt(x² ± 1))
            let square = first.mul(first, prec)?;
            let inner = if function == Function::Arsinh {
                square.add(&one, prec)?
            } else {
                square.sub(&one, prec)?
            };
            first.add(&inner.sqrt(prec)?, prec)?.ln(prec)?
        }
        Function::Artanh => {
            // ln((1 + x) / (1 - x)) / 2
            let ratio = one
                .add(first, prec)?
                .mul(&one.sub(first, prec)?.recip(prec)?, prec)?;
            let twice = ratio.ln(prec)?;
            Complex {
                re: twice.re.scaled(-1),
                im: twice.im.map(|im| im.scaled(-1)),
            }
        }
        Function::Ln => {
            if !point.complex && first.re.sign()? < 0 {
                return Err(NoValue::AtPoint(BallError::Undefined));
            }
            budget.charge(ball_cost::logarithm(prec))?;
            let log = first.ln(prec)?;
            match arguments.get(1) {
                Some(base) => log.mul(&base.ln(prec)?.recip(prec)?, prec)?,
                None => log,
            }
        }
        Function::Abs => first.abs(prec)?.into(),
        Function::Re => first.re.clone().into(),
        Function::Im => first.im.clone().unwrap_or_else(|| Ball::small(0)).into(),
        Function::Conjugate => Complex {
            re: first.re.clone(),
            im: first.im.as_ref().map(Ball::neg),
        },
        Function::Arg => first.argument(prec)?.into(),
        Function::Sign => Ball::small(i64::from(real(0)?.sign()?)).into(),
        Function::Floor => Ball::integer(real(0)?.floor()?).into(),
        Function::Ceil => Ball::integer(-real(0)?.neg().floor()?).into(),
        Function::Factorial => {
            let n = integer(0)?;
            if !(0..=MAX_TERMS).contains(&n) {
                return Err(NoValue::AtPoint(BallError::Undefined));
            }
            let mut total = Ball::small(1);
            budget.charge(n.unsigned_abs() * ball_cost::node(prec))?;
            for k in 2..=n {
                total = total.mul(&Ball::small(k), prec)?;
            }
            total.into()
        }
        Function::DoubleFactorial => {
            let n = integer(0)?;
            if !(-1..=MAX_TERMS).contains(&n) {
                return Err(NoValue::AtPoint(BallError::Undefined));
            }
            budget.charge(n.unsigned_abs() * ball_cost::node(prec))?;
            (1..=n)
                .rev()
                .step_by(2)
                .try_fold(Ball::small(1), |total, k| total.mul(&Ball::small(k), prec))?
                .into()
        }
        Function::Binomial => {
            let (n, k) = (integer(0)?, integer(1)?);
            if n < 0 || k < 0 || k > n {
                return Err(NoValue::AtPoint(BallError::Undefined));
            }
            let k = k.min(n - k);
            if k > MAX_TERMS {
                return Err(NoValue::AtPoint(BallError::TooLarge));
            }
            budget.charge(k.unsigned_abs() * ball_cost::node(prec) * 3)?;
            let mut total = Ball::small(1);
            for j in 1..=k {
                total = total
                    .mul(&Ball::small(n - k + j), prec)?
                    .mul(&Ball::small(j).recip(prec)?, prec)?;
            }
            total.into()
        }
        Function::Mod
            if let (Ok(a), Ok(m)) = (integer(0), integer(1))
                && m > 0 =>
        {
            Ball::small(a.rem_euclid(m)).into()
        }
        Function::Mod => {
            let (a, m) = (real(0)?, real(1)?);
            let times = a.mul(&m.recip(prec)?, prec)?.floor()?;
            a.sub(&m.mul(&Ball::integer(times), prec)?, prec)?.into()
        }
        Function::Gcd | Function::Lcm => {
            use num_integer::Integer;
            let mut total = integer(0)?;
            for at in 1..arguments.len() {
                let next = integer(at)?;
                if total == i64::MIN || next == i64::MIN {
                    return Err(NoValue::AtPoint(BallError::TooLarge));
                }
                total = if function == Function::Gcd {
                    total.gcd(&next)
                } else {
                    let over = total.gcd(&next).max(1);
                    (total / over)
                        .checked_mul(next)
                        .ok_or(NoValue::AtPoint(BallError::TooLarge))?
                };
            }
            Ball::small(total).into()
        }
        Function::Min | Function::Max => {
            let mut best = real(0)?.clone();
            for at in 1..arguments.len() {
                let next = real(at)?;
                let difference = next.sub(&best, prec)?;
                match difference.sign() {
                    Ok(sign) if (sign < 0) == (function == Function::Min) => best = next.clone(),
                    Ok(_) => {}
                    // Either may be the extreme: the ball contains both.
                    Err(_) => best = best.widened(&difference.abs(), prec)?,
                }
            }
            best.into()
        }
        Function::Det | Function::Residue => return Err(NoValue::Unsupported),
    })
}

/// `arcsin x = 2 arctan(x / (1 + sqrt(1 - x²)))`, which is stable at both ends of the domain.
fn arcsin(x: &Ball, prec: u64) -> Result<Ball, NoValue> {
    let rest = Ball::small(1).sub(&x.mul(x, prec)?, prec)?;
    let root = rest.root(2, prec)?;
    let slope = x.mul(&Ball::small(1).add(&root, prec)?.recip(prec)?, prec)?;
    Ok(elementary::atan(&slope, prec)?.scaled(1))
}

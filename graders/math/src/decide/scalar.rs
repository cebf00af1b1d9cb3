//! Whether two values are the same number, or the same function of their variables.
//!
//! Rationals are compared exactly, rational functions modulo random primes, constants by certified
//! balls and a separation bound, and other functions by certified balls at random points of the
//! common domain. Values that cannot be decided are not equal.

use std::collections::BTreeMap;
use std::hash::{Hash as _, Hasher as _};

use super::evaluate::{FNV_OFFSET, Fnv, NoValue, Point, ball, residue};
use super::points::Points;
use super::rule::Rule;
use super::sampled::{MAX_ROUNDS, REQUIRED_POINTS, differ_on_pieces, sampled};
use super::{approach, formal, rename, separation};
use crate::budget::{Budget, Exhausted};
use crate::normal::derive::derivative;
use crate::normal::fold;
use crate::number::Rational;
use crate::number::ball::{Ball, BallError, BallResult};
use crate::number::complex::Complex;
use crate::number::elementary;
use crate::number::residue::{Field, mix};
use crate::tree::charged::{charge_visit, copied, identical, substituted};
use crate::tree::{Binder, Constant, Expr, Function};

/// Whether two values are equal, and the rule that decided.
pub(crate) type Decision = Result<(bool, Rule), Exhausted>;

/// Highest precision at which constants are compared, in bits. The step budget is spent well before
/// unless the expressions are small.
const MAX_PRECISION: u64 = 24_000;

// `Complex::pow` computes logarithms with up to 80 bits more.
const _: () = assert!(MAX_PRECISION + 80 <= elementary::MAX_PRECISION);

/// Most terms that are compared to find a common one.
const MAX_CONSTANTS: usize = 4;

/// Steps of hashing a node.
const HASH_STEPS: u64 = 3;

/// Steps of collecting the symbols and sizes of a node.
const COLLECT_STEPS: u64 = 4;

/// Properties of an expression that select how it is compared.
#[derive(Debug, Clone, Copy, Default)]
struct Features {
    symbols: bool,
    /// It contains anything but rational operations on numbers, symbols, pi and e.
    transcendental: bool,
    imaginary: bool,
    nested_constant: bool,
    /// It contains functions with jumps, which are at integers and simple fractions.
    jumps: bool,
    /// It contains limits, definite integrals or infinite sums.
    approached: bool,
}

fn collect_features(expr: &Expr, found: &mut Features) {
    match expr {
        Expr::Number(_) => return,
        Expr::Symbol(_) | Expr::Apply(..) => found.symbols = true,
        Expr::Constant(Constant::I) => {
            found.imaginary = true;
            found.transcendental = true;
        }
        Expr::Constant(Constant::Infinity) => found.transcendental = true,
        Expr::Constant(_) => found.nested_constant = true,
        Expr::Power(pair) => {
            if !pair.1.as_number().is_some_and(Rational::is_integer) {
                found.transcendental = true;
            }
        }
        Expr::Sum(_) | Expr::Product(_) => {}
        Expr::Call(Function::Re | Function::Im | Function::Arg | Function::Conjugate, _) => {
            found.transcendental = true;
            found.imaginary = true;
        }
        Expr::Call(Function::Floor | Function::Ceil | Function::Mod | Function::Sign, _) => {
            found.transcendental = true;
            found.jumps = true;
        }
        other => {
            found.transcendental = true;
            found.approached |= approach::is_approached(other);
        }
    }
    for child in expr.children() {
        collect_features(child, found);
    }
}

/// Whether two folded values are equal.
pub(crate) fn same(a: &Expr, b: &Expr, budget: &Budget) -> Decision {
    if identical(a, b, budget)? {
        return Ok((true, Rule::SameTree));
    }
    if let (Expr::Number(_), Expr::Number(_)) = (a, b) {
        // Both are in lowest terms, so different parts mean different numbers.
        return Ok((false, Rule::Rational));
    }
    // The points do not depend on the order of the sides.
    let (a, b) = if a <= b { (a, b) } else { (b, a) };
    let mut found = Features::default();
    collect_features(a, &mut found);
    collect_features(b, &mut found);
    if !found.transcendental {
        return identity(a, b, budget);
    }
    // Symbols and sizes are collected before anything is evaluated.
    charge_visit(a, COLLECT_STEPS, budget)?;
    charge_visit(b, COLLECT_STEPS, budget)?;
    if let Some(equal) = antiderivatives(a, b, budget)? {
        return Ok((equal, Rule::Antiderivative));
    }
    if let Some((a, b)) = without_common_constant(a, b, budget)? {
        return same(&a, &b, budget);
    }
    if found.symbols && formal::same(a, b, found.imaginary, budget)? {
        return Ok((true, Rule::Identity));
    }
    if found.approached {
        return approached(a, b, found.imaginary, budget);
    }
    if !found.symbols {
        return constant(a, b, budget);
    }
    if found.jumps && differ_at_simple_points(a, b, budget)? {
        return Ok((false, Rule::Sampled));
    }
    sampled(a, b, found.imaginary, budget)
}

/// Two sums without a term that both have, a symbol that occurs nowhere else: the constant of
/// integration in `ln x + C`.
fn without_common_constant(
    a: &Expr,
    b: &Expr,
    budget: &Budget,
) -> Result<Option<(Expr, Expr)>, Exhausted> {
    let (Expr::Sum(left), Expr::Sum(right)) = (a, b) else {
        return Ok(None);
    };
    budget.charge((left.len() + right.len()) as u64)?;
    let names = left.iter().filter(|term| matches!(term, Expr::Symbol(_)));
    for common in names.take(MAX_CONSTANTS) {
        let rest = |terms: &[Expr]| -> Result<Option<Expr>, Exhausted> {
            budget.charge(2 * terms.len() as u64)?;
            let Some(at) = terms.iter().position(|term| term == common) else {
                return Ok(None);
            };
            let mut others = Vec::with_capacity(terms.len());
            for (_, term) in terms.iter().enumerate().filter(|(own, _)| *own != at) {
                others.push(copied(term, budget)?);
            }
            if others.iter().any(|term| term.any(&|part| part == common)) {
                return Ok(None);
            }
            let one = if others.len() == 1 {
                others.pop()
            } else {
                None
            };
            Ok(Some(one.unwrap_or(Expr::Sum(others))))
        };
        if let (Some(left), Some(right)) = (rest(left)?, rest(right)?) {
            return Ok(Some((left, right)));
        }
    }
    Ok(None)
}

/// Whether two expressions with jumps differ at integers or simple fractions, which random points
/// do not hit: `⌈x⌉` and `⌊x⌋ + 1` differ only at integers.
fn differ_at_simple_points(a: &Expr, b: &Expr, budget: &Budget) -> Result<bool, Exhausted> {
    let points = Points::of(a, b, 0, false);
    for (num, den) in [
        (1, 1),
        (6, 1),
        (-3, 1),
        (0, 1),
        (12, 1),
        (1, 2),
        (-5, 2),
        (2, 3),
        (7, 4),
        (-1, 3),
    ] {
        points.charge(budget)?;
        let values: BTreeMap<&str, Expr> = (0i64..)
            .zip(points.symbols())
            .map(|(step, (name, whole))| {
                let value = Rational::ratio(num + step * den, if *whole { 1 } else { den });
                (*name, Expr::Number(value))
            })
            .collect();
        let value = |name: &str| values.get(name);
        let left = fold(&substituted(a, &value, budget)?, budget)?;
        let right = fold(&substituted(b, &value, budget)?, budget)?;
        if let (Expr::Number(left), Expr::Number(right)) = (left, right)
            && left != right
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Seed that depends on all of the two expressions, but not on their order.
pub(super) fn seed(a: &Expr, b: &Expr, budget: &Budget) -> Result<u64, Exhausted> {
    let of = |expr: &Expr| -> Result<u64, Exhausted> {
        charge_visit(expr, HASH_STEPS, budget)?;
        let mut hasher = Fnv(FNV_OFFSET);
        expr.hash(&mut hasher);
        Ok(mix(hasher.finish()))
    };
    let seed = of(a)? ^ of(b)?;
    #[cfg(test)]
    let seed = seed ^ super::choice_of_points::CHOICE.get();
    Ok(seed)
}

fn identity(a: &Expr, b: &Expr, budget: &Budget) -> Decision {
    let seed = seed(a, b, budget)?;
    let mut agreed = 0;
    for round in 0..8 {
        let field = Field::new(mix(seed.wrapping_add(round)));
        let point = mix(seed ^ (round << 32));
        let values = (
            residue(a, field, point, budget),
            residue(b, field, point, budget),
        );
        match values {
            (Ok(a), Ok(b)) => {
                if !field.same(a, b) {
                    return Ok((false, Rule::Identity));
                }
                agreed += 1;
                if agreed == 2 {
                    return Ok((true, Rule::Identity));
                }
            }
            (Err(NoValue::Exhausted), _) | (_, Err(NoValue::Exhausted)) => return Err(Exhausted),
            // A pole at this point or modulo this prime.
            _ => {}
        }
    }
    Ok((false, Rule::Identity))
}

/// Whether the ratio of two expressions is the same constant at all points; it must not be 0, and
/// must be positive if `positive` is set.
pub(crate) fn proportional(
    a: &Expr,
    b: &Expr,
    positive: bool,
    budget: &Budget,
) -> Result<bool, Exhausted> {
    let (a, b) = if a <= b { (a, b) } else { (b, a) };
    let mut found = Features::default();
    collect_features(a, &mut found);
    let a_varies = std::mem::take(&mut found.symbols);
    collect_features(b, &mut found);
    // Any two constants are multiples of each other, but `8 = 7` and `3 = 2` are different
    // equations.
    if !(a_varies && found.symbols) {
        return Ok(false);
    }
    if found.transcendental || positive {
        return proportional_by_balls(a, b, positive, found.imaginary, budget);
    }
    let seed = seed(a, b, budget)?;
    let field = Field::new(seed);
    let mut first = None;
    let mut agreed = 0;
    for round in 0..10 {
        let point = mix(seed ^ (round << 32));
        let (a, b) = match (
            residue(a, field, point, budget),
            residue(b, field, point, budget),
        ) {
            (Ok(a), Ok(b)) => (a, b),
            (Err(NoValue::Exhausted), _) | (_, Err(NoValue::Exhausted)) => return Err(Exhausted),
            _ => continue,
        };
        if a.is_zero() || b.is_zero() {
            return Ok(false);
        }
        match first {
            None => first = Some((a, b)),
            Some((first_a, first_b)) => {
                if !field.same(field.mul(a, first_b), field.mul(b, first_a)) {
                    return Ok(false);
                }
                agreed += 1;
                if agreed == 3 {
                    return Ok(true);
                }
            }
        }
    }
    Ok(false)
}

fn proportional_by_balls(
    a: &Expr,
    b: &Expr,
    positive: bool,
    complex: bool,
    budget: &Budget,
) -> Result<bool, Exhausted> {
    let points = Points::of(a, b, seed(a, b, budget)?, complex);
    let mut first = None;
    let mut agreed = 0;
    for round in 0..MAX_ROUNDS {
        let point = points.at(round, 256, budget)?;
        let (a, b) = match (ball(a, &point, budget), ball(b, &point, budget)) {
            (Ok(a), Ok(b)) => (a, b),
            (Err(NoValue::Exhausted), _) | (_, Err(NoValue::Exhausted)) => return Err(Exhausted),
            (Err(NoValue::Unsupported), _) | (_, Err(NoValue::Unsupported)) => return Ok(false),
            _ => continue,
        };
        if a.contains_zero() || b.contains_zero() {
            return Ok(false);
        }
        if positive {
            match (a.real().and_then(Ball::sign), b.real().and_then(Ball::sign)) {
                (Ok(a), Ok(b)) if a == b => {}
                _ => return Ok(false),
            }
        }
        let Some((first_a, first_b)) = &first else {
            first = Some((a, b));
            continue;
        };
        match difference_of_ratios((&a, &b), (first_a, first_b)) {
            Ok((difference, size)) if difference.contains_zero() => {
                if difference.magnitude() > size - 100 {
                    continue;
                }
            }
            _ => return Ok(false),
        }
        agreed += 1;
        if agreed == REQUIRED_POINTS {
            break;
        }
    }
    let (Some((first_a, first_b)), true) = (&first, agreed == REQUIRED_POINTS) else {
        return Ok(false);
    };
    let different = differ_on_pieces((a, b), &points, complex, 256, budget, &mut |point| {
        let Some((a, b)) = both(a, b, point, budget)? else {
            return Ok(false);
        };
        let ratios = difference_of_ratios((&a, &b), (first_a, first_b));
        Ok(ratios.is_ok_and(|(difference, _)| !difference.contains_zero()))
    })?;
    Ok(!different)
}

/// The difference of two ratios, multiplied by both denominators, and its size.
fn difference_of_ratios(
    (a, b): (&Complex, &Complex),
    (first_a, first_b): (&Complex, &Complex),
) -> BallResult<(Complex, i64)> {
    let left = a.mul(first_b, 256)?;
    let difference = left.sub(&b.mul(first_a, 256)?, 256)?;
    Ok((difference, a.magnitude() + first_b.magnitude()))
}

/// The values of two expressions at a point; `None` if one has none.
fn both<'a>(
    a: &'a Expr,
    b: &'a Expr,
    point: &Point<'a>,
    budget: &Budget,
) -> Result<Option<(Complex, Complex)>, Exhausted> {
    match (ball(a, point, budget), ball(b, point, budget)) {
        (Ok(a), Ok(b)) => Ok(Some((a, b))),
        (Err(NoValue::Exhausted), _) | (_, Err(NoValue::Exhausted)) => Err(Exhausted),
        _ => Ok(None),
    }
}

fn constant(a: &Expr, b: &Expr, budget: &Budget) -> Decision {
    let bound = separation::bound(a, b, budget)?;
    let mut prec = 128;
    loop {
        let point = Point::of_constant(true, prec);
        let (left, right) = match (ball(a, &point, budget), ball(b, &point, budget)) {
            (Ok(left), Ok(right)) => (left, right),
            (Err(NoValue::Exhausted), _) | (_, Err(NoValue::Exhausted)) => return Err(Exhausted),
            (Err(NoValue::AtPoint(BallError::Straddles)), _)
            | (_, Err(NoValue::AtPoint(BallError::Straddles)))
                if prec < 2_048 =>
            {
                prec *= 2;
                continue;
            }
            // Without a value they could be equal only as trees.
            _ => return Ok((false, Rule::Apart)),
        };
        let Ok(difference) = left.sub(&right, prec) else {
            return Ok((false, Rule::Apart));
        };
        if !difference.contains_zero() {
            return Ok((false, Rule::Apart));
        }
        // `1 + e^-500` is 1 to 700 bits.
        let bits = if bound.proved {
            bound.bits
        } else {
            bound.bits.saturating_add(point.growth())
        };
        let limit = i64::try_from(bits).unwrap_or(i64::MAX);
        if difference.is_zero() || difference.magnitude() < limit.saturating_neg() {
            return Ok((
                true,
                if bound.proved {
                    Rule::Algebraic
                } else {
                    Rule::Precision
                },
            ));
        }
        if prec >= MAX_PRECISION {
            return Err(Exhausted);
        }
        // The precision that the bound needs beyond the size of the values, at most four times the
        // previous one.
        let size = u64::try_from(left.magnitude().max(0)).unwrap_or(u64::MAX);
        let required = bits.saturating_add(size).saturating_add(64);
        prec = required
            .clamp(prec + 64, (prec * 4).max(prec + 64))
            .min(MAX_PRECISION);
    }
}

/// Compares the derivatives if a side is an indefinite integral, which is known only up to a
/// constant. `None` if neither side is, or a derivative is not found.
fn antiderivatives(a: &Expr, b: &Expr, budget: &Budget) -> Result<Option<bool>, Exhausted> {
    fn variable(expr: &Expr) -> Option<&str> {
        match expr {
            Expr::Bound(Binder::Integral, name, parts) if parts.len() == 1 => Some(name),
            Expr::Sum(items) | Expr::Product(items) => items.iter().find_map(variable),
            _ => None,
        }
    }
    let Some(name) = variable(a).or_else(|| variable(b)) else {
        return Ok(None);
    };
    // A constant of integration is a number or has a usual name.
    let has_unknown_symbol = |expr: &Expr, other: &Expr| {
        let known = rename::symbols(other);
        expr.any(&|part| match part {
            Expr::Symbol(own) => {
                **own != *name && !rename::CONSTANTS.contains(&&**own) && !known.contains(&**own)
            }
            _ => false,
        })
    };
    if has_unknown_symbol(a, b) || has_unknown_symbol(b, a) {
        return Ok(Some(false));
    }
    let (Some(a), Some(b)) = (derivative(a, name, budget)?, derivative(b, name, budget)?) else {
        return Ok(None);
    };
    Ok(Some(
        same(&fold(&a, budget)?, &fold(&b, budget)?, budget)?.0,
    ))
}

/// Whether two expressions with limits, integrals or infinite sums agree at two points, to the
/// precision of those.
fn approached(a: &Expr, b: &Expr, complex: bool, budget: &Budget) -> Decision {
    let points = Points::of(a, b, seed(a, b, budget)?, complex);
    let required = if points.symbols().is_empty() { 1 } else { 2 };
    let mut agreed = 0;
    // The second point is negative.
    let rounds = [0, 3, 1, 2].into_iter().chain(4..MAX_ROUNDS / 2);
    for round in rounds {
        let point = points.at(round, approach::PREC, budget)?;
        let (left, right) = match (ball(a, &point, budget), ball(b, &point, budget)) {
            (Ok(left), Ok(right)) => (left, right),
            (Err(NoValue::Exhausted), _) | (_, Err(NoValue::Exhausted)) => return Err(Exhausted),
            (Err(NoValue::Unsupported), _) | (_, Err(NoValue::Unsupported)) => break,
            _ if points.symbols().is_empty() => break,
            _ => continue,
        };
        let Ok(difference) = left.sub(&right, approach::PREC) else {
            continue;
        };
        // Compared with 0, the uncertainty is that of the terms that cancel.
        let size = if left.is_zero() || right.is_zero() {
            0
        } else {
            left.magnitude().max(right.magnitude())
        };
        if !difference.contains_zero()
            || difference.magnitude() > size.saturating_sub(approach::AGREED_BITS - 8)
        {
            break;
        }
        agreed += 1;
        if agreed == required {
            break;
        }
    }
    if agreed < required {
        return Ok((false, Rule::Approached));
    }
    let different = differ_on_pieces(
        (a, b),
        &points,
        complex,
        approach::PREC,
        budget,
        &mut |at| {
            let Some((left, right)) = both(a, b, at, budget)? else {
                return Ok(false);
            };
            let difference = left.sub(&right, approach::PREC);
            Ok(difference.is_ok_and(|difference| !difference.contains_zero()))
        },
    )?;
    Ok((!different, Rule::Approached))
}

/// The sign of `a - b` for real constants; `None` if it cannot be decided.
pub(crate) fn compare(a: &Expr, b: &Expr, budget: &Budget) -> Result<Option<i8>, Exhausted> {
    if let (Expr::Number(a), Expr::Number(b)) = (a, b) {
        budget.charge(20 + (a.bits() / 64).saturating_mul(b.bits() / 64) / 10)?;
        let (Some(below), Some(above)) = (a.less(b), b.less(a)) else {
            return Ok(None);
        };
        return Ok(Some(i8::from(above) - i8::from(below)));
    }
    if same(a, b, budget)?.0 {
        return Ok(Some(0));
    }
    let mut prec = 128;
    while prec <= 2_048 {
        let point = Point::of_constant(false, prec);
        match (ball(a, &point, budget), ball(b, &point, budget)) {
            (Ok(left), Ok(right)) => {
                let difference = left.sub(&right, prec).ok().and_then(|difference| {
                    difference.real().ok().and_then(|real| real.sign().ok())
                });
                if let Some(sign) = difference {
                    return Ok(Some(sign));
                }
            }
            (Err(NoValue::Exhausted), _) | (_, Err(NoValue::Exhausted)) => return Err(Exhausted),
            _ => return Ok(None),
        }
        prec *= 2;
    }
    Ok(None)
}

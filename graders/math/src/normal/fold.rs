//! Exact arithmetic on a tree: constants are computed within size limits, sums and products are
//! flattened and sorted, percent signs and degrees become factors. Numbers that would grow too
//! large stay as they are written.

use num_traits::{One, ToPrimitive, Zero};

use super::derive::derivative;
use super::exact::{exact, remainder};
use super::{indices, matrix};
use crate::budget::{Budget, Exhausted};
use crate::number::Rational;
use crate::parse::hundredth;
use crate::tree::charged::{NODE_BYTES, extra_bytes, replaced};
use crate::tree::{Binder, Constant, Expr, Function, Name};

/// Largest result of a power, in bits.
const MAX_POWER_BITS: u64 = 1 << 17;

/// Roots of this index or above stay as they are written.
const ROOT_INDEX_LIMIT: u32 = 10_000;

/// The normal form of a value.
///
/// # Errors
/// [`Exhausted`] if the work exceeds the budget.
pub(crate) fn fold(expr: &Expr, budget: &Budget) -> Result<Expr, Exhausted> {
    budget.charge(12)?;
    budget.charge_bytes(NODE_BYTES)?;
    Ok(match expr {
        Expr::Sum(items) => sum(all(items, budget)?, budget)?,
        Expr::Product(items) => product(all(items, budget)?, budget)?,
        Expr::Power(pair) => power(
            as_factor(fold(&pair.0, budget)?, budget)?,
            fold(&pair.1, budget)?,
            budget,
        )?,
        Expr::Percent(inner) => product(
            vec![Expr::Number(hundredth()), fold(inner, budget)?],
            budget,
        )?,
        Expr::Quantity(inner, unit) => {
            let inner = fold(inner, budget)?;
            Expr::Quantity(Box::new(inner), unit.clone())
        }
        Expr::Call(function, items) => call(*function, all(items, budget)?, budget)?,
        Expr::Apply(name, items) => {
            let items = all(items, budget)?;
            indices::name_of(name, &items).unwrap_or_else(|| Expr::Apply(name.clone(), items))
        }
        Expr::Bound(Binder::Derivative, name, parts) => {
            let parts = all(parts, budget)?;
            let rate = match parts.first() {
                Some(body) => derivative(body, name, budget)?,
                None => None,
            };
            match rate {
                Some(rate) => fold(&rate, budget)?,
                None => Expr::Bound(Binder::Derivative, name.clone(), parts),
            }
        }
        Expr::Bound(binder, name, parts) if parts.len() > 1 => {
            let mut parts = all(parts, budget)?;
            if let Some(body) = parts.pop() {
                parts.push(indices::with_indices(body, name, budget)?);
            }
            if let (Some(range), Some(body)) = (indices::short_range(*binder, &parts), parts.last())
            {
                let terms = range
                    .map(|value| replaced(body, name, &Expr::int(value), budget))
                    .collect::<Result<_, _>>()?;
                let written = if *binder == Binder::Sum {
                    Expr::Sum(terms)
                } else {
                    Expr::Product(terms)
                };
                return fold(&written, budget);
            }
            // The name of a bound variable does not matter: rename it by its depth.
            let inner = parts.iter().map(bound_depth).max().unwrap_or(0);
            let own: Name = format!("#{}", inner + 1).into();
            if let Some(body) = parts.last_mut() {
                let renamed = replaced(body, name, &Expr::Symbol(own.clone()), budget)?;
                *body = fold(&renamed, budget)?;
            }
            Expr::Bound(
                *binder,
                if name.is_empty() { name.clone() } else { own },
                parts,
            )
        }
        leaf @ (Expr::Number(_) | Expr::Symbol(_) | Expr::Constant(_)) => {
            budget.charge_bytes(extra_bytes(leaf))?;
            leaf.clone()
        }
        other => other.try_map_children(&mut |child| fold(child, budget))?,
    })
}

/// Depth to which bound variables are nested.
fn bound_depth(expr: &Expr) -> usize {
    let below = expr.children().map(bound_depth).max().unwrap_or(0);
    below + usize::from(matches!(expr, Expr::Bound(..)))
}

fn all(items: &[Expr], budget: &Budget) -> Result<Vec<Expr>, Exhausted> {
    items
        .iter()
        .map(|item| as_factor(fold(item, budget)?, budget))
        .collect()
}

/// A degree inside an expression is `pi/180`, a ratio is a quotient.
pub(super) fn as_factor(expr: Expr, budget: &Budget) -> Result<Expr, Exhausted> {
    match expr {
        Expr::Ratio(parts) => match <[Expr; 2]>::try_from(parts) {
            Ok([a, b]) => product(vec![a, power(b, Expr::int(-1), budget)?], budget),
            Err(parts) => Ok(Expr::Ratio(parts)),
        },
        Expr::Quantity(inner, unit) if matches!(&*unit, "°" | "degrees" | "degree") => product(
            vec![
                Expr::Number(Rational::ratio(1, 180)),
                Expr::Constant(Constant::Pi),
                *inner,
            ],
            budget,
        ),
        other => Ok(other),
    }
}

/// The 64-bit limbs of both parts of a number together.
pub(super) fn limbs(value: &Rational) -> u64 {
    value.bits() / 64 + 1
}

/// Cost of a sum or product of two numbers. Fractions need a greatest common divisor, which is
/// quadratic in the size of both, unless one is a multiple of the other, as in `2006!/2004!`.
pub(super) fn cost(a: &Rational, b: &Rational) -> u64 {
    let (a_words, b_words) = (limbs(a), limbs(b));
    let both = a_words + b_words;
    let multiplied = a_words * b_words / 13 + 5;
    let whole_multiple = |a: &Rational, b: &Rational| {
        a.is_integer()
            && b.num().magnitude().is_one()
            && a_words.abs_diff(b_words) < 16
            && (a.num() % b.den()).is_zero()
    };
    if a.is_integer() && b.is_integer() {
        multiplied
    } else if both < 4 {
        multiplied + 15
    } else if whole_multiple(a, b) || whole_multiple(b, a) {
        multiplied + 40 * both
    } else {
        multiplied
            .saturating_add(40 * both)
            .saturating_add(both.saturating_pow(2) / 2)
    }
}

/// Charges a sum or product of two numbers.
fn charge_operation(a: &Rational, b: &Rational, budget: &Budget) -> Result<(), Exhausted> {
    budget.charge(cost(a, b))?;
    budget.charge_bytes(8 * (limbs(a) + limbs(b)))
}

/// A power of a number; `None` if it has no value or is too large.
fn number_power(
    value: &Rational,
    exponent: i64,
    budget: &Budget,
) -> Result<Option<Rational>, Exhausted> {
    if let Some(limbs) = value.pow_limbs(exponent, MAX_POWER_BITS) {
        budget.charge(limbs.pow(2) / 60 + 5 * limbs + 15)?;
        budget.charge_bytes(8 * limbs)?;
    }
    Ok(value.pow(exponent, MAX_POWER_BITS))
}

/// The sum of folded terms.
pub(super) fn sum(items: Vec<Expr>, budget: &Budget) -> Result<Expr, Exhausted> {
    if let Some(total) = matrix::sum(&items, budget)? {
        return Ok(total);
    }
    if let Some(total) = matrix::tuple_sum(&items, budget)? {
        return Ok(total);
    }
    let mut flat = Vec::with_capacity(items.len());
    let mut constant = Rational::small(0);
    for item in items {
        let terms = match item {
            Expr::Sum(inner) => inner,
            other => vec![other],
        };
        for term in terms {
            match &term {
                Expr::Number(value) => {
                    charge_operation(value, &constant, budget)?;
                    match constant.add(value) {
                        Some(total) => constant = total,
                        None => flat.push(term),
                    }
                }
                _ => flat.push(term),
            }
        }
    }
    budget.charge(flat.len() as u64 * 4)?;
    if !constant.is_zero() || flat.is_empty() {
        flat.push(Expr::Number(constant));
    }
    if flat.len() == 1 {
        return Ok(flat.pop().unwrap_or(Expr::Ellipsis));
    }
    flat.sort();
    Ok(Expr::Sum(flat))
}

/// The product of folded factors.
pub(super) fn product(items: Vec<Expr>, budget: &Budget) -> Result<Expr, Exhausted> {
    if items.iter().any(|item| matches!(item, Expr::Matrix(_))) {
        return Ok(matrix::product(&items, budget)?.unwrap_or(Expr::Product(items)));
    }
    if let Some(total) = matrix::tuple_product(&items, budget)? {
        return Ok(total);
    }
    let items = without_braces(items);
    let mut flat = Vec::with_capacity(items.len());
    let mut constant = Rational::small(1);
    for item in items {
        let factors = match item {
            Expr::Product(inner) => inner,
            other => vec![other],
        };
        for factor in factors {
            match &factor {
                Expr::Number(value) => {
                    charge_operation(value, &constant, budget)?;
                    match constant.mul(value) {
                        Some(total) => constant = total,
                        None => flat.push(factor),
                    }
                }
                _ => flat.push(factor),
            }
        }
    }
    let infinite = flat
        .iter()
        .any(|factor| matches!(factor, Expr::Constant(Constant::Infinity)));
    if infinite && flat.len() == 1 && !constant.is_zero() {
        constant = Rational::small(if constant.is_negative() { -1 } else { 1 });
    }
    if constant.is_zero() && !infinite && flat.iter().all(is_finite) {
        return Ok(Expr::int(0));
    }
    if !constant.is_one() || flat.is_empty() {
        flat.push(Expr::Number(constant));
    }
    if flat.len() == 1 {
        return Ok(flat.pop().unwrap_or(Expr::Ellipsis));
    }
    flat.sort();
    Ok(Expr::Product(flat))
}

/// `2\{x + 1\}`: braces around one factor among others are a group. `-\{1\}` subtracts a set.
fn without_braces(mut items: Vec<Expr>) -> Vec<Expr> {
    let taken_away = matches!(items.as_slice(), [sign, _] if sign.is_int(-1));
    if items.len() > 1 && !taken_away {
        for item in &mut items {
            if let Expr::Set(inner) = item
                && inner.len() == 1
                && let Some(inner) = inner.pop()
            {
                *item = inner;
            }
        }
    }
    items
}

/// Whether zero times the factor is certainly zero: it contains no division.
fn is_finite(factor: &Expr) -> bool {
    !factor.any(&|part| match part {
        Expr::Power(pair) => pair.1.as_number().is_none_or(Rational::is_negative),
        Expr::Symbol(_) | Expr::Sum(_) | Expr::Product(_) | Expr::Number(_) => false,
        Expr::Constant(constant) => *constant == Constant::Infinity,
        _ => true,
    })
}

/// The power of a folded base to a folded exponent.
pub(super) fn power(base: Expr, exponent: Expr, budget: &Budget) -> Result<Expr, Exhausted> {
    if let (Expr::Matrix(rows), Expr::Symbol(name)) = (&base, &exponent)
        && matches!(&**name, "T" | "top" | "transpose" | "\\transpose" | "t")
        && let Some(transposed) = matrix::transposed(rows, budget)?
    {
        return Ok(transposed);
    }
    let Expr::Number(raised) = &exponent else {
        return Ok(Expr::power(base, exponent));
    };
    if raised.is_one() {
        return Ok(base);
    }
    match base {
        Expr::Number(value) => {
            if let Some(whole) = raised.to_i64()
                && let Some(result) = number_power(&value, whole, budget)?
            {
                return Ok(Expr::Number(result));
            }
            if let (Some(num), Some(index)) = (raised.num().to_i64(), raised.den().to_u32())
                && index > 1
                && index < ROOT_INDEX_LIMIT
            {
                budget.charge(limbs(&value).pow(2) / 5 + 5 * limbs(&value) + 20)?;
                if let Some(root) = value.root(index)
                    && let Some(result) = number_power(&root, num, budget)?
                {
                    return Ok(Expr::Number(result));
                }
            }
            Ok(Expr::power(Expr::Number(value), exponent))
        }
        Expr::Power(pair) if raised.is_integer() => match &pair.1 {
            Expr::Number(inner) => match inner.mul(raised) {
                Some(total) => power(pair.0, Expr::Number(total), budget),
                None => Ok(Expr::power(Expr::Power(pair), exponent)),
            },
            _ => Ok(Expr::power(Expr::Power(pair), exponent)),
        },
        Expr::Matrix(rows) => Ok(matrix::power(&rows, raised, budget)?
            .unwrap_or_else(|| Expr::power(Expr::Matrix(rows), exponent))),
        other => {
            if raised.is_zero() && is_finite(&other) && matches!(other, Expr::Symbol(_)) {
                return Ok(Expr::int(1));
            }
            Ok(Expr::power(other, exponent))
        }
    }
}

fn call(function: Function, items: Vec<Expr>, budget: &Budget) -> Result<Expr, Exhausted> {
    let numbers: Option<Vec<&Rational>> = items.iter().map(Expr::as_number).collect();
    if let Some(numbers) = numbers
        && let Some(value) = exact(function, &numbers, budget)?
    {
        return Ok(Expr::Number(value));
    }
    if function == Function::Det
        && let [Expr::Matrix(rows)] = items.as_slice()
        && let Some(total) = matrix::determinant(rows, budget)?
    {
        return Ok(total);
    }
    // The least non-negative member represents a class.
    if function == Function::Residue
        && let [Expr::Number(value), Expr::Number(modulus)] = items.as_slice()
        && value.is_integer()
        && modulus.is_integer()
        && !modulus.is_zero()
    {
        let modulus = modulus.abs();
        let least = remainder(value, &modulus).unwrap_or_else(|| value.clone());
        return Ok(Expr::Call(
            function,
            vec![Expr::Number(least), Expr::Number(modulus)],
        ));
    }
    if !matches!(
        function,
        Function::Min | Function::Max | Function::Gcd | Function::Lcm
    ) {
        return Ok(Expr::Call(function, items));
    }
    // `max(max(a, b), c)`
    let mut flat = Vec::with_capacity(items.len());
    for item in items {
        match item {
            Expr::Call(own, inner) if own == function => flat.extend(inner),
            other => flat.push(other),
        }
    }
    if flat.len() == 1 {
        return Ok(flat.pop().unwrap_or(Expr::Ellipsis));
    }
    Ok(Expr::Call(function, flat))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::read;

    fn folded(text: &str) -> String {
        fold(&read(text).unwrap().expr, &Budget::default())
            .unwrap()
            .to_string()
    }

    #[test]
    fn computes_exact_values() {
        assert_eq!(folded(r"\frac{1}{2} + \frac{1}{3}"), "5/6");
        assert_eq!(folded(r"\sqrt{\frac{16}{9}}"), "4/3");
        assert_eq!(folded(r"\binom{5}{2} + 3!"), "16");
        assert_eq!(folded(r"\log_2 8"), "3");
        assert_eq!(folded(r"17 \bmod 5"), "2");
        assert_eq!(folded("50%"), "1/2");
    }

    #[test]
    fn leaves_huge_numbers_as_written() {
        assert!(folded("9^{9^{9^9}}").starts_with("9^(9^"));
        assert_eq!(folded("100000000!"), "factorial(100000000)");
    }
}

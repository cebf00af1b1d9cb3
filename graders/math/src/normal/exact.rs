//! Functions of exact numbers with exact values. Returns `None` if the value is not an exact number
//! or too large.

use num_bigint::BigInt;
use num_integer::Integer;
use num_traits::{One, Signed};

use super::fold::{cost, limbs};
use crate::budget::{Budget, Exhausted};
use crate::number::Rational;
use crate::tree::Function;

/// Largest argument of a factorial that is computed: `3000!` has about 30,000 bits.
const MAX_FACTORIAL: i64 = 3_000;

/// Most limbs of all arguments together: greatest common divisors are quadratic.
const MAX_ARGUMENT_LIMBS: u64 = 256;

/// Largest value of which an integer logarithm is searched for, in bits.
const MAX_LOGARITHM_BITS: u64 = 4_096;

/// The value of a function of numbers, if it is a number of supported size.
pub(super) fn exact(
    function: Function,
    numbers: &[&Rational],
    budget: &Budget,
) -> Result<Option<Rational>, Exhausted> {
    let size: u64 = numbers.iter().map(|value| limbs(value)).sum();
    budget.charge(size * size + 60 * (size - numbers.len() as u64) + 8)?;
    if size > MAX_ARGUMENT_LIMBS {
        return Ok(None);
    }
    // The greatest common divisor of rationals is the largest one of which each is an integer
    // multiple; the least common multiple is defined likewise. Both are computed for the numerators
    // over a common denominator.
    let fold_all = |combine: &dyn Fn(&BigInt, &BigInt) -> BigInt| {
        let common = numbers
            .iter()
            .fold(BigInt::one(), |so_far, value| so_far.lcm(value.den()));
        let mut over_common = numbers
            .iter()
            .map(|value| value.num() * (&common / value.den()));
        let first = over_common.next()?.abs();
        Rational::new(
            over_common.fold(first, |so_far, value| combine(&so_far, &value)),
            common.clone(),
        )
    };
    let extreme = |smallest: bool| {
        let mut best: Option<&Rational> = None;
        for value in numbers {
            let better = match best {
                None => true,
                Some(best) if smallest => value.less(best)?,
                Some(best) => best.less(value)?,
            };
            if better {
                best = Some(value);
            }
        }
        best.cloned()
    };
    Ok(match (function, numbers) {
        (Function::Abs, [value]) => Some(value.abs()),
        (Function::Floor, [value]) => Some(Rational::integer(value.floor())),
        (Function::Ceil, [value]) => Some(Rational::integer(-value.neg().floor())),
        (Function::Sign, [value]) => Some(Rational::small(match () {
            () if value.is_zero() => 0,
            () if value.is_negative() => -1,
            () => 1,
        })),
        (Function::Re | Function::Conjugate, [value]) => Some((*value).clone()),
        (Function::Im, [_]) => Some(Rational::small(0)),
        (Function::Factorial, [value]) => match value.to_i64() {
            Some(n) if (0..=MAX_FACTORIAL).contains(&n) => {
                // n factors, with a product of about n·log2(n) bits.
                budget.charge(n.unsigned_abs() * (n.unsigned_abs() / 500 + 2))?;
                Some(Rational::integer(range_product(1, n)))
            }
            _ => None,
        },
        (Function::DoubleFactorial, [value]) => match value.to_i64() {
            Some(n) if (-1..=MAX_FACTORIAL).contains(&n) => {
                budget.charge(n.unsigned_abs() * (n.unsigned_abs() / 400 + 1))?;
                Some(Rational::integer(
                    (1..=n)
                        .rev()
                        .step_by(2)
                        .fold(BigInt::one(), |so_far, k| so_far * k),
                ))
            }
            _ => None,
        },
        (Function::Binomial, [n, k]) => binomial(n.to_i64(), k.to_i64(), budget)?,
        (Function::Gcd, _) => fold_all(&|a, b| a.gcd(b)),
        (Function::Lcm, _) => fold_all(&|a, b| a.lcm(b)),
        (Function::Mod, [a, m]) if !m.is_zero() => remainder(a, m),
        (Function::Min, _) => extreme(true),
        (Function::Max, _) => extreme(false),
        (Function::Ln, [value]) if value.is_one() => Some(Rational::small(0)),
        (Function::Ln, [value, base]) => logarithm(value, base, budget)?,
        (
            Function::Sin
            | Function::Tan
            | Function::Arcsin
            | Function::Arctan
            | Function::Sinh
            | Function::Tanh
            | Function::Arsinh
            | Function::Artanh,
            [value],
        ) if value.is_zero() => Some(Rational::small(0)),
        (Function::Cos | Function::Cosh | Function::Sec, [value]) if value.is_zero() => {
            Some(Rational::small(1))
        }
        _ => None,
    })
}

/// `a - m · ⌊a / m⌋`.
pub(super) fn remainder(a: &Rational, m: &Rational) -> Option<Rational> {
    a.sub(&m.mul(&Rational::integer(a.div(m)?.floor()))?)
}

/// The product of the integers from `low` to `high`, by divide and conquer.
pub(super) fn range_product(low: i64, high: i64) -> BigInt {
    if low > high {
        return BigInt::one();
    }
    if high - low < 8 {
        return (low..=high).fold(BigInt::one(), |so_far, n| so_far * n);
    }
    let middle = low + (high - low) / 2;
    range_product(low, middle) * range_product(middle + 1, high)
}

fn binomial(
    n: Option<i64>,
    k: Option<i64>,
    budget: &Budget,
) -> Result<Option<Rational>, Exhausted> {
    let (Some(n), Some(k)) = (n, k) else {
        return Ok(None);
    };
    if n < 0 {
        return Ok(None);
    }
    if k < 0 || k > n {
        return Ok(Some(Rational::small(0)));
    }
    let k = k.min(n - k);
    if k > MAX_FACTORIAL {
        return Ok(None);
    }
    budget.charge(k.unsigned_abs() * (k.unsigned_abs() / 240 + 5))?;
    let top = range_product(n - k + 1, n);
    Ok(Some(Rational::integer(top / range_product(1, k))))
}

/// `log_base(value)`, if it is an integer.
fn logarithm(
    value: &Rational,
    base: &Rational,
    budget: &Budget,
) -> Result<Option<Rational>, Exhausted> {
    let one = Rational::small(1);
    if value.is_negative()
        || base.is_negative()
        || base.is_one()
        || base.is_zero()
        || value.is_zero()
    {
        return Ok(None);
    }
    if value.is_one() {
        return Ok(Some(Rational::small(0)));
    }
    let inverted = |x: &Rational| x.less(&one) == Some(true);
    let at_least_one = |x: &Rational| {
        if inverted(x) {
            x.recip()
        } else {
            Some(x.clone())
        }
    };
    let negative = inverted(value) != inverted(base);
    let (Some(value), Some(base)) = (at_least_one(value), at_least_one(base)) else {
        return Ok(None);
    };
    if value.bits() > MAX_LOGARITHM_BITS {
        return Ok(None);
    }
    let mut power = base.clone();
    let mut exponent = 1;
    loop {
        // A base close to 1 takes many powers, of more and more bits.
        budget.charge(cost(&power, &base) + cost(&power, &value))?;
        match power.less(&value) {
            Some(true) => {}
            Some(false) => break,
            None => return Ok(None),
        }
        match power.mul(&base) {
            Some(next) => power = next,
            None => return Ok(None),
        }
        exponent += 1;
    }
    let exponent = if negative { -exponent } else { exponent };
    Ok((power == value).then(|| Rational::small(exponent)))
}

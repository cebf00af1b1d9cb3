//! Powers with fractions as exponents: roots of primes, of symbols and of sums.

use num_integer::Integer as _;
use num_traits::ToPrimitive as _;

use super::Stop;
use super::field::{Field, Fraction, Known, Relation};
use super::scalar::{read, written};
use super::terms::{Generator, Monomial, Terms};
use crate::number::Rational;
use crate::tree::{Constant, Expr, Function};

/// Largest index of a root.
const MAX_INDEX: i64 = 100;

/// Factors up to this one are searched for. What is left below its square is prime.
const MAX_FACTOR: u64 = 2_000;

/// `base ^ (num / den)`.
#[derive(Clone, Copy)]
struct Exponent {
    num: i64,
    den: i64,
}

impl Exponent {
    fn new(num: i64, den: i64) -> Result<Self, Stop> {
        let common = num.gcd(&den);
        if common == 0 || den / common > MAX_INDEX {
            return Err(Stop::Unsupported);
        }
        Ok(Self {
            num: num / common,
            den: den / common,
        })
    }

    fn times(self, factor: u32) -> Result<Self, Stop> {
        let num = self.num.checked_mul(i64::from(factor));
        Self::new(num.ok_or(Stop::TooLarge)?, self.den)
    }

    fn expr(self) -> Expr {
        Expr::Number(Rational::ratio(self.num, self.den))
    }
}

/// A fraction in lowest terms to a power that is not an integer.
pub(super) fn power(
    base: &Fraction,
    exponent: &Rational,
    field: &Field<'_>,
) -> Result<Fraction, Stop> {
    let (Some(num), Some(den)) = (exponent.num().to_i64(), exponent.den().to_i64()) else {
        return Err(Stop::TooLarge);
    };
    let exponent = Exponent::new(num, den)?;
    if base.is_zero() {
        return if num > 0 {
            Ok(Fraction::int(0))
        } else {
            Err(Stop::Unsupported)
        };
    }
    let upper = terms_power(&base.num, exponent, field)?;
    let lower = terms_power(&base.den, exponent, field)?;
    field.divided(&upper, &lower)
}

fn terms_power(base: &Terms, exponent: Exponent, field: &Field<'_>) -> Result<Fraction, Stop> {
    let content = base.content(field.budget)?;
    let rest = base.scaled(&content.recip().ok_or(Stop::TooLarge)?, field.budget)?;
    let outside = number_power(&content, exponent, field)?;
    let inside = match rest.as_single() {
        Some((monomial, sign)) => {
            let own = monomial_power(monomial, exponent, field)?;
            if sign.is_negative() {
                field.times(&own, &sign_power(monomial, exponent, field)?)?
            } else {
                own
            }
        }
        None => sum_power(&rest, exponent, field)?,
    };
    field.times(&outside, &inside)
}

/// `(-1) ^ exponent` in front of a monomial: real for odd roots, `i` for square roots of numbers.
fn sign_power(
    monomial: &Monomial,
    exponent: Exponent,
    field: &Field<'_>,
) -> Result<Fraction, Stop> {
    if exponent.den % 2 == 1 {
        return Ok(Fraction::int(if exponent.num % 2 == 0 { 1 } else { -1 }));
    }
    for (generator, _) in &monomial.0 {
        if !field.known(*generator)?.positive {
            return Err(Stop::Unsupported);
        }
    }
    if exponent.den == 2 {
        return field.power(&read(&Expr::Constant(Constant::I), field)?, exponent.num);
    }
    Err(Stop::Unsupported)
}

/// A positive number to a power.
pub(super) fn number(
    value: &Rational,
    exponent: &Rational,
    field: &Field<'_>,
) -> Result<Fraction, Stop> {
    let (Some(num), Some(den)) = (exponent.num().to_i64(), exponent.den().to_i64()) else {
        return Err(Stop::TooLarge);
    };
    number_power(value, Exponent::new(num, den)?, field)
}

fn number_power(value: &Rational, exponent: Exponent, field: &Field<'_>) -> Result<Fraction, Stop> {
    let mut total = Fraction::int(1);
    for (prime, count) in factors(value, field)? {
        let num = exponent.num.checked_mul(count).ok_or(Stop::TooLarge)?;
        let own = Exponent::new(num, exponent.den)?;
        let base = Fraction::constant(prime.clone());
        let whole = field.power(&base, own.num.div_euclid(own.den))?;
        let rest = u32::try_from(own.num.rem_euclid(own.den)).map_err(|_| Stop::TooLarge)?;
        total = field.times(&total, &whole)?;
        if rest > 0 {
            let root = root(Expr::Number(prime), base.num, own.den, true, field)?;
            let root = Fraction::of(Terms::generator(root, rest));
            total = field.times(&total, &root)?;
        }
    }
    Ok(total)
}

/// The generator for a root.
fn root(
    expr: Expr,
    value: Terms,
    index: i64,
    positive: bool,
    field: &Field<'_>,
) -> Result<Generator, Stop> {
    field.generator(Known {
        expr: Expr::power(expr, Exponent { num: 1, den: index }.expr()),
        relation: Some(Relation {
            index: u32::try_from(index).map_err(|_| Stop::TooLarge)?,
            value,
        }),
        positive,
    })
}

/// The prime factors of a positive number with their exponents, by trial division.
pub(super) fn factors(value: &Rational, field: &Field<'_>) -> Result<Vec<(Rational, i64)>, Stop> {
    let mut all = Vec::new();
    for (part, sign) in [(value.num(), 1), (value.den(), -1)] {
        let mut left = part.to_u64().ok_or(Stop::TooLarge)?;
        let mut factor = 2;
        while factor * factor <= left && factor < MAX_FACTOR {
            field.budget.charge(1)?;
            let mut count = 0;
            while left.is_multiple_of(factor) {
                left /= factor;
                count += sign;
            }
            if count != 0 {
                all.push((Rational::integer(factor.into()), count));
            }
            factor += if factor == 2 { 1 } else { 2 };
        }
        if left >= MAX_FACTOR * MAX_FACTOR {
            return Err(Stop::TooLarge);
        }
        if left > 1 {
            all.push((Rational::integer(left.into()), sign));
        }
    }
    Ok(all)
}

/// A monomial without coefficient to a power: each generator for itself.
fn monomial_power(
    monomial: &Monomial,
    exponent: Exponent,
    field: &Field<'_>,
) -> Result<Fraction, Stop> {
    let mut total = Fraction::int(1);
    for (generator, count) in &monomial.0 {
        // An even root of an even power is a power of the absolute value.
        let even = exponent.den % 2 == 0 && count % 2 == 0;
        let own = exponent.times(*count)?;
        let part = if even && !field.known(*generator)?.positive {
            if own.den > 1 {
                return Err(Stop::Unsupported);
            }
            let size = absolute(*generator, field)?;
            field.power(&Fraction::of(Terms::generator(size, 1)), own.num)?
        } else {
            generator_power(*generator, own, field)?
        };
        total = field.times(&total, &part)?;
    }
    Ok(total)
}

fn generator_power(
    generator: Generator,
    exponent: Exponent,
    field: &Field<'_>,
) -> Result<Fraction, Stop> {
    let known = field.known(generator)?;
    if let Some(relation) = &known.relation {
        // A root of a root.
        let index = exponent.den.checked_mul(i64::from(relation.index));
        let inner = Exponent::new(exponent.num, index.ok_or(Stop::TooLarge)?)?;
        return match relation.value.as_single() {
            Some((one, value)) if one.is_one() && known.positive => {
                number_power(value, inner, field)
            }
            Some((monomial, value)) if value.is_one() && is_root(&known.expr) => {
                match monomial.0.as_slice() {
                    [(base, 1)] => generator_power(*base, inner, field),
                    _ => Err(Stop::Unsupported),
                }
            }
            _ => Err(Stop::Unsupported),
        };
    }
    let base = Fraction::of(Terms::generator(generator, 1));
    let whole = field.power(&base, exponent.num.div_euclid(exponent.den))?;
    let rest = u32::try_from(exponent.num.rem_euclid(exponent.den)).map_err(|_| Stop::TooLarge)?;
    if rest == 0 {
        return Ok(whole);
    }
    let root = root(known.expr, base.num, exponent.den, known.positive, field)?;
    field.times(&whole, &Fraction::of(Terms::generator(root, rest)))
}

fn is_root(expr: &Expr) -> bool {
    matches!(expr, Expr::Power(_))
}

/// The absolute value of a generator.
pub(super) fn absolute(generator: Generator, field: &Field<'_>) -> Result<Generator, Stop> {
    let known = field.known(generator)?;
    if known.positive {
        return Ok(generator);
    }
    field.generator(Known {
        expr: Expr::Call(Function::Abs, vec![known.expr]),
        relation: Some(Relation {
            index: 2,
            value: field.product(&Terms::generator(generator, 2), &Terms::int(1))?,
        }),
        positive: false,
    })
}

/// A sum of several terms without a common factor to a power.
fn sum_power(base: &Terms, exponent: Exponent, field: &Field<'_>) -> Result<Fraction, Stop> {
    let whole = field.power(
        &Fraction::of(base.clone()),
        exponent.num.div_euclid(exponent.den),
    )?;
    let rest = u32::try_from(exponent.num.rem_euclid(exponent.den)).map_err(|_| Stop::TooLarge)?;
    if exponent.den == 2
        && let Some(root) = denested(base, field)?
    {
        return field.times(&whole, &root);
    }
    let expr = written(&Fraction::of(base.clone()), field)?;
    let root = root(expr, base.clone(), exponent.den, false, field)?;
    field.times(&whole, &Fraction::of(Terms::generator(root, rest)))
}

/// The square root of `a + b·√c`, if it is `√p ± √q` (Borodin, Fagin, Hopcroft and Tompa,
/// "Decreasing the nesting depth of expressions involving square roots", 1985).
fn denested(base: &Terms, field: &Field<'_>) -> Result<Option<Fraction>, Stop> {
    let mut items = base.iter();
    let (Some((one, a)), Some((root, b)), None) = (items.next(), items.next(), items.next()) else {
        return Ok(None);
    };
    if !one.is_one() || a.is_negative() {
        return Ok(None);
    }
    let mut c = Rational::small(1);
    for (generator, exponent) in &root.0 {
        let known = field.known(*generator)?;
        let square = known
            .relation
            .filter(|relation| relation.index == 2 && *exponent == 1);
        let Some(value) = square.and_then(|relation| relation.value.as_constant()) else {
            return Ok(None);
        };
        c = c.mul(&value).ok_or(Stop::TooLarge)?;
    }
    let half = Rational::ratio(1, 2);
    field.budget.charge(400)?;
    let halves = || {
        let square = a.mul(a)?.sub(&b.mul(b)?.mul(&c)?)?;
        let root = square.root(2)?;
        let upper = a.add(&root)?.mul(&half)?;
        let lower = a.sub(&root)?.mul(&half)?;
        (!lower.is_negative()).then_some((upper, lower))
    };
    let Some((upper, lower)) = halves() else {
        return Ok(None);
    };
    let square_root = Exponent { num: 1, den: 2 };
    let upper = number_power(&upper, square_root, field)?;
    let lower = number_power(&lower, square_root, field)?;
    if b.is_negative() {
        field.minus(&upper, &lower).map(Some)
    } else {
        field.plus(&upper, &lower).map(Some)
    }
}

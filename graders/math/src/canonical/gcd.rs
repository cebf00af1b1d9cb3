//! Greatest common divisors of polynomials in several generators, by primitive remainder sequences
//! (Knuth, "The Art of Computer Programming", volume 2, 4.6.1).

use super::Stop;
use super::terms::{Generator, Terms};
use crate::budget::Budget;
use crate::number::Rational;

/// Highest degree of polynomials with more than one term whose divisor is computed.
const MAX_DEGREE: u32 = 40;

/// The greatest common divisor up to a factor of a number. Polynomials of high degree have the
/// divisor 1, which is a common divisor, too.
pub(super) fn gcd(a: &Terms, b: &Terms, budget: &Budget) -> Result<Terms, Stop> {
    if a.is_zero() {
        return Ok(b.clone());
    }
    if b.is_zero() {
        return Ok(a.clone());
    }
    let (a_monomial, b_monomial) = (a.common_monomial(), b.common_monomial());
    let shared = Terms::term(a_monomial.common(&b_monomial), Rational::small(1));
    let a = primitive(&a.without_monomial(&a_monomial), budget)?;
    let b = primitive(&b.without_monomial(&b_monomial), budget)?;
    if a.len() == 1 || b.len() == 1 {
        return Ok(shared);
    }
    let (a_generators, b_generators) = (a.generators(), b.generators());
    let high =
        |terms: &Terms, all: &[Generator]| all.iter().any(|one| terms.degree(*one) > MAX_DEGREE);
    if high(&a, &a_generators) || high(&b, &b_generators) {
        return Ok(shared);
    }
    let only = |all: &[Generator], others: &[Generator]| {
        all.iter().copied().find(|one| !others.contains(one))
    };
    let found = if let Some(generator) = only(&a_generators, &b_generators) {
        gcd(&content(&a, generator, budget)?, &b, budget)?
    } else if let Some(generator) = only(&b_generators, &a_generators) {
        gcd(&a, &content(&b, generator, budget)?, budget)?
    } else if let Some(generator) = a_generators.last() {
        by_remainders(&a, &b, *generator, budget)?
    } else {
        Terms::int(1)
    };
    found.times(&shared, budget)
}

/// Both polynomials contain the generator.
fn by_remainders(
    a: &Terms,
    b: &Terms,
    generator: Generator,
    budget: &Budget,
) -> Result<Terms, Stop> {
    let (a_content, b_content) = (
        content(a, generator, budget)?,
        content(b, generator, budget)?,
    );
    let shared = gcd(&a_content, &b_content, budget)?;
    let exact = |terms: &Terms, by: &Terms| terms.divided(by, budget)?.ok_or(Stop::Unsupported);
    let (mut a, mut b) = (exact(a, &a_content)?, exact(b, &b_content)?);
    if a.degree(generator) < b.degree(generator) {
        std::mem::swap(&mut a, &mut b);
    }
    while !b.is_zero() {
        if b.degree(generator) == 0 {
            return Ok(shared);
        }
        let rest = remainder(&a, &b, generator, budget)?;
        a = b;
        b = if rest.is_zero() {
            rest
        } else {
            let own = content(&rest, generator, budget)?;
            primitive(&exact(&rest, &own)?, budget)?
        };
    }
    a.times(&shared, budget)
}

/// The remainder of `a`, times a power of the leading coefficient of `b`, divided by `b`.
fn remainder(a: &Terms, b: &Terms, generator: Generator, budget: &Budget) -> Result<Terms, Stop> {
    let degree = b.degree(generator);
    let leading = |terms: &Terms| {
        let last = terms.by_power(generator).pop_last();
        last.map(|(_, coefficient)| coefficient).unwrap_or_default()
    };
    let by = leading(b);
    let mut rest = a.clone();
    while !rest.is_zero() && rest.degree(generator) >= degree {
        budget.charge(4 * rest.len() as u64)?;
        let power = Terms::generator(generator, rest.degree(generator) - degree);
        let factor = leading(&rest).times(&power, budget)?;
        let taken = b.times(&factor, budget)?;
        rest = rest.times(&by, budget)?.minus(&taken, budget)?;
    }
    Ok(rest)
}

/// The greatest common divisor of the coefficients of the powers of a generator.
fn content(terms: &Terms, generator: Generator, budget: &Budget) -> Result<Terms, Stop> {
    budget.charge(4 * terms.len() as u64)?;
    let mut total = Terms::default();
    for coefficient in terms.by_power(generator).values() {
        total = gcd(&total, coefficient, budget)?;
        if total.as_constant().is_some() {
            return Ok(Terms::int(1));
        }
    }
    Ok(total)
}

/// The polynomial divided by the common factor of its coefficients.
fn primitive(terms: &Terms, budget: &Budget) -> Result<Terms, Stop> {
    let content = terms.content(budget)?;
    terms.scaled(&content.recip().ok_or(Stop::TooLarge)?, budget)
}

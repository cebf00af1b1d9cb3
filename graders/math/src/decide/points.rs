//! The points at which functions are compared, and their order.
//!
//! Points are drawn from a seed that depends on the two functions, so that a comparison always uses
//! the same ones. They are small, below one, large, negative, of mixed signs, and as large as the
//! numbers in the functions: `|x - 100|` and `100 - x` differ only beyond 100.

use std::collections::BTreeMap;

use num_bigint::BigInt;

use super::evaluate::{Point, hash};
use crate::budget::{Budget, Exhausted};
use crate::number::Rational;
use crate::number::residue::mix;
use crate::tree::{Binder, Expr, Function};

/// Most sizes of numbers that get points.
const MAX_SIZES: usize = 3;

/// Largest number that counts as a size, in bits.
const MAX_SIZE_BITS: u64 = 256;

/// Symbols whose values are not charged: the nodes that contain them are.
const FREE_SYMBOLS: usize = 16;

/// Steps of the value of a symbol.
const SYMBOL_STEPS: u64 = 30;

/// Largest number in the functions next to which integers are tried.
const MAX_INTEGER: i64 = 1_000;

/// Most symbols of functions that are compared at many integers, and most numbers in them near
/// which they are.
const MAX_INTEGER_SYMBOLS: usize = 6;
const MAX_NUMBERS: usize = 24;

/// Smaller factors of numbers are found.
const MAX_FACTOR: i64 = 3_000;

/// Values for symbols that take integers: even and odd, with and without small factors.
const INTEGERS: [i64; 10] = [6, 5, 12, 7, 4, 9, 10, 15, 8, 3];

/// The symbols of two expressions and the sizes of the numbers in them.
pub(crate) struct Points<'a> {
    /// Sorted, each with whether it takes only integers.
    symbols: Vec<(&'a str, bool)>,
    sizes: Vec<Rational>,
    /// All of the sizes with both signs.
    places: Vec<Rational>,
    /// Sorted integers above 4 in the functions.
    numbers: Vec<i64>,
    /// Integers above 4 in functions of divisors.
    moduli: Vec<i64>,
    seed: u64,
    complex: bool,
}

impl<'a> Points<'a> {
    pub(crate) fn of(a: &'a Expr, b: &'a Expr, seed: u64, complex: bool) -> Self {
        let mut symbols = BTreeMap::new();
        let mut sizes = Vec::new();
        let mut moduli = Vec::new();
        for side in [a, b] {
            collect_symbols(side, false, &mut symbols);
            collect_sizes(side, &mut sizes);
            collect_moduli(side, &mut moduli);
        }
        let mut moduli: Vec<i64> = moduli.iter().filter_map(Rational::to_i64).collect();
        moduli.sort_unstable();
        moduli.dedup();
        let mut numbers: Vec<i64> = sizes.iter().filter_map(Rational::to_i64).collect();
        numbers.sort_unstable();
        let places = sizes.iter().flat_map(|size| [size.clone(), size.neg()]);
        let places = places.collect();
        sizes.truncate(MAX_SIZES);
        Self {
            symbols: symbols.into_iter().collect(),
            sizes,
            places,
            numbers,
            moduli,
            seed,
            complex,
        }
    }

    /// The symbols, each with whether it takes only integers.
    pub(crate) fn symbols(&self) -> &[(&'a str, bool)] {
        &self.symbols
    }

    /// Number of points that cover every size in every direction.
    pub(crate) fn rounds(&self) -> usize {
        self.symbols.len().min(2) + 4 + 3 * self.sizes.len()
    }

    /// Charges a value for each symbol.
    pub(crate) fn charge(&self, budget: &Budget) -> Result<(), Exhausted> {
        let beyond = self.symbols.len().saturating_sub(FREE_SYMBOLS);
        budget.charge(SYMBOL_STEPS * beyond as u64)
    }

    /// Whether values may be complex.
    pub(crate) fn is_complex(&self) -> bool {
        self.complex
    }

    pub(crate) fn seed(&self) -> u64 {
        self.seed
    }

    /// The sizes of numbers that get points.
    pub(crate) fn sizes(&self) -> &[Rational] {
        &self.sizes
    }

    /// All sizes of numbers, with both signs.
    pub(crate) fn places(&self) -> &[Rational] {
        &self.places
    }

    /// The values of a round, counted from 0, in the order of the symbols.
    pub(crate) fn values(&self, round: u64, budget: &Budget) -> Result<Vec<Rational>, Exhausted> {
        self.charge(budget)?;
        let value = |(at, (name, whole)): (usize, &(&str, bool))| {
            if *whole {
                self.integer_value(at, round)
            } else {
                self.real_value(at, name, round)
            }
        };
        Ok(self.symbols.iter().enumerate().map(value).collect())
    }

    /// The point with these values.
    pub(crate) fn point(&self, values: &[Rational], round: u64, prec: u64) -> Point<'a> {
        let named = self.symbols.iter().zip(values);
        let free = named.map(|((name, _), value)| (*name, value.clone()));
        let mut point = Point::new(free.collect(), self.complex, prec);
        point.seed = mix(self.seed ^ round);
        point
    }

    /// The point of a round, counted from 0.
    pub(crate) fn at(
        &self,
        round: u64,
        prec: u64,
        budget: &Budget,
    ) -> Result<Point<'a>, Exhausted> {
        Ok(self.point(&self.values(round, budget)?, round, prec))
    }

    /// Further values if symbols take only integers: one of them is near a number in the functions,
    /// or larger than the usual values. Products like `(n - 1)(n - 2)…(n - 20)` are 0 at all small
    /// integers.
    pub(crate) fn integers(&self) -> Vec<Vec<Rational>> {
        let mut found = Vec::new();
        for at in 0..self.symbols.len() {
            if !self.symbols.get(at).is_some_and(|(_, whole)| *whole) {
                continue;
            }
            let bits = mix(self.seed ^ at as u64);
            let mut values = Vec::new();
            let numbers = self.numbers.iter().rev();
            for number in numbers
                .filter(|number| **number <= MAX_INTEGER)
                .take(MAX_NUMBERS)
            {
                values.extend([number + 1, *number]);
            }
            let random = |shift: u32, least: i64, count: u64| {
                least + i64::try_from((bits >> shift) % count).unwrap_or(0)
            };
            values.insert(values.len().min(1), random(0, 18, 40));
            values.push(random(20, 60, 130));
            values.dedup();
            for value in values {
                let mut all: Vec<Rational> = (0..self.symbols.len())
                    .map(|at| self.integer_value(at, 0))
                    .collect();
                if let Some(slot) = all.get_mut(at) {
                    *slot = Rational::small(value);
                }
                found.push(all);
            }
        }
        found
    }

    /// More values, if symbols take only integers: near all numbers in the functions, at their
    /// prime factors, where divisors matter, and up to about 60.
    pub(crate) fn many_integers(&self, budget: &Budget) -> Result<Vec<Vec<i64>>, Exhausted> {
        let count = self.symbols.len();
        let usual = |at: usize| self.integer_value(at, 0).to_i64().unwrap_or(1);
        if count > MAX_INTEGER_SYMBOLS || !self.symbols.iter().any(|(_, whole)| *whole) {
            return Ok(Vec::new());
        }
        let mut values = Vec::new();
        for number in self.numbers.iter().rev().take(MAX_NUMBERS) {
            values.extend([1, 0, 2, -1].map(|step| number.saturating_add(step)));
        }
        let mut factors = Vec::new();
        for number in &self.moduli {
            factors.extend(prime_factors(*number, budget)?);
            factors.push(*number);
        }
        factors.sort_unstable();
        factors.dedup();
        factors.retain(|factor| *factor > 4);
        let mut found = Vec::new();
        for factor in factors.iter().rev().take(MAX_NUMBERS) {
            // All symbols are multiples.
            let multiple = |at: usize| factor.saturating_mul(usual(at));
            found.push((0..count).map(multiple).collect());
            values.extend([0, -1, 1, -2, 2].map(|step| factor.saturating_add(step)));
            values.push(factor.saturating_mul(6));
        }
        let bits = mix(self.seed);
        for (shift, least, size) in [(0, 65, 40), (20, 110, 90)] {
            values.push(least + i64::try_from((bits >> shift) % size).unwrap_or(0));
        }
        values.extend(3..=60);
        for value in values {
            for (at, (_, whole)) in self.symbols.iter().enumerate() {
                budget.charge(SYMBOL_STEPS)?;
                if *whole {
                    let own = |other| if other == at { value } else { usual(other) };
                    found.push((0..count).map(own).collect());
                }
            }
        }
        Ok(found)
    }

    fn integer_value(&self, at: usize, round: u64) -> Rational {
        let index = usize::try_from(round).unwrap_or(0) + 3 * at;
        let cycle = i64::try_from(index / INTEGERS.len()).unwrap_or(0);
        Rational::small(INTEGERS.get(index % INTEGERS.len()).copied().unwrap_or(1) + cycle)
    }

    fn real_value(&self, at: usize, name: &str, round: u64) -> Rational {
        let bits = mix(hash(name) ^ mix(self.seed ^ round));
        let share = Rational::new(BigInt::from(bits >> 24 | 1), BigInt::from(1u64 << 40));
        let mut share = share.unwrap_or_else(|| Rational::ratio(1, 3));
        // The first round ignores the sizes, the next three rounds for each size use it, and the
        // rest cycle through the cases below.
        let sized = usize::try_from(round)
            .ok()
            .and_then(|round| round.checked_sub(1));
        let size = sized.and_then(|sized| Some((self.sizes.get(sized / 3)?, sized % 3)));
        let odd = at % 2 == 1;
        let (scale, shift, negative) = match size {
            // Between a size and twice that, positive and negative, then far beyond.
            Some((size, direction @ (0 | 1))) => {
                share = share.add(&Rational::small(1)).unwrap_or(share);
                (Some(size.clone()), 0, direction == 1)
            }
            Some((size, _)) => (size.mul(&Rational::small(40)), 0, odd),
            None => {
                let later = round.saturating_sub(3 * u64::try_from(self.sizes.len()).unwrap_or(0));
                let (scale, shift, negative) = match later % 6 {
                    0 => (2, 1, false),
                    1 => (2, 0, odd),
                    2 => (18, 2, false),
                    3 => (5, 0, true),
                    4 => (1, 0, !odd),
                    _ => (3, 0, bits & 1 == 1),
                };
                (Some(Rational::small(scale)), shift, negative)
            }
        };
        let value = scale
            .and_then(|scale| share.mul(&scale))
            .and_then(|value| value.add(&Rational::small(shift)))
            .unwrap_or(share);
        if negative && !self.complex {
            value.neg()
        } else {
            value
        }
    }
}

/// The free symbols of an expression, each with whether it takes only integers.
fn collect_symbols<'a>(expr: &'a Expr, whole: bool, found: &mut BTreeMap<&'a str, bool>) {
    match expr {
        Expr::Symbol(name) => *found.entry(name).or_default() |= whole,
        Expr::Power(pair) => {
            let negative = matches!(&pair.0, Expr::Number(base) if base.is_negative());
            collect_symbols(&pair.0, whole, found);
            collect_symbols(&pair.1, whole || negative, found);
        }
        Expr::Call(
            Function::Factorial
            | Function::DoubleFactorial
            | Function::Binomial
            | Function::Gcd
            | Function::Lcm
            | Function::Mod,
            items,
        ) => {
            for item in items {
                collect_symbols(item, true, found);
            }
        }
        Expr::Bound(binder, name, parts) => {
            let bound_before = found.contains_key(&**name);
            let counts = matches!(binder, Binder::Sum | Binder::Product);
            for (at, part) in parts.iter().enumerate() {
                collect_symbols(part, counts && at < 2, found);
            }
            if !bound_before {
                found.remove(&**name);
            }
        }
        other => {
            for child in other.children() {
                collect_symbols(child, whole, found);
            }
        }
    }
}

/// The sizes of the numbers in functions of divisors.
fn collect_moduli(expr: &Expr, found: &mut Vec<Rational>) {
    match expr {
        Expr::Call(Function::Gcd | Function::Lcm | Function::Mod, _) => collect_sizes(expr, found),
        other => (other.children()).for_each(|child| collect_moduli(child, found)),
    }
}

/// The prime factors of a number below a bound, and the rest.
fn prime_factors(number: i64, budget: &Budget) -> Result<Vec<i64>, Exhausted> {
    let mut found = Vec::new();
    let mut rest = number;
    for factor in 2..MAX_FACTOR {
        if factor * factor > rest {
            break;
        }
        budget.charge(1)?;
        while rest % factor == 0 {
            rest /= factor;
            found.push(factor);
        }
    }
    found.push(rest);
    Ok(found)
}

/// The sizes of the numbers in an expression that differ from 1 by more than a factor of four,
/// without constant exponents.
fn collect_sizes(expr: &Expr, found: &mut Vec<Rational>) {
    match expr {
        Expr::Number(value)
            if !value.is_zero() && value.bits() <= MAX_SIZE_BITS && found.len() < 64 =>
        {
            let size = value.abs();
            let size = if size.less(&Rational::small(1)) == Some(true) {
                size.recip()
            } else {
                Some(size)
            };
            if let Some(size) = size
                && Rational::small(4).less(&size) == Some(true)
                && !found.contains(&size)
            {
                found.push(size);
            }
        }
        Expr::Power(pair) => {
            collect_sizes(&pair.0, found);
            // In `10^12` the power counts; in `2^(n+100)` the numbers of the exponent do.
            if let (Expr::Number(base), Expr::Number(exponent)) = (&pair.0, &pair.1) {
                found.extend(
                    exponent
                        .to_i64()
                        .and_then(|exponent| base.pow(exponent, MAX_SIZE_BITS)),
                );
            } else if !matches!(pair.1, Expr::Number(_)) {
                collect_sizes(&pair.1, found);
            }
        }
        other => {
            for child in other.children() {
                collect_sizes(child, found);
            }
        }
    }
}

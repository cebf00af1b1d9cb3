//! Whether two expressions are the same rational function of their parts, where parts with other
//! operators are unknowns, and equal if their own parts are: `|x - y|/2` and `|y - x|·2^-1`.
//! Extrema of two values are written with absolute values, `e^{2x}` is a power of `e^x`, and odd
//! and even functions are known.
//!
//! This proves equality, up to an error probability of about `degree / 2^61` for each of two primes
//! (Schwartz 1980, Zippel 1979), and never proves a difference.

use std::hash::{Hash as _, Hasher as _};

use num_bigint::BigInt;
use num_integer::Integer as _;

use super::evaluate::{FNV_OFFSET, Fnv, NoValue, hash};
use super::line::is_positive;
use super::scalar;
use crate::budget::{Budget, Exhausted};
use crate::normal::fold;
use crate::number::Rational;
use crate::number::residue::{Field, Residue, mix};
use crate::tree::charged::charge_copy;
use crate::tree::{Constant, Expr, Function};

/// Primes modulo which both must agree.
const ROUNDS: u64 = 2;

/// Selects the unknowns of absolute values.
const SIZE: u64 = 0x5173;

/// Selects the unknowns of exponentials.
const EXPONENTIAL: u64 = 0xe4b0;

/// Selects the unknowns of floors.
const FLOOR: u64 = 0xf100;

/// Largest number that is divided out of a sum, in bits.
const MAX_CONTENT_BITS: u64 = 512;

/// Steps of a part that is an unknown.
const PART_STEPS: u64 = 20;

/// Whether two folded values are the same function of the same parts. With `complex`, values that
/// are not real count.
pub(super) fn same(a: &Expr, b: &Expr, complex: bool, budget: &Budget) -> Result<bool, Exhausted> {
    let seed = scalar::seed(a, b, budget)?;
    for round in 0..ROUNDS {
        let formal = Formal {
            field: Field::new(mix(seed.wrapping_add(round))),
            seed: mix(seed ^ round << 32),
            complex,
            budget,
        };
        match (formal.residue(a), formal.residue(b)) {
            (Ok(a), Ok(b)) if formal.field.same(a, b) => {}
            (Err(NoValue::Exhausted), _) | (_, Err(NoValue::Exhausted)) => return Err(Exhausted),
            _ => return Ok(false),
        }
    }
    Ok(true)
}

/// A number that is the same for multiples of one function, and different for others; `None` if an
/// expression is not read as a function.
pub(super) fn fingerprint(expr: &Expr, budget: &Budget) -> Result<Option<u64>, Exhausted> {
    let field = Field::new(0);
    let [first, second] = [0, 1].map(|seed| {
        let seed = mix(seed);
        Formal {
            field,
            seed,
            complex: true,
            budget,
        }
        .residue(expr)
    });
    match (first, second) {
        (Ok(first), Ok(second)) => Ok(field
            .recip(second)
            .map(|second| field.value(field.mul(first, second)))),
        (Err(NoValue::Exhausted), _) | (_, Err(NoValue::Exhausted)) => Err(Exhausted),
        _ => Ok(None),
    }
}

struct Formal<'a> {
    field: Field,
    seed: u64,
    complex: bool,
    budget: &'a Budget,
}

/// `f(-x)` as a multiple of `f(x)`.
fn parity(function: Function) -> Option<i64> {
    use Function as F;
    match function {
        F::Sin | F::Tan | F::Cot | F::Csc | F::Arcsin | F::Arctan => Some(-1),
        F::Arsinh | F::Artanh | F::Sign => Some(-1),
        F::Cos | F::Sec => Some(1),
        _ => None,
    }
}

impl Formal<'_> {
    fn residue(&self, expr: &Expr) -> Result<Residue, NoValue> {
        self.budget.charge(4)?;
        let field = self.field;
        match expr {
            Expr::Number(value) => {
                self.budget.charge(value.bits() / 64)?;
                field.rational(value).ok_or(NoValue::Unsupported)
            }
            Expr::Symbol(name) => Ok(field.element(mix(hash(name) ^ self.seed))),
            Expr::Constant(Constant::Infinity) => Err(NoValue::Unsupported),
            Expr::Constant(_) => Ok(self.unknown(expr, &[])),
            Expr::Sum(items) => items.iter().try_fold(field.element(0), |total, item| {
                Ok(field.add(total, self.residue(item)?))
            }),
            Expr::Product(items) => items.iter().try_fold(field.element(1), |total, item| {
                Ok(field.mul(total, self.residue(item)?))
            }),
            Expr::Power(pair) => match &pair.1 {
                Expr::Number(exponent) if exponent.is_integer() => match &pair.0 {
                    Expr::Call(Function::Abs, items) if !self.complex => match items.as_slice() {
                        [item] => self.size_power(item, exponent),
                        _ => Err(NoValue::Unsupported),
                    },
                    base => self.power(self.residue(base)?, exponent),
                },
                Expr::Number(exponent) => self.root(&pair.0, exponent),
                exponent if is_positive(&pair.0) => self.exponential(&pair.0, exponent),
                _ => self.of_parts(expr),
            },
            Expr::Call(function, items) => self.call(expr, *function, items),
            Expr::Apply(..) | Expr::Bound(..) => self.of_parts(expr),
            _ => Err(NoValue::Unsupported),
        }
    }

    fn number(&self, value: &Rational) -> Result<Residue, NoValue> {
        self.field.rational(value).ok_or(NoValue::Unsupported)
    }

    /// A power with an integer exponent.
    fn power(&self, base: Residue, exponent: &Rational) -> Result<Residue, NoValue> {
        let bits = exponent.num().bits();
        self.budget.charge(10 + bits / 32 + 2 * bits.min(64))?;
        let power = self.field.pow(base, exponent.num());
        power.ok_or(NoValue::Unsupported)
    }

    fn call(&self, expr: &Expr, function: Function, items: &[Expr]) -> Result<Residue, NoValue> {
        match (function, items) {
            (Function::Abs, [item]) => self.size(item),
            (Function::Min | Function::Max, [left, right])
                if !self.complex
                    && !items
                        .iter()
                        .any(|item| matches!(item, Expr::Call(own, _) if *own == function)) =>
            {
                self.extremum(function, left, right)
            }
            (Function::Sinh | Function::Cosh | Function::Tanh, [item]) => {
                self.hyperbolic(function, item)
            }
            (Function::Floor | Function::Ceil, [item]) => self.level(function, item),
            (function, [item]) if let Some(sign) = parity(function) => {
                self.budget.charge(PART_STEPS)?;
                let value = self.residue(item)?;
                let (value, opposite) = (self.field.value(value), self.negated(value));
                let opposite = self.field.value(opposite);
                let own = self.unknown(expr, &[value.min(opposite)]);
                Ok(if sign < 0 && opposite < value {
                    self.negated(own)
                } else {
                    own
                })
            }
            _ => self.of_parts(expr),
        }
    }

    /// A hyperbolic function, written with exponentials.
    fn hyperbolic(&self, function: Function, item: &Expr) -> Result<Residue, NoValue> {
        let field = self.field;
        let up = self.exponential(&Expr::Constant(Constant::E), item)?;
        let down = field.recip(up).ok_or(NoValue::Unsupported)?;
        let (sum, difference) = (field.add(up, down), field.add(up, self.negated(down)));
        let half = self.number(&Rational::ratio(1, 2))?;
        Ok(match function {
            Function::Sinh => field.mul(difference, half),
            Function::Cosh => field.mul(sum, half),
            _ => field.mul(difference, field.recip(sum).ok_or(NoValue::Unsupported)?),
        })
    }

    /// A floor without integers in its argument, or a ceiling as the floor of the opposite.
    fn level(&self, function: Function, item: &Expr) -> Result<Residue, NoValue> {
        self.budget.charge(PART_STEPS)?;
        let whole = match item {
            Expr::Sum(items) => items.iter().find_map(Expr::as_number).map(Rational::floor),
            _ => None,
        };
        let whole = self.number(&Rational::integer(whole.unwrap_or_default()))?;
        let rest = self.field.add(self.residue(item)?, self.negated(whole));
        let turned = |value| match function {
            Function::Floor => value,
            _ => self.negated(value),
        };
        let rest = self.field.value(turned(rest));
        let floor = self.field.element(mix(rest ^ mix(self.seed ^ FLOOR)));
        Ok(self.field.add(turned(floor), whole))
    }

    /// The extremum of two values: half of their sum and their distance.
    fn extremum(&self, function: Function, left: &Expr, right: &Expr) -> Result<Residue, NoValue> {
        let (first, second) = (self.residue(left)?, self.residue(right)?);
        let distance = if self.field.same(first, self.negated(second)) {
            self.field.mul(self.size(left)?, self.field.element(2))
        } else {
            self.distance(left, right)?
        };
        let distance = if function == Function::Max {
            distance
        } else {
            self.negated(distance)
        };
        let sum = self.field.add(first, second);
        let half = self.number(&Rational::ratio(1, 2))?;
        Ok(self.field.mul(self.field.add(sum, distance), half))
    }

    fn distance(&self, left: &Expr, right: &Expr) -> Result<Residue, NoValue> {
        use std::ops::Neg as _;
        charge_copy(left, self.budget)?;
        charge_copy(right, self.budget)?;
        let difference = Expr::Sum(vec![left.clone(), right.clone().neg()]);
        self.size(&fold(&difference, self.budget)?)
    }

    /// An absolute value: |-2xy| is 2·|x|·|y|.
    fn size(&self, inner: &Expr) -> Result<Residue, NoValue> {
        self.budget.charge(PART_STEPS)?;
        match inner {
            Expr::Number(value) => self.number(&value.abs()),
            Expr::Product(items) => items.iter().try_fold(self.field.element(1), |total, item| {
                Ok(self.field.mul(total, self.size(item)?))
            }),
            Expr::Call(Function::Abs, _) => self.residue(inner),
            Expr::Power(pair) if !self.complex => match &pair.1 {
                Expr::Number(exponent) if exponent.is_integer() => {
                    self.size_power(&pair.0, exponent)
                }
                Expr::Number(exponent) if exponent.den().bit(0) => self.size_unknown(inner),
                // A root with an even index.
                Expr::Number(_) => self.residue(inner),
                _ if is_positive(&pair.0) => self.residue(inner),
                _ => self.size_unknown(inner),
            },
            _ => self.size_unknown(inner),
        }
    }

    /// `|base|^exponent`, for a real base and an integer exponent.
    fn size_power(&self, base: &Expr, exponent: &Rational) -> Result<Residue, NoValue> {
        if !exponent.num().bit(0) {
            return self.power(self.residue(base)?, exponent);
        }
        let even = exponent.sub(&Rational::small(1));
        let even = self.power(self.residue(base)?, &even.ok_or(NoValue::Unsupported)?)?;
        Ok(self.field.mul(even, self.size(base)?))
    }

    /// The unknown for the absolute value of a sum or a function, times the content of the sum.
    fn size_unknown(&self, inner: &Expr) -> Result<Residue, NoValue> {
        let content = content(inner, self.budget)?;
        let scale = content.recip().ok_or(NoValue::Unsupported)?;
        let value = self.field.mul(self.residue(inner)?, self.number(&scale)?);
        let [value, opposite] = [value, self.negated(value)].map(|one| self.field.value(one));
        let own = mix(value.min(opposite) ^ mix(self.seed ^ SIZE));
        let own = self.field.element(own);
        Ok(self.field.mul(own, self.number(&content)?))
    }

    /// A power of a positive base: `b^(u + 2v/3)` is `b^u · (b^(v/3))^2`.
    fn exponential(&self, base: &Expr, exponent: &Expr) -> Result<Residue, NoValue> {
        let one = std::slice::from_ref(exponent);
        let terms = match exponent {
            Expr::Sum(items) => items.as_slice(),
            _ => one,
        };
        let mut total = self.field.element(1);
        for term in terms {
            let own = match term {
                Expr::Number(value) if value.is_integer() => {
                    self.power(self.residue(base)?, value)?
                }
                Expr::Number(value) => self.root(base, value)?,
                term => self.exponential_of_term(base, term)?,
            };
            total = self.field.mul(total, own);
        }
        Ok(total)
    }

    fn exponential_of_term(&self, base: &Expr, term: &Expr) -> Result<Residue, NoValue> {
        self.budget.charge(PART_STEPS)?;
        let times = match term {
            Expr::Product(items) => items.iter().find_map(Expr::as_number),
            _ => None,
        };
        let times = times.map_or(Rational::small(1), |factor| {
            Rational::integer(factor.num().clone())
        });
        let scale = times.recip().ok_or(NoValue::Unsupported)?;
        let part = self.field.mul(self.residue(term)?, self.number(&scale)?);
        let mut hasher = Fnv(FNV_OFFSET);
        self.field.value(self.residue(base)?).hash(&mut hasher);
        self.field.value(part).hash(&mut hasher);
        let unknown = self
            .field
            .element(mix(hasher.finish() ^ mix(self.seed ^ EXPONENTIAL)));
        self.power(unknown, &times)
    }

    fn negated(&self, value: Residue) -> Residue {
        let minus_one = self.field.rational(&Rational::small(-1));
        minus_one.map_or(value, |minus_one| self.field.mul(value, minus_one))
    }

    /// A power with a fraction as its exponent: that of `b^(p/q)` is the p-th power of that of
    /// `b^(1/q)`.
    fn root(&self, base: &Expr, exponent: &Rational) -> Result<Residue, NoValue> {
        self.budget.charge(PART_STEPS)?;
        // The root of a square is an absolute value.
        if exponent.den() == &BigInt::from(2)
            && let Expr::Power(pair) = base
            && pair.1.is_int(2)
            && !pair
                .0
                .any(&|part| matches!(part, Expr::Constant(Constant::I)))
        {
            let num = Rational::integer(exponent.num().clone());
            return self.power(self.size(&pair.0)?, &num);
        }
        let base = self.field.value(self.residue(base)?);
        let mut hasher = Fnv(FNV_OFFSET);
        exponent.den().hash(&mut hasher);
        let root = self
            .field
            .element(mix(hasher.finish() ^ mix(base ^ self.seed)));
        self.field
            .pow(root, exponent.num())
            .ok_or(NoValue::Unsupported)
    }

    /// The unknown for an operator and the residues of its operands.
    fn of_parts(&self, expr: &Expr) -> Result<Residue, NoValue> {
        let mut parts = Vec::new();
        self.push_parts(expr, &mut parts)?;
        if let Expr::Call(Function::Min | Function::Max | Function::Gcd | Function::Lcm, _) = expr {
            parts.sort_unstable();
            parts.dedup();
        }
        Ok(self.unknown(expr, &parts))
    }

    /// The residues of the operands. The extremum of an extremum is one of all operands.
    fn push_parts(&self, expr: &Expr, parts: &mut Vec<u64>) -> Result<(), NoValue> {
        for child in expr.children() {
            self.budget.charge(PART_STEPS)?;
            match (expr, child) {
                (Expr::Call(own @ (Function::Min | Function::Max), _), Expr::Call(inner, _))
                    if own == inner =>
                {
                    self.push_parts(child, parts)?;
                }
                _ => parts.push(self.field.value(self.residue(child)?)),
            }
        }
        Ok(())
    }

    fn unknown(&self, expr: &Expr, parts: &[u64]) -> Residue {
        let mut hasher = Fnv(FNV_OFFSET);
        std::mem::discriminant(expr).hash(&mut hasher);
        match expr {
            Expr::Constant(constant) => constant.hash(&mut hasher),
            Expr::Call(function, _) => function.hash(&mut hasher),
            Expr::Apply(name, _) => name.hash(&mut hasher),
            Expr::Bound(binder, name, _) => (binder, name).hash(&mut hasher),
            _ => {}
        }
        parts.hash(&mut hasher);
        self.field.element(mix(hasher.finish() ^ self.seed))
    }
}

/// The largest number of which all terms are multiples.
fn content(expr: &Expr, budget: &Budget) -> Result<Rational, NoValue> {
    budget.charge(4)?;
    let one = || Rational::small(1);
    match expr {
        Expr::Number(value) if !value.is_zero() => Ok(value.abs()),
        Expr::Product(items) => {
            let factor = items.iter().find_map(Expr::as_number);
            Ok(factor
                .filter(|factor| !factor.is_zero())
                .map_or_else(one, Rational::abs))
        }
        Expr::Sum(items) => {
            let mut total: Option<Rational> = None;
            for item in items {
                let own = content(item, budget)?;
                if own.bits() > MAX_CONTENT_BITS {
                    return Ok(one());
                }
                budget.charge(20 + own.bits() / 16)?;
                total = Some(match total {
                    Some(total) => {
                        let den = total.den().lcm(own.den());
                        let part = |value: &Rational| value.num() * (&den / value.den());
                        let num = part(&total).gcd(&part(&own));
                        Rational::new(num, den).unwrap_or_else(one)
                    }
                    None => own,
                });
                if total
                    .as_ref()
                    .is_some_and(|total| total.bits() > MAX_CONTENT_BITS)
                {
                    return Ok(one());
                }
            }
            Ok(total.unwrap_or_else(one))
        }
        _ => Ok(one()),
    }
}

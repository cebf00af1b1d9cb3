//! Whether two expressions are the same rational function of their parts, where parts with other
//! operators are unknowns, and equal if their own parts are: `|x - y|/2` and `|y - x|·2^-1`.
//!
//! This proves equality, up to an error probability of about `degree / 2^61` for each of two primes
//! (Schwartz 1980, Zippel 1979), and never proves a difference.

use std::hash::{Hash as _, Hasher as _};

use num_bigint::BigInt;

use super::evaluate::{FNV_OFFSET, Fnv, NoValue, hash};
use super::scalar;
use crate::budget::{Budget, Exhausted};
use crate::number::Rational;
use crate::number::residue::{Field, Residue, mix};
use crate::tree::{Constant, Expr, Function};

/// Primes modulo which both must agree.
const ROUNDS: u64 = 2;

/// Selects the unknowns of absolute values.
const SIZE: u64 = 0x5173;

/// Steps of a part that is an unknown.
const PART_STEPS: u64 = 20;

/// Whether two folded values are the same function of the same parts.
pub(super) fn same(a: &Expr, b: &Expr, budget: &Budget) -> Result<bool, Exhausted> {
    let seed = scalar::seed(a, b, budget)?;
    for round in 0..ROUNDS {
        let formal = Formal {
            field: Field::new(mix(seed.wrapping_add(round))),
            seed: mix(seed ^ round << 32),
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
    budget: &'a Budget,
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
                Expr::Number(exponent) if exponent.is_integer() => {
                    let bits = exponent.num().bits();
                    self.budget.charge(10 + bits / 32 + 2 * bits.min(64))?;
                    field
                        .pow(self.residue(&pair.0)?, exponent.num())
                        .ok_or(NoValue::Unsupported)
                }
                Expr::Number(exponent) => self.root(&pair.0, exponent),
                _ => self.of_parts(expr),
            },
            Expr::Call(Function::Abs, items) => {
                let [item] = items.as_slice() else {
                    return Err(NoValue::Unsupported);
                };
                self.size(item)
            }
            Expr::Call(..) | Expr::Apply(..) | Expr::Bound(..) => self.of_parts(expr),
            _ => Err(NoValue::Unsupported),
        }
    }

    /// The unknown for an absolute value: |x| is |-x|.
    fn size(&self, inner: &Expr) -> Result<Residue, NoValue> {
        self.budget.charge(PART_STEPS)?;
        let value = self.residue(inner)?;
        let [value, opposite] = [value, self.negated(value)].map(|one| self.field.value(one));
        let own = mix(value.min(opposite) ^ mix(self.seed ^ SIZE));
        Ok(self.field.element(own))
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
            let size = self.size(&pair.0)?;
            return self
                .field
                .pow(size, exponent.num())
                .ok_or(NoValue::Unsupported);
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
        for child in expr.children() {
            self.budget.charge(PART_STEPS)?;
            parts.push(self.field.value(self.residue(child)?));
        }
        if let Expr::Call(Function::Min | Function::Max | Function::Gcd | Function::Lcm, _) = expr {
            parts.sort_unstable();
        }
        Ok(self.unknown(expr, &parts))
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

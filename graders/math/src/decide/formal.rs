//! Whether two expressions are the same rational function of their parts, where parts with other
//! operators are unknowns, and equal if their own parts are: `|x - y|/2` and `|y - x|·2^-1`.
//!
//! This proves equality, up to an error probability of about `degree / 2^61` for each of two primes
//! (Schwartz 1980, Zippel 1979), and never proves a difference.

use std::hash::{Hash as _, Hasher as _};

use super::evaluate::{FNV_OFFSET, Fnv, NoValue, hash};
use super::scalar;
use crate::budget::{Budget, Exhausted};
use crate::number::Rational;
use crate::number::residue::{Field, Residue, mix};
use crate::tree::{Constant, Expr, Function};

/// Primes modulo which both must agree.
const ROUNDS: u64 = 2;

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
                // |x| is |-x|.
                self.budget.charge(PART_STEPS)?;
                let value = self.residue(item)?;
                let [value, opposite] = [value, self.negated(value)].map(|one| field.value(one));
                Ok(self.unknown(expr, &[value.min(opposite)]))
            }
            Expr::Call(..) | Expr::Apply(..) | Expr::Bound(..) => self.of_parts(expr),
            _ => Err(NoValue::Unsupported),
        }
    }

    fn negated(&self, value: Residue) -> Residue {
        let minus_one = self.field.rational(&Rational::small(-1));
        minus_one.map_or(value, |minus_one| self.field.mul(value, minus_one))
    }

    /// A power with a fraction as its exponent: that of `b^(p/q)` is the p-th power of that of
    /// `b^(1/q)`.
    fn root(&self, base: &Expr, exponent: &Rational) -> Result<Residue, NoValue> {
        self.budget.charge(PART_STEPS)?;
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

//! Where a function may change its formula or its domain ends: at the zeros of the arguments of
//! absolute values, roots, logarithms, of denominators, and so on.
//!
//! Between them a function is analytic, so two functions that agree on a part of a piece agree on
//! all of it.

use num_integer::Integer as _;

use super::formal;
use super::line::is_positive;
use crate::budget::{Budget, Exhausted};
use crate::normal::fold;
use crate::number::Rational;
use crate::tree::charged::{charge_copy, replaced};
use crate::tree::{Binder, Constant, Expr, Function};

/// Maximum number of functions of which zeros are searched.
const MAX_FUNCTIONS: usize = 48;

/// Most terms of a sum of which each is searched.
const MAX_TERMS: i64 = 24;

/// Most arguments that are kept as hints.
const MAX_HINTS: usize = 4;

/// Functions whose zeros separate the pieces of other functions.
#[derive(Debug, Default)]
pub(super) struct Critical {
    /// A piece ends where one of these is 0 or has a pole.
    pub(super) zeros: Vec<Expr>,
    /// A piece ends where one of these is an integer.
    pub(super) steps: Vec<Expr>,
    /// Arguments of functions that are not quotients of polynomials, near whose extrema and small
    /// integers these functions have theirs; angles are in right angles.
    pub(super) hints: Vec<Expr>,
    /// Whether a piece may have another formula than the next one: there are absolute values,
    /// extrema, jumps, cases, or roots of squares.
    pub(super) has_pieces: bool,
    /// Whether not all of these functions were collected.
    pub(super) incomplete: bool,
    /// Those of `zeros`, so that multiples of a function are searched once.
    fingerprints: Vec<u64>,
}

impl Critical {
    /// The critical functions of two functions.
    pub(super) fn of(a: &Expr, b: &Expr, budget: &Budget) -> Result<Self, Exhausted> {
        let mut found = Self::default();
        let mut bound = Vec::new();
        for side in [a, b] {
            found.collect(side, &mut bound, budget)?;
        }
        Ok(found)
    }

    fn collect<'a>(
        &mut self,
        expr: &'a Expr,
        bound: &mut Vec<&'a str>,
        budget: &Budget,
    ) -> Result<(), Exhausted> {
        budget.charge(4)?;
        match expr {
            Expr::Number(_) | Expr::Symbol(_) | Expr::Constant(_) => return Ok(()),
            Expr::Power(pair) => self.collect_power(&pair.0, &pair.1, bound, budget)?,
            Expr::Call(function, items) => self.collect_call(*function, items, bound, budget)?,
            Expr::Cases(rows) => {
                self.has_pieces = true;
                for part in rows.iter().flatten() {
                    self.collect_condition(part, bound, budget)?;
                }
            }
            Expr::Bound(binder, name, parts) => {
                return self.collect_bound(*binder, name, parts, bound, budget);
            }
            _ => {}
        }
        expr.children()
            .try_for_each(|child| self.collect(child, bound, budget))
    }

    /// The differences of the sides of a condition, or of its parts.
    fn collect_condition(
        &mut self,
        part: &Expr,
        bound: &[&str],
        budget: &Budget,
    ) -> Result<(), Exhausted> {
        match part {
            Expr::Chain(sides, _) => sides
                .windows(2)
                .try_for_each(|pair| self.difference(pair, bound, budget)),
            Expr::SetOp(_, parts) => parts
                .iter()
                .try_for_each(|part| self.collect_condition(part, bound, budget)),
            _ => Ok(()),
        }
    }

    /// The terms of a short sum each, because their pieces end at different values.
    fn collect_bound<'a>(
        &mut self,
        binder: Binder,
        name: &'a str,
        parts: &'a [Expr],
        bound: &mut Vec<&'a str>,
        budget: &Budget,
    ) -> Result<(), Exhausted> {
        let Some((body, ends)) = parts.split_last() else {
            return Ok(());
        };
        for end in ends {
            self.collect(end, bound, budget)?;
        }
        if matches!(binder, Binder::Sum | Binder::Product)
            && let [Expr::Number(low), Expr::Number(high)] = ends
            && let (Some(low), Some(high)) = (low.to_i64(), high.to_i64())
            && high.checked_sub(low).is_some_and(|count| count < MAX_TERMS)
            && body.any(&|part| matches!(part, Expr::Call(..) | Expr::Cases(_) | Expr::Power(_)))
        {
            for value in low..=high {
                let term = replaced(body, name, &Expr::int(value), budget)?;
                let mut found = Self::default();
                found.collect(&term, &mut bound.clone(), budget)?;
                self.has_pieces |= found.has_pieces;
                self.incomplete |= found.incomplete;
                for zero in found.zeros {
                    self.push_zero(zero, budget)?;
                }
                for step in found.steps {
                    self.push_step(step);
                }
            }
            return Ok(());
        }
        bound.push(name);
        let done = self.collect(body, bound, budget);
        bound.pop();
        done
    }

    fn collect_power(
        &mut self,
        base: &Expr,
        exponent: &Expr,
        bound: &[&str],
        budget: &Budget,
    ) -> Result<(), Exhausted> {
        let Expr::Number(exponent) = exponent else {
            self.hint(exponent, bound, budget)?;
            // `0^|x - 3|` differs from 0 only at 3.
            if base.is_int(0) {
                self.has_pieces = true;
                self.incomplete = true;
            }
            // `0^x` is another formula than `2^x`.
            if !is_positive(base) {
                self.zero(base, bound, budget)?;
                self.zero(exponent, bound, budget)?;
            }
            return Ok(());
        };
        if !exponent.is_integer() {
            // The root of a square is an absolute value.
            let square = |expr: &Expr| match expr {
                Expr::Power(pair) => pair.1.as_number().is_some_and(is_even),
                Expr::Sum(items) => items.iter().any(|item| {
                    item.any(&|part| {
                        matches!(part, Expr::Call(..) | Expr::Power(_)) && is_root(part)
                    })
                }),
                _ => false,
            };
            self.has_pieces |= match base {
                Expr::Product(items) => items.iter().any(square),
                other => square(other),
            };
        }
        if !exponent.is_integer() || exponent.is_negative() {
            self.zero(base, bound, budget)?;
        }
        Ok(())
    }

    fn collect_call(
        &mut self,
        function: Function,
        items: &[Expr],
        bound: &[&str],
        budget: &Budget,
    ) -> Result<(), Exhausted> {
        let plus = |item: &Expr, value: i64| -> Result<Expr, Exhausted> {
            charge_copy(item, budget)?;
            Ok(Expr::Sum(vec![item.clone(), Expr::int(value)]))
        };
        match (function, items) {
            (Function::Abs | Function::Sign | Function::Arg, [item]) => {
                self.has_pieces = true;
                self.zero(item, bound, budget)
            }
            (Function::Min | Function::Max, items) => {
                self.has_pieces = true;
                for (at, left) in items.iter().enumerate() {
                    for right in items.iter().skip(at + 1) {
                        charge_copy(left, budget)?;
                        charge_copy(right, budget)?;
                        self.difference(&[left.clone(), right.clone()], bound, budget)?;
                    }
                }
                Ok(())
            }
            (Function::Floor | Function::Ceil, [item]) => {
                self.has_pieces = true;
                self.step(item, bound, budget)
            }
            (Function::Mod, [item, modulus]) => {
                self.has_pieces = true;
                charge_copy(item, budget)?;
                charge_copy(modulus, budget)?;
                let quotient = Expr::quotient(item.clone(), modulus.clone());
                self.step(&quotient, bound, budget)
            }
            (Function::Ln, items) => {
                for item in items {
                    self.zero(item, bound, budget)?;
                }
                match items {
                    [_, base] => self.zero(&plus(base, -1)?, bound, budget),
                    _ => Ok(()),
                }
            }
            (Function::Arcsin | Function::Arccos | Function::Artanh, [item]) => {
                self.has_pieces |= item.any(&|part| matches!(part, Expr::Call(..)));
                self.zero(&plus(item, -1)?, bound, budget)?;
                self.zero(&plus(item, 1)?, bound, budget)
            }
            (Function::Arcosh, [item]) => self.zero(&plus(item, -1)?, bound, budget),
            (Function::Sin | Function::Cos | Function::Tan, [item]) => {
                charge_copy(item, budget)?;
                let right_angle = Expr::quotient(Expr::Constant(Constant::Pi), Expr::int(2));
                self.hint(&Expr::quotient(item.clone(), right_angle), bound, budget)
            }
            (_, [item]) => self.hint(item, bound, budget),
            _ => Ok(()),
        }
    }

    fn hint(&mut self, expr: &Expr, bound: &[&str], budget: &Budget) -> Result<(), Exhausted> {
        charge_copy(expr, budget)?;
        if self.hints.len() < MAX_HINTS && is_free(expr, bound) && !self.hints.contains(expr) {
            self.hints.push(expr.clone());
        }
        Ok(())
    }

    fn difference(
        &mut self,
        pair: &[Expr],
        bound: &[&str],
        budget: &Budget,
    ) -> Result<(), Exhausted> {
        use std::ops::Neg as _;
        let [left, right] = pair else {
            return Ok(());
        };
        charge_copy(left, budget)?;
        charge_copy(right, budget)?;
        // |p| = |q| if p = q or p = -q.
        let (left, right) = match (left, right) {
            (Expr::Call(Function::Abs, p), Expr::Call(Function::Abs, q)) => {
                if let ([p], [q]) = (p.as_slice(), q.as_slice()) {
                    let sum = Expr::Sum(vec![p.clone(), q.clone()]);
                    self.zero(&fold(&sum, budget)?, bound, budget)?;
                    (p, q)
                } else {
                    (left, right)
                }
            }
            _ => (left, right),
        };
        let difference = Expr::Sum(vec![left.clone(), right.clone().neg()]);
        self.zero(&fold(&difference, budget)?, bound, budget)
    }

    /// Adds the factors of a function that have zeros or poles.
    fn zero(&mut self, expr: &Expr, bound: &[&str], budget: &Budget) -> Result<(), Exhausted> {
        budget.charge(4)?;
        match expr {
            Expr::Product(items) => items
                .iter()
                .try_for_each(|item| self.zero(item, bound, budget)),
            Expr::Power(pair) if pair.1.as_number().is_some() => self.zero(&pair.0, bound, budget),
            // Its own argument is collected with it.
            Expr::Call(Function::Abs, _) | Expr::Number(_) | Expr::Constant(_) => Ok(()),
            other if is_positive(other) => Ok(()),
            other => {
                charge_copy(other, budget)?;
                if is_free(other, bound) {
                    self.push_zero(other.clone(), budget)?;
                }
                Ok(())
            }
        }
    }

    fn step(&mut self, expr: &Expr, bound: &[&str], budget: &Budget) -> Result<(), Exhausted> {
        charge_copy(expr, budget)?;
        budget.charge(4 * self.steps.len() as u64)?;
        if is_free(expr, bound) {
            self.push_step(expr.clone());
        }
        Ok(())
    }

    fn push_zero(&mut self, expr: Expr, budget: &Budget) -> Result<(), Exhausted> {
        if let Some(own) = formal::fingerprint(&expr, budget)? {
            if self.fingerprints.contains(&own) {
                return Ok(());
            }
            self.fingerprints.push(own);
        }
        if self.has_room() {
            self.zeros.push(expr);
        }
        Ok(())
    }

    fn push_step(&mut self, expr: Expr) {
        if !self.steps.contains(&expr) && self.has_room() {
            self.steps.push(expr);
        }
    }

    fn has_room(&mut self) -> bool {
        let room = self.zeros.len() + self.steps.len() < MAX_FUNCTIONS;
        self.incomplete |= !room;
        room
    }
}

fn is_even(exponent: &Rational) -> bool {
    exponent.is_integer() && exponent.num().is_even()
}

/// Whether a part is a root or an absolute value.
fn is_root(part: &Expr) -> bool {
    match part {
        Expr::Power(pair) => pair.1.as_number().is_some_and(|value| !value.is_integer()),
        Expr::Call(Function::Abs, _) => true,
        _ => false,
    }
}

/// Whether an expression contains free symbols and none that are bound.
fn is_free(expr: &Expr, bound: &[&str]) -> bool {
    expr.any(&|part| matches!(part, Expr::Symbol(_)))
        && !expr.any(&|part| matches!(part, Expr::Symbol(name) if bound.contains(&&**name)))
}

//! Derivatives by the rules of differentiation. Functions without an elementary derivative are not
//! supported: jumps, unknown functions, factorials.

use std::ops::Neg as _;

use crate::budget::{Budget, Exhausted};
use crate::number::Rational;
use crate::tree::charged::{all_copied, charge_visit, copied, replaced};
use crate::tree::{Binder, Constant, Expr, Function};

/// Most nodes of one derivative. Every rule copies its operand, so derivatives of nested functions
/// would grow without this limit.
const MAX_NODES: usize = 2_000;

/// The derivative of a folded expression by `name`, not folded; `None` if these rules find none.
pub(crate) fn derivative(
    expr: &Expr,
    name: &str,
    budget: &Budget,
) -> Result<Option<Expr>, Exhausted> {
    let mut derivation = Derivation {
        name,
        left: MAX_NODES,
        budget,
    };
    match derivation.of(expr) {
        Ok(found) => Ok(Some(found)),
        Err(Stop::Unsupported) => Ok(None),
        Err(Stop::Exhausted) => Err(Exhausted),
    }
}

/// Why there is no derivative.
enum Stop {
    /// These rules find none.
    Unsupported,
    /// The budget is exhausted.
    Exhausted,
}

impl From<Exhausted> for Stop {
    fn from(_: Exhausted) -> Self {
        Self::Exhausted
    }
}

struct Derivation<'a> {
    name: &'a str,
    left: usize,
    budget: &'a Budget,
}

impl Derivation<'_> {
    fn of(&mut self, expr: &Expr) -> Result<Expr, Stop> {
        self.take(1)?;
        if !self.varies(expr)? {
            return Ok(Expr::int(0));
        }
        match expr {
            Expr::Symbol(_) => Ok(Expr::int(1)),
            Expr::Sum(items) => items
                .iter()
                .map(|item| self.of(item))
                .collect::<Result<_, _>>()
                .map(Expr::Sum),
            Expr::Product(items) => {
                let mut terms = Vec::new();
                for (at, item) in items.iter().enumerate() {
                    if self.varies(item)? {
                        self.take(items.len())?;
                        let mut factors = all_copied(items, self.budget)?;
                        if let Some(factor) = factors.get_mut(at) {
                            *factor = self.of(item)?;
                        }
                        terms.push(Expr::Product(factors));
                    }
                }
                Ok(Expr::Sum(terms))
            }
            Expr::Power(pair) => self.power(&pair.0, &pair.1),
            Expr::Call(function, items) => self.call(*function, items),
            Expr::Bound(Binder::Integral, bound, parts) => self.integral(bound, parts),
            _ => Err(Stop::Unsupported),
        }
    }

    fn take(&mut self, nodes: usize) -> Result<(), Stop> {
        self.left = self.left.checked_sub(nodes).ok_or(Stop::Unsupported)?;
        Ok(())
    }

    fn copied(&self, expr: &Expr) -> Result<Expr, Stop> {
        Ok(copied(expr, self.budget)?)
    }

    /// Whether the variable is free in an expression.
    fn varies(&self, expr: &Expr) -> Result<bool, Exhausted> {
        charge_visit(expr, 1, self.budget)?;
        Ok(self.is_free_in(expr))
    }

    fn is_free_in(&self, expr: &Expr) -> bool {
        match expr {
            Expr::Bound(Binder::Integral, bound, parts) if parts.len() == 1 => {
                **bound == *self.name || parts.iter().any(|part| self.is_free_in(part))
            }
            Expr::Bound(_, bound, parts) => {
                let Some((body, ends)) = parts.split_last() else {
                    return false;
                };
                ends.iter().any(|end| self.is_free_in(end))
                    || **bound != *self.name && self.is_free_in(body)
            }
            Expr::Symbol(symbol) => **symbol == *self.name,
            other => other.children().any(|child| self.is_free_in(child)),
        }
    }

    /// `u^v`: `v·u^(v-1)·u'` and `u^v·ln u·v'`, as far as either varies.
    fn power(&mut self, base: &Expr, exponent: &Expr) -> Result<Expr, Stop> {
        let mut terms = Vec::with_capacity(2);
        if self.varies(base)? {
            let lowered = Expr::power(
                self.copied(base)?,
                Expr::Sum(vec![self.copied(exponent)?, Expr::int(-1)]),
            );
            terms.push(Expr::Product(vec![
                self.copied(exponent)?,
                lowered,
                self.of(base)?,
            ]));
        }
        if self.varies(exponent)? {
            let mut factors = vec![
                Expr::power(self.copied(base)?, self.copied(exponent)?),
                self.of(exponent)?,
            ];
            if !matches!(base, Expr::Constant(Constant::E)) {
                factors.push(Expr::Call(Function::Ln, vec![self.copied(base)?]));
            }
            terms.push(Expr::Product(factors));
        }
        Ok(Expr::Sum(terms))
    }

    /// The chain rule over the table of elementary functions.
    fn call(&mut self, function: Function, items: &[Expr]) -> Result<Expr, Stop> {
        if let (Function::Ln, [value, base]) = (function, items) {
            let ln = |expr: Expr| Expr::Call(Function::Ln, vec![expr]);
            let quotient = Expr::quotient(ln(self.copied(value)?), ln(self.copied(base)?));
            return self.of(&quotient);
        }
        let [inner] = items else {
            return Err(Stop::Unsupported);
        };
        // No rule copies its operand more than twice.
        let (first, second) = (self.copied(inner)?, self.copied(inner)?);
        let call = |function, inner| Expr::Call(function, vec![inner]);
        let square = |expr: Expr| Expr::power(expr, Expr::int(2));
        let plus = |constant: i64, expr: Expr| Expr::Sum(vec![Expr::int(constant), expr]);
        let one_over_root =
            |radicand: Expr| Expr::power(radicand, Expr::Number(Rational::ratio(-1, 2)));
        let outer = match function {
            Function::Sin => call(Function::Cos, first),
            Function::Cos => call(Function::Sin, first).neg(),
            Function::Tan => square(call(Function::Cos, first)).recip(),
            Function::Cot => square(call(Function::Sin, first)).recip().neg(),
            Function::Sec => Expr::Product(vec![
                call(Function::Sec, first),
                call(Function::Tan, second),
            ]),
            Function::Csc => Expr::Product(vec![
                call(Function::Csc, first),
                call(Function::Cot, second),
            ])
            .neg(),
            Function::Arcsin => one_over_root(plus(1, square(first).neg())),
            Function::Arccos => one_over_root(plus(1, square(first).neg())).neg(),
            Function::Arctan => plus(1, square(first)).recip(),
            Function::Arccot => plus(1, square(first)).recip().neg(),
            Function::Sinh => call(Function::Cosh, first),
            Function::Cosh => call(Function::Sinh, first),
            Function::Tanh => square(call(Function::Cosh, first)).recip(),
            Function::Arsinh => one_over_root(plus(1, square(first))),
            Function::Arcosh => one_over_root(plus(-1, square(first))),
            Function::Artanh => plus(1, square(first).neg()).recip(),
            Function::Ln => first.recip(),
            Function::Abs => Expr::quotient(first, call(Function::Abs, second)),
            _ => return Err(Stop::Unsupported),
        };
        Ok(Expr::Product(vec![outer, self.of(inner)?]))
    }

    /// By the fundamental theorem the derivative of `∫ f dx` is f. That of a definite integral is f
    /// at each end times the derivative of the end.
    fn integral(&mut self, bound: &str, parts: &[Expr]) -> Result<Expr, Stop> {
        match parts {
            [body] if *bound == *self.name => self.copied(body),
            [low, high, body] if *bound == *self.name || !self.varies(body)? => {
                let mut at = |end: &Expr| -> Result<Expr, Stop> {
                    Ok(Expr::Product(vec![
                        replaced(body, bound, end, self.budget)?,
                        self.of(end)?,
                    ]))
                };
                Ok(Expr::Sum(vec![at(high)?, at(low)?.neg()]))
            }
            _ => Err(Stop::Unsupported),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::fold;
    use super::*;
    use crate::budget::Budget;
    use crate::decide::scalar::same;
    use crate::parse::read;

    fn assert_derivative(text: &str, expected: &str) {
        let budget = Budget::default();
        let tree = |text: &str| fold(&read(text).unwrap().expr, &budget).unwrap();
        let found = fold(
            &derivative(&tree(text), "x", &budget).unwrap().unwrap(),
            &budget,
        )
        .unwrap();
        assert!(
            same(&found, &tree(expected), &budget).unwrap().0,
            "{text}: {found}"
        );
    }

    #[test]
    fn differentiates_elementary_functions() {
        assert_derivative("x^3 - 2x + 7", "3x^2 - 2");
        assert_derivative(r"x^2 \sin x", r"2x\sin x + x^2\cos x");
        assert_derivative(r"\frac{x}{x+1}", r"\frac{1}{(x+1)^2}");
        assert_derivative("x^x", r"x^x(\ln x + 1)");
        assert_derivative(r"\arctan(2x)", r"\frac{2}{1+4x^2}");
        assert_derivative(r"\log_2 x", r"\frac{1}{x\ln 2}");
        assert_derivative(r"\int_0^{x^2} \cos t \, dt", r"2x\cos(x^2)");
    }

    #[test]
    fn rejects_functions_without_elementary_derivative() {
        let found =
            |text: &str| derivative(&read(text).unwrap().expr, "x", &Budget::default()).unwrap();
        assert_eq!(found("x!"), None);
        assert_eq!(found("f(x)"), None);
        assert_eq!(found("y^2"), Some(Expr::int(0)));
    }
}

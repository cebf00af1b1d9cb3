//! Derivatives by the rules of differentiation. Functions without an elementary derivative are not
//! supported: jumps, unknown functions, factorials.

use std::ops::Neg as _;

use crate::number::Rational;
use crate::tree::{Binder, Constant, Expr, Function};

/// Most nodes of one derivative. Every rule copies its operand, so derivatives of nested functions
/// would grow without this limit.
const MAX_NODES: usize = 2_000;

/// The derivative of a folded expression by `name`, not folded; `None` if these rules find none.
pub(crate) fn derivative(expr: &Expr, name: &str) -> Option<Expr> {
    Derivation {
        name,
        left: MAX_NODES,
    }
    .of(expr)
}

struct Derivation<'a> {
    name: &'a str,
    left: usize,
}

impl Derivation<'_> {
    fn of(&mut self, expr: &Expr) -> Option<Expr> {
        self.left = self.left.checked_sub(1)?;
        if !self.varies(expr) {
            return Some(Expr::int(0));
        }
        match expr {
            Expr::Symbol(_) => Some(Expr::int(1)),
            Expr::Sum(items) => items
                .iter()
                .map(|item| self.of(item))
                .collect::<Option<_>>()
                .map(Expr::Sum),
            Expr::Product(items) => {
                let mut terms = Vec::new();
                for (at, item) in items.iter().enumerate() {
                    if self.varies(item) {
                        self.left = self.left.checked_sub(items.len())?;
                        let mut factors = items.clone();
                        *factors.get_mut(at)? = self.of(item)?;
                        terms.push(Expr::Product(factors));
                    }
                }
                Some(Expr::Sum(terms))
            }
            Expr::Power(pair) => self.power(&pair.0, &pair.1),
            Expr::Call(function, items) => self.call(*function, items),
            Expr::Bound(Binder::Integral, bound, parts) => self.integral(bound, parts),
            _ => None,
        }
    }

    /// Whether the variable is free in an expression.
    fn varies(&self, expr: &Expr) -> bool {
        match expr {
            Expr::Bound(Binder::Integral, bound, parts) if parts.len() == 1 => {
                **bound == *self.name || parts.iter().any(|part| self.varies(part))
            }
            Expr::Bound(_, bound, parts) => {
                let Some((body, ends)) = parts.split_last() else {
                    return false;
                };
                ends.iter().any(|end| self.varies(end))
                    || **bound != *self.name && self.varies(body)
            }
            Expr::Symbol(symbol) => **symbol == *self.name,
            other => other.children().any(|child| self.varies(child)),
        }
    }

    /// `u^v`: `v·u^(v-1)·u'` and `u^v·ln u·v'`, as far as either varies.
    fn power(&mut self, base: &Expr, exponent: &Expr) -> Option<Expr> {
        let mut terms = Vec::with_capacity(2);
        if self.varies(base) {
            let lowered = Expr::power(
                base.clone(),
                Expr::Sum(vec![exponent.clone(), Expr::int(-1)]),
            );
            terms.push(Expr::Product(vec![
                exponent.clone(),
                lowered,
                self.of(base)?,
            ]));
        }
        if self.varies(exponent) {
            let mut factors = vec![
                Expr::power(base.clone(), exponent.clone()),
                self.of(exponent)?,
            ];
            if !matches!(base, Expr::Constant(Constant::E)) {
                factors.push(Expr::Call(Function::Ln, vec![base.clone()]));
            }
            terms.push(Expr::Product(factors));
        }
        Some(Expr::Sum(terms))
    }

    /// The chain rule over the table of elementary functions.
    fn call(&mut self, function: Function, items: &[Expr]) -> Option<Expr> {
        if let (Function::Ln, [value, base]) = (function, items) {
            let ln = |expr: &Expr| Expr::Call(Function::Ln, vec![expr.clone()]);
            return self.of(&Expr::quotient(ln(value), ln(base)));
        }
        let [inner] = items else {
            return None;
        };
        let call = |function| Expr::Call(function, vec![inner.clone()]);
        let square = |expr: Expr| Expr::power(expr, Expr::int(2));
        let plus = |constant: i64, expr: Expr| Expr::Sum(vec![Expr::int(constant), expr]);
        let one_over_root =
            |radicand: Expr| Expr::power(radicand, Expr::Number(Rational::ratio(-1, 2)));
        let outer = match function {
            Function::Sin => call(Function::Cos),
            Function::Cos => call(Function::Sin).neg(),
            Function::Tan => square(call(Function::Cos)).recip(),
            Function::Cot => square(call(Function::Sin)).recip().neg(),
            Function::Sec => Expr::Product(vec![call(Function::Sec), call(Function::Tan)]),
            Function::Csc => Expr::Product(vec![call(Function::Csc), call(Function::Cot)]).neg(),
            Function::Arcsin => one_over_root(plus(1, square(inner.clone()).neg())),
            Function::Arccos => one_over_root(plus(1, square(inner.clone()).neg())).neg(),
            Function::Arctan => plus(1, square(inner.clone())).recip(),
            Function::Arccot => plus(1, square(inner.clone())).recip().neg(),
            Function::Sinh => call(Function::Cosh),
            Function::Cosh => call(Function::Sinh),
            Function::Tanh => square(call(Function::Cosh)).recip(),
            Function::Arsinh => one_over_root(plus(1, square(inner.clone()))),
            Function::Arcosh => one_over_root(plus(-1, square(inner.clone()))),
            Function::Artanh => plus(1, square(inner.clone()).neg()).recip(),
            Function::Ln => inner.clone().recip(),
            Function::Abs => Expr::quotient(inner.clone(), call(Function::Abs)),
            _ => return None,
        };
        Some(Expr::Product(vec![outer, self.of(inner)?]))
    }

    /// By the fundamental theorem the derivative of `∫ f dx` is f. That of a definite integral is f
    /// at each end times the derivative of the end.
    fn integral(&mut self, bound: &str, parts: &[Expr]) -> Option<Expr> {
        match parts {
            [body] if *bound == *self.name => Some(body.clone()),
            [low, high, body] if *bound == *self.name || !self.varies(body) => {
                let mut at = |end: &Expr| {
                    Some(Expr::Product(vec![
                        body.substitute(bound, end),
                        self.of(end)?,
                    ]))
                };
                Some(Expr::Sum(vec![at(high)?, at(low)?.neg()]))
            }
            _ => None,
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
        let found = fold(&derivative(&tree(text), "x").unwrap(), &budget).unwrap();
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
        let tree = |text: &str| read(text).unwrap().expr;
        assert_eq!(derivative(&tree("x!"), "x"), None);
        assert_eq!(derivative(&tree("f(x)"), "x"), None);
        assert_eq!(derivative(&tree("y^2"), "x"), Some(Expr::int(0)));
    }
}

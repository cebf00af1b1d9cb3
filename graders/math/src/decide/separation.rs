//! How close to zero a constant can be without being zero.
//!
//! Let `u` and `l` be the integers defined below for a radical expression `E`, and `D` its degree:
//! the product of the indices of its different roots. Then either `E = 0` or `|E| >= 1 / (l ·
//! u^(D-1))`. Proof: Burnikel, Fleischer, Mehlhorn and Schirra, "A strong and easily computable
//! separation bound for arithmetic expressions involving radicals", Algorithmica 27, 2000. `E` is a
//! quotient `U/L` of algebraic integers of a field of degree at most `D` with conjugates of at most
//! `u` and `l`, and the norm of `U` is at least 1.
//!
//! ```text
//! n          u = |n|                 l = 1
//! a + b      u = ua·lb + la·ub       l = la·lb
//! a · b      u = ua·ub               l = la·lb
//! a / b      u = ua·lb               l = la·ub
//! root k     u = (u·l^(k-1))^(1/k)   l = l
//! ```

use std::collections::HashSet;

use crate::budget::{Budget, Exhausted};
use crate::number::Rational;
use crate::tree::charged::charge_visit;
use crate::tree::{Constant, Expr};

/// Steps of hashing a node and comparing it with an equal one.
const HASH_STEPS: u64 = 4;

/// Extra bits for constants that are not algebraic: two of them that agree to `2^-256` beyond the
/// size of all numbers in them count as equal. This is an assumption without proof; no two
/// different elementary constants of such size are known to agree so far.
pub(crate) const ASSUMED_BITS: u64 = 256;

/// Binary logarithms of `u` and `l`, rounded up.
#[derive(Debug, Clone, Copy)]
struct Height {
    u: u64,
    l: u64,
}

/// A separation bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Bound {
    /// A constant with an absolute value below `2^-bits` is zero.
    pub(crate) bits: u64,
    /// Whether the bound is proved. Otherwise it is assumed.
    pub(crate) proved: bool,
}

struct HeightWalk<'a> {
    roots: HashSet<&'a Expr>,
    degree: u64,
    proved: bool,
    budget: &'a Budget,
}

/// The bound for `a - b`.
///
/// # Errors
/// [`Exhausted`] if the work exceeds the budget.
pub(crate) fn bound(a: &Expr, b: &Expr, budget: &Budget) -> Result<Bound, Exhausted> {
    let mut walk = HeightWalk {
        roots: HashSet::new(),
        degree: 1,
        proved: true,
        budget,
    };
    let (a, b) = (walk.height(a)?, walk.height(b)?);
    let whole = sum(a, b);
    if walk.proved {
        let bits = whole
            .u
            .saturating_mul(walk.degree - 1)
            .saturating_add(whole.l)
            .saturating_add(2);
        return Ok(Bound { bits, proved: true });
    }
    Ok(Bound {
        bits: ASSUMED_BITS.saturating_add(whole.u).saturating_add(whole.l),
        proved: false,
    })
}

fn sum(a: Height, b: Height) -> Height {
    Height {
        u: a.u
            .saturating_add(b.l)
            .max(a.l.saturating_add(b.u))
            .saturating_add(1),
        l: a.l.saturating_add(b.l),
    }
}

impl<'a> HeightWalk<'a> {
    fn height(&mut self, expr: &'a Expr) -> Result<Height, Exhausted> {
        Ok(match expr {
            Expr::Number(value) => of(value),
            Expr::Constant(Constant::I) => {
                self.root(expr, 2)?;
                Height { u: 0, l: 0 }
            }
            Expr::Sum(items) => {
                let mut heights = items
                    .iter()
                    .map(|item| self.height(item))
                    .collect::<Result<Vec<_>, _>>()?;
                // Add pairwise, so that a sum of n terms costs log n bits instead of n.
                while heights.len() > 1 {
                    heights = heights
                        .chunks(2)
                        .map(|pair| match pair {
                            [a, b] => sum(*a, *b),
                            [a] => *a,
                            _ => Height { u: 0, l: 0 },
                        })
                        .collect();
                }
                heights.pop().unwrap_or(Height { u: 0, l: 0 })
            }
            Expr::Product(items) => {
                let mut total = Height { u: 0, l: 0 };
                for item in items {
                    let next = self.height(item)?;
                    total = Height {
                        u: total.u.saturating_add(next.u),
                        l: total.l.saturating_add(next.l),
                    };
                }
                total
            }
            Expr::Power(pair) => match &pair.1 {
                Expr::Number(exponent) => self.power(expr, &pair.0, exponent)?,
                _ => self.opaque(expr)?,
            },
            _ => self.opaque(expr)?,
        })
    }

    fn power(
        &mut self,
        whole: &'a Expr,
        base: &'a Expr,
        exponent: &Rational,
    ) -> Result<Height, Exhausted> {
        let base = self.height(base)?;
        let index = u64::try_from(exponent.den()).unwrap_or(u64::MAX);
        let root = if index == 1 {
            base
        } else {
            self.root(whole, index)?;
            Height {
                u: base
                    .u
                    .saturating_add(base.l.saturating_mul(index - 1))
                    .div_ceil(index),
                l: base.l,
            }
        };
        let times = u64::try_from(exponent.num().magnitude()).unwrap_or(u64::MAX);
        let raised = Height {
            u: root.u.saturating_mul(times),
            l: root.l.saturating_mul(times),
        };
        Ok(if exponent.is_negative() {
            Height {
                u: raised.l,
                l: raised.u,
            }
        } else {
            raised
        })
    }

    fn root(&mut self, expr: &'a Expr, index: u64) -> Result<(), Exhausted> {
        charge_visit(expr, HASH_STEPS, self.budget)?;
        if self.roots.insert(expr) {
            self.degree = self.degree.saturating_mul(index);
        }
        Ok(())
    }

    /// An expression that is not algebraic, or not known to be. The numbers in it count, so that
    /// `pi + 10^-200` differs from `pi`.
    fn opaque(&mut self, expr: &'a Expr) -> Result<Height, Exhausted> {
        self.proved = false;
        let mut total = Height { u: 2, l: 0 };
        for child in expr.children() {
            let next = self.height(child)?;
            total.u = total.u.saturating_add(next.u).saturating_add(next.l);
        }
        Ok(total)
    }
}

fn of(value: &Rational) -> Height {
    Height {
        u: value.num().bits(),
        l: if value.is_integer() {
            0
        } else {
            value.den().bits()
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::normal::fold;
    use crate::parse::read;

    fn bits(a: &str, b: &str) -> Bound {
        let tree = |text: &str| fold(&read(text).unwrap().expr, &Budget::default()).unwrap();
        bound(&tree(a), &tree(b), &Budget::default()).unwrap()
    }

    #[test]
    fn bound_of_radicals_is_proved() {
        let found = bits(r"\sqrt{2}+\sqrt{3}", r"\sqrt{5+2\sqrt{6}}");
        assert!(
            found.proved && (10..2_000).contains(&found.bits),
            "{found:?}"
        );
    }

    #[test]
    fn bound_includes_small_terms() {
        let found = bits(r"\pi + 10^{-200}", r"\pi");
        assert!(
            !found.proved && found.bits > ASSUMED_BITS + 600,
            "{found:?}"
        );
    }
}

//! Whether two functions of integers differ at many of them: modulo a prime, and exactly where
//! values are small, so that sums with a hundred terms are affordable.
//!
//! Different residues prove a difference. Equal ones prove nothing.

use num_integer::Integer as _;
use num_traits::ToPrimitive as _;

use super::points::Points;
use crate::budget::{Budget, Exhausted};
use crate::number::Rational;
use crate::number::residue::{Field, Residue, mix};
use crate::tree::{Binder, Expr, Function};

/// Steps of a node.
const NODE_STEPS: u64 = 3;

/// Most terms of a sum, and factors of a product.
const MAX_TERMS: i128 = 4_000;

/// Largest exponent.
const MAX_EXPONENT: i128 = 1 << 40;

/// Exact values are below.
const MAX_EXACT: i128 = 1 << 62;

/// Whether two functions differ at one of the integers for their symbols.
pub(super) fn differ(
    a: &Expr,
    b: &Expr,
    points: &Points<'_>,
    budget: &Budget,
) -> Result<bool, Exhausted> {
    let field = Field::new(mix(points.seed()));
    let mut symbols: Vec<(&str, i64)> = points
        .symbols()
        .iter()
        .map(|(name, _)| (*name, 0))
        .collect();
    let Some(minus_one) = field.rational(&Rational::small(-1)) else {
        return Ok(false);
    };
    let counting = Counting {
        field,
        minus_one,
        budget,
    };
    for values in points.many_integers(budget)? {
        for ((_, slot), value) in symbols.iter_mut().zip(values) {
            *slot = value;
        }
        let mut known = symbols.clone();
        let Some(left) = counting.value(a, &mut known)? else {
            continue;
        };
        if let Some(right) = counting.value(b, &mut known)?
            && !field.same(left.residue, right.residue)
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// A value modulo a prime.
#[derive(Debug, Clone, Copy)]
struct Counted {
    residue: Residue,
    exact: Option<Fraction>,
}

/// A small number in lowest terms, with a positive denominator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Fraction {
    num: i128,
    den: i128,
}

impl Fraction {
    fn new(num: i128, den: i128) -> Option<Self> {
        let (num, den) = if den == 1 {
            (num, den)
        } else {
            let over = num.gcd(&den) * den.signum();
            if over == 0 {
                return None;
            }
            (num / over, den / over)
        };
        (num.abs() < MAX_EXACT && den < MAX_EXACT).then_some(Self { num, den })
    }

    fn add(self, other: Self) -> Option<Self> {
        Self::new(
            self.num * other.den + other.num * self.den,
            self.den * other.den,
        )
    }

    fn mul(self, other: Self) -> Option<Self> {
        Self::new(self.num * other.num, self.den * other.den)
    }

    fn pow(self, exponent: i128) -> Option<Self> {
        let base = if exponent < 0 {
            Self::new(self.den, self.num)?
        } else {
            self
        };
        let mut total = Self { num: 1, den: 1 };
        let is_unit = base.den == 1 && base.num.abs() <= 1;
        let exponent = exponent.abs();
        for _ in 0..if is_unit { 2 - exponent % 2 } else { exponent } {
            total = total.mul(base)?;
        }
        Some(total)
    }

    fn less(self, other: Self) -> bool {
        self.num * other.den < other.num * self.den
    }

    fn floor(self) -> i128 {
        num_integer::Integer::div_floor(&self.num, &self.den)
    }

    fn integer(self) -> Option<i128> {
        (self.den == 1).then_some(self.num)
    }
}

struct Counting<'a> {
    field: Field,
    minus_one: Residue,
    budget: &'a Budget,
}

impl Counting<'_> {
    fn of_fraction(&self, value: Fraction) -> Option<Counted> {
        let field = self.field;
        let element = |part: i128| {
            u64::try_from(part.abs())
                .map(|part| field.element(part))
                .ok()
        };
        let mut residue = element(value.num)?;
        if value.num < 0 {
            residue = field.mul(residue, self.minus_one);
        }
        if value.den != 1 {
            residue = field.mul(residue, field.recip(element(value.den)?)?);
        }
        let exact = Some(value);
        Some(Counted { residue, exact })
    }

    fn of_integer(&self, value: i128) -> Option<Counted> {
        self.of_fraction(Fraction::new(value, 1)?)
    }

    /// The value of an expression; `None` if it has none, or is not supported.
    fn value<'e>(
        &self,
        expr: &'e Expr,
        known: &mut Vec<(&'e str, i64)>,
    ) -> Result<Option<Counted>, Exhausted> {
        self.budget.charge(NODE_STEPS)?;
        let field = self.field;
        Ok(match expr {
            Expr::Number(value) => {
                self.budget.charge(value.bits() / 64)?;
                field.rational(value).map(|residue| Counted {
                    residue,
                    exact: (value.num().to_i128().zip(value.den().to_i128()))
                        .and_then(|(num, den)| Fraction::new(num, den)),
                })
            }
            Expr::Symbol(name) => {
                let found = known.iter().rev().find(|(own, _)| *own == &**name);
                found.and_then(|(_, value)| self.of_integer((*value).into()))
            }
            Expr::Sum(items) => {
                let mut total = self.of_integer(0);
                for item in items {
                    let Some((own, item)) = total.zip(self.value(item, known)?) else {
                        return Ok(None);
                    };
                    total = Some(self.sum(own, item));
                }
                total
            }
            Expr::Product(items) => {
                let mut total = self.of_integer(1);
                for item in items {
                    let Some((own, item)) = total.zip(self.value(item, known)?) else {
                        return Ok(None);
                    };
                    total = Some(self.product(own, item));
                }
                total
            }
            Expr::Power(pair) => {
                let base = self.value(&pair.0, known)?;
                match base.zip(self.value(&pair.1, known)?) {
                    Some((base, exponent)) => self.power(base, exponent)?,
                    None => None,
                }
            }
            Expr::Call(function, items) => {
                let mut exact = Vec::with_capacity(items.len());
                for item in items {
                    let Some(value) = self.value(item, known)?.and_then(|item| item.exact) else {
                        return Ok(None);
                    };
                    exact.push(value);
                }
                self.call(*function, &exact)?
            }
            Expr::Bound(binder @ (Binder::Sum | Binder::Product), name, parts) => {
                self.series(*binder, name, parts, known)?
            }
            _ => None,
        })
    }

    fn sum(&self, a: Counted, b: Counted) -> Counted {
        Counted {
            residue: self.field.add(a.residue, b.residue),
            exact: a.exact.zip(b.exact).and_then(|(a, b)| a.add(b)),
        }
    }

    fn product(&self, a: Counted, b: Counted) -> Counted {
        Counted {
            residue: self.field.mul(a.residue, b.residue),
            exact: a.exact.zip(b.exact).and_then(|(a, b)| a.mul(b)),
        }
    }

    fn power(&self, base: Counted, exponent: Counted) -> Result<Option<Counted>, Exhausted> {
        let exponent = exponent.exact.and_then(Fraction::integer);
        let Some(exponent) = exponent.filter(|value| value.abs() < MAX_EXPONENT) else {
            return Ok(None);
        };
        self.budget.charge(60)?;
        let residue = self.field.pow(base.residue, &exponent.into());
        Ok(residue.map(|residue| Counted {
            residue,
            exact: base.exact.and_then(|base| base.pow(exponent)),
        }))
    }

    fn series<'e>(
        &self,
        binder: Binder,
        name: &'e str,
        parts: &'e [Expr],
        known: &mut Vec<(&'e str, i64)>,
    ) -> Result<Option<Counted>, Exhausted> {
        let [low, high, body] = parts else {
            return Ok(None);
        };
        let integer = |value: Option<Counted>| value?.exact?.integer();
        let low = integer(self.value(low, known)?);
        let Some((low, high)) = low.zip(integer(self.value(high, known)?)) else {
            return Ok(None);
        };
        // A sum without terms may have an end outside of its range.
        if high < low || high - low > MAX_TERMS {
            return Ok(None);
        }
        let is_sum = binder == Binder::Sum;
        let mut total = self.of_integer(i128::from(!is_sum));
        for index in low..=high {
            let Ok(index) = i64::try_from(index) else {
                return Ok(None);
            };
            known.push((name, index));
            let term = self.value(body, known);
            known.pop();
            let Some((own, term)) = total.zip(term?) else {
                return Ok(None);
            };
            total = Some(if is_sum {
                self.sum(own, term)
            } else {
                self.product(own, term)
            });
        }
        Ok(total)
    }

    /// A product of integers from a high one down by steps, as long as they are positive.
    fn falling(&self, high: i128, step: i128) -> Result<Option<Counted>, Exhausted> {
        if !(0..=MAX_TERMS).contains(&high) {
            return Ok(None);
        }
        self.budget.charge(u64::try_from(2 * high).unwrap_or(0))?;
        let mut total = self.of_integer(1);
        let mut at = high;
        while at > 1 {
            total = (total.zip(self.of_integer(at))).map(|(total, at)| self.product(total, at));
            at -= step;
        }
        Ok(total)
    }

    fn binomial(&self, n: i128, k: i128) -> Result<Option<Counted>, Exhausted> {
        if n < 0 || k < 0 || k > n || k.min(n - k) > MAX_TERMS {
            return Ok(None);
        }
        let k = k.min(n - k);
        self.budget.charge(u64::try_from(4 * k).unwrap_or(0))?;
        let mut total = self.of_integer(1);
        for at in 1..=k {
            let factor = Fraction::new(n - k + at, at).and_then(|factor| self.of_fraction(factor));
            total = total
                .zip(factor)
                .map(|(total, factor)| self.product(total, factor));
        }
        Ok(total)
    }

    fn call(&self, function: Function, items: &[Fraction]) -> Result<Option<Counted>, Exhausted> {
        let integers: Option<Vec<i128>> = items.iter().map(|item| item.integer()).collect();
        self.budget.charge(20)?;
        Ok(match (function, items, integers.as_deref()) {
            (Function::Factorial, _, Some([n])) => self.falling(*n, 1)?,
            (Function::DoubleFactorial, _, Some([n])) => self.falling(*n, 2)?,
            (Function::Binomial, _, Some([n, k])) => self.binomial(*n, *k)?,
            (Function::Gcd, _, Some([first, rest @ ..])) => {
                let total = rest.iter().fold(*first, |total, next| total.gcd(next));
                self.of_integer(total)
            }
            (Function::Lcm, _, Some([first, rest @ ..])) => {
                let lcm = |total: i128, next: &i128| {
                    let over = total.gcd(next).max(1);
                    (total / over).checked_mul(*next)
                };
                let total = rest.iter().try_fold(*first, lcm);
                total.and_then(|total| self.of_integer(total))
            }
            (Function::Mod, [a, m], _) if m.num != 0 => {
                let reduced = || {
                    let times = a.mul(m.pow(-1)?)?.floor();
                    a.add(m.mul(Fraction::new(-times, 1)?)?)
                };
                reduced().and_then(|value| self.of_fraction(value))
            }
            (Function::Floor, [item], _) => self.of_integer(item.floor()),
            (Function::Ceil, [item], _) => {
                let num = -item.num;
                self.of_integer(-Fraction { num, ..*item }.floor())
            }
            (Function::Abs, [item], _) => {
                let num = item.num.abs();
                self.of_fraction(Fraction { num, ..*item })
            }
            (Function::Sign, [item], _) => self.of_integer(item.num.signum()),
            (Function::Min | Function::Max, [first, rest @ ..], _) => {
                let mut best = *first;
                for item in rest {
                    if item.less(best) == (function == Function::Min) {
                        best = *item;
                    }
                }
                self.of_fraction(best)
            }
            _ => None,
        })
    }
}

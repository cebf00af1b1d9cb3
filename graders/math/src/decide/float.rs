//! Approximate values of functions in double precision, which take a hundredth of the time of
//! balls. They select the points at which balls are compared, and decide nothing.
//!
//! The functions of `libm` have the same values on every machine, unlike those of the standard
//! library.

use num_traits::ToPrimitive as _;

use crate::budget::{Budget, Exhausted};
use crate::number::Rational;
use crate::tree::charged::NODE_BYTES;
use crate::tree::{Binder, Constant, Expr, Function, Relation};

/// Steps of a node, and of one that calls a function of `libm`.
const NODE_STEPS: u64 = 1;
const CALL_STEPS: u64 = 6;

/// Steps of a product of so many factors.
const FACTORIAL_STEPS: u64 = 30;

/// Largest argument of a factorial: the next one has no value in double precision.
const MAX_FACTORIAL: f64 = 170.0;

/// Integers from here on have no exact values.
const MAX_EXACT: f64 = 9e15;

/// Most terms of a sum, or factors of a product.
const MAX_TERMS: f64 = 1_000.0;

/// A function of some variables.
pub(super) struct Float {
    root: Node,
    /// Steps of a value, without those of sums and products with an index.
    steps: u64,
}

enum Node {
    Number(f64),
    /// A variable by its index. Indices of sums come after the free ones.
    Variable(usize),
    Sum(Vec<Node>),
    Product(Vec<Node>),
    Power(Box<(Node, Node)>),
    Call(Function, Vec<Node>),
    Cases(Vec<Row>),
    /// A sum or a product from a low to a high index.
    Series {
        binder: Binder,
        index: usize,
        /// The low and the high index, and the term.
        parts: Box<[Node; 3]>,
        steps: u64,
    },
}

/// A row of a piecewise definition: it applies if all conditions are true.
struct Row {
    value: Node,
    conditions: Vec<(Node, Relation, Node)>,
}

/// A value, and the size of the terms that it is the sum of.
#[derive(Debug, Clone, Copy)]
pub(super) struct Valued {
    pub(super) value: f64,
    pub(super) size: f64,
}

impl Float {
    /// The function of an expression; `None` if it has no real values, or is not supported.
    pub(super) fn of(
        expr: &Expr,
        symbols: &[(&str, bool)],
        budget: &Budget,
    ) -> Result<Option<Self>, Exhausted> {
        let mut names: Vec<&str> = symbols.iter().map(|(name, _)| *name).collect();
        let mut steps = 0;
        let root = node(expr, &mut names, &mut steps, budget)?;
        Ok(root.map(|root| Self { root, steps }))
    }

    /// The value where the variables have these values; it is not finite where there is none.
    pub(super) fn value(
        &self,
        values: &mut Vec<f64>,
        budget: &Budget,
    ) -> Result<Valued, Exhausted> {
        budget.charge(self.steps)?;
        if let Node::Sum(items) = &self.root {
            let (mut value, mut size) = (0.0, 0.0);
            for item in items {
                let term = item.value(values, budget)?;
                value += term;
                size += term.abs();
            }
            return Ok(Valued { value, size });
        }
        let value = self.root.value(values, budget)?;
        Ok(Valued {
            value,
            size: value.abs(),
        })
    }
}

/// The nearest double to a rational; infinite or 0 if it is out of range.
pub(super) fn nearest(value: &Rational) -> f64 {
    let (num, den) = (value.num(), value.den());
    if num.bits() < 1_000 && den.bits() < 1_000 {
        let (num, den) = (num.to_f64(), den.to_f64());
        return num.zip(den).map_or(f64::NAN, |(num, den)| num / den);
    }
    let shift = num.bits().max(den.bits()) - 1_000;
    let (num, den): (num_bigint::BigInt, num_bigint::BigInt) = (num >> shift, den >> shift);
    let (num, den) = (num.to_f64(), den.to_f64());
    num.zip(den).map_or(f64::NAN, |(num, den)| num / den)
}

fn all<'a>(
    items: &'a [Expr],
    names: &mut Vec<&'a str>,
    steps: &mut u64,
    budget: &Budget,
) -> Result<Option<Vec<Node>>, Exhausted> {
    let items = items.iter().map(|item| node(item, names, steps, budget));
    items.collect()
}

fn node<'a>(
    expr: &'a Expr,
    names: &mut Vec<&'a str>,
    steps: &mut u64,
    budget: &Budget,
) -> Result<Option<Node>, Exhausted> {
    budget.charge(4)?;
    budget.charge_bytes(NODE_BYTES)?;
    *steps += match expr {
        Expr::Number(_) | Expr::Constant(_) | Expr::Symbol(_) => 0,
        _ => NODE_STEPS,
    };
    Ok(Some(match expr {
        Expr::Number(value) => {
            budget.charge(value.bits() / 64)?;
            Node::Number(nearest(value))
        }
        Expr::Constant(Constant::Pi) => Node::Number(std::f64::consts::PI),
        Expr::Constant(Constant::E) => Node::Number(std::f64::consts::E),
        Expr::Symbol(name) => match names.iter().rposition(|own| *own == &**name) {
            Some(at) => Node::Variable(at),
            None => return Ok(None),
        },
        Expr::Sum(items) => match all(items, names, steps, budget)? {
            Some(items) => Node::Sum(items),
            None => return Ok(None),
        },
        Expr::Product(items) => match all(items, names, steps, budget)? {
            Some(items) => Node::Product(items),
            None => return Ok(None),
        },
        Expr::Power(pair) => {
            if !matches!(&pair.1, Expr::Number(exponent) if is_simple(nearest(exponent))) {
                *steps += CALL_STEPS;
            }
            let base = node(&pair.0, names, steps, budget)?;
            match base.zip(node(&pair.1, names, steps, budget)?) {
                Some(pair) => Node::Power(Box::new(pair)),
                None => return Ok(None),
            }
        }
        Expr::Call(function, items) if is_supported(*function, items.len()) => {
            *steps += match function {
                Function::Abs
                | Function::Sign
                | Function::Floor
                | Function::Ceil
                | Function::Min
                | Function::Max => 0,
                Function::Factorial | Function::DoubleFactorial | Function::Binomial => {
                    FACTORIAL_STEPS
                }
                _ => CALL_STEPS,
            };
            match all(items, names, steps, budget)? {
                Some(items) => Node::Call(*function, items),
                None => return Ok(None),
            }
        }
        Expr::Cases(rows) => {
            let rows = rows.iter().map(|row| self::row(row, names, steps, budget));
            match rows.collect::<Result<Option<_>, _>>()? {
                Some(rows) => Node::Cases(rows),
                None => return Ok(None),
            }
        }
        Expr::Bound(binder @ (Binder::Sum | Binder::Product), name, parts) => {
            let [low, high, body] = parts.as_slice() else {
                return Ok(None);
            };
            let low = node(low, names, steps, budget)?;
            let high = node(high, names, steps, budget)?;
            let mut own = 0;
            names.push(name);
            let body = node(body, names, &mut own, budget);
            names.pop();
            let (Some(low), Some(high), Some(body)) = (low, high, body?) else {
                return Ok(None);
            };
            Node::Series {
                binder: *binder,
                index: names.len(),
                parts: Box::new([low, high, body]),
                steps: own,
            }
        }
        _ => return Ok(None),
    }))
}

fn row<'a>(
    row: &'a [Expr],
    names: &mut Vec<&'a str>,
    steps: &mut u64,
    budget: &Budget,
) -> Result<Option<Row>, Exhausted> {
    let Some((value, conditions)) = row.split_first() else {
        return Ok(None);
    };
    let Some(value) = node(value, names, steps, budget)? else {
        return Ok(None);
    };
    let mut all = Vec::new();
    if let [Expr::Chain(sides, relations)] = conditions {
        for (pair, relation) in sides.windows(2).zip(relations) {
            let [left, right] = pair else {
                return Ok(None);
            };
            let left = node(left, names, steps, budget)?;
            let right = node(right, names, steps, budget)?;
            let Some((left, right)) = left.zip(right) else {
                return Ok(None);
            };
            all.push((left, *relation, right));
        }
    }
    Ok(Some(Row {
        value,
        conditions: all,
    }))
}

fn is_supported(function: Function, arguments: usize) -> bool {
    use Function as F;
    match function {
        F::Re | F::Im | F::Conjugate | F::Arg | F::Det | F::Residue => false,
        F::Gcd | F::Lcm | F::Min | F::Max => arguments > 0,
        F::Binomial | F::Mod => arguments == 2,
        F::Ln => matches!(arguments, 1 | 2),
        _ => arguments == 1,
    }
}

impl Node {
    fn value(&self, values: &mut Vec<f64>, budget: &Budget) -> Result<f64, Exhausted> {
        Ok(match self {
            Self::Number(value) => *value,
            Self::Variable(at) => values.get(*at).copied().unwrap_or(f64::NAN),
            Self::Sum(items) => {
                let mut total = 0.0;
                for item in items {
                    total += item.value(values, budget)?;
                }
                total
            }
            Self::Product(items) => {
                let mut total = 1.0;
                for item in items {
                    total *= item.value(values, budget)?;
                }
                total
            }
            Self::Power(pair) => {
                power(pair.0.value(values, budget)?, pair.1.value(values, budget)?)
            }
            Self::Call(function, items) => match items.as_slice() {
                [item] => of_one(*function, item.value(values, budget)?),
                [first, rest @ ..] => {
                    let mut total = first.value(values, budget)?;
                    for item in rest {
                        total = of_two(*function, total, item.value(values, budget)?);
                    }
                    total
                }
                [] => f64::NAN,
            },
            Self::Cases(rows) => {
                for row in rows {
                    let mut applies = true;
                    for (left, relation, right) in &row.conditions {
                        let (left, right) =
                            (left.value(values, budget)?, right.value(values, budget)?);
                        if left.is_nan() || right.is_nan() {
                            return Ok(f64::NAN);
                        }
                        applies &= holds(left, *relation, right);
                    }
                    if applies {
                        return row.value.value(values, budget);
                    }
                }
                f64::NAN
            }
            Self::Series {
                binder,
                index,
                parts,
                steps,
            } => {
                let [low, high, body] = &**parts;
                let (low, high) = (low.value(values, budget)?, high.value(values, budget)?);
                let is_sum = *binder == Binder::Sum;
                let mut total = if is_sum { 0.0 } else { 1.0 };
                if low.fract() != 0.0 || high.fract() != 0.0 || high - low > MAX_TERMS {
                    return Ok(f64::NAN);
                }
                values.truncate(*index);
                values.push(low);
                while let Some(at) = values.get(*index).copied()
                    && at <= high
                {
                    budget.charge(*steps)?;
                    let term = body.value(values, budget)?;
                    values.truncate(*index);
                    values.push(at + 1.0);
                    if is_sum {
                        total += term;
                    } else {
                        total *= term;
                    }
                }
                values.truncate(*index);
                total
            }
        })
    }
}

/// Whether a power with this exponent takes one operation.
fn is_simple(exponent: f64) -> bool {
    [2.0, -1.0, 0.5].contains(&exponent)
}

fn power(base: f64, exponent: f64) -> f64 {
    match exponent {
        2.0 => base * base,
        -1.0 => 1.0 / base,
        0.5 => base.sqrt(),
        exponent => libm::pow(base, exponent),
    }
}

fn holds(left: f64, relation: Relation, right: f64) -> bool {
    match relation {
        Relation::Less => left < right,
        Relation::LessEqual => left <= right,
        Relation::Greater => left > right,
        Relation::GreaterEqual => left >= right,
        Relation::Equal => left == right,
        Relation::NotEqual => left != right,
        _ => false,
    }
}

fn of_one(function: Function, x: f64) -> f64 {
    use Function as F;
    use std::f64::consts::FRAC_PI_2;
    match function {
        F::Sin => libm::sin(x),
        F::Cos => libm::cos(x),
        F::Tan => libm::tan(x),
        F::Cot => 1.0 / libm::tan(x),
        F::Sec => 1.0 / libm::cos(x),
        F::Csc => 1.0 / libm::sin(x),
        F::Arcsin => libm::asin(x),
        F::Arccos => libm::acos(x),
        F::Arctan => libm::atan(x),
        F::Arccot => FRAC_PI_2 - libm::atan(x),
        F::Sinh => libm::sinh(x),
        F::Cosh => libm::cosh(x),
        F::Tanh => libm::tanh(x),
        F::Arsinh => libm::asinh(x),
        F::Arcosh => libm::acosh(x),
        F::Artanh => libm::atanh(x),
        F::Ln => libm::log(x),
        F::Abs => x.abs(),
        F::Floor => x.floor(),
        F::Ceil => x.ceil(),
        F::Sign if x.is_nan() => x,
        F::Sign => f64::from(i8::from(x > 0.0) - i8::from(x < 0.0)),
        F::Factorial => factorial(x, 1.0),
        F::DoubleFactorial => factorial(x, 2.0),
        F::Gcd | F::Lcm | F::Min | F::Max => x,
        _ => f64::NAN,
    }
}

fn of_two(function: Function, a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() {
        return f64::NAN;
    }
    match function {
        Function::Min => a.min(b),
        Function::Max => a.max(b),
        Function::Ln => libm::log(a) / libm::log(b),
        Function::Mod => a - b * (a / b).floor(),
        Function::Gcd => gcd(a, b),
        Function::Lcm => {
            let over = gcd(a, b);
            if over == 0.0 { 0.0 } else { a / over * b }
        }
        Function::Binomial => binomial(a, b),
        _ => f64::NAN,
    }
}

fn is_count(value: f64, most: f64) -> bool {
    value.fract() == 0.0 && (0.0..=most).contains(&value)
}

/// The product of every `step`-th integer down from a number.
fn factorial(mut x: f64, step: f64) -> f64 {
    if !is_count(x, MAX_FACTORIAL) {
        return f64::NAN;
    }
    let mut total = 1.0;
    while x > 1.0 {
        total *= x;
        x -= step;
    }
    total
}

fn binomial(n: f64, k: f64) -> f64 {
    if !is_count(n, MAX_TERMS) || !is_count(k, n) {
        return f64::NAN;
    }
    let k = k.min(n - k);
    let mut total = 1.0;
    let mut at = 1.0;
    while at <= k && at <= MAX_FACTORIAL {
        total = total * (n - k + at) / at;
        at += 1.0;
    }
    if at > k { total } else { f64::NAN }
}

fn gcd(a: f64, b: f64) -> f64 {
    use num_integer::Integer as _;
    let is_exact = |value: f64| value.fract() == 0.0 && value.abs() < MAX_EXACT;
    if !is_exact(a) || !is_exact(b) {
        return f64::NAN;
    }
    (a as i64).gcd(&(b as i64)) as f64
}

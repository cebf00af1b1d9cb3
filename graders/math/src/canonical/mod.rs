//! Canonical forms of answers, for evidence: one tree, and so one text, for `x + x` and `2x`. Like
//! terms are combined, products expanded, fractions reduced, denominators made rational, logarithms
//! split into primes; sets and lists are sorted, quantities converted to coherent units.
//!
//! Answers with the same canonical form are equivalent. The reverse is not true: equivalence is
//! decided by [`decide`](crate::decide), and not transitive (`x = 5` equals 5, which equals `y =
//! 5`). What has no canonical form here, or one that is too large, keeps its normal form.

mod angles;
mod field;
mod functions;
mod gcd;
mod roots;
mod scalar;
mod shown;
mod terms;

use crate::budget::{Budget, Exhausted};
use crate::decide::{family, statement, text_answers};
use crate::number::Rational;
use crate::options::{Options, Order, Units};
use crate::parse::unit::{Measure, Unit, measure};
use crate::tree::charged::{charge_visit, copied};
use crate::tree::{Condition, Constant, Expr, Relation, SetOp};

pub(crate) use shown::shown;

/// Steps for the canonical form of one answer: about 0.3 ms.
const STEPS: u64 = 30_000;

/// Steps for the difference of two values.
const DIFFERENCE_STEPS: u64 = 5_000;

/// Bytes that one canonical form may write, freed ones included.
const BYTES: u64 = 4 << 20;

/// Deepest value that is made canonical: functions of functions need much stack.
const MAX_DEPTH: usize = 32;

/// Longest text that is made canonical, in bytes.
const MAX_TEXT: usize = 1_000;

/// Steps of reading a byte of a unit.
const UNIT_STEPS: u64 = 40;

/// Why a value has no canonical form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stop {
    /// The budget is exhausted.
    Exhausted,
    /// A number or a polynomial is too large.
    TooLarge,
    /// Values of this kind have none.
    Unsupported,
}

impl From<Exhausted> for Stop {
    fn from(_: Exhausted) -> Self {
        Self::Exhausted
    }
}

/// The canonical form of an answer, and its text.
#[derive(Debug, Clone)]
pub(crate) struct Canonical {
    /// `None` if it exceeds the budget.
    pub(crate) expr: Option<Expr>,
    /// The text of the canonical form, or of the normal form if there is none.
    pub(crate) text: String,
}

impl Canonical {
    /// The canonical form of a normal form. The budget is its own, so that the form does not depend
    /// on what the answer is compared with.
    pub(crate) fn of(normal: &Expr, options: &Options) -> Self {
        if matches!(normal, Expr::Number(_)) {
            return Self {
                expr: Some(normal.clone()),
                text: shown(normal),
            };
        }
        let budget = Budget::new(STEPS).with_bytes(BYTES);
        let form = Form {
            options,
            budget: &budget,
        };
        let expr = form.whole(normal).ok();
        let text = shown(expr.as_ref().unwrap_or(normal));
        Self { expr, text }
    }

    /// Whether both have the same canonical form, and so are equivalent.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.expr.is_some() && self.expr == other.expr
    }
}

/// Whether two polynomials are congruent modulo an integer, coefficient by coefficient. Those that
/// are too large are not.
pub(crate) fn is_congruent(
    a: &Expr,
    b: &Expr,
    modulus: &Rational,
    budget: &Budget,
) -> Result<bool, Exhausted> {
    match scalar::is_congruent(a, b, modulus, budget) {
        Err(Stop::Exhausted) => Err(Exhausted),
        Err(Stop::TooLarge | Stop::Unsupported) => Ok(false),
        Ok(congruent) => Ok(congruent),
    }
}

/// Whether the difference of two values is 0 in canonical form, within a few steps.
pub(crate) fn same(a: &Expr, b: &Expr, budget: &Budget) -> Result<bool, Exhausted> {
    charge_visit(a, 1, budget)?;
    charge_visit(b, 1, budget)?;
    if depth(a).max(depth(b)) > MAX_DEPTH {
        return Ok(false);
    }
    let part = budget.part(DIFFERENCE_STEPS);
    let same = scalar::same(a, b, &part);
    budget.absorb(&part)?;
    Ok(same == Ok(true))
}

struct Form<'a> {
    options: &'a Options,
    budget: &'a Budget,
}

impl Form<'_> {
    /// The canonical form of an answer or a part of one.
    fn whole(&self, expr: &Expr) -> Result<Expr, Stop> {
        self.budget.charge(10)?;
        Ok(match expr {
            Expr::Chain(..) if let Some(each) = statement::for_each_name(expr, self.budget)? => {
                self.whole(&each)?
            }
            Expr::Chain(sides, relations) => self.chain(sides, relations)?,
            Expr::List(items) if self.options.order == Order::Ordered => {
                Expr::List(self.all(items)?)
            }
            Expr::List(items) => Expr::List(self.sorted(items)?),
            Expr::Set(items) => {
                let mut items = self.sorted(items)?;
                items.dedup();
                Expr::Set(items)
            }
            Expr::Bracket(open, items, close) if self.options.order == Order::Unordered => {
                Expr::Bracket(*open, self.sorted(items)?, *close)
            }
            Expr::Bracket(open, items, close) => Expr::Bracket(*open, self.all(items)?, *close),
            Expr::SetOp(SetOp::Difference, items) => {
                Expr::SetOp(SetOp::Difference, self.all(items)?)
            }
            Expr::SetOp(op, items) => Expr::SetOp(*op, self.sorted(items)?),
            Expr::SetBuilder(member, conditions) => {
                let member = self.whole(member)?;
                Expr::SetBuilder(Box::new(member), self.sorted(conditions)?)
            }
            Expr::Matrix(rows) => Expr::Matrix(self.rows(rows)?),
            Expr::Cases(rows) => {
                let mut rows = self.rows(rows)?;
                rows.sort();
                Expr::Cases(rows)
            }
            Expr::Where(inner, condition)
                if let Some((inner, condition)) =
                    family::with_plain_parameter(inner, condition, self.budget)? =>
            {
                let condition = Box::new(Condition::in_words(condition));
                Expr::Where(Box::new(self.whole(&inner)?), condition)
            }
            Expr::Where(inner, condition) => {
                self.budget.charge_bytes(condition.bytes())?;
                Expr::Where(Box::new(self.whole(inner)?), condition.clone())
            }
            Expr::Ratio(items) => self.ratio(items)?,
            Expr::Quantity(value, unit) => self.quantity(value, unit)?,
            Expr::Text(text) if text.len() <= MAX_TEXT => {
                self.budget.charge(4 * text.len() as u64)?;
                self.budget.charge_bytes(8 * text.len() as u64)?;
                Expr::Text(text_answers::canonical(text).into())
            }
            Expr::Word(word) if text_answers::is_truth_value(word) => {
                Expr::Text(text_answers::canonical(word).into())
            }
            scalar if crate::decide::real_set::is_scalar(scalar) => self.scalar(scalar)?,
            other => copied(other, self.budget)?,
        })
    }

    fn all(&self, items: &[Expr]) -> Result<Vec<Expr>, Stop> {
        items.iter().map(|item| self.whole(item)).collect()
    }

    fn sorted(&self, items: &[Expr]) -> Result<Vec<Expr>, Stop> {
        let mut items = self.all(items)?;
        self.budget.charge(8 * items.len() as u64)?;
        items.sort();
        Ok(items)
    }

    fn rows(&self, rows: &[Vec<Expr>]) -> Result<Vec<Vec<Expr>>, Stop> {
        rows.iter().map(|row| self.all(row)).collect()
    }

    /// A value; its normal form if it has no canonical one.
    fn scalar(&self, expr: &Expr) -> Result<Expr, Stop> {
        charge_visit(expr, 1, self.budget)?;
        if depth(expr) > MAX_DEPTH {
            return Ok(copied(expr, self.budget)?);
        }
        match scalar::canonical(expr, self.budget) {
            Err(Stop::TooLarge | Stop::Unsupported) => Ok(copied(expr, self.budget)?),
            other => other,
        }
    }

    /// A statement. Order relations point to the right; an equation that is not solved for a number
    /// is a polynomial without a common factor, equal to zero.
    fn chain(&self, sides: &[Expr], relations: &[Relation]) -> Result<Expr, Stop> {
        if let ([left, right], [Relation::Equal]) = (sides, relations)
            && let Some(zero) = self.equation(left, right)?
        {
            return Ok(Expr::Chain(vec![zero, Expr::int(0)], relations.to_vec()));
        }
        let sides = self.all(sides)?;
        let greater =
            |relation: &Relation| matches!(relation, Relation::Greater | Relation::GreaterEqual);
        if relations.first().is_some_and(greater)
            && relations.iter().all(|relation| relation.is_reversible())
        {
            let relations = relations.iter().rev().map(|relation| relation.reversed());
            return Ok(Expr::Chain(
                sides.into_iter().rev().collect(),
                relations.collect(),
            ));
        }
        Ok(Expr::Chain(sides, relations.to_vec()))
    }

    /// The side of an equation in several symbols, or in powers of one, that equals zero.
    fn equation(&self, left: &Expr, right: &Expr) -> Result<Option<Expr>, Stop> {
        let plain = |expr: &Expr| {
            !expr.any(&|part| matches!(part, Expr::Apply(..) | Expr::Bound(..)))
                && crate::decide::real_set::is_scalar(expr)
                && depth(expr) <= MAX_DEPTH
        };
        charge_visit(left, 2, self.budget)?;
        charge_visit(right, 2, self.budget)?;
        let named = |expr: &Expr| expr.any(&|part| matches!(part, Expr::Symbol(_)));
        let solved = |name: &Expr, value: &Expr| matches!(name, Expr::Symbol(_)) && !named(value);
        if !plain(left) || !plain(right) || solved(left, right) || solved(right, left) {
            return Ok(None);
        }
        match scalar::difference(left, right, self.budget) {
            Err(Stop::TooLarge | Stop::Unsupported) => Ok(None),
            other => other,
        }
    }

    /// A ratio of numbers in lowest terms.
    fn ratio(&self, items: &[Expr]) -> Result<Expr, Stop> {
        let numbers: Option<Vec<&Rational>> = items.iter().map(Expr::as_number).collect();
        let Some(numbers) = numbers.filter(|all| all.iter().all(|one| one.bits() < 512)) else {
            return Ok(Expr::Ratio(self.all(items)?));
        };
        self.budget.charge(60 * numbers.len() as u64)?;
        let first = numbers.iter().find(|number| !number.is_zero());
        let Some(unit) = first.and_then(|_| terms::common_divisor(&numbers)) else {
            return Ok(Expr::Ratio(self.all(items)?));
        };
        let parts = numbers
            .iter()
            .map(|number| number.div(&unit).map(Expr::Number));
        match parts.collect::<Option<Vec<Expr>>>() {
            Some(parts) => Ok(Expr::Ratio(parts)),
            None => Ok(Expr::Ratio(self.all(items)?)),
        }
    }

    /// A quantity in coherent units, if the name of its unit has one meaning.
    fn quantity(&self, value: &Expr, name: &str) -> Result<Expr, Stop> {
        if self.options.units == Units::Ignore {
            return self.whole(value);
        }
        self.budget.charge(UNIT_STEPS * (4 + name.len() as u64))?;
        self.budget.charge_bytes(64 * name.len() as u64)?;
        if let Measure::Units(units) = measure(name)
            && let [unit] = units.as_slice()
            && unit.zero.is_zero()
            && crate::decide::real_set::is_scalar(value)
        {
            let mut factors = vec![
                copied(value, self.budget)?,
                Expr::Number(unit.scale.clone()),
            ];
            if unit.half_turns != 0 {
                let turns = Expr::int(unit.half_turns.into());
                factors.push(Expr::power(Expr::Constant(Constant::Pi), turns));
            }
            let converted = Expr::Product(factors);
            if let Ok(value) = scalar::canonical(&converted, self.budget) {
                return Ok(Expr::Quantity(Box::new(value), coherent(unit).into()));
            }
        }
        let value = self.whole(value)?;
        Ok(Expr::Quantity(Box::new(value), name.into()))
    }
}

/// The coherent unit of the same dimensions.
fn coherent(unit: &Unit) -> String {
    let powers = unit.dimensions.iter().zip(crate::parse::unit::COHERENT);
    let named = powers.filter(|(power, _)| **power != 0);
    let all = named.map(|(power, name)| match power {
        1 => name.to_owned(),
        power => format!("{name}^{power}"),
    });
    all.collect::<Vec<_>>().join(" ")
}

/// How deep an expression is nested.
fn depth(expr: &Expr) -> usize {
    1 + expr.children().map(depth).max().unwrap_or(0)
}

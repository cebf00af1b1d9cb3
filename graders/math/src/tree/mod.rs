//! The expression tree of an answer, with exact numbers. Does not decide equality.
//!
//! The parser limits nesting to [`MAX_DEPTH`], and limits the operators that apply to each other
//! without brackets. Recursion over a tree, including its drop, therefore needs bounded stack.

pub(crate) mod charged;
mod display;

use std::fmt;
use std::ops::{Deref, Neg};

use crate::number::Rational;

/// Deepest nesting that the parser accepts. At this depth parsing and comparing use at most 1.2 MB
/// of stack; threads have 2 MiB.
pub const MAX_DEPTH: usize = 256;

/// The name of a symbol: a letter or the English name of a Greek letter, with its subscript in
/// braces, as in `x`, `alpha`, `x_{1}`.
pub type Name = Box<str>;

/// A named number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Constant {
    /// The number pi.
    Pi,
    /// Euler's number e.
    E,
    /// The imaginary unit.
    I,
    /// Positive infinity.
    Infinity,
}

/// A function with known values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "the names are standard terms")]
pub enum Function {
    Sin,
    Cos,
    Tan,
    Cot,
    Sec,
    Csc,
    Arcsin,
    Arccos,
    Arctan,
    Arccot,
    Sinh,
    Cosh,
    Tanh,
    Arsinh,
    Arcosh,
    Artanh,
    /// The natural logarithm of one argument; with two, the logarithm of the first to the base of
    /// the second.
    Ln,
    Abs,
    Floor,
    Ceil,
    Factorial,
    DoubleFactorial,
    Binomial,
    Gcd,
    Lcm,
    Mod,
    Min,
    Max,
    Sign,
    Re,
    Im,
    Conjugate,
    Arg,
    /// The determinant of a matrix.
    Det,
    /// The class of the first argument modulo the second: `3 (mod 5)`.
    Residue,
}

/// The relation of two sides of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "the names are standard terms")]
pub enum Relation {
    Equal,
    Approx,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    In,
    NotIn,
    Contains,
    Subset,
    Superset,
    ProperSubset,
    ProperSuperset,
    Congruent,
    Maps,
    Implies,
    Equivalent,
    Perpendicular,
    Parallel,
    Similar,
    /// Congruence of figures: equal shape and size.
    SameFigure,
    Divides,
}

impl Relation {
    /// The relation with its sides exchanged; relations without such a name stay as they are.
    #[must_use]
    pub fn reversed(self) -> Self {
        match self {
            Self::Less => Self::Greater,
            Self::LessEqual => Self::GreaterEqual,
            Self::Greater => Self::Less,
            Self::GreaterEqual => Self::LessEqual,
            Self::Subset => Self::Superset,
            Self::Superset => Self::Subset,
            Self::ProperSubset => Self::ProperSuperset,
            Self::ProperSuperset => Self::ProperSubset,
            Self::In => Self::Contains,
            Self::Contains => Self::In,
            other => other,
        }
    }

    /// Whether the relation is symmetric or has a reversed form.
    #[must_use]
    pub fn is_reversible(self) -> bool {
        !matches!(
            self,
            Self::NotIn | Self::Maps | Self::Implies | Self::Divides
        )
    }

    /// Whether it is an order relation.
    #[must_use]
    pub fn is_order(self) -> bool {
        matches!(
            self,
            Self::Less | Self::LessEqual | Self::Greater | Self::GreaterEqual
        )
    }
}

/// The kind of one end of a bracketed list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum End {
    /// `(` or `)`.
    Round,
    /// `[` or `]`.
    Square,
    /// `⟨` or `⟩`.
    Angle,
}

/// An operation on sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "the names are standard terms")]
pub enum SetOp {
    Union,
    Intersection,
    Difference,
}

/// A standard set with its own symbol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "the names are standard terms")]
pub enum NamedSet {
    Naturals,
    /// The natural numbers from 1, and from 0, by a notation that says so.
    PositiveIntegers,
    NonnegativeIntegers,
    Integers,
    Rationals,
    Reals,
    Complexes,
    Empty,
}

/// An operator that binds a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "the names are standard terms")]
pub enum Binder {
    Sum,
    Product,
    Integral,
    Limit,
    Derivative,
}

/// A date: a day, a month, or a month of a year.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Date {
    /// The year, if it is given.
    pub year: Option<u16>,
    /// The month, from 1.
    pub month: u8,
    /// The day of the month, if it is given.
    pub day: Option<u8>,
    /// Whether month and day may be exchanged, as in `01/02/2024`.
    pub ambiguous: bool,
}

impl Date {
    /// An unambiguous date.
    #[must_use]
    pub fn of(year: Option<u16>, month: u8, day: Option<u8>) -> Self {
        Self {
            year,
            month,
            day,
            ambiguous: false,
        }
    }

    /// The same date with month and day exchanged.
    #[must_use]
    pub fn swapped(self) -> Self {
        Self {
            month: self.day.unwrap_or(self.month),
            day: self.day.map(|_| self.month),
            ..self
        }
    }
}

/// A node of the tree.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Expr {
    /// An exact number.
    Number(Rational),
    /// A named number.
    Constant(Constant),
    /// A variable.
    Symbol(Name),
    /// A sum of terms.
    Sum(Vec<Expr>),
    /// A product of factors, in order: matrices do not commute.
    Product(Vec<Expr>),
    /// Base and exponent.
    Power(Box<(Expr, Expr)>),
    /// A known function.
    Call(Function, Vec<Expr>),
    /// An unknown function.
    Apply(Name, Vec<Expr>),
    /// `±x`, or `∓x` with `upper_minus`. All signs of one expression are chosen together.
    PlusMinus {
        /// Whether the upper sign is the minus.
        upper_minus: bool,
        /// The operand of the sign.
        term: Box<Expr>,
    },
    /// A percentage: a hundredth of the operand.
    Percent(Box<Expr>),
    /// A number with a unit or with words after it.
    Quantity(Box<Expr>, Name),
    /// Digits in a base.
    Based(Name, u32),
    /// `a : b : c`.
    Ratio(Vec<Expr>),
    /// Seconds since midnight.
    Time(u32),
    /// A date.
    Date(Date),
    /// A chain of sides with a relation between each two neighbours.
    Chain(Vec<Expr>, Vec<Relation>),
    /// `(…)`, `[…]`, `⟨…⟩` and mixed forms: a tuple, vector or interval.
    Bracket(End, Vec<Expr>, End),
    /// `{…}`.
    Set(Vec<Expr>),
    /// Values without brackets.
    List(Vec<Expr>),
    /// `{x | …}`: member, conditions.
    SetBuilder(Box<Expr>, Vec<Expr>),
    /// An operation on sets, from left to right.
    SetOp(SetOp, Vec<Expr>),
    /// A standard set.
    Named(NamedSet),
    /// A matrix, by rows.
    Matrix(Vec<Vec<Expr>>),
    /// Rows of a piecewise definition or a system.
    Cases(Vec<Vec<Expr>>),
    /// An operator, its bound variable, and its operands: lower and upper end or the point of a
    /// limit, if any, then the body.
    Bound(Binder, Name, Vec<Expr>),
    /// `…` in a list.
    Ellipsis,
    /// A single word.
    Word(Name),
    /// Several words.
    Text(Name),
    /// The letter of an option, with its text.
    Choice(char, Name),
    /// A value or statement, and the condition under which it is true.
    Where(Box<Expr>, Box<Condition>),
    /// A number that is too large to form, by its digits.
    Huge(Name),
}

/// Longest condition whose text is complete, in bytes. A longer one is cut, and its statement is
/// not kept.
const MAX_CONDITION_BYTES: usize = 400;

/// The condition of a value, as in `x + 3, x ≠ 3`. It is compared and shown as its text.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Condition {
    text: Name,
    statement: Option<Expr>,
}

impl Condition {
    /// A condition in words.
    #[must_use]
    pub fn in_words(text: String) -> Self {
        Self {
            text: text.into(),
            statement: None,
        }
    }

    /// A condition that is a statement.
    #[must_use]
    pub fn of(statement: Expr) -> Self {
        let text = statement.shown(MAX_CONDITION_BYTES);
        Self {
            statement: (text.len() <= MAX_CONDITION_BYTES).then_some(statement),
            text: text.into(),
        }
    }

    /// The statement, as it was read.
    #[must_use]
    pub fn statement(&self) -> Option<&Expr> {
        self.statement.as_ref()
    }

    /// An upper bound of the memory of a copy, in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        const BYTES_OF_NODE: u64 = 64;
        let nodes = if self.statement.is_some() {
            self.text.len() as u64
        } else {
            0
        };
        self.text.len() as u64 + BYTES_OF_NODE * nodes
    }
}

impl Deref for Condition {
    type Target = str;

    fn deref(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Expr {
    /// A small integer.
    #[must_use]
    pub fn int(value: i64) -> Self {
        Self::Number(Rational::small(value))
    }

    /// A symbol.
    #[must_use]
    pub fn symbol(name: &str) -> Self {
        Self::Symbol(name.into())
    }

    /// `base ^ exponent`.
    #[must_use]
    pub fn power(base: Self, exponent: Self) -> Self {
        Self::Power(Box::new((base, exponent)))
    }

    /// `1 / x`.
    #[must_use]
    pub fn recip(self) -> Self {
        Self::power(self, Self::int(-1))
    }

    /// `a / b`.
    #[must_use]
    pub fn quotient(a: Self, b: Self) -> Self {
        Self::Product(vec![a, b.recip()])
    }

    /// The number, if it is one.
    #[must_use]
    pub fn as_number(&self) -> Option<&Rational> {
        match self {
            Self::Number(value) => Some(value),
            _ => None,
        }
    }

    /// Whether it is this small integer.
    #[must_use]
    pub fn is_int(&self, value: i64) -> bool {
        self.as_number().and_then(Rational::to_i64) == Some(value)
    }

    /// The rendered expression, cut after about `limit` bytes. The cost depends on the limit, not
    /// on the tree.
    #[must_use]
    pub fn shown(&self, limit: usize) -> String {
        struct Limited {
            text: String,
            limit: usize,
        }
        impl fmt::Write for Limited {
            fn write_str(&mut self, part: &str) -> fmt::Result {
                if self.text.len() >= self.limit {
                    return Err(fmt::Error);
                }
                self.text.push_str(part);
                Ok(())
            }
        }
        let mut out = Limited {
            text: String::new(),
            limit,
        };
        if fmt::write(&mut out, format_args!("{self}")).is_err() {
            out.text.push('…');
        }
        out.text
    }

    /// The children of the node.
    pub fn children(&self) -> impl Iterator<Item = &Expr> {
        // A single child, a list of children, and rows of children.
        let (one, row, rows): (Option<&Expr>, &[Expr], &[Vec<Expr>]) = match self {
            Self::Number(_)
            | Self::Constant(_)
            | Self::Symbol(_)
            | Self::Based(..)
            | Self::Time(_)
            | Self::Date(_)
            | Self::Named(_)
            | Self::Ellipsis
            | Self::Word(_)
            | Self::Text(_)
            | Self::Choice(..)
            | Self::Huge(_) => (None, &[], &[]),
            Self::Sum(items)
            | Self::Product(items)
            | Self::Call(_, items)
            | Self::Apply(_, items)
            | Self::Ratio(items)
            | Self::Chain(items, _)
            | Self::Bracket(_, items, _)
            | Self::Set(items)
            | Self::List(items)
            | Self::SetOp(_, items)
            | Self::Bound(_, _, items) => (None, items, &[]),
            Self::Power(pair) => (Some(&pair.0), std::slice::from_ref(&pair.1), &[]),
            Self::Percent(inner)
            | Self::Quantity(inner, _)
            | Self::Where(inner, _)
            | Self::PlusMinus { term: inner, .. } => (Some(inner), &[], &[]),
            Self::SetBuilder(member, conditions) => (Some(member), conditions, &[]),
            Self::Matrix(rows) | Self::Cases(rows) => (None, &[], rows),
        };
        one.into_iter().chain(row).chain(rows.iter().flatten())
    }

    /// The same node with its children replaced by `change`.
    pub fn map_children(&self, change: &mut dyn FnMut(&Expr) -> Expr) -> Expr {
        let rows = |rows: &[Vec<Expr>], change: &mut dyn FnMut(&Expr) -> Expr| {
            rows.iter()
                .map(|row| row.iter().map(&mut *change).collect())
                .collect()
        };
        let mut all = |items: &[Expr]| items.iter().map(&mut *change).collect::<Vec<_>>();
        match self {
            Self::Sum(items) => Self::Sum(all(items)),
            Self::Product(items) => Self::Product(all(items)),
            Self::Call(function, items) => Self::Call(*function, all(items)),
            Self::Apply(name, items) => Self::Apply(name.clone(), all(items)),
            Self::Ratio(items) => Self::Ratio(all(items)),
            Self::Chain(items, relations) => Self::Chain(all(items), relations.clone()),
            Self::Bracket(open, items, close) => Self::Bracket(*open, all(items), *close),
            Self::Set(items) => Self::Set(all(items)),
            Self::List(items) => Self::List(all(items)),
            Self::SetOp(op, items) => Self::SetOp(*op, all(items)),
            Self::Bound(binder, name, items) => Self::Bound(*binder, name.clone(), all(items)),
            Self::Power(pair) => Self::power(change(&pair.0), change(&pair.1)),
            Self::PlusMinus { upper_minus, term } => Self::PlusMinus {
                upper_minus: *upper_minus,
                term: Box::new(change(term)),
            },
            Self::Percent(inner) => Self::Percent(Box::new(change(inner))),
            Self::Quantity(inner, unit) => Self::Quantity(Box::new(change(inner)), unit.clone()),
            Self::Where(inner, text) => Self::Where(Box::new(change(inner)), text.clone()),
            Self::SetBuilder(member, conditions) => {
                let member = change(member);
                Self::SetBuilder(
                    Box::new(member),
                    conditions.iter().map(&mut *change).collect(),
                )
            }
            Self::Matrix(cells) => Self::Matrix(rows(cells, change)),
            Self::Cases(cells) => Self::Cases(rows(cells, change)),
            leaf => leaf.clone(),
        }
    }

    /// Whether `found` is true for this node or any node below it.
    pub fn any(&self, found: &dyn Fn(&Expr) -> bool) -> bool {
        found(self) || self.children().any(|child| child.any(found))
    }

    /// The same node with its children replaced by `change`, which is not called again after an
    /// error.
    pub(crate) fn try_map_children<E>(
        &self,
        change: &mut dyn FnMut(&Expr) -> Result<Expr, E>,
    ) -> Result<Expr, E> {
        let mut failed = None;
        let changed = self.map_children(&mut |child| {
            if failed.is_some() {
                return Expr::Ellipsis;
            }
            change(child).unwrap_or_else(|error| {
                failed = Some(error);
                Expr::Ellipsis
            })
        });
        failed.map_or(Ok(changed), Err)
    }
}

impl Neg for Expr {
    type Output = Self;

    fn neg(self) -> Self {
        match self {
            Self::Number(value) => Self::Number(value.neg()),
            other => Self::Product(vec![Self::int(-1), other]),
        }
    }
}

//! The one expression tree: what an answer says, with exact numbers and no opinion on what equals
//! what.
//!
//! The parser keeps its nesting within [`MAX_DEPTH`] and bounds the operators that stand upon each
//! other without brackets, so recursion over a tree, dropping it included, needs a bounded stack.

mod shown;

use std::fmt;
use std::ops::Neg;

use crate::number::Rational;

/// Deepest nesting the parser builds. At this depth parsing and comparing use at most 1.2 MB of
/// stack; threads have 2.
pub const MAX_DEPTH: usize = 256;

/// The name of a symbol: a letter, a Greek letter's English name, with its subscript in braces, as
/// in `x`, `alpha`, `x_{1}`.
pub type Name = Box<str>;

/// A number with a name of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Constant {
    /// The circle constant.
    Pi,
    /// Napier's constant.
    E,
    /// The imaginary unit.
    I,
    /// Positive infinity.
    Infinity,
}

/// A function the grader can evaluate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "the names are the field's own")]
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
    /// Natural logarithm of one argument; of two, the logarithm of the first to the base of the
    /// second.
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
    /// Determinant of a matrix.
    Det,
    /// The class of the first argument modulo the second: `3 (mod 5)`.
    Residue,
}

/// How two sides of a statement relate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "the names are the field's own")]
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
    Congruent,
    Maps,
    Implies,
    Equivalent,
    Perpendicular,
    Parallel,
    Similar,
    /// Of figures: equal in shape and size.
    SameFigure,
    Divides,
}

impl Relation {
    /// The relation with its sides exchanged, where it has a name.
    #[must_use]
    pub fn reversed(self) -> Self {
        match self {
            Self::Less => Self::Greater,
            Self::LessEqual => Self::GreaterEqual,
            Self::Greater => Self::Less,
            Self::GreaterEqual => Self::LessEqual,
            Self::Subset => Self::Superset,
            Self::Superset => Self::Subset,
            Self::In => Self::Contains,
            Self::Contains => Self::In,
            other => other,
        }
    }

    /// Whether it says the same from either side, or has a name from the other.
    #[must_use]
    pub fn turns(self) -> bool {
        !matches!(
            self,
            Self::NotIn | Self::Maps | Self::Implies | Self::Divides
        )
    }

    /// Whether it orders its sides.
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
#[expect(missing_docs, reason = "the names are the field's own")]
pub enum SetOp {
    Union,
    Intersection,
    Difference,
}

/// A set with a letter of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "the names are the field's own")]
pub enum NamedSet {
    Naturals,
    Integers,
    Rationals,
    Reals,
    Complexes,
    Empty,
}

/// An operator that binds a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "the names are the field's own")]
pub enum Binder {
    Sum,
    Product,
    Integral,
    Limit,
    Derivative,
}

/// A day, or the month or part of a year that is said without one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Date {
    /// The year, where it is said.
    pub year: Option<u16>,
    /// The month, from 1.
    pub month: u8,
    /// The day of the month, where it is said.
    pub day: Option<u8>,
    /// Whether `01/02/2024` leaves open which of the two is the month.
    pub either_way: bool,
}

impl Date {
    /// A date that can be read in one way.
    #[must_use]
    pub fn of(year: Option<u16>, month: u8, day: Option<u8>) -> Self {
        Self {
            year,
            month,
            day,
            either_way: false,
        }
    }

    /// The same date with month and day exchanged.
    #[must_use]
    pub fn turned(self) -> Self {
        Self {
            month: self.day.unwrap_or(self.month),
            day: self.day.map(|_| self.month),
            ..self
        }
    }
}

/// What an answer says.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Expr {
    /// An exact number.
    Number(Rational),
    /// A named number.
    Constant(Constant),
    /// A variable.
    Symbol(Name),
    /// Terms added up.
    Sum(Vec<Expr>),
    /// Factors multiplied, in order: matrices do not commute.
    Product(Vec<Expr>),
    /// Base and exponent.
    Power(Box<(Expr, Expr)>),
    /// A known function.
    Call(Function, Vec<Expr>),
    /// An unknown function.
    Apply(Name, Vec<Expr>),
    /// `±x`, or `∓x` with `upper_minus`; all signs of one expression are chosen together.
    PlusMinus {
        /// Whether the upper sign is the minus.
        upper_minus: bool,
        /// What has the sign.
        term: Box<Expr>,
    },
    /// A hundredth.
    Percent(Box<Expr>),
    /// A number with a unit, or with words after it.
    Quantity(Box<Expr>, Name),
    /// Digits in a base.
    Based(Name, u32),
    /// `a : b : c`.
    Ratio(Vec<Expr>),
    /// Seconds since midnight.
    Time(u32),
    /// A date.
    Date(Date),
    /// A chain of statements, one relation between each two neighbours.
    Chain(Vec<Expr>, Vec<Relation>),
    /// `(…)`, `[…]`, `⟨…⟩` and the mixed forms: tuple, vector or interval.
    Bracket(End, Vec<Expr>, End),
    /// `{…}`.
    Set(Vec<Expr>),
    /// Values side by side without brackets.
    List(Vec<Expr>),
    /// `{x | …}`: member, conditions.
    SetBuilder(Box<Expr>, Vec<Expr>),
    /// Sets combined, left to right.
    SetOp(SetOp, Vec<Expr>),
    /// A set with a letter.
    Named(NamedSet),
    /// Rows of cells.
    Matrix(Vec<Vec<Expr>>),
    /// Rows of a piecewise definition or a system.
    Cases(Vec<Vec<Expr>>),
    /// Operator, bound variable, and what it is applied to: lower and upper end where there are
    /// any, the point of a limit, then the body.
    Bound(Binder, Name, Vec<Expr>),
    /// `…` in a list.
    Ellipsis,
    /// One bare word.
    Word(Name),
    /// Words.
    Text(Name),
    /// A letter of a multiple choice with its text.
    Choice(char, Name),
    /// A statement with the condition it holds under.
    Where(Box<Expr>, Name),
    /// A number too large to form, by its digits.
    Huge(Name),
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

    /// Its rendering, cut after about `limit` bytes: the cost is that of what is shown.
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

    /// The parts directly below.
    pub fn children(&self) -> impl Iterator<Item = &Expr> {
        // One part, parts in a row, parts in rows.
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

    /// The same node over parts changed by `change`.
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

    /// Whether `found` holds for this node or any below it.
    pub fn any(&self, found: &dyn Fn(&Expr) -> bool) -> bool {
        found(self) || self.children().any(|child| child.any(found))
    }

    /// The same tree with every free `name` replaced.
    #[must_use]
    pub fn substitute(&self, name: &str, value: &Expr) -> Expr {
        match self {
            Self::Symbol(own) if **own == *name => value.clone(),
            // The ends stand outside.
            Self::Bound(binder, bound, parts) if **bound == *name => {
                let body = parts.len().saturating_sub(1);
                let outside = |(at, part): (usize, &Expr)| {
                    if at < body {
                        part.substitute(name, value)
                    } else {
                        part.clone()
                    }
                };
                Self::Bound(
                    *binder,
                    bound.clone(),
                    parts.iter().enumerate().map(outside).collect(),
                )
            }
            other => other.map_children(&mut |child| child.substitute(name, value)),
        }
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

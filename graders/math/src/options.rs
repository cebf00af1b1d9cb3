//! How a comparison is to be made, apart from the two answers. Every default is the strict one.

use std::collections::BTreeMap;

use crate::number::Rational;

/// Distance at which an answer still counts as the gold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tolerance {
    /// At most this share of the gold's absolute value.
    Relative(Rational),
    /// At most this far.
    Absolute(Rational),
}

/// Whether an answer may be more exact than a rounded gold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Rounding {
    /// No: 33.3 is not 100/3.
    #[default]
    Exact,
    /// Yes: what rounds to the digits the gold is written with, trailing zeros included, is the
    /// gold; half a unit is rounded away from zero. A gold written without a point is exact.
    Gold,
}

/// Whether order counts in collections.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// In tuples, vectors and matrices; not in sets and bare lists.
    #[default]
    Auto,
    /// Everywhere.
    Ordered,
    /// Nowhere.
    Unordered,
}

/// Whether units count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Units {
    /// When both sides have one.
    #[default]
    Compare,
    /// Never.
    Ignore,
}

/// What a percent sign means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Percent {
    /// A hundredth: 50 % is 1/2 and not 50.
    #[default]
    Exact,
    /// Nothing certain where exactly one side has a percent sign: 50 % is 1/2 or 50.
    Loose,
}

/// How an answer may be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Form {
    /// In any way.
    #[default]
    Any,
    /// Without a fraction: where the task asks for a decimal number.
    Decimal,
}

impl Form {
    /// Whether `answer` is written in this form.
    pub(crate) fn allows(self, answer: &str) -> bool {
        let vulgar =
            |letter: char| matches!(letter, '¼'..='¾' | '⅐'..='⅞' | '↉' | '÷' | '/' | '∕' | '⁄');
        self == Self::Any
            || !(answer.contains(vulgar) || answer.contains("frac") || answer.contains("\\over"))
    }
}

/// All of them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Options {
    /// Accepted distance; none by default.
    pub tolerance: Option<Tolerance>,
    /// Rounding to the gold's digits.
    pub rounding: Rounding,
    /// Order of components.
    pub order: Order,
    /// Units of quantities.
    pub units: Units,
    /// Meaning of the percent sign.
    pub percent: Percent,
    /// How the answer may be written.
    pub form: Form,
    /// Texts of the options of a multiple choice by letter.
    pub choices: BTreeMap<String, String>,
}

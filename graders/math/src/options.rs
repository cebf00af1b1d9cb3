//! Options of a comparison. Every default is the strict one.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::number::Rational;

/// Distance within which an answer equals the gold. The limit is included.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tolerance {
    /// At most this fraction of the gold's absolute value.
    Relative(Rational),
    /// At most this distance.
    Absolute(Rational),
}

/// Whether an answer may be more exact than a rounded gold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rounding {
    /// Yes: a value that rounds, half away from zero, to the digits of the gold, trailing zeros
    /// included. A gold without a decimal point is exact.
    Gold,
    /// As `Gold`, if the gold is plainly rounded: it is written with a sign of approximation, or is
    /// no multiple of 1/8 and has two or more decimals. 0.33 is, 0.25 and 0.5 are not.
    Auto,
    /// No: 33.3 is not 100/3.
    #[default]
    Exact,
}

/// Whether the order of components counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// It counts in tuples, vectors and matrices, but not in sets and bare lists.
    #[default]
    Auto,
    /// It counts everywhere.
    Ordered,
    /// It counts nowhere.
    Unordered,
}

/// Whether units are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Units {
    /// If both sides have one.
    #[default]
    Compare,
    /// Never.
    Ignore,
}

/// The meaning of a percent sign.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Percent {
    /// A hundredth: 50 % is 1/2 and not 50.
    #[default]
    Exact,
    /// If exactly one side has a percent sign, both readings are accepted: 50 % is 1/2 or 50.
    Loose,
}

/// Required notation of the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// Any notation.
    #[default]
    Any,
    /// No fraction, slash or division sign, for tasks that ask for a decimal number.
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

/// Whether points may separate thousands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Points {
    /// Only several of them, or one with a decimal comma: `1.250` is 5/4.
    #[default]
    Decimal,
    /// Also a single one, as in German: `1.250` is 5/4 or 1250.
    Either,
}

impl Points {
    /// The use of points in a language, by its code such as `de` or `de-AT`.
    pub(crate) fn of_language(language: &str) -> Self {
        const THOUSANDS: &[&str] = &[
            "da", "de", "el", "es", "hr", "id", "it", "nl", "pt", "ro", "sl", "sr", "tr", "vi",
        ];
        let code = language.split(['-', '_']).next().unwrap_or(language);
        if THOUSANDS.contains(&code.to_ascii_lowercase().as_str()) {
            Self::Either
        } else {
            Self::Decimal
        }
    }
}

/// The options of a comparison.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Options {
    /// Accepted distance; exact equality by default.
    pub tolerance: Option<Tolerance>,
    /// Rounding to the gold's digits.
    pub rounding: Rounding,
    /// Order of components.
    pub order: Order,
    /// Units of quantities.
    pub units: Units,
    /// Meaning of the percent sign.
    pub percent: Percent,
    /// Required notation of the answer.
    pub form: Form,
    /// Meaning of a single point before three digits in the answer.
    pub points: Points,
    /// Texts of the options of a multiple choice, by letter.
    pub choices: BTreeMap<String, String>,
}

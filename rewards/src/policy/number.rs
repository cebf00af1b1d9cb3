//! Numbers of policies: constants or measures of the item.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, de};
use serde_json::Value;

use super::Sample;
use super::validate::{ValidationResult, check_finite, check_name};

/// A number, or the name of a measure that contains it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum NumberOrMeasure {
    /// A number, the same for all items.
    Number(f64),
    /// Name of a measure, with a value for each item.
    Measure(String),
}

impl NumberOrMeasure {
    /// The number for this item; `None` if it lacks the measure.
    #[must_use]
    pub fn of(&self, item: &Sample<'_>) -> Option<f64> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Measure(name) => item.measure(name),
        }
    }

    pub(super) fn required_inputs<'p>(&'p self, inputs: &mut super::section::RequiredInputs<'p>) {
        if let Self::Measure(name) = self {
            inputs.measure(name);
        }
    }

    pub(super) fn check(&self, field: &str) -> ValidationResult {
        match self {
            Self::Number(number) => check_finite(field, *number),
            Self::Measure(name) => check_name(field, name),
        }
    }
}

impl fmt::Display for NumberOrMeasure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Measure(name) => write!(f, "{name}"),
        }
    }
}

impl<'de> Deserialize<'de> for NumberOrMeasure {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::Number(number) => number.as_f64().map(Self::Number),
            Value::String(name) => Some(Self::Measure(name)),
            _ => None,
        }
        .ok_or_else(|| de::Error::custom("expected a number or the name of a measure"))
    }
}

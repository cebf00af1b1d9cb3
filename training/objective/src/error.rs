//! What can be wrong with a batch or a configuration.

use thiserror::Error;

/// Why there is no loss or no advantage.
#[derive(Debug, Error)]
pub enum ObjectiveError {
    /// The objective needs a tensor that the batch does not have.
    #[error("this objective needs `{0}`, which the batch does not have")]
    Missing(&'static str),
    /// A tensor is not of the shape of the batch.
    #[error("`{name}` has shape {got:?} and not {expected:?}")]
    Shape {
        /// Field of the batch.
        name: &'static str,
        /// Its shape.
        got: Vec<usize>,
        /// The shape it should have.
        expected: Vec<usize>,
    },
    /// A piece holds some rows of a group and not all.
    #[error(
        "group `{0}` is cut by a micro-batch, and `pacs` compares its members: cut between groups"
    )]
    CutGroup(usize),
    /// No preset has this name.
    #[error("no preset is named `{0}`; there are {known}", known = crate::presets::names())]
    UnknownPreset(String),
    /// A value of an axis is out of its range.
    #[error("`{name}` is {value}, and should be {expected}")]
    Range {
        /// Axis and field.
        name: &'static str,
        /// What was given.
        value: f64,
        /// The range, in words.
        expected: &'static str,
    },
    /// Two axes that exclude each other, or a value that an axis does not take.
    #[error("{0}")]
    Conflict(&'static str),
    /// A row lacks what its advantage is made of.
    #[error("row {row}: {what}")]
    Sample {
        /// Its place in the batch, from 0.
        row: usize,
        /// What is missing or wrong, and what it should be.
        what: &'static str,
    },
    /// The tensor library refused.
    #[error(transparent)]
    Tensor(#[from] candle_core::Error),
}

/// Refuses numbers outside a range; `NaN` is outside of every one.
pub(crate) fn within(
    name: &'static str,
    value: f64,
    range: std::ops::RangeInclusive<f64>,
    expected: &'static str,
) -> Result<(), ObjectiveError> {
    if range.contains(&value) {
        Ok(())
    } else {
        Err(ObjectiveError::Range {
            name,
            value,
            expected,
        })
    }
}

/// The greatest number a parameter may be: finite, and far above any of use.
pub(crate) const MOST: f64 = 1e9;

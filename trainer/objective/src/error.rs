//! Errors of objectives: invalid configurations and batches.

use thiserror::Error;

/// Why a loss or an advantage could not be computed.
#[derive(Debug, Error)]
pub enum ObjectiveError {
    /// The batch lacks a tensor that the objective requires.
    #[error("the objective requires `{0}`, which the batch lacks")]
    Missing(&'static str),
    /// The shape of a tensor differs from that of the batch.
    #[error("`{name}` has shape {got:?}; expected {expected:?}")]
    Shape {
        /// Field of the batch.
        name: &'static str,
        /// Its shape.
        got: Vec<usize>,
        /// The expected shape.
        expected: Vec<usize>,
    },
    /// A micro-batch contains only some rows of a group.
    #[error("a micro-batch splits group `{0}`; `pacs` requires whole groups, split between them")]
    CutGroup(usize),
    /// The name of the preset is unknown.
    #[error("unknown preset `{name}`; available presets: {known}")]
    UnknownPreset {
        /// The given name.
        name: String,
        /// The names of all presets.
        known: String,
    },
    /// A value of an axis is out of range.
    #[error("`{name}` is {value}; it must be {expected}")]
    Range {
        /// Axis and field.
        name: &'static str,
        /// The given value.
        value: f64,
        /// Description of the range.
        expected: &'static str,
    },
    /// Two incompatible axes, or a value that an axis does not accept.
    #[error("{0}")]
    Conflict(&'static str),
    /// The data of a row is missing or invalid.
    #[error("row {row}: {what}")]
    Sample {
        /// Index of the row in the batch, from 0.
        row: usize,
        /// What is missing or wrong, and what is expected.
        what: &'static str,
    },
    /// An error of the tensor library.
    #[error(transparent)]
    Tensor(#[from] candle_core::Error),
}

/// Rejects numbers outside a range; `NaN` is outside every range.
pub(crate) fn check_range(
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

/// Upper limit of parameters without a specific one: finite, and far above any useful value.
pub(crate) const MAX_PARAMETER: f64 = 1e9;

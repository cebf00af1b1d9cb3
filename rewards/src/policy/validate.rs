//! Errors of policies, and checks of their numbers and names.

use std::fmt;

use serde::Serialize;

use crate::format::format_number;

/// Maximum number of entries in one list of a policy, which bounds the cost of each item under an
/// inline policy.
pub(super) const MAX_LIST: usize = 64;

/// An invalid policy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PolicyError {
    /// JSON pointer within the policy; empty for the policy as a whole.
    pub pointer: String,
    /// What is wrong, and the remedy.
    pub message: String,
}

impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { pointer, message } = self;
        if pointer.is_empty() {
            write!(f, "policy: {message}")
        } else {
            write!(f, "policy at `{pointer}`: {message}")
        }
    }
}

impl std::error::Error for PolicyError {}

impl PolicyError {
    /// An error at `field` of a section. `field` is empty for the section itself, and may be a path
    /// such as `weights/style`.
    pub(super) fn at(field: impl fmt::Display, message: impl Into<String>) -> Self {
        Self {
            pointer: String::new(),
            message: message.into(),
        }
        .under(field)
    }

    /// The error with `segment` prepended to its pointer.
    pub(super) fn under(mut self, segment: impl fmt::Display) -> Self {
        let segment = segment.to_string();
        if !segment.is_empty() {
            self.pointer = format!("/{segment}{}", self.pointer);
        }
        self
    }
}

/// Result of validating a section or a field.
pub(super) type ValidationResult = Result<(), PolicyError>;

/// Rejects a number outside `low..=high`.
pub(super) fn check_range(
    field: impl fmt::Display,
    value: f64,
    low: f64,
    high: f64,
) -> ValidationResult {
    if (low..=high).contains(&value) {
        return Ok(());
    }
    Err(PolicyError::at(
        field,
        format!(
            "must be from {} to {}; found {}",
            format_number(low),
            format_number(high),
            format_number(value)
        ),
    ))
}

/// Rejects anything but a finite number above 0.
pub(super) fn check_positive(field: impl fmt::Display, value: f64) -> ValidationResult {
    if value.is_finite() && value > 0.0 {
        return Ok(());
    }
    Err(PolicyError::at(
        field,
        format!("must be above 0; found {}", format_number(value)),
    ))
}

/// Rejects NaN and infinities.
pub(super) fn check_finite(field: impl fmt::Display, value: f64) -> ValidationResult {
    if value.is_finite() {
        Ok(())
    } else {
        Err(PolicyError::at(field, "must be a finite number"))
    }
}

/// Rejects an empty name of a part or measure.
pub(super) fn check_name(field: impl fmt::Display, name: &str) -> ValidationResult {
    if name.is_empty() {
        Err(PolicyError::at(
            field,
            "the name is empty; write the name of a part or measure",
        ))
    } else {
        Ok(())
    }
}

/// Rejects an empty name, and `outcome` where only parts are allowed.
pub(super) fn check_part(field: impl fmt::Display, name: &str) -> ValidationResult {
    if name == OUTCOME {
        return Err(PolicyError::at(
            field,
            "`outcome` is not a part; use the name of a check or a component",
        ));
    }
    check_name(field, name)
}

/// Rejects an empty list, a list that is too long, and duplicate names.
pub(super) fn check_distinct<'n>(
    field: &str,
    names: impl ExactSizeIterator<Item = &'n str>,
) -> ValidationResult {
    check_list(field, names.len())?;
    let mut seen: Vec<&str> = Vec::with_capacity(names.len());
    for (at, name) in names.enumerate() {
        let pointer = if field.is_empty() {
            at.to_string()
        } else {
            format!("{field}/{at}")
        };
        check_name(&pointer, name)?;
        if seen.contains(&name) {
            return Err(PolicyError::at(
                pointer,
                format!("`{name}` occurs twice; remove the duplicate"),
            ));
        }
        seen.push(name);
    }
    Ok(())
}

/// Rejects an empty list and a list that is too long.
pub(super) fn check_list(field: &str, len: usize) -> ValidationResult {
    match len {
        0 => Err(PolicyError::at(
            field,
            "the list is empty; add an entry or remove it",
        )),
        len if len > MAX_LIST => Err(PolicyError::at(
            field,
            format!("the list has {len} entries; the maximum is {MAX_LIST}"),
        )),
        _ => Ok(()),
    }
}

/// Rejects a section without a function.
pub(super) fn check_not_empty(any: bool, names: &str) -> ValidationResult {
    if any {
        Ok(())
    } else {
        Err(PolicyError::at(
            "",
            format!("the section is empty; add one of {names} or remove it"),
        ))
    }
}

/// The name of the item's own outcome among the parts in a section of a policy. It is reserved: no
/// part can have it.
pub const OUTCOME: &str = "outcome";

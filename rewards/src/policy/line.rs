//! One line of an explanation.

/// The explanation of one function of a section.
pub(super) struct Line {
    pub(super) field: String,
    pub(super) function: &'static str,
    pub(super) formula: String,
    pub(super) meaning: String,
}

impl Line {
    pub(super) fn new(
        field: &str,
        function: &'static str,
        formula: impl Into<String>,
        meaning: impl Into<String>,
    ) -> Self {
        Self {
            field: field.to_owned(),
            function,
            formula: formula.into(),
            meaning: meaning.into(),
        }
    }
}

/// Formats a number computed from those of a policy without rounding errors: 1 - 0.9 is 0.1.
pub(super) fn rounded(number: f64) -> String {
    let rounded = (number * 1e9).round() / 1e9;
    if rounded.is_finite() && rounded.abs() > 1e-6 {
        rounded.to_string()
    } else {
        number.to_string()
    }
}

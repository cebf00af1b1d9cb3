//! Errors in the configuration of a family or a mixture.

/// An invalid configuration of a family or a mixture.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FamilyError {
    /// A number is out of range.
    #[error("`{field}` is {given}; it must be between {least} and {most}")]
    OutOfRange {
        /// The option.
        field: &'static str,
        /// The given value.
        given: u64,
        /// The smallest allowed value.
        least: u64,
        /// The largest allowed value.
        most: u64,
    },
    /// No operator is given, or one is repeated.
    #[error("`operators` must list at least one of `+`, `-`, `*`, and each at most once")]
    Operators,
    /// The family has more problems than can be numbered.
    #[error("the family has more than 2^62 problems; use fewer operands, numbers or digits")]
    TooMany,
    /// The family does not support the form.
    #[error("form `boxed` is only for numeric answers; use `plain` or `words`")]
    Boxed,
    /// The mixture is empty.
    #[error("a mixture must have at least one family")]
    Empty,
}

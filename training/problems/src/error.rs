//! What can be wrong with the configuration of a family or of a mixture.

/// A configuration that makes no problems.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FamilyError {
    /// A number outside its range.
    #[error("`{field}` is {given}: give {least} to {most}")]
    OutOfRange {
        /// The option.
        field: &'static str,
        /// What was given.
        given: u64,
        /// Least that may be.
        least: u64,
        /// Most that may be.
        most: u64,
    },
    /// No operator, or one twice.
    #[error("`operators` names each of `+`, `-`, `*` at most once, and one at least")]
    Operators,
    /// More problems than can be numbered.
    #[error("the family has more than 2^62 problems: give fewer operands or digits")]
    TooMany,
    /// A form that the family has not.
    #[error("`form` `boxed` is for numbers: give `plain` or `words`")]
    Boxed,
    /// A mixture of nothing.
    #[error("a mixture has at least one family")]
    Empty,
}

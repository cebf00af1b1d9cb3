//! The result of a checker.

/// The result of a checker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CheckerResult {
    Correct,
    Wrong(Option<Difference>),
    /// Correct except for its form. Only checker programs return this.
    Presentation,
}

/// Where two outputs differ first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Difference {
    /// Number of the line, from 1.
    pub(crate) line: usize,
    /// That line of the expected output; `None` if it has fewer lines.
    pub(crate) expected: Option<String>,
    /// That line of the program's output, with invalid UTF-8 replaced.
    pub(crate) got: Option<String>,
}

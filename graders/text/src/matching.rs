//! Compares texts with golds that are prepared once for a task.

use assay_core::{ErrorCode, TaskError};
use regex::{Regex, RegexBuilder};
use unicode_normalization::UnicodeNormalization;

use crate::task::{Match, TextTask};

/// Maximum memory of a compiled pattern, in bytes.
const MAX_PATTERN_BYTES: usize = 1 << 20;

/// The golds of a task, ready for comparison.
#[derive(Debug)]
pub(crate) enum Matcher {
    Exact(Vec<String>),
    Normalised(Vec<String>),
    Contains(Vec<String>),
    Pattern(Vec<Regex>),
}

impl Matcher {
    /// Prepares the golds of a task.
    ///
    /// # Errors
    /// [`TaskError`] for a pattern that cannot be compiled.
    pub(crate) fn new(task: &TextTask) -> Result<Self, TaskError> {
        let trimmed = || task.golds.iter().map(|gold| gold.trim().to_owned());
        Ok(match task.by {
            Match::Exact => Self::Exact(trimmed().collect()),
            Match::Normalised => {
                Self::Normalised(task.golds.iter().map(|gold| normalise(gold)).collect())
            }
            Match::Contains => Self::Contains(trimmed().collect()),
            Match::Pattern => Self::Pattern(
                task.golds
                    .iter()
                    .map(|pattern| compile(pattern))
                    .collect::<Result<_, _>>()?,
            ),
        })
    }

    /// Index of the first gold that the text matches.
    pub(crate) fn find(&self, text: &str) -> Option<usize> {
        match self {
            Self::Exact(golds) => golds.iter().position(|gold| gold == text.trim()),
            Self::Normalised(golds) => {
                let text = normalise(text);
                golds.iter().position(|gold| *gold == text)
            }
            Self::Contains(golds) => golds.iter().position(|gold| text.contains(gold.as_str())),
            Self::Pattern(patterns) => patterns.iter().position(|pattern| pattern.is_match(text)),
        }
    }

    /// Approximate memory, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Exact(golds) | Self::Normalised(golds) | Self::Contains(golds) => golds
                .iter()
                .map(|gold| gold.len() + size_of::<String>())
                .sum(),
            Self::Pattern(patterns) => patterns.len() * MAX_PATTERN_BYTES,
        }
    }
}

fn compile(pattern: &str) -> Result<Regex, TaskError> {
    RegexBuilder::new(pattern)
        .size_limit(MAX_PATTERN_BYTES)
        .build()
        .map_err(|error| {
            let message = format!("invalid regular expression: {error}");
            TaskError::new(ErrorCode::InvalidTask, "/answer", message)
        })
}

/// The text in lower case, with compatibility variants unified (NFKC), runs of white space as one
/// space, and without punctuation at both ends.
fn normalise(text: &str) -> String {
    let lower = text.nfkc().collect::<String>().to_lowercase();
    let words: Vec<&str> = lower.split_whitespace().collect();
    words
        .join(" ")
        .trim_matches(|character: char| {
            character.is_ascii_punctuation() || "…“”‘’«»¿¡。，！？、".contains(character)
        })
        .trim()
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::Extract;

    #[test]
    fn normalises_case_space_variants_and_final_marks() {
        assert_eq!(normalise("  “New\n YORK!” "), "new york");
        assert_eq!(normalise("ﬁne"), "fine");
        assert_eq!(normalise("3.5"), "3.5");
    }

    #[test]
    fn estimates_the_memory_of_patterns_by_their_limit() {
        let bytes = |patterns: &[&str]| {
            let task = TextTask {
                golds: patterns.iter().map(|&pattern| pattern.to_owned()).collect(),
                by: Match::Pattern,
                extract: Extract::Whole,
            };
            Matcher::new(&task).unwrap().bytes()
        };
        assert_eq!(bytes(&["^a+$"]), MAX_PATTERN_BYTES);
        assert_eq!(bytes(&["^a+$", "b|c", "d"]), 3 * MAX_PATTERN_BYTES);
    }
}

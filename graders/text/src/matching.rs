//! Compares texts with golds that are prepared once for a task.

use assay_core::{ErrorCode, TaskError};
use regex::{Regex, RegexBuilder};
use unicode_normalization::UnicodeNormalization;

use crate::task::{Match, Require, TextTask, Words};

/// Maximum memory of a compiled pattern, in bytes.
const MAX_PATTERN_BYTES: usize = 1 << 20;

/// The golds and rejected texts of a task, ready for comparison.
#[derive(Debug)]
pub(crate) struct Matcher {
    golds: Prepared,
    rejected: Prepared,
    require: Require,
    words: Option<(Words, Regex)>,
}

/// The result of comparing a text. Positions count the texts of the task.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Comparison {
    /// Whether the text is accepted.
    pub(crate) accepted: bool,
    /// The gold that decides: the first that the text matches or, if all are required, the first
    /// that it does not.
    pub(crate) gold: Option<usize>,
    /// The first rejected text that it matches.
    pub(crate) rejected: Option<usize>,
    /// Its number of words, if the task limits them.
    pub(crate) words: Option<usize>,
}

impl Matcher {
    /// Prepares the golds of a task.
    ///
    /// # Errors
    /// [`TaskError`] for a pattern that cannot be compiled.
    pub(crate) fn new(task: &TextTask) -> Result<Self, TaskError> {
        let words = task
            .words
            .map(|words| Ok::<_, TaskError>((words, compile(WORD, "/words")?)))
            .transpose()?;
        Ok(Self {
            golds: Prepared::new(&task.golds, task.by, "/answer")?,
            rejected: Prepared::new(&task.rejected, task.by, "/reject")?,
            require: task.require,
            words,
        })
    }

    /// Compares a text with the golds and the rejected texts.
    pub(crate) fn compare(&self, text: &str) -> Comparison {
        let gold = match self.require {
            Require::Any => self.golds.matches(text).position(|matches| matches),
            Require::All => self.golds.matches(text).position(|matches| !matches),
        };
        let rejected = self.rejected.matches(text).position(|matches| matches);
        let words = self
            .words
            .as_ref()
            .map(|(_, word)| word.find_iter(text).count());
        let has_golds = match self.require {
            Require::Any => gold.is_some(),
            Require::All => gold.is_none(),
        };
        let has_words = self
            .words
            .as_ref()
            .zip(words)
            .is_none_or(|((limits, _), words)| {
                (limits.min as usize..=limits.max as usize).contains(&words)
            });
        Comparison {
            accepted: has_golds && rejected.is_none() && has_words,
            gold,
            rejected,
            words,
        }
    }

    /// Approximate memory, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        let word = self.words.as_ref().map_or(0, |_| WORD_BYTES);
        self.golds.bytes() + self.rejected.bytes() + word
    }
}

/// A word as in Python's `\w+`: marks are not part of it.
const WORD: &str = r"[\p{L}\p{N}_]+";

/// Approximate memory of the compiled pattern of a word, in bytes.
const WORD_BYTES: usize = 64 << 10;

/// Texts in the form in which they are compared.
#[derive(Debug)]
enum Prepared {
    Exact(Vec<String>),
    Normalised(Vec<String>),
    Contains(Vec<String>),
    Pattern(Vec<Regex>),
}

impl Prepared {
    fn new(texts: &[String], by: Match, pointer: &str) -> Result<Self, TaskError> {
        let trimmed = || texts.iter().map(|text| text.trim().to_owned());
        Ok(match by {
            Match::Exact => Self::Exact(trimmed().collect()),
            Match::Normalised => {
                Self::Normalised(texts.iter().map(|text| normalise(text)).collect())
            }
            Match::Contains => Self::Contains(trimmed().collect()),
            Match::Pattern => Self::Pattern(
                texts
                    .iter()
                    .map(|pattern| compile(pattern, pointer))
                    .collect::<Result<_, _>>()?,
            ),
        })
    }

    /// Whether `text` matches each of the texts, in order.
    fn matches<'a>(&'a self, text: &'a str) -> Box<dyn Iterator<Item = bool> + 'a> {
        match self {
            Self::Exact(texts) => Box::new(texts.iter().map(move |own| own == text.trim())),
            Self::Normalised(texts) => {
                let text = normalise(text);
                Box::new(texts.iter().map(move |own| *own == text))
            }
            Self::Contains(texts) => {
                Box::new(texts.iter().map(move |own| text.contains(own.as_str())))
            }
            Self::Pattern(patterns) => {
                Box::new(patterns.iter().map(move |pattern| pattern.is_match(text)))
            }
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Self::Exact(texts) | Self::Normalised(texts) | Self::Contains(texts) => texts
                .iter()
                .map(|text| text.len() + size_of::<String>())
                .sum(),
            Self::Pattern(patterns) => patterns.len() * MAX_PATTERN_BYTES,
        }
    }
}

fn compile(pattern: &str, pointer: &str) -> Result<Regex, TaskError> {
    RegexBuilder::new(pattern)
        .size_limit(MAX_PATTERN_BYTES)
        .build()
        .map_err(|error| {
            let message = format!("invalid regular expression: {error}");
            TaskError::new(ErrorCode::InvalidTask, pointer, message)
        })
}

/// The text in lower case, with compatibility variants unified (NFKC), runs of white space as one
/// space, and without punctuation at both ends.
pub(crate) fn normalise(text: &str) -> String {
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
                require: Require::Any,
                rejected: Vec::new(),
                words: None,
                by: Match::Pattern,
                extract: Extract::Whole,
            };
            Matcher::new(&task).unwrap().bytes()
        };
        assert_eq!(bytes(&["^a+$"]), MAX_PATTERN_BYTES);
        assert_eq!(bytes(&["^a+$", "b|c", "d"]), 3 * MAX_PATTERN_BYTES);
    }
}

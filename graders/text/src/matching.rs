//! Compares texts with golds that are prepared once for a task.

use std::collections::BTreeSet;

use assay_core::{ErrorCode, TaskError};
use regex::{Regex, RegexBuilder};

use crate::dates::{self, Date};
use crate::fuzzy;
use crate::names;
use crate::normal::{normalise, squad_tokens, token_f1};
use crate::task::{Match, Require, Scoring, TextTask, Words};

/// Maximum memory of a compiled pattern, in bytes.
const MAX_PATTERN_BYTES: usize = 1 << 20;

/// The golds and rejected texts of a task, ready for comparison.
#[derive(Debug)]
pub(crate) struct Matcher {
    golds: Prepared,
    rejected: Prepared,
    require: Require,
    threshold: f64,
    scoring: Scoring,
    words: Option<(Words, Regex)>,
}

/// The result of comparing a text. Positions count the texts of the task.
#[derive(Debug, PartialEq)]
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
    /// Its largest similarity with a gold: 1 or 0, except for `fuzzy`.
    pub(crate) similarity: f64,
    /// Its largest F1 with a gold, for `squad`.
    pub(crate) f1: Option<f64>,
    /// The score, from 0 to 1.
    pub(crate) score: f64,
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
            threshold: task.threshold,
            scoring: task.scoring,
            words,
        })
    }

    /// Compares a text with the golds and the rejected texts. `numbers` has a similarity for each
    /// gold and then each rejected text if the grader of mathematics compares them.
    pub(crate) fn compare(&self, text: &str, numbers: &[f64]) -> Comparison {
        let (of_golds, of_rejected) = match numbers.split_at_checked(self.golds.len()) {
            Some((golds, rejected)) if !numbers.is_empty() => (golds.to_vec(), rejected.to_vec()),
            _ => (
                self.golds.similarities(text),
                self.rejected.similarities(text),
            ),
        };
        let matches = |similarity: &f64| *similarity >= self.threshold;
        let gold = match self.require {
            Require::Any => of_golds.iter().position(matches),
            Require::All => of_golds.iter().position(|similarity| !matches(similarity)),
        };
        let rejected = of_rejected.iter().position(matches);
        let words = self
            .words
            .as_ref()
            .map(|(_, word)| word.find_iter(text).count());
        let has_golds = match self.require {
            Require::Any => gold.is_some(),
            Require::All => gold.is_none() && !of_golds.is_empty(),
        };
        let has_words = self
            .words
            .as_ref()
            .zip(words)
            .is_none_or(|((limits, _), words)| {
                (limits.min as usize..=limits.max as usize).contains(&words)
            });
        let is_allowed = rejected.is_none() && has_words;
        let similarity = of_golds.iter().copied().fold(0.0, f64::max);
        let accepted = has_golds && is_allowed;
        let f1 = self.golds.f1(text);
        let share = of_golds.iter().filter(|one| matches(one)).count() as f64
            / of_golds.len().max(1) as f64;
        let score = match self.scoring {
            _ if accepted => 1.0,
            _ if !is_allowed => 0.0,
            Scoring::Exact => 0.0,
            Scoring::F1 => f1.unwrap_or(0.0),
            Scoring::Share => share,
        };
        Comparison {
            accepted,
            gold,
            rejected,
            words,
            similarity,
            f1,
            score,
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
    Fuzzy(Vec<String>),
    Squad(Vec<Vec<String>>),
    /// Compared by the grader of mathematics.
    Number(usize),
    Date(Vec<BTreeSet<Date>>),
    Name(Vec<Vec<String>>),
}

impl Prepared {
    fn new(texts: &[String], by: Match, pointer: &str) -> Result<Self, TaskError> {
        let trimmed = || texts.iter().map(|text| text.trim().to_owned());
        let fault = |message: String| TaskError::new(ErrorCode::InvalidTask, pointer, message);
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
            Match::Fuzzy => {
                let long = |text: &&String| text.chars().count() > fuzzy::MAX_CHARACTERS;
                if texts.iter().any(|text| long(&text)) {
                    let max = fuzzy::MAX_CHARACTERS;
                    return Err(fault(format!(
                        "`fuzzy` compares texts of at most {max} characters"
                    )));
                }
                Self::Fuzzy(texts.iter().map(|text| normalise(text)).collect())
            }
            Match::Squad => Self::Squad(texts.iter().map(|text| squad_tokens(text)).collect()),
            Match::Number => Self::Number(texts.len()),
            Match::Date => Self::Date(
                texts
                    .iter()
                    .map(|text| match dates::find(text).as_slice() {
                        [date] => Ok(date.clone()),
                        dates => Err(fault(format!(
                            "`{text}` has {} dates, not one",
                            dates.len()
                        ))),
                    })
                    .collect::<Result<_, _>>()?,
            ),
            Match::Name => Self::Name(texts.iter().map(|text| names::parts(text)).collect()),
        })
    }

    /// Number of texts.
    fn len(&self) -> usize {
        match self {
            Self::Exact(texts)
            | Self::Normalised(texts)
            | Self::Contains(texts)
            | Self::Fuzzy(texts) => texts.len(),
            Self::Pattern(patterns) => patterns.len(),
            Self::Squad(texts) | Self::Name(texts) => texts.len(),
            Self::Date(dates) => dates.len(),
            Self::Number(count) => *count,
        }
    }

    /// The similarity of `text` with each of the texts, in order.
    fn similarities(&self, text: &str) -> Vec<f64> {
        fn each<T>(texts: &[T], similarity: impl Fn(&T) -> f64) -> Vec<f64> {
            texts.iter().map(similarity).collect()
        }
        let binary = |equal: bool| f64::from(u8::from(equal));
        match self {
            Self::Exact(texts) => each(texts, |own| binary(own == text.trim())),
            Self::Normalised(texts) => {
                let text = normalise(text);
                each(texts, |own| binary(*own == text))
            }
            Self::Contains(texts) => each(texts, |own| binary(text.contains(own.as_str()))),
            Self::Pattern(patterns) => each(patterns, |pattern| binary(pattern.is_match(text))),
            Self::Fuzzy(texts) => {
                let text = normalise(text);
                each(texts, |own| fuzzy::similarity(own, &text))
            }
            Self::Squad(texts) => {
                let tokens = squad_tokens(text);
                each(texts, |own| binary(*own == tokens))
            }
            Self::Number(count) => vec![0.0; *count],
            Self::Date(golds) => each(golds, |gold| binary(dates::agrees(text, gold))),
            Self::Name(golds) => {
                let name = names::parts(text);
                each(golds, |gold| binary(names::agree(&name, gold)))
            }
        }
    }

    /// The largest F1 of the tokens of `text` with those of a gold, for `squad`.
    fn f1(&self, text: &str) -> Option<f64> {
        let Self::Squad(texts) = self else {
            return None;
        };
        let tokens = squad_tokens(text);
        Some(
            texts
                .iter()
                .map(|own| token_f1(&tokens, own))
                .fold(0.0, f64::max),
        )
    }

    fn bytes(&self) -> usize {
        let of = |texts: &[String]| -> usize {
            texts
                .iter()
                .map(|text| text.len() + size_of::<String>())
                .sum()
        };
        match self {
            Self::Exact(texts)
            | Self::Normalised(texts)
            | Self::Contains(texts)
            | Self::Fuzzy(texts) => of(texts),
            Self::Squad(texts) | Self::Name(texts) => texts.iter().map(|tokens| of(tokens)).sum(),
            Self::Date(dates) => dates.len() * 64,
            Self::Number(_) => 0,
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::Extract;

    #[test]
    fn estimates_the_memory_of_patterns_by_their_limit() {
        let bytes = |patterns: &[&str]| {
            let task = TextTask {
                golds: patterns.iter().map(|&pattern| pattern.to_owned()).collect(),
                consensus: false,
                require: Require::Any,
                rejected: Vec::new(),
                words: None,
                by: Match::Pattern,
                extract: Extract::Whole,
                unanswerable: false,
                threshold: 1.0,
                scoring: Scoring::Exact,
            };
            Matcher::new(&task).unwrap().bytes()
        };
        assert_eq!(bytes(&["^a+$"]), MAX_PATTERN_BYTES);
        assert_eq!(bytes(&["^a+$", "b|c", "d"]), 3 * MAX_PATTERN_BYTES);
    }
}

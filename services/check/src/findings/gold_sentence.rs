//! `gold-sentence`: nearly all golds of `text` tasks are short answers, and all golds of this one
//! are sentences, which a short right answer does not match.

use super::Sink;
use super::code::{Code, code};
use super::rule::DatasetRule;
use crate::graded_row::{GradedRow, excerpt};
use crate::row::RowLocation;

pub(super) const CODE: Code = code!("gold-sentence", Warning);

/// Minimum number of tasks for a finding.
const MIN_TASKS: u64 = 20;

/// Minimum percentage of the tasks whose golds are short.
const SHORT_PERCENT: u64 = 90;

/// Maximum number of words of a short answer.
const SHORT_WORDS: usize = 5;

/// Minimum number of words of a sentence. Titles and names may be as long, but do not end with a
/// full stop.
const SENTENCE_WORDS: usize = 7;

/// The same for a text that does not end as a sentence does.
const LONG_WORDS: usize = 14;

/// Maximum number of rows that are kept.
const MAX_ROWS: usize = 1_000;

/// How golds are compared by the tasks that expect the whole answer.
const WHOLE: &[&str] = &["exact", "normalised", "squad"];

/// The golds so far.
#[derive(Default)]
pub(super) struct Sentences {
    tasks: u64,
    short: u64,
    /// Location, key and gold of the first rows with sentences.
    rows: Vec<(RowLocation, String, String)>,
}

impl DatasetRule for Sentences {
    fn add_row(&mut self, row: &GradedRow, _sink: &mut Sink<'_>) {
        let (Some("text"), Ok(subject)) = (row.kind(), &row.subject) else {
            return;
        };
        let golds = subject.texts("answer");
        let by = subject.text("match").unwrap_or("exact");
        let [first, ..] = golds.as_slice() else {
            return;
        };
        if !WHOLE.contains(&by) {
            return;
        }
        self.tasks += 1;
        self.short += u64::from(golds.iter().any(|gold| words(gold) <= SHORT_WORDS));
        if golds.iter().all(|gold| is_sentence(gold)) && self.rows.len() < MAX_ROWS {
            let kept = (row.location.clone(), row.key.clone(), excerpt(first));
            self.rows.push(kept);
        }
    }

    fn finish(&mut self, sink: &mut Sink<'_>) {
        if self.tasks < MIN_TASKS || self.short * 100 < self.tasks * SHORT_PERCENT {
            return;
        }
        for (location, key, gold) in self.rows.drain(..) {
            let message = format!(
                "the gold `{gold}` is a sentence, but nearly all others are short answers; keep \
                 only the answer, or add it as another gold"
            );
            sink.add(&CODE, &location, &key, message);
        }
    }
}

fn words(text: &str) -> usize {
    text.split_whitespace().count()
}

/// Whether a gold is a sentence. Text in scripts without spaces is none unless it ends as one.
fn is_sentence(gold: &str) -> bool {
    let gold = gold.trim();
    let count = words(gold);
    let ends = gold.ends_with(['.', '!', '?', '।']) && count >= SENTENCE_WORDS;
    let is_unspaced = gold.ends_with('。') && gold.chars().count() >= 2 * SENTENCE_WORDS;
    ends || is_unspaced || count >= LONG_WORDS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_are_long_and_end() {
        for gold in [
            "The bridge was opened to traffic in 1932.",
            "这座桥于一九三二年正式通车使用。",
            "a gold that does not end but goes on and on for many more words",
        ] {
            assert!(is_sentence(gold), "{gold}");
        }
        for gold in [
            "1932",
            "The Bridge over the River Kwai and Others",
            "Washington, D.C.",
            "一九三二年",
        ] {
            assert!(!is_sentence(gold), "{gold}");
        }
    }
}

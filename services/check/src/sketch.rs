//! Sketches of rows, by which equal questions and similar prompts are found.

use serde_json::Value;

use crate::probes;
use crate::shingles::{Word, hash, mix, shingles, words};
use crate::subject::Subject;

/// Number of MinHash values per sketch. The share of equal values of two sketches estimates the
/// Jaccard index of their word pairs (Broder 1997, doi 10.1109/SEQUEN.1997.666900).
pub(crate) const HASHES: usize = 32;

/// Number of bands of four hashes, by which sketches are looked up. Two prompts that share 80 % of
/// their word pairs have at least one equal band with a probability of 0.96.
pub(crate) const BANDS: usize = 6;

const HASHES_PER_BAND: usize = 4;

/// Minimum number of words of a prompt that is compared with similar prompts. In shorter prompts a
/// single word changes the question: "the first digit", "the last digit".
const MIN_WORDS: usize = 20;

/// The data kept about a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sketch {
    /// Hash of the question: the words of the prompt and the task without its gold. Without a
    /// prompt, the hash of the whole row.
    pub(crate) question: u64,
    /// Hash of the text of the gold.
    pub(crate) gold: u64,
    /// `None` for short prompts.
    pub(crate) prompt: Option<PromptSketch>,
}

/// The MinHash sketch of a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PromptSketch {
    /// Hash of the words with digits, operators or code, in order. A different value there makes a
    /// different question.
    pub(crate) exact: u64,
    pub(crate) hashes: [u16; HASHES],
    pub(crate) bands: [u32; BANDS],
}

impl Sketch {
    /// Makes the sketch of a row. `row` is the hash of its content.
    pub(crate) fn new(subject: Option<&Subject>, row: u64) -> Self {
        let Some((subject, prompt)) =
            subject.and_then(|subject| Some((subject, subject.prompt.as_deref()?)))
        else {
            return Self {
                question: row,
                gold: 0,
                prompt: None,
            };
        };
        let gold_fields =
            probes::prober(subject.task.kind.as_str()).map_or(&[][..], |prober| prober.gold);
        let (mut rest, mut gold) = (hash(subject.task.kind.as_str().as_bytes()), 0);
        for (name, value) in &subject.body {
            let field = hash(name.as_bytes()) ^ hash(value.to_string().as_bytes()).rotate_left(1);
            if gold_fields.contains(&name.as_str()) {
                gold = mix(gold ^ field);
            } else {
                rest = mix(rest ^ field);
            }
        }
        let words = words(prompt);
        let question = words
            .iter()
            .fold(rest, |sum, word| mix(sum.rotate_left(7) ^ word.hash));
        Self {
            question,
            gold,
            prompt: prompt_sketch(&words, rest),
        }
    }
}

/// `task` is the hash of the task without its gold.
fn prompt_sketch(words: &[Word], task: u64) -> Option<PromptSketch> {
    if words.len() < MIN_WORDS {
        return None;
    }
    let exact = words
        .iter()
        .filter(|word| word.exact)
        .fold(task, |sum, word| mix(sum.rotate_left(7) ^ word.hash));
    let mut minima = [u64::MAX; HASHES];
    for pair in shingles(words, 2) {
        for (at, minimum) in (1u64..).zip(&mut minima) {
            *minimum = (*minimum).min(mix(pair ^ at.wrapping_mul(0x9E37_79B9_7F4A_7C15)));
        }
    }
    let mut bands = [0; BANDS];
    for (at, band) in bands.iter_mut().enumerate() {
        let from = at * HASHES_PER_BAND;
        let combined =
            minima[from..from + HASHES_PER_BAND]
                .iter()
                .fold(
                    exact ^ at as u64,
                    |sum, hash| mix(sum.rotate_left(7) ^ hash),
                );
        *band = (combined >> 32) as u32;
    }
    Some(PromptSketch {
        exact,
        hashes: minima.map(|hash| (hash >> 48) as u16),
        bands,
    })
}

/// The text of the gold for a message; empty if the task has none.
pub(crate) fn gold_text(subject: &Subject) -> String {
    let prober = probes::prober(subject.task.kind.as_str());
    let gold = prober.and_then(|prober| {
        let mut names = prober.gold.iter();
        names.find_map(|name| subject.body.get(*name))
    });
    gold.map_or_else(String::new, |gold| match gold {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    })
}

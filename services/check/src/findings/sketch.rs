//! What is remembered of a row's prompt: enough to know it again, and to know others that are
//! nearly it.

use serde_json::Value;

use crate::probes;
use crate::subject::Subject;
use crate::words::{Word, hash, mix, shingles, words};

/// Hashes of a sketch. The share of them that two sketches have in common estimates the Jaccard
/// index of their pairs of words (Broder 1997, doi 10.1109/SEQUEN.1997.666900).
pub(super) const HASHES: usize = 32;

/// Bands of four hashes by which sketches are looked up: two prompts that share four fifths of
/// their pairs meet in one of them with a probability of 0.96.
pub(super) const BANDS: usize = 6;

const HASHES_OF_BAND: usize = 4;

/// Fewest words of a prompt that can be nearly another. In shorter ones each word counts: the first
/// digit is not the last.
const FEWEST_WORDS: usize = 20;

/// What is remembered of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sketch {
    /// What is asked: the words of the prompt and the task without its gold; without a prompt the
    /// whole row.
    pub(super) question: u64,
    /// The gold as it is written.
    pub(super) gold: u64,
    pub(super) near: Option<Near>,
}

/// The sketch of a prompt of some length.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Near {
    /// The words that are no plain words, in their order: figures and code make another question.
    pub(super) exact: u64,
    pub(super) hashes: [u16; HASHES],
    pub(super) bands: [u32; BANDS],
}

impl Sketch {
    /// The sketch of a row whose content has the hash `row`.
    pub(crate) fn new(subject: Option<&Subject>, row: u64) -> Self {
        let Some((subject, prompt)) =
            subject.and_then(|subject| Some((subject, subject.prompt.as_deref()?)))
        else {
            return Self {
                question: row,
                gold: 0,
                near: None,
            };
        };
        let gold_fields =
            probes::kind(subject.task.kind.as_str()).map_or(&[][..], |kind| kind.gold);
        let (mut around, mut gold) = (hash(subject.task.kind.as_str().as_bytes()), 0);
        for (name, value) in &subject.body {
            let field = hash(name.as_bytes()) ^ hash(value.to_string().as_bytes()).rotate_left(1);
            if gold_fields.contains(&name.as_str()) {
                gold = mix(gold ^ field);
            } else {
                around = mix(around ^ field);
            }
        }
        let words = words(prompt);
        let asked = words
            .iter()
            .fold(around, |sum, word| mix(sum.rotate_left(7) ^ word.hash));
        Self {
            question: asked,
            gold,
            near: near(&words, around),
        }
    }
}

fn near(words: &[Word], around: u64) -> Option<Near> {
    if words.len() < FEWEST_WORDS {
        return None;
    }
    let exact = words
        .iter()
        .filter(|word| word.exact)
        .fold(around, |sum, word| mix(sum.rotate_left(7) ^ word.hash));
    let mut least = [u64::MAX; HASHES];
    for pair in shingles(words, 2) {
        for (at, least) in (1u64..).zip(&mut least) {
            *least = (*least).min(mix(pair ^ at.wrapping_mul(0x9E37_79B9_7F4A_7C15)));
        }
    }
    let mut bands = [0; BANDS];
    for (at, band) in bands.iter_mut().enumerate() {
        let from = at * HASHES_OF_BAND;
        let whole =
            least[from..from + HASHES_OF_BAND]
                .iter()
                .fold(
                    exact ^ at as u64,
                    |sum, hash| mix(sum.rotate_left(7) ^ hash),
                );
        *band = (whole >> 32) as u32;
    }
    Some(Near {
        exact,
        hashes: least.map(|hash| (hash >> 48) as u16),
        bands,
    })
}

/// The text of the gold, for a message; empty where there is none.
pub(super) fn gold_text(subject: &Subject) -> String {
    let kind = probes::kind(subject.task.kind.as_str());
    let gold = kind.and_then(|kind| kind.gold.iter().find_map(|name| subject.body.get(*name)));
    gold.map_or_else(String::new, |gold| match gold {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    })
}

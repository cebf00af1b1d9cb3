//! A benchmark, as the set of word sequences (shingles) of its prompts.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use assay_core::GraderTable;
use assay_templates::Template;
use serde_json::Value;

use crate::graded_row::excerpt;
use crate::row::{RowLocation, SourceRow};
use crate::shingles::{Word, masked_words, shingles, words};
use crate::sources::{self, SourceError};
use crate::subject::SubjectReader;

/// Words per shingle. Studies of contamination count overlaps of eight or more words (Lambert and
/// others 2024, Tulu 3, arXiv 2411.15124, section 3.2).
const SHINGLE_WORDS: usize = 8;

/// Minimum number of masked shingles of a prompt. Short prompts of one kind are equal when masked.
const MIN_MASKED: u32 = 12;

/// Maximum number of shingles kept. A benchmark of a hundred thousand prompts has fewer.
const MAX_SHINGLES: usize = 16 << 20;

/// A benchmark whose prompts datasets must not contain.
#[derive(Debug, Default)]
pub struct Benchmark {
    /// The first row with each shingle of the prompts.
    exact: HashMap<u64, u32>,
    /// The same after numbers and names are masked.
    masked: HashMap<u64, u32>,
    /// Locations and starts of the prompts.
    rows: Vec<(RowLocation, String)>,
}

/// The row of a benchmark that a prompt shares the most with.
#[derive(Debug)]
pub(crate) struct Overlap<'a> {
    /// Share of the shingles of the prompt that occur in the benchmark, in \[0, 1\].
    pub(crate) share: f64,
    /// Whether numbers and names are masked.
    pub(crate) is_masked: bool,
    /// Location of the row.
    pub(crate) location: &'a RowLocation,
    /// Start of its prompt.
    pub(crate) prompt: &'a str,
}

impl Benchmark {
    /// Reads the prompts of a file in any dataset format. The prompt of a row is that of
    /// `template`, otherwise a column with the name of a prompt, otherwise the longest text.
    ///
    /// # Errors
    /// [`SourceError`]: the file cannot be read completely, or has no prompts.
    pub fn read(path: &Path, template: Option<&Template>) -> Result<Self, SourceError> {
        let name = path.display().to_string();
        let mut known = Self::default();
        let reader = SubjectReader {
            template,
            solution: None,
            prompt: None,
            rollouts: None,
            graders: &GraderTable::new(Vec::new()),
        };
        let (mut rows, mut failure) = (0u64, None);
        for row in sources::open(&name, path)? {
            let row = match row {
                SourceRow::Row(row) => row,
                SourceRow::Unreadable { location, message } => {
                    return Err(SourceError::Row { location, message });
                }
            };
            rows += 1;
            let texts = row.columns.values().filter_map(Value::as_str);
            let longest = || texts.max_by_key(|text| text.len()).map(str::to_owned);
            let prompt = match reader.prompt(&row) {
                Ok(prompt) => prompt.or_else(longest),
                Err(error) => {
                    failure.get_or_insert_with(|| format!(": {}: {error}", row.location));
                    None
                }
            };
            if let Some(prompt) = prompt {
                known.add(&prompt, row.location);
            }
        }
        if rows == 0 {
            return Err(SourceError::Empty(name));
        }
        if known.exact.is_empty() {
            return Err(SourceError::NoPrompt {
                path: path.to_owned(),
                message: failure.unwrap_or_default(),
            });
        }
        Ok(known)
    }

    fn add(&mut self, prompt: &str, location: RowLocation) {
        let Ok(row) = u32::try_from(self.rows.len()) else {
            return;
        };
        if self.exact.len() + self.masked.len() >= MAX_SHINGLES {
            return;
        }
        for (known, words) in [
            (&mut self.exact, words(prompt)),
            (&mut self.masked, masked_words(prompt)),
        ] {
            for shingle in shingles(&words, SHINGLE_WORDS) {
                known.entry(shingle).or_insert(row);
            }
        }
        self.rows.push((location, excerpt(prompt)));
    }

    /// What a prompt shares with the benchmark, with `minimum` or more of its shingles, or with
    /// `masked_minimum` or more of them after numbers and names are masked.
    pub(crate) fn overlap(
        &self,
        prompt: &str,
        minimum: f64,
        masked_minimum: f64,
    ) -> Option<Overlap<'_>> {
        let exact = Self::share(&self.exact, &words(prompt), minimum, 1);
        let (is_masked, found) = match exact {
            Some(found) => (false, found),
            None => {
                let masked = masked_words(prompt);
                (
                    true,
                    Self::share(&self.masked, &masked, masked_minimum, MIN_MASKED)?,
                )
            }
        };
        let (share, row) = found;
        let (location, prompt) = self.rows.get(row as usize)?;
        Some(Overlap {
            share,
            is_masked,
            location,
            prompt,
        })
    }

    /// The share of known shingles, and the row that most of them are from.
    fn share(
        known: &HashMap<u64, u32>,
        words: &[Word],
        minimum: f64,
        min_shingles: u32,
    ) -> Option<(f64, u32)> {
        let (mut total, mut rows) = (0u32, BTreeMap::<u32, u32>::new());
        for shingle in shingles(words, SHINGLE_WORDS) {
            total += 1;
            if let Some(row) = known.get(&shingle) {
                *rows.entry(*row).or_default() += 1;
            }
        }
        let shared: u32 = rows.values().sum();
        let (row, _) = rows.into_iter().max_by_key(|(_, count)| *count)?;
        let share = f64::from(shared) / f64::from(total.max(1));
        (share >= minimum && total >= min_shingles).then_some((share, row))
    }
}

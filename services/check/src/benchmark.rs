//! A benchmark, as the set of word sequences (shingles) of its prompts.

use std::collections::HashSet;
use std::path::Path;

use assay_core::GraderTable;
use assay_templates::Template;
use serde_json::Value;

use crate::row::SourceRow;
use crate::shingles::{shingles, words};
use crate::sources::{self, SourceError};
use crate::subject::SubjectReader;

/// Words per shingle. Studies of contamination count overlaps of eight or more words (Lambert and
/// others 2024, Tulu 3, arXiv 2411.15124, section 3.2).
const SHINGLE_WORDS: usize = 8;

/// Maximum number of shingles kept. A benchmark of a hundred thousand prompts has fewer.
const MAX_SHINGLES: usize = 16 << 20;

/// A benchmark whose prompts datasets must not contain.
#[derive(Debug, Default)]
pub struct Benchmark {
    shingles: HashSet<u64>,
    name: String,
}

impl Benchmark {
    /// Reads the prompts of a file in any dataset format. The prompt of a row is that of
    /// `template`, otherwise a column with the name of a prompt, otherwise the longest text.
    ///
    /// # Errors
    /// [`SourceError`]: the file cannot be read completely, or has no prompts.
    pub fn read(path: &Path, template: Option<&Template>) -> Result<Self, SourceError> {
        let name = path.display().to_string();
        let mut known = HashSet::new();
        let reader = SubjectReader {
            template,
            solution: None,
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
            if let Some(prompt) = prompt.filter(|_| known.len() < MAX_SHINGLES) {
                known.extend(shingles(&words(&prompt), SHINGLE_WORDS));
            }
        }
        if rows == 0 {
            return Err(SourceError::Empty(name));
        }
        if known.is_empty() {
            return Err(SourceError::NoPrompt {
                path: path.to_owned(),
                message: failure.unwrap_or_default(),
            });
        }
        Ok(Self {
            shingles: known,
            name,
        })
    }

    /// The path, as given.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Share of the shingles of a prompt that occur in the benchmark, in \[0, 1\].
    pub(crate) fn overlap(&self, prompt: &str) -> f64 {
        let words = words(prompt);
        let (mut total, mut known) = (0u32, 0u32);
        for shingle in shingles(&words, SHINGLE_WORDS) {
            total += 1;
            known += u32::from(self.shingles.contains(&shingle));
        }
        if total == 0 {
            0.0
        } else {
            f64::from(known) / f64::from(total)
        }
    }
}

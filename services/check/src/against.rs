//! A benchmark, as the runs of words in its prompts.

use std::collections::HashSet;
use std::path::Path;

use assay_core::GraderTable;
use assay_templates::Template;
use serde_json::Value;

use crate::row::Read;
use crate::sources::{self, SourceError};
use crate::subject::Reader;
use crate::words::{shingles, words};

/// Words of a run: overlaps of eight words and more are what studies of contamination count
/// (Lambert and others 2024, Tulu 3, arXiv 2411.15124, section 3.2).
const RUN: usize = 8;

/// Runs remembered of a benchmark. A benchmark of a hundred thousand prompts has fewer.
const MOST_RUNS: usize = 16 << 20;

/// A benchmark that datasets should not contain.
#[derive(Debug, Default)]
pub struct Benchmark {
    runs: HashSet<u64>,
    name: String,
}

impl Benchmark {
    /// Reads the prompts of the rows of a file, in any format of datasets: what `template` says is
    /// the prompt, else the column that is one by its name, else the row's longest text.
    ///
    /// # Errors
    /// [`SourceError`]: it cannot be read whole, or has no prompt, with which nothing would be
    /// compared in silence.
    pub fn read(path: &Path, template: Option<&Template>) -> Result<Self, SourceError> {
        let name = path.display().to_string();
        let mut runs = HashSet::new();
        let reader = Reader {
            template,
            solution: None,
            rollouts: None,
            graders: &GraderTable::new(Vec::new()),
        };
        let (mut rows, mut failure) = (0u64, None);
        for read in sources::open(&name, path)? {
            let row = match read {
                Read::Row(row) => row,
                Read::Unread { place, message } => return Err(SourceError::Row { place, message }),
            };
            rows += 1;
            let texts = row.columns.values().filter_map(Value::as_str);
            let longest = || texts.max_by_key(|text| text.len()).map(str::to_owned);
            let prompt = match reader.prompt(&row) {
                Ok(prompt) => prompt.or_else(longest),
                Err(error) => {
                    failure.get_or_insert_with(|| format!(": {}: {error}", row.place));
                    None
                }
            };
            if let Some(prompt) = prompt.filter(|_| runs.len() < MOST_RUNS) {
                runs.extend(shingles(&words(&prompt), RUN));
            }
        }
        if rows == 0 {
            return Err(SourceError::Empty(name));
        }
        if runs.is_empty() {
            return Err(SourceError::NoPrompt {
                path: path.to_owned(),
                message: failure.unwrap_or_default(),
            });
        }
        Ok(Self { runs, name })
    }

    /// The file.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Share of a prompt's runs of words that the benchmark has as well, in \[0, 1\].
    pub(crate) fn overlap(&self, prompt: &str) -> f64 {
        let words = words(prompt);
        let (mut runs, mut known) = (0u32, 0u32);
        for run in shingles(&words, RUN) {
            runs += 1;
            known += u32::from(self.runs.contains(&run));
        }
        if runs == 0 {
            0.0
        } else {
            f64::from(known) / f64::from(runs)
        }
    }
}

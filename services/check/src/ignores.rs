//! Findings that are left out of some datasets or rows.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use glob::Pattern;

use crate::findings::Codes;
use crate::row::RowLocation;
use crate::shingles::hash;

/// Default name of the column with codes that are left out of its row.
pub(crate) const IGNORE_COLUMN: &str = "assay_ignore";

/// Maximum number of rows whose column is kept until the end of a check. Findings that depend on
/// all rows are left out of these rows only.
const MAX_ROWS: usize = 1 << 20;

/// Codes that are left out of datasets, and of rows by their keys.
#[derive(Debug, Clone, Default)]
pub struct Ignores {
    datasets: Vec<(Pattern, BTreeSet<&'static str>)>,
    rows: BTreeMap<String, Vec<RowEntry>>,
}

/// Codes that are left out of the rows with a key.
#[derive(Debug, Clone)]
struct RowEntry {
    /// The datasets of the rows; `None` for all.
    dataset: Option<Pattern>,
    codes: BTreeSet<&'static str>,
}

impl Ignores {
    /// Leaves codes out of the datasets whose names match a pattern.
    ///
    /// # Errors
    /// A message: an unknown code, or an invalid pattern.
    pub(crate) fn add_datasets(
        &mut self,
        pattern: &str,
        names: &[String],
        codes: &Codes,
    ) -> Result<(), String> {
        self.datasets
            .push((compile(pattern)?, parse(names, codes)?));
        Ok(())
    }

    /// Leaves codes out of the rows with these keys, in all datasets or those that match a pattern.
    ///
    /// # Errors
    /// As [`Ignores::add_datasets`].
    pub(crate) fn add_rows(
        &mut self,
        dataset: Option<&str>,
        keys: &[String],
        names: &[String],
        codes: &Codes,
    ) -> Result<(), String> {
        let entry = RowEntry {
            dataset: dataset.map(compile).transpose()?,
            codes: parse(names, codes)?,
        };
        for key in keys {
            let entries = self.rows.entry(key.clone()).or_default();
            entries.push(entry.clone());
        }
        Ok(())
    }

    /// Whether a finding is left out.
    pub(crate) fn contains(&self, code: &str, dataset: &str, key: &str) -> bool {
        let of_dataset = self
            .datasets
            .iter()
            .any(|(pattern, codes)| codes.contains(code) && pattern.matches(dataset));
        let mut entries = self.rows.get(key).into_iter().flatten();
        let is_matched = |pattern: &Option<Pattern>| {
            let pattern = pattern.as_ref();
            pattern.is_none_or(|pattern| pattern.matches(dataset))
        };
        of_dataset || entries.any(|entry| entry.codes.contains(code) && is_matched(&entry.dataset))
    }
}

fn compile(pattern: &str) -> Result<Pattern, String> {
    Pattern::new(pattern)
        .map_err(|error| format!("`{pattern}` is not a pattern of dataset names: {error}"))
}

fn parse(names: &[String], codes: &Codes) -> Result<BTreeSet<&'static str>, String> {
    let names = names.iter();
    names.map(|name| Ok(codes.parse(name)?.name)).collect()
}

/// Codes that the columns of rows leave out, until the end of a check.
#[derive(Debug, Default)]
pub(crate) struct RowIgnores(HashMap<u64, Vec<&'static str>>);

impl RowIgnores {
    pub(crate) fn add(&mut self, location: &RowLocation, codes: Vec<&'static str>) {
        if !codes.is_empty() && self.0.len() < MAX_ROWS {
            self.0.insert(row_hash(location), codes);
        }
    }

    pub(crate) fn contains(&self, code: &str, location: &RowLocation) -> bool {
        !self.0.is_empty()
            && self
                .0
                .get(&row_hash(location))
                .is_some_and(|codes| codes.contains(&code))
    }
}

fn row_hash(location: &RowLocation) -> u64 {
    hash(location.dataset.as_bytes()) ^ location.number.rotate_left(32)
}

//! Findings that are known: the JSON report of an earlier check.

use std::collections::HashSet;
use std::path::Path;

use serde::Deserialize;

/// Findings that are known, by code and key of their row.
#[derive(Debug, Default)]
pub struct Baseline(HashSet<(String, String)>);

#[derive(Deserialize)]
struct Earlier {
    findings: Vec<Known>,
}

#[derive(Deserialize)]
struct Known {
    code: String,
    key: String,
}

impl Baseline {
    /// Reads a JSON report.
    ///
    /// # Errors
    /// In a sentence: the file cannot be read, or is no such report.
    pub fn read(path: &Path) -> Result<Self, String> {
        let shown = path.display();
        let text = std::fs::read_to_string(path)
            .map_err(|error| format!("cannot read the baseline `{shown}`: {error}"))?;
        let earlier: Earlier = serde_json::from_str(&text).map_err(|error| {
            format!("`{shown}` is no report of `assay check --format json`: {error}")
        })?;
        Ok(Self(
            earlier
                .findings
                .into_iter()
                .map(|known| (known.code, known.key))
                .collect(),
        ))
    }

    /// Whether a finding is known.
    #[must_use]
    pub fn knows(&self, code: &str, key: &str) -> bool {
        !self.0.is_empty() && self.0.contains(&(code.to_owned(), key.to_owned()))
    }
}

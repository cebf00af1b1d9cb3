//! Known findings, read from the JSON report of an earlier check.

use std::collections::HashSet;
use std::path::Path;

use assay_base::json_message;
use serde::Deserialize;

/// Known findings, as pairs of code and row key.
#[derive(Debug, Default)]
pub struct Baseline(HashSet<(String, String)>);

#[derive(Deserialize)]
struct EarlierReport {
    findings: Vec<KnownFinding>,
}

#[derive(Deserialize)]
struct KnownFinding {
    code: String,
    key: String,
}

impl Baseline {
    /// Reads a JSON report.
    ///
    /// # Errors
    /// A message: the file cannot be read, or is not such a report.
    pub fn read(path: &Path) -> Result<Self, String> {
        let name = path.display();
        let text = std::fs::read_to_string(path)
            .map_err(|error| format!("cannot read the baseline `{name}`: {error}"))?;
        let report: EarlierReport = serde_json::from_str(&text).map_err(|error| {
            let message = json_message(&error, text.as_bytes());
            format!("`{name}` is not a report of `assay check --format json`: {message}")
        })?;
        Ok(Self(
            report
                .findings
                .into_iter()
                .map(|finding| (finding.code, finding.key))
                .collect(),
        ))
    }

    /// Whether the baseline contains a finding.
    #[must_use]
    pub fn contains(&self, code: &str, key: &str) -> bool {
        !self.0.is_empty() && self.0.contains(&(code.to_owned(), key.to_owned()))
    }
}

//! The findings of an earlier check, read from its JSON report: known ones that are left out, or
//! those that a check is compared with.

use std::collections::HashSet;
use std::path::Path;

use assay_base::json_message;
use serde::{Deserialize, Serialize};

/// Known findings, as pairs of code and row key.
#[derive(Debug, Clone, Default)]
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

    /// The findings, to compare a check with.
    pub(crate) fn comparison(&self) -> Comparison {
        Comparison {
            earlier: self.0.clone(),
            found: HashSet::new(),
            counts: Compared::default(),
        }
    }

    /// Whether the baseline contains a finding.
    #[must_use]
    pub fn contains(&self, code: &str, key: &str) -> bool {
        !self.0.is_empty() && self.0.contains(&(code.to_owned(), key.to_owned()))
    }
}

/// How the findings of a check differ from those of an earlier one, by code and row.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Compared {
    /// Number of findings that the earlier check did not have.
    pub new: u64,
    /// Number of findings that both have.
    pub remaining: u64,
    /// Number of findings that only the earlier check has.
    pub fixed: u64,
}

/// A comparison that is being made.
#[derive(Debug)]
pub(crate) struct Comparison {
    earlier: HashSet<(String, String)>,
    found: HashSet<(String, String)>,
    counts: Compared,
}

impl Comparison {
    /// Counts a finding.
    pub(crate) fn add(&mut self, code: &str, key: &str) {
        let finding = (code.to_owned(), key.to_owned());
        if !self.earlier.contains(&finding) {
            self.counts.new += 1;
        } else if self.found.insert(finding) {
            self.counts.remaining += 1;
        }
    }

    pub(crate) fn finish(self) -> Compared {
        Compared {
            fixed: (self.earlier.len() - self.found.len()) as u64,
            ..self.counts
        }
    }
}

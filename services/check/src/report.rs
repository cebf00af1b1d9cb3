//! What a check found, before it is written in any format.

use std::collections::BTreeMap;

use serde::Serialize;
use serde::ser::{SerializeStruct, Serializer};

use crate::Place;
use crate::findings::{Code, Severity};

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Its code.
    pub code: &'static Code,
    /// The row.
    pub place: Place,
    /// The row's id, else a hash of what it holds after `#`: what a baseline knows the row by.
    pub key: String,
    /// What is wrong and what to do.
    pub message: String,
}

impl Serialize for Finding {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Place {
            dataset,
            number,
            is_line,
        } = &self.place;
        let mut fields = serializer.serialize_struct("Finding", 6)?;
        fields.serialize_field("code", self.code.name)?;
        fields.serialize_field("severity", &self.code.severity)?;
        fields.serialize_field("dataset", dataset.as_ref())?;
        fields.serialize_field(if *is_line { "line" } else { "row" }, number)?;
        fields.serialize_field("key", &self.key)?;
        fields.serialize_field("message", &self.message)?;
        fields.end()
    }
}

/// Wrong completions that were tried, and how many of them did not pass.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Mutants {
    /// Tried.
    pub tried: u64,
    /// Of those, told from a right answer.
    pub killed: u64,
}

impl Mutants {
    /// Share of the mutants that were killed, in \[0, 1\]; `None` where none was tried.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "a rate to be read")]
    pub fn rate(&self) -> Option<f64> {
        (self.tried > 0).then(|| self.killed as f64 / self.tried as f64)
    }
}

/// One dataset.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct DatasetSummary {
    /// As it was named.
    pub dataset: String,
    /// The revision that was read, of a dataset that has revisions.
    pub revision: Option<String>,
    /// Rows it has.
    pub rows: u64,
    /// Rows that were looked at.
    pub checked: u64,
    /// Tasks by type.
    pub tasks: BTreeMap<String, u64>,
    /// Wrong completions tried on its tasks, by type.
    pub mutants: BTreeMap<String, Mutants>,
}

/// What a check found.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Report {
    /// Version of this program.
    pub version: &'static str,
    /// The datasets, in the order they were named.
    pub datasets: Vec<DatasetSummary>,
    /// Findings by code, also those not told one by one.
    pub counts: BTreeMap<&'static str, u64>,
    /// Findings that the baseline knows.
    pub known: u64,
    /// Findings of ignored codes.
    pub ignored: u64,
    /// Findings that are counted and not told one by one.
    pub untold: u64,
    /// Probes that could not be graded by a fault of this program or of how it is set up.
    pub failed: u64,
    /// The first of them, in a sentence.
    pub first_failure: Option<String>,
    /// Findings, in the order of the rows; those that need all rows stand last.
    pub findings: Vec<Finding>,
}

impl Report {
    /// Findings, told one by one or not.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.counts.values().sum()
    }

    /// Findings of a severity, told one by one or not.
    #[must_use]
    pub fn of(&self, severity: Severity) -> u64 {
        let of =
            |name: &str| crate::findings::code(name).is_some_and(|code| code.severity == severity);
        self.counts
            .iter()
            .filter(|(name, _)| of(name))
            .map(|(_, count)| count)
            .sum()
    }
}

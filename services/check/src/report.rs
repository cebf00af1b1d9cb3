//! The report of a check, before it is written in a format.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;
use serde::ser::{SerializeStruct, Serializer};

use crate::RowLocation;
use crate::baseline::Compared;
use crate::findings::{Code, Codes};

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Kind of the finding.
    pub code: &'static Code,
    /// Location of the row.
    pub location: RowLocation,
    /// Id of the row, or `#` and a hash of its content. Identifies the row in a baseline.
    pub key: String,
    /// What is wrong and what to do.
    pub message: String,
}

impl Serialize for Finding {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let RowLocation {
            dataset,
            number,
            is_line,
            ..
        } = &self.location;
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

/// Counts of wrong completions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Mutants {
    /// Number graded.
    pub tried: u64,
    /// Number that did not pass.
    pub killed: u64,
}

impl Mutants {
    /// Share of the mutants that did not pass, in \[0, 1\]; `None` without mutants.
    #[must_use]
    pub fn rate(&self) -> Option<f64> {
        (self.tried > 0).then(|| self.killed as f64 / self.tried as f64)
    }
}

/// Counts of rows by their right completions: golds and solutions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct RightRows {
    /// Rows with at least one graded gold or solution.
    pub tried: u64,
    /// Of those, rows of which each gold and the solution passed, each time.
    pub passed: u64,
}

/// Summary of one dataset.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct DatasetSummary {
    /// Name of the dataset, as given.
    pub dataset: String,
    /// Revision that was read, if the dataset has revisions.
    pub revision: Option<String>,
    /// Number of rows.
    pub rows: u64,
    /// Number of rows that were checked.
    pub checked: u64,
    /// Number of tasks by type.
    pub tasks: BTreeMap<String, u64>,
    /// Rows whose right completions were graded, by type.
    pub right: BTreeMap<String, RightRows>,
    /// Wrong completions graded on the tasks, by type.
    pub mutants: BTreeMap<String, Mutants>,
    /// Number of rows with a task of which no right completion was graded, by reason.
    pub unchecked: BTreeMap<&'static str, u64>,
    /// Work of all completions, by type, in units of the grader.
    pub work: BTreeMap<String, u64>,
}

/// The first code of each flagged row, by the name of its dataset and its number.
pub type FlaggedRows = BTreeMap<Arc<str>, BTreeMap<u64, &'static str>>;

/// A test that would detect a wrong program, for the row whose tests do not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NewTest {
    /// Name of the dataset.
    pub dataset: Arc<str>,
    /// Id of the row, or `#` and a hash of its content.
    pub key: String,
    /// The change of the right program that the test detects.
    pub change: String,
    /// The test, as Python code.
    pub test: String,
}

/// The result of a check.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Report {
    /// Version of this program.
    pub version: &'static str,
    /// The datasets, in the order they were named.
    pub datasets: Vec<DatasetSummary>,
    /// Number of findings by code, listed or not.
    pub counts: BTreeMap<&'static str, u64>,
    /// Number of findings that are in the baseline.
    pub known: u64,
    /// Number of findings with ignored codes.
    pub ignored: u64,
    /// Number of findings in `counts` that are not listed.
    pub unlisted: u64,
    /// Number of probes that the service could not grade, because of a bug or its configuration.
    pub failed: u64,
    /// Error of the first of these probes.
    pub first_failure: Option<String>,
    /// How the findings differ from those of an earlier check, if they are compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compared: Option<Compared>,
    /// Number of probes that were graded, and of those whose results an earlier check kept.
    #[serde(skip)]
    pub graded: u64,
    /// See `graded`.
    #[serde(skip)]
    pub reused: u64,
    /// The codes of the check.
    #[serde(skip)]
    pub codes: Codes,
    /// Rows with findings of the severity that the options ask for.
    #[serde(skip)]
    pub flagged: FlaggedRows,
    /// Tests that would detect wrong programs.
    #[serde(skip)]
    pub tests: Vec<NewTest>,
    /// Listed findings, in the order of the rows. Findings that depend on all rows are last.
    pub findings: Vec<Finding>,
}

impl Report {
    /// Number of findings, listed or not.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.counts.values().sum()
    }
}

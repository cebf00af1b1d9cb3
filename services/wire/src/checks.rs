//! Checks of datasets as JSON: the report that `assay check` writes, sent to the record and read back.

use std::collections::BTreeMap;

use assay_core::check::DatasetCheck;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A report of `assay check --format json`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CheckReport {
    /// Version of the program that checked.
    pub version: String,
    /// Findings that are errors, told one by one or not.
    pub errors: u64,
    /// Findings that are warnings, told one by one or not.
    pub warnings: u64,
    /// The datasets, at least one.
    pub datasets: Vec<CheckedDataset>,
    /// Findings by code, told one by one or not.
    pub counts: BTreeMap<String, u64>,
    /// Findings that the baseline knew.
    #[serde(default)]
    pub known: u64,
    /// Findings of codes that were ignored.
    #[serde(default)]
    pub ignored: u64,
    /// Findings that are counted and not told one by one.
    #[serde(default)]
    pub untold: u64,
    /// Probes that could not be graded by a fault of the program or of how it was set up.
    #[serde(default)]
    pub failed: u64,
    /// The first of them, in a sentence.
    #[serde(default)]
    pub first_failure: Option<String>,
    /// Findings, in the order of the rows; those that need all rows stand last.
    pub findings: Vec<CheckFinding>,
}

/// One dataset of a report.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CheckedDataset {
    /// As it was named.
    pub dataset: String,
    /// The revision that was read, of a dataset that has revisions.
    #[serde(default)]
    pub revision: Option<String>,
    /// Rows it has.
    pub rows: u64,
    /// Rows that were looked at.
    pub checked: u64,
    /// Tasks by type.
    #[serde(default)]
    pub tasks: BTreeMap<String, u64>,
    /// Wrong completions tried on its tasks, by type.
    #[serde(default)]
    pub mutants: BTreeMap<String, CheckMutants>,
}

/// Wrong completions that were tried, and how many of them did not pass.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CheckMutants {
    /// Tried.
    pub tried: u64,
    /// Of those, told from a right answer.
    pub killed: u64,
}

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CheckFinding {
    /// Its code.
    pub code: String,
    /// How bad it is.
    pub severity: CheckSeverity,
    /// The dataset, as it was named.
    pub dataset: String,
    /// Line of the row, from 1, of files that have lines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// Number of the row, from 1, of other files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub row: Option<u64>,
    /// The row's id, else a hash of what it holds after `#`.
    pub key: String,
    /// What is wrong and what to do.
    pub message: String,
}

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum CheckSeverity {
    /// The row gives wrong rewards, or none.
    Error,
    /// The row is suspicious, or wastes rollouts.
    Warning,
}

/// A check in the record, without its findings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CheckBody {
    /// Its id; ids sort by time, to the millisecond.
    pub check: String,
    /// The datasets, as they were named, without revisions.
    pub datasets: Vec<String>,
    /// Rows that were looked at, of all datasets.
    pub checked: u64,
    /// Findings that are errors.
    pub errors: u64,
    /// Findings that are warnings.
    pub warnings: u64,
    /// Who sent it.
    pub caller: String,
    /// When, in microseconds since the Unix epoch.
    pub time_us: i64,
}

impl From<DatasetCheck> for CheckBody {
    fn from(check: DatasetCheck) -> Self {
        let DatasetCheck { id, datasets, checked, errors, warnings, report: _, caller, time_us } = check;
        Self { check: id.to_string(), datasets, checked, errors, warnings, caller, time_us }
    }
}

/// Checks in the record, the newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ChecksBody {
    /// The checks.
    pub checks: Vec<CheckBody>,
    /// Pass it as `before` for those that follow; null on the last page.
    pub next: Option<String>,
}

/// A check with its report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CheckDetail {
    /// The check.
    #[serde(flatten)]
    pub check: CheckBody,
    /// The report as it was sent.
    pub report: CheckReport,
}

//! JSON types for dataset checks: the report that `assay check` writes and the record stores.

use std::collections::BTreeMap;

use assay_record::dataset_check::DatasetCheck;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A report of `assay check --format json`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CheckReport {
    /// Version of the program that made the report.
    pub version: String,
    /// Number of findings that are errors, listed or not.
    pub errors: u64,
    /// Number of findings that are warnings, listed or not.
    pub warnings: u64,
    /// The checked datasets, at least one.
    #[schema(min_items = 1, max_items = 1000)]
    pub datasets: Vec<CheckedDataset>,
    /// Number of findings by code, listed or not.
    pub counts: BTreeMap<String, u64>,
    /// Number of findings that are in the baseline.
    #[serde(default)]
    pub known: u64,
    /// Number of findings with ignored codes.
    #[serde(default)]
    pub ignored: u64,
    /// Number of findings that are counted but not listed.
    #[serde(default)]
    pub unlisted: u64,
    /// Number of probes that could not be graded because of an error in the program or its
    /// configuration.
    #[serde(default)]
    pub failed: u64,
    /// Message of the first of these errors.
    #[serde(default)]
    pub first_failure: Option<String>,
    /// Listed findings in the order of the rows; findings about the dataset as a whole are last.
    #[schema(max_items = 10000)]
    pub findings: Vec<CheckFinding>,
}

/// Maximum number of listed findings in a stored report.
pub const MAX_FINDINGS: usize = 10_000;

/// Maximum number of datasets, of codes, and of task types of one dataset.
const MAX_NAMES: usize = 1_000;

/// Maximum length of a name, in bytes.
const MAX_NAME_BYTES: usize = 1_024;

/// Maximum length of a message or key, in bytes.
const MAX_TEXT_BYTES: usize = 16 << 10;

impl CheckReport {
    /// Validates the report against the limits of the record.
    ///
    /// # Errors
    /// The JSON pointer to the invalid field, and the reason.
    pub fn check(&self) -> Result<(), (String, String)> {
        let at = |pointer: &str, message: String| Err((pointer.to_owned(), message));
        if self.datasets.is_empty() {
            return at(
                "/datasets",
                "the report has no dataset; check at least one".to_owned(),
            );
        }
        for (pointer, length, max) in [
            ("/datasets", self.datasets.len(), MAX_NAMES),
            ("/counts", self.counts.len(), MAX_NAMES),
            ("/findings", self.findings.len(), MAX_FINDINGS),
        ] {
            if length > max {
                return at(
                    pointer,
                    format!(
                        "{length} entries exceed the limit of {max}; count the rest in `unlisted`"
                    ),
                );
            }
        }
        let mut numbers = vec![("/errors", self.errors), ("/warnings", self.warnings)];
        numbers.extend([
            ("/known", self.known),
            ("/ignored", self.ignored),
            ("/unlisted", self.unlisted),
        ]);
        numbers.push(("/failed", self.failed));
        if let Some((pointer, number)) = numbers
            .into_iter()
            .find(|(_, number)| i64::try_from(*number).is_err())
        {
            return at(pointer, format!("must be at most 2^63 - 1: {number}"));
        }
        let total = self
            .counts
            .values()
            .try_fold(0, |sum: u64, count| sum.checked_add(*count));
        if total != self.errors.checked_add(self.warnings) {
            return at(
                "/counts",
                "the sum of the counts must equal `errors` plus `warnings`".to_owned(),
            );
        }
        check_name("/version", &self.version)?;
        check_length(
            "/first_failure",
            self.first_failure.as_deref().unwrap_or_default(),
            MAX_TEXT_BYTES,
        )?;
        self.counts
            .keys()
            .try_for_each(|code| check_name("/counts", code))?;
        for (number, dataset) in self.datasets.iter().enumerate() {
            dataset
                .check()
                .map_err(|(field, message)| (format!("/datasets/{number}{field}"), message))?;
        }
        for (number, finding) in self.findings.iter().enumerate() {
            finding
                .check()
                .map_err(|(field, message)| (format!("/findings/{number}{field}"), message))?;
        }
        Ok(())
    }
}

fn check_name(pointer: &str, name: &str) -> Result<(), (String, String)> {
    check_length(pointer, name, MAX_NAME_BYTES)
}

fn check_length(pointer: &str, text: &str, max: usize) -> Result<(), (String, String)> {
    if text.len() <= max {
        return Ok(());
    }
    Err((
        pointer.to_owned(),
        format!(
            "the length of {} bytes exceeds the limit of {max}",
            text.len()
        ),
    ))
}

/// One dataset of a report.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CheckedDataset {
    /// Name of the dataset, as given to `assay check`.
    pub dataset: String,
    /// The revision that was read, for datasets with revisions.
    #[serde(default)]
    pub revision: Option<String>,
    /// Number of rows in the dataset.
    pub rows: u64,
    /// Number of checked rows.
    pub checked: u64,
    /// Number of tasks by type.
    #[serde(default)]
    pub tasks: BTreeMap<String, u64>,
    /// Rows whose right completions were graded, by task type.
    #[serde(default)]
    pub right: BTreeMap<String, CheckRight>,
    /// Wrong completions tried on the tasks, by task type.
    #[serde(default)]
    pub mutants: BTreeMap<String, CheckMutants>,
    /// Number of rows of which no completion that should pass was tried, by reason.
    #[serde(default)]
    pub unchecked: BTreeMap<String, u64>,
    /// Work of all completions, by task type, in units of the grader.
    #[serde(default)]
    pub work: BTreeMap<String, u64>,
}

impl CheckedDataset {
    /// Name without the revision: a check of another revision is a check of the same dataset.
    #[must_use]
    pub fn name(&self) -> String {
        let Some(revision) = self
            .revision
            .as_deref()
            .filter(|revision| !revision.is_empty())
        else {
            return self.dataset.clone();
        };
        let is_boundary = |rest: &str| rest.is_empty() || rest.starts_with('/');
        match self.dataset.split_once(&format!("@{revision}")) {
            Some((before, after)) if is_boundary(after) => format!("{before}{after}"),
            _ => self.dataset.clone(),
        }
    }

    fn check(&self) -> Result<(), (String, String)> {
        check_name("/dataset", &self.dataset)?;
        check_name("/revision", self.revision.as_deref().unwrap_or_default())?;
        for (pointer, number) in [("/rows", self.rows), ("/checked", self.checked)] {
            // The sum over a thousand datasets then still fits into the database's `i64`.
            if number > 1 << 48 {
                return Err((
                    pointer.to_owned(),
                    format!("must be at most 2^48: {number}"),
                ));
            }
        }
        let names = [
            self.tasks.len(),
            self.right.len(),
            self.mutants.len(),
            self.unchecked.len(),
            self.work.len(),
        ];
        if names.into_iter().any(|names| names > MAX_NAMES) {
            return Err((
                "/tasks".to_owned(),
                format!("more than {MAX_NAMES} task types"),
            ));
        }
        self.tasks
            .keys()
            .chain(self.right.keys())
            .chain(self.mutants.keys())
            .chain(self.work.keys())
            .chain(self.unchecked.keys())
            .try_for_each(|name| check_name("/tasks", name))
    }
}

/// Counts of rows by their right completions: golds and solutions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CheckRight {
    /// Rows with at least one graded gold or solution.
    pub tried: u64,
    /// Of those, rows of which each gold and the solution passed, each time.
    pub passed: u64,
}

/// Counts of wrong completions that were tried.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CheckMutants {
    /// Number of wrong completions tried.
    pub tried: u64,
    /// Of those, the number that did not pass.
    pub killed: u64,
}

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CheckFinding {
    /// Code of the finding.
    pub code: String,
    /// Severity of the finding.
    pub severity: CheckSeverity,
    /// Name of the dataset, as given to `assay check`.
    pub dataset: String,
    /// Line of the row, from 1, in files with lines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// Number of the row, from 1, in other files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub row: Option<u64>,
    /// The row's id, or `#` and a hash of its content.
    pub key: String,
    /// What is wrong and what to do.
    pub message: String,
}

impl CheckFinding {
    fn check(&self) -> Result<(), (String, String)> {
        check_name("/code", &self.code)?;
        check_name("/dataset", &self.dataset)?;
        check_length("/key", &self.key, MAX_TEXT_BYTES)?;
        check_length("/message", &self.message, MAX_TEXT_BYTES)
    }
}

/// Severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum CheckSeverity {
    /// The row causes wrong rewards or none.
    Error,
    /// The row is suspicious or wastes rollouts.
    Warning,
}

/// A stored check, without its report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CheckBody {
    /// Id of the check; ids sort by time, to the millisecond.
    pub check: String,
    /// Names of the datasets, without revisions.
    pub datasets: Vec<String>,
    /// Number of checked rows of all datasets.
    pub checked: u64,
    /// Number of findings that are errors.
    pub errors: u64,
    /// Number of findings that are warnings.
    pub warnings: u64,
    /// Caller that sent the report.
    pub caller: String,
    /// Time at which the report was received, in microseconds since the Unix epoch.
    pub time_us: i64,
}

impl From<DatasetCheck> for CheckBody {
    fn from(check: DatasetCheck) -> Self {
        let DatasetCheck {
            id,
            datasets,
            checked,
            errors,
            warnings,
            report: _,
            caller,
            time_us,
        } = check;
        Self {
            check: id.to_string(),
            datasets,
            checked,
            errors,
            warnings,
            caller,
            time_us,
        }
    }
}

/// A page of stored checks, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ChecksBody {
    /// The checks.
    pub checks: Vec<CheckBody>,
    /// Value of `before` for the next page; null on the last page.
    pub next: Option<String>,
}

/// A stored check with its report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CheckDetail {
    /// The check.
    #[serde(flatten)]
    pub check: CheckBody,
    /// The report.
    pub report: CheckReport,
}

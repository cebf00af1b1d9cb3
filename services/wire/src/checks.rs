//! Checks of datasets as JSON: the report that `assay check` writes, sent to the record and read
//! back.

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
    #[schema(min_items = 1, max_items = 1000)]
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
    #[schema(max_items = 10000)]
    pub findings: Vec<CheckFinding>,
}

/// Most findings of a report that the record takes, told one by one.
pub const MOST_FINDINGS: usize = 10_000;

/// Most datasets, codes, and types of task of a dataset.
const MOST_NAMES: usize = 1_000;

/// Most bytes of a name, and of a sentence.
const LONGEST_NAME: usize = 1_024;
const LONGEST_SENTENCE: usize = 16 << 10;

impl CheckReport {
    /// Whether the record takes it.
    ///
    /// # Errors
    /// Pointer to the field that it does not take, and why.
    pub fn check(&self) -> Result<(), (String, String)> {
        let at = |pointer: &str, message: String| Err((pointer.to_owned(), message));
        if self.datasets.is_empty() {
            return at(
                "/datasets",
                "no dataset was checked; send the report of at least one".to_owned(),
            );
        }
        for (pointer, length, most) in [
            ("/datasets", self.datasets.len(), MOST_NAMES),
            ("/counts", self.counts.len(), MOST_NAMES),
            ("/findings", self.findings.len(), MOST_FINDINGS),
        ] {
            if length > most {
                return at(
                    pointer,
                    format!(
                        "there are {length}, more than {most}; `untold` counts what is left out"
                    ),
                );
            }
        }
        let mut numbers = vec![("/errors", self.errors), ("/warnings", self.warnings)];
        numbers.extend([
            ("/known", self.known),
            ("/ignored", self.ignored),
            ("/untold", self.untold),
        ]);
        numbers.push(("/failed", self.failed));
        if let Some((pointer, number)) = numbers
            .into_iter()
            .find(|(_, number)| i64::try_from(*number).is_err())
        {
            return at(pointer, format!("it is at most 2^63 - 1: {number}"));
        }
        let counted = self
            .counts
            .values()
            .try_fold(0, |sum: u64, count| sum.checked_add(*count));
        if counted != self.errors.checked_add(self.warnings) {
            return at(
                "/counts",
                "the counts come to something else than `errors` and `warnings`".to_owned(),
            );
        }
        is_name("/version", &self.version)?;
        is_short(
            "/first_failure",
            self.first_failure.as_deref().unwrap_or_default(),
            LONGEST_SENTENCE,
        )?;
        self.counts
            .keys()
            .try_for_each(|code| is_name("/counts", code))?;
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

fn is_name(pointer: &str, name: &str) -> Result<(), (String, String)> {
    is_short(pointer, name, LONGEST_NAME)
}

fn is_short(pointer: &str, text: &str, most: usize) -> Result<(), (String, String)> {
    if text.len() <= most {
        return Ok(());
    }
    Err((
        pointer.to_owned(),
        format!("it has {} bytes, more than {most}", text.len()),
    ))
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

impl CheckedDataset {
    /// Its name without the revision: the check of another revision is a check of the same dataset.
    #[must_use]
    pub fn name(&self) -> String {
        let Some(revision) = self
            .revision
            .as_deref()
            .filter(|revision| !revision.is_empty())
        else {
            return self.dataset.clone();
        };
        let ends = |rest: &str| rest.is_empty() || rest.starts_with('/');
        match self.dataset.split_once(&format!("@{revision}")) {
            Some((before, after)) if ends(after) => format!("{before}{after}"),
            _ => self.dataset.clone(),
        }
    }

    fn check(&self) -> Result<(), (String, String)> {
        is_name("/dataset", &self.dataset)?;
        is_name("/revision", self.revision.as_deref().unwrap_or_default())?;
        for (pointer, number) in [("/rows", self.rows), ("/checked", self.checked)] {
            // Over a thousand datasets they still come to a number that is kept.
            if number > 1 << 48 {
                return Err((pointer.to_owned(), format!("it is at most 2^48: {number}")));
            }
        }
        if self.tasks.len().max(self.mutants.len()) > MOST_NAMES {
            return Err((
                "/tasks".to_owned(),
                format!("there are more than {MOST_NAMES} types of task"),
            ));
        }
        self.tasks
            .keys()
            .chain(self.mutants.keys())
            .try_for_each(|name| is_name("/tasks", name))
    }
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

impl CheckFinding {
    fn check(&self) -> Result<(), (String, String)> {
        is_name("/code", &self.code)?;
        is_name("/dataset", &self.dataset)?;
        is_short("/key", &self.key, LONGEST_SENTENCE)?;
        is_short("/message", &self.message, LONGEST_SENTENCE)
    }
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
    /// The report.
    pub report: CheckReport,
}

//! The section `[check]` of the configuration.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;

use crate::findings::{Codes, Severity};
use crate::ignores::{IGNORE_COLUMN, Ignores};
use crate::own_rules::OwnRules;
use crate::thresholds::Thresholds;

/// Lowest severity of findings that fail a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FailOn {
    /// Errors.
    Error,
    /// Errors and warnings.
    #[default]
    Warning,
    /// No findings.
    Never,
}

impl FailOn {
    /// The severity; `None` if no finding fails the check.
    #[must_use]
    pub fn severity(self) -> Option<Severity> {
        match self {
            Self::Error => Some(Severity::Error),
            Self::Warning => Some(Severity::Warning),
            Self::Never => None,
        }
    }
}

/// The section `[check]`. Options of the command line override `fail_on`, `select`, `ignore` and
/// `rules`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Lowest severity of findings that fail the check.
    pub fail_on: Option<FailOn>,
    /// Codes of the only findings that are reported; empty for all.
    pub select: Vec<String>,
    /// Codes that are left out.
    pub ignore: Vec<String>,
    /// File with rules of a team.
    pub rules: Option<PathBuf>,
    /// Column with codes that are left out of its row; `assay_ignore` by default.
    pub ignore_column: Option<String>,
    /// Severities by code.
    pub severity: BTreeMap<String, Severity>,
    /// Thresholds of rules.
    pub thresholds: Thresholds,
    /// Settings by pattern of dataset names.
    pub datasets: BTreeMap<String, DatasetSettings>,
    /// Findings that are left out of some rows.
    pub rows: Vec<RowSettings>,
}

/// Settings of the datasets that match a pattern.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DatasetSettings {
    /// Codes that are left out.
    pub ignore: Vec<String>,
}

/// Findings that are left out of some rows.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RowSettings {
    /// Pattern of the names of their datasets; all by default.
    pub dataset: Option<String>,
    /// Keys of the rows, as in reports.
    pub keys: Vec<String>,
    /// Codes that are left out.
    pub ignore: Vec<String>,
}

/// What the section says about codes, after its names were checked.
#[derive(Debug, Default)]
pub struct CodeSettings {
    /// The codes with their severities.
    pub codes: Codes,
    /// Findings that are left out of datasets and rows.
    pub ignores: Ignores,
    /// Column with codes that are left out of its row.
    pub ignore_column: String,
}

impl Settings {
    /// Checks the names of codes and the thresholds. `rules` have codes of their own.
    ///
    /// # Errors
    /// A message with the key, and the most similar code.
    pub fn resolve(&self, rules: &OwnRules) -> Result<CodeSettings, String> {
        let at = |key: &str, message: String| format!("`{key}`: {message}");
        self.thresholds.check()?;
        let codes = Codes::new(rules.codes(), &self.severity)
            .map_err(|message| at("check.severity", message))?;
        for (key, names) in [("select", &self.select), ("ignore", &self.ignore)] {
            for name in names {
                codes.parse(name).map_err(|message| at(key, message))?;
            }
        }
        let mut ignores = Ignores::default();
        for (pattern, settings) in &self.datasets {
            ignores
                .add_datasets(pattern, &settings.ignore, &codes)
                .map_err(|message| at(&format!("check.datasets.\"{pattern}\""), message))?;
        }
        for entry in &self.rows {
            ignores
                .add_rows(entry.dataset.as_deref(), &entry.keys, &entry.ignore, &codes)
                .map_err(|message| at("check.rows", message))?;
        }
        let column = self.ignore_column.as_deref().unwrap_or(IGNORE_COLUMN);
        Ok(CodeSettings {
            codes,
            ignores,
            ignore_column: column.to_owned(),
        })
    }
}

//! Options of a check.

use std::collections::BTreeSet;
use std::sync::Arc;

use assay_templates::{Template, TextTemplate};

use crate::cache::ResultCache;
use crate::columns::ColumnSources;
use crate::findings::{Codes, Severity};
use crate::ignores::{IGNORE_COLUMN, Ignores};
use crate::own_rules::OwnRules;
use crate::thresholds::Thresholds;
use crate::{Baseline, Benchmark, Rollouts};

/// Default maximum number of listed findings.
pub const DEFAULT_MAX_FINDINGS: usize = 1_000;

/// Options of a check.
pub struct Options {
    /// Makes tasks of rows. Without it, each row has a column `task`.
    pub template: Option<Template>,
    /// Makes a completion that should pass; overrides the solution of the template or a column.
    pub solution: Option<TextTemplate>,
    /// Makes the prompt; overrides that of the template or a column.
    pub prompt: Option<TextTemplate>,
    /// Columns that are added to the rows.
    pub columns: Arc<ColumnSources>,
    /// Number of random rows to check per dataset; `None` for all rows.
    pub sample: Option<usize>,
    /// Seed of the random sample.
    pub seed: u64,
    /// Known findings, which are counted and not listed.
    pub baseline: Baseline,
    /// The findings of an earlier check to compare with.
    pub compared: Option<Baseline>,
    /// The codes, with their severities.
    pub codes: Codes,
    /// Rules of a team.
    pub own_rules: OwnRules,
    /// Thresholds of rules.
    pub thresholds: Thresholds,
    /// Codes of findings that are counted and not listed.
    pub ignored: BTreeSet<String>,
    /// The same for some datasets and rows.
    pub ignores: Ignores,
    /// Column with codes that are counted and not listed for its row.
    pub ignore_column: String,
    /// Codes of the only findings that are listed; empty for all.
    pub selected: BTreeSet<String>,
    /// Minimum severity of the findings whose rows are kept in [`Report::flagged`]; `None` keeps
    /// none.
    ///
    /// [`Report::flagged`]: crate::Report::flagged
    pub flag: Option<Severity>,
    /// Maximum number of listed findings; the others are counted. 0 lists all.
    pub max_findings: usize,
    /// A benchmark whose prompts the datasets must not contain.
    pub benchmark: Option<Benchmark>,
    /// Results of rollouts by row.
    pub rollouts: Option<Rollouts>,
    /// Column that contains the rollouts of a row.
    pub rollout_column: Option<String>,
    /// How often golds and solutions are graded.
    pub repeats: usize,
    /// Results of earlier checks, to which those of this one are added.
    pub cache: Option<ResultCache>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            template: None,
            solution: None,
            prompt: None,
            columns: Arc::default(),
            sample: None,
            seed: 0,
            baseline: Baseline::default(),
            compared: None,
            codes: Codes::default(),
            own_rules: OwnRules::default(),
            thresholds: Thresholds::default(),
            ignored: BTreeSet::new(),
            ignores: Ignores::default(),
            ignore_column: IGNORE_COLUMN.to_owned(),
            selected: BTreeSet::new(),
            flag: None,
            max_findings: DEFAULT_MAX_FINDINGS,
            benchmark: None,
            rollouts: None,
            rollout_column: None,
            repeats: 1,
            cache: None,
        }
    }
}

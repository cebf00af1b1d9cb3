//! What a check is asked.

use std::collections::BTreeSet;

use assay_templates::{SolutionTemplate, Template};

use crate::{Baseline, Benchmark, Rollouts};

/// Findings told when nobody says how many.
pub const FINDINGS: usize = 1_000;

/// What a check is asked beside its datasets.
pub struct Options {
    /// How rows become tasks; without one each row has a `task`.
    pub template: Option<Template>,
    /// A completion that should pass, instead of the solution of the template or of a column.
    pub solution: Option<SolutionTemplate>,
    /// Rows drawn of each dataset; `None` for all.
    pub sample: Option<usize>,
    /// Seed of that draw.
    pub seed: u64,
    /// Findings that are known and not told again.
    pub baseline: Baseline,
    /// Codes that are not told.
    pub ignored: BTreeSet<String>,
    /// Most findings told one by one; the others are counted. 0 tells all.
    pub most_findings: usize,
    /// A benchmark that the datasets should not contain.
    pub benchmark: Option<Benchmark>,
    /// What rollouts of the rows came to.
    pub rollouts: Option<Rollouts>,
    /// The column in which each row holds rollouts.
    pub rollout_column: Option<String>,
    /// Times that golds and solutions are graded.
    pub repeats: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            template: None,
            solution: None,
            sample: None,
            seed: 0,
            baseline: Baseline::default(),
            ignored: BTreeSet::new(),
            most_findings: FINDINGS,
            benchmark: None,
            rollouts: None,
            rollout_column: None,
            repeats: 1,
        }
    }
}

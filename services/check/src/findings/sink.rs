//! Collects findings: lists them up to a limit, and counts the others.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::code::Code;
use crate::Baseline;
use crate::baseline::Comparison;
use crate::ignores::RowIgnores;
use crate::options::Options;
use crate::report::{Finding, FlaggedRows, NewTest};
use crate::row::RowLocation;
use crate::thresholds::Thresholds;

/// The findings of a check so far.
pub(crate) struct Sink<'a> {
    options: &'a Options,
    pub(crate) findings: Vec<Finding>,
    /// Number of findings by code, listed or not.
    pub(crate) counts: BTreeMap<&'static str, u64>,
    /// Number of findings in the baseline.
    pub(crate) known: u64,
    /// Number of findings with ignored codes.
    pub(crate) ignored: u64,
    /// Number of findings in `counts` that are not listed.
    pub(crate) unlisted: u64,
    /// Tests that would detect wrong programs.
    pub(crate) tests: Vec<NewTest>,
    /// The comparison with an earlier check.
    pub(crate) compared: Option<Comparison>,
    /// The codes of flagged rows, by dataset and number.
    pub(crate) flagged: FlaggedRows,
    /// Codes that columns of rows leave out.
    pub(super) row_ignores: RowIgnores,
}

impl<'a> Sink<'a> {
    pub(crate) fn new(options: &'a Options) -> Self {
        let (findings, counts) = (Vec::new(), BTreeMap::new());
        Self {
            options,
            findings,
            counts,
            known: 0,
            ignored: 0,
            unlisted: 0,
            tests: Vec::new(),
            compared: options.compared.as_ref().map(Baseline::comparison),
            flagged: FlaggedRows::new(),
            row_ignores: RowIgnores::default(),
        }
    }

    pub(super) fn options(&self) -> &'a Options {
        self.options
    }

    pub(crate) fn thresholds(&self) -> &'a Thresholds {
        &self.options.thresholds
    }

    /// Adds a finding about the row `key` at `location`.
    pub(crate) fn add(
        &mut self,
        code: &'static Code,
        location: &RowLocation,
        key: &str,
        message: String,
    ) {
        let code = self.options.codes.effective(code);
        if self.is_left_out(code, location, key) {
            self.ignored += 1;
            return;
        }
        if self.options.baseline.contains(code.name, key) {
            self.known += 1;
            return;
        }
        if let Some(compared) = &mut self.compared {
            compared.add(code.name, key);
        }
        if self.options.flag.is_some_and(|flag| code.severity <= flag) && code.concerns_row() {
            let rows = self.flagged.entry(Arc::clone(&location.dataset));
            rows.or_default()
                .entry(location.number)
                .or_insert(code.name);
        }
        *self.counts.entry(code.name).or_default() += 1;
        if self.options.max_findings > 0 && self.findings.len() >= self.options.max_findings {
            self.unlisted += 1;
            return;
        }
        self.findings.push(Finding {
            code,
            location: location.clone(),
            key: key.to_owned(),
            message,
        });
    }

    fn is_left_out(&self, code: &Code, location: &RowLocation, key: &str) -> bool {
        let Options {
            selected,
            ignored,
            ignores,
            ..
        } = self.options;
        let is_selected = selected.is_empty() || selected.contains(code.name);
        !is_selected
            || ignored.contains(code.name)
            || ignores.contains(code.name, &location.dataset, key)
            || self.row_ignores.contains(code.name, location)
    }
}

//! Collects findings: lists them up to a limit, and counts the others.

use std::collections::BTreeMap;

use super::code::Code;
use crate::options::Options;
use crate::report::Finding;
use crate::row::RowLocation;

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
        }
    }

    /// Adds a finding about the row `key` at `location`.
    pub(crate) fn add(
        &mut self,
        code: &'static Code,
        location: &RowLocation,
        key: &str,
        message: String,
    ) {
        if self.options.ignored.contains(code.name) {
            self.ignored += 1;
            return;
        }
        if self.options.baseline.contains(code.name, key) {
            self.known += 1;
            return;
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
}

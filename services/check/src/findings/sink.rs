//! Where findings go: those that are told, and how many there were of the others.

use std::collections::BTreeMap;

use super::Code;
use crate::options::Options;
use crate::report::Finding;
use crate::row::Place;

/// Findings as they are told.
pub(crate) struct Sink<'a> {
    options: &'a Options,
    pub(crate) findings: Vec<Finding>,
    /// Findings by code, told one by one or not.
    pub(crate) counts: BTreeMap<&'static str, u64>,
    /// Those of the baseline.
    pub(crate) known: u64,
    /// Those of codes that are ignored.
    pub(crate) ignored: u64,
    /// Those counted only.
    pub(crate) untold: u64,
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
            untold: 0,
        }
    }

    /// Tells a finding of the row `key` at `place`.
    pub(crate) fn tell(&mut self, code: &'static Code, place: &Place, key: &str, message: String) {
        if self.options.ignored.contains(code.name) {
            self.ignored += 1;
            return;
        }
        if self.options.baseline.knows(code.name, key) {
            self.known += 1;
            return;
        }
        *self.counts.entry(code.name).or_default() += 1;
        if self.options.most_findings > 0 && self.findings.len() >= self.options.most_findings {
            self.untold += 1;
            return;
        }
        self.findings.push(Finding {
            code,
            place: place.clone(),
            key: key.to_owned(),
            message,
        });
    }
}

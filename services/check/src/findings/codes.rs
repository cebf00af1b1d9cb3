//! The codes of a check: the built-in ones and those of rules of a team, with the severities that
//! the configuration sets.

use std::collections::BTreeMap;

use assay_base::did_you_mean;

use super::code::{Code, Severity};

/// The codes of a check, in the order of the reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Codes(Vec<&'static Code>);

impl Codes {
    /// These codes.
    pub(super) fn of(codes: &[&'static Code]) -> Self {
        Self(codes.to_vec())
    }

    /// The built-in codes, then those of `own` rules. `severities` replaces some severities, by the
    /// names of codes.
    ///
    /// # Errors
    /// A message: a name of `severities` is not a code.
    pub(crate) fn new(
        own: impl IntoIterator<Item = &'static Code>,
        severities: &BTreeMap<String, Severity>,
    ) -> Result<Self, String> {
        let mut codes = Self::default();
        codes.0.extend(own);
        for (name, severity) in severities {
            let known = codes.parse(name)?;
            if known.severity != *severity {
                // Codes live as long as the program. A program reads its configuration once.
                let changed: &Code = Box::leak(Box::new(Code {
                    severity: *severity,
                    ..*known
                }));
                let position = codes.0.iter().position(|code| code.name == name);
                if let Some(place) = position.and_then(|at| codes.0.get_mut(at)) {
                    *place = changed;
                }
            }
        }
        Ok(codes)
    }

    /// The code of this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&'static Code> {
        self.0.iter().find(|code| code.name == name).copied()
    }

    /// The code of this name, for a name that a person wrote.
    ///
    /// # Errors
    /// A message with the most similar name.
    pub fn parse(&self, name: &str) -> Result<&'static Code, String> {
        self.get(name).ok_or_else(|| {
            let similar = did_you_mean(name, self.0.iter().map(|code| code.name));
            let list = "; see docs/CHECK.md for the list";
            let end = if similar.is_empty() { list } else { &similar };
            format!("unknown finding code `{name}`{end}")
        })
    }

    /// The code with the severity of this check.
    pub(crate) fn effective(&self, code: &'static Code) -> &'static Code {
        self.get(code.name).unwrap_or(code)
    }

    /// All codes.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &'static Code> + '_ {
        self.0.iter().copied()
    }

    /// The place of a code in the order of the reports.
    pub(crate) fn position(&self, code: &Code) -> Option<usize> {
        self.0.iter().position(|known| known.name == code.name)
    }
}

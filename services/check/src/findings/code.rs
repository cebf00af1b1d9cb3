//! The description of a kind of finding.

use serde::Serialize;

/// Severity of a finding. `assay check` exits with 1 for both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Rollouts of the row get wrong rewards or none.
    Error,
    /// The row is suspicious or wastes rollouts.
    Warning,
}

/// A kind of finding.
#[derive(Debug, PartialEq, Eq)]
pub struct Code {
    /// Stable identifier.
    pub name: &'static str,
    /// Severity of all findings with this code.
    pub severity: Severity,
    /// Short description, in a clause.
    pub title: &'static str,
    /// When it is found, as Markdown.
    pub found: &'static str,
    /// Its effect on training, as Markdown.
    pub why: &'static str,
    /// How to resolve it, as Markdown.
    pub remedy: &'static str,
    /// An example, as Markdown.
    pub example: Option<&'static str>,
}

impl Code {
    /// The page of the documentation on this code, as Markdown.
    #[must_use]
    pub fn page(&self) -> String {
        let severity = match self.severity {
            Severity::Error => "Error",
            Severity::Warning => "Warning",
        };
        let mut page = format!("# `{}`\n\n{severity}: {}.\n", self.name, self.title);
        let sections = [
            ("What is found", Some(self.found)),
            ("Why it matters", Some(self.why)),
            ("What to do", Some(self.remedy)),
            ("Example", self.example),
        ];
        for (heading, text) in sections {
            if let Some(text) = text {
                page.push_str(&format!("\n## {heading}\n\n{text}\n"));
            }
        }
        page
    }
}

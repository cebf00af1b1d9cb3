//! The description of a kind of finding.

use serde::{Deserialize, Serialize};

/// Severity of a finding. By default, `assay check` exits with 1 for both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Rollouts of the row get wrong rewards or none.
    Error,
    /// The row is suspicious or wastes rollouts.
    Warning,
}

impl Severity {
    /// The word at the start of a page.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Error => "Error",
            Self::Warning => "Warning",
        }
    }
}

/// A kind of finding.
#[derive(Debug, PartialEq, Eq)]
pub struct Code {
    /// Stable identifier.
    pub name: &'static str,
    /// Severity of all findings with this code, unless the configuration sets another one.
    pub severity: Severity,
    /// Its page of the documentation, as Markdown.
    pub page: &'static str,
}

/// The code of this name, with its page in `docs/findings/`.
macro_rules! code {
    ($name:literal, $severity:ident) => {
        $crate::findings::Code {
            name: $name,
            severity: $crate::findings::Severity::$severity,
            page: include_str!(concat!("../../../../docs/findings/", $name, ".md")),
        }
    };
}
pub(super) use code;

impl Code {
    /// Whether the finding is about the row that it is reported at, and not about the dataset.
    #[must_use]
    pub fn concerns_row(&self) -> bool {
        self.name != "unchecked"
    }

    /// Short description, in a clause: the first paragraph of the page after the severity.
    #[must_use]
    pub fn title(&self) -> &'static str {
        let summary = self.page.lines().nth(2).unwrap_or_default();
        let title = summary.split_once(": ").map_or(summary, |(_, title)| title);
        title.strip_suffix('.').unwrap_or(title)
    }
}

#[cfg(test)]
mod tests {
    use crate::findings::ALL;

    #[test]
    fn pages_have_one_form() {
        for code in ALL {
            let severity = code.severity.title();
            let start = format!("# `{}`\n\n{severity}: {}.\n\n", code.name, code.title());
            assert!(code.page.starts_with(&start), "{}", code.page);
            let sections: Vec<&str> = code
                .page
                .lines()
                .filter_map(|line| line.strip_prefix("## "))
                .collect();
            let expected = ["What is found", "Why it matters", "What to do", "Example"];
            assert_eq!(sections, expected[..sections.len()], "{}", code.name);
            assert!(sections.len() >= 3, "{}", code.name);
        }
    }
}

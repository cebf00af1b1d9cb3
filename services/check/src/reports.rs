//! Reports, one file a format.

mod github;
mod json;
mod junit;
mod markdown;
mod sarif;
mod text;

use std::io::{self, Write};

use crate::Report;

/// A format of reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// For people at a terminal.
    Text,
    /// Everything, and what a baseline is made of.
    Json,
    /// For servers that show tests: one test a code and dataset.
    Junit,
    /// SARIF 2.1.0, for servers that show findings beside the code.
    Sarif,
    /// Annotations of GitHub Actions.
    Github,
    /// For the summary of a step.
    Markdown,
}

/// Every format with its name, in the order of the documentation.
pub const FORMATS: &[(&str, Format)] = &[
    ("text", Format::Text),
    ("json", Format::Json),
    ("junit", Format::Junit),
    ("sarif", Format::Sarif),
    ("github", Format::Github),
    ("markdown", Format::Markdown),
];

impl Format {
    /// The format of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        FORMATS
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, format)| *format)
    }

    /// Writes a report.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn write(self, report: &Report, out: &mut dyn Write) -> io::Result<()> {
        match self {
            Self::Text => text::write(report, out),
            Self::Json => json::write(report, out),
            Self::Junit => junit::write(report, out),
            Self::Sarif => sarif::write(report, out),
            Self::Github => github::write(report, out),
            Self::Markdown => markdown::write(report, out),
        }
    }
}

/// A text of a row on one line, with unsafe characters escaped, for example as `\n` or `\u{202e}`.
fn plain(text: &str) -> String {
    assay_core::visible::Visible::line(text).to_string()
}

/// `1 row`, `2 rows`.
fn counted(count: u64, what: &str) -> String {
    if count == 1 {
        format!("1 {what}")
    } else {
        format!("{count} {what}s")
    }
}

/// What became of all rows, in a line.
fn summary(report: &Report) -> String {
    use crate::findings::Severity;
    let rows = report.datasets.iter().map(|dataset| dataset.checked).sum();
    let mut parts = vec![format!(
        "{} checked: {}, {}",
        counted(rows, "row"),
        counted(report.of(Severity::Error), "error"),
        counted(report.of(Severity::Warning), "warning")
    )];
    for (count, what) in [
        (report.known, "known by the baseline"),
        (report.ignored, "ignored"),
        (report.untold, "counted and not listed"),
    ] {
        if count > 0 {
            parts.push(format!("{count} {what}"));
        }
    }
    parts.join("; ")
}

/// What could not be graded, in a line; `None` when everything could.
fn failure(report: &Report) -> Option<String> {
    let first = report.first_failure.as_deref()?;
    Some(format!(
        "{} could not be graded; the first: {first}",
        counted(report.failed, "probe")
    ))
}

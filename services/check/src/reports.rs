//! Report formats, one module each.

mod github;
mod json;
mod junit;
mod markdown;
mod sarif;
mod text;

use std::io::{self, Write};

use crate::Report;

/// A report format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Text for a terminal.
    Text,
    /// The complete report. Can be used as a baseline.
    Json,
    /// JUnit XML for test dashboards, with one test per dataset and code.
    Junit,
    /// SARIF 2.1.0 for code scanning.
    Sarif,
    /// Annotations of GitHub Actions.
    Github,
    /// Markdown for the job summary of GitHub Actions.
    Markdown,
}

/// All formats with their names, in the order of the documentation.
pub const FORMATS: &[(&str, Format)] = &[
    ("text", Format::Text),
    ("json", Format::Json),
    ("junit", Format::Junit),
    ("sarif", Format::Sarif),
    ("github", Format::Github),
    ("markdown", Format::Markdown),
];

impl Format {
    /// The format with this name.
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
    /// Errors of the writer.
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
fn escape_line(text: &str) -> String {
    assay_core::visible::Visible::line(text).to_string()
}

/// A count and its noun: `1 row`, `2 rows`.
fn counted(count: u64, noun: &str) -> String {
    if count == 1 {
        format!("1 {noun}")
    } else {
        format!("{count} {noun}s")
    }
}

/// The totals in one line.
fn summary(report: &Report) -> String {
    use crate::findings::Severity;
    let rows = report.datasets.iter().map(|dataset| dataset.checked).sum();
    let mut parts = vec![format!(
        "{} checked: {}, {}",
        counted(rows, "row"),
        counted(report.of(Severity::Error), "error"),
        counted(report.of(Severity::Warning), "warning")
    )];
    for (count, description) in [
        (report.known, "in the baseline"),
        (report.ignored, "ignored"),
        (report.unlisted, "not listed"),
    ] {
        if count > 0 {
            parts.push(format!("{count} {description}"));
        }
    }
    parts.join("; ")
}

/// The failed probes in one line; `None` if all probes were graded.
fn failure(report: &Report) -> Option<String> {
    let first = report.first_failure.as_deref()?;
    Some(format!(
        "cannot grade {}; the first error: {first}",
        counted(report.failed, "probe")
    ))
}

//! Report formats, one module each.

mod github;
mod html;
mod json;
mod junit;
mod markdown;
mod sarif;
mod summary;
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
    /// A page for people.
    Html,
}

/// All formats with their names, in the order of the documentation.
pub const FORMATS: &[(&str, Format)] = &[
    ("text", Format::Text),
    ("json", Format::Json),
    ("junit", Format::Junit),
    ("sarif", Format::Sarif),
    ("github", Format::Github),
    ("markdown", Format::Markdown),
    ("html", Format::Html),
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
            Self::Html => html::write(report, out),
        }
    }
}

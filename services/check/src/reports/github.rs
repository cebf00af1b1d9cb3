//! Workflow commands of GitHub Actions, which annotate the lines of a pull request.

use std::io::{self, Write};

use super::summary::{escape_line, failure, summary};
use crate::Report;
use crate::findings::Severity;

pub(super) fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    for finding in &report.findings {
        let level = match finding.code.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        let line = finding.location.line;
        let line = line.map_or_else(String::new, |line| format!(",line={line}"));
        let row = if finding.location.is_line {
            String::new()
        } else {
            format!("row {}: ", finding.location.number)
        };
        let (file, title) = (
            property(&finding.location.dataset),
            property(finding.code.name),
        );
        let message = data(&format!("{row}{} [{}]", finding.message, finding.key));
        writeln!(out, "::{level} file={file}{line},title={title}::{message}")?;
    }
    if let Some(failure) = failure(report) {
        writeln!(out, "::error title=not graded::{}", data(&failure))?;
    }
    writeln!(
        out,
        "::notice title=assay check::{}",
        data(&summary(report))
    )
}

/// Escapes the message of a command: line breaks and `%` for the runner, and unsafe characters for
/// the reader.
fn data(text: &str) -> String {
    escape_line(
        &text
            .replace('%', "%25")
            .replace('\r', "%0D")
            .replace('\n', "%0A"),
    )
}

/// Escapes a property of a command, including its separators.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

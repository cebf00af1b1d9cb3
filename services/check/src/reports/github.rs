//! Workflow commands of GitHub Actions: annotations at the lines of a pull request.

use std::io::{self, Write};

use super::{failure, plain, summary};
use crate::Report;
use crate::findings::Severity;

pub(super) fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    for finding in &report.findings {
        let level = match finding.code.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        let line = if finding.place.is_line {
            format!(",line={}", finding.place.number)
        } else {
            String::new()
        };
        let row = if finding.place.is_line {
            String::new()
        } else {
            format!("row {}: ", finding.place.number)
        };
        let (file, title) = (
            property(&finding.place.dataset),
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

/// The text of a command: what would end its line is escaped for the runner, what would be hidden
/// in it for the reader.
fn data(text: &str) -> String {
    plain(
        &text
            .replace('%', "%25")
            .replace('\r', "%0D")
            .replace('\n', "%0A"),
    )
}

/// A property of a command: what would end it is escaped as well.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

//! The complete report as JSON, which `POST /v1/checks` accepts.

use std::io::{self, Write};

use assay_base::visible;
use serde::Serialize;

use crate::Report;
use crate::findings::Severity;

/// The report and its totals.
#[derive(Serialize)]
struct ReportWithTotals<'r> {
    errors: u64,
    warnings: u64,
    #[serde(flatten)]
    report: &'r Report,
}

pub(super) fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let report = ReportWithTotals {
        errors: report.of(Severity::Error),
        warnings: report.of(Severity::Warning),
        report,
    };
    writeln!(
        out,
        "{}",
        visible::json(&serde_json::to_string_pretty(&report)?)
    )
}

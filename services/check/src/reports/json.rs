//! The report as it is; `POST /v1/checks` takes it.

use std::io::{self, Write};

use assay_core::visible;
use serde::Serialize;

use crate::Report;
use crate::findings::Severity;

/// The report and what its findings come to.
#[derive(Serialize)]
struct Whole<'r> {
    errors: u64,
    warnings: u64,
    #[serde(flatten)]
    report: &'r Report,
}

pub(super) fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let whole = Whole {
        errors: report.of(Severity::Error),
        warnings: report.of(Severity::Warning),
        report,
    };
    writeln!(
        out,
        "{}",
        visible::json(&serde_json::to_string_pretty(&whole)?)
    )
}

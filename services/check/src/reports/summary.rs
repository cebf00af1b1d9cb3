//! Texts that several formats share.

use crate::{Compared, Report};

/// A text of a row on one line, with unsafe characters escaped, for example as `\n` or `\u{202e}`.
pub(super) fn escape_line(text: &str) -> String {
    assay_base::visible::Visible::line(text).to_string()
}

/// A count and its noun: `1 row`, `2 rows`.
pub(super) fn counted(count: u64, noun: &str) -> String {
    if count == 1 {
        format!("1 {noun}")
    } else {
        format!("{count} {noun}s")
    }
}

/// The totals in one line.
pub(super) fn summary(report: &Report) -> String {
    use crate::findings::Severity;
    let rows = report.datasets.iter().map(|dataset| dataset.checked).sum();
    let mut parts = vec![format!(
        "{} checked: {}, {}",
        counted(rows, "row"),
        counted(report.of(Severity::Error), "error"),
        counted(report.of(Severity::Warning), "warning")
    )];
    let unchecked = report
        .datasets
        .iter()
        .flat_map(|dataset| dataset.unchecked.values());
    let unchecked: u64 = unchecked.sum();
    if unchecked > 0 {
        parts.push(format!("{} unchecked", counted(unchecked, "row")));
    }
    for (count, description) in [
        (report.known, "in the baseline"),
        (report.ignored, "ignored"),
        (report.unlisted, "not listed"),
    ] {
        if count > 0 {
            parts.push(format!("{count} {description}"));
        }
    }
    if let Some(Compared {
        new,
        remaining,
        fixed,
    }) = report.compared
    {
        parts.push(format!(
            "compared with the earlier report: {new} new, {remaining} remaining, {fixed} fixed"
        ));
    }
    parts.join("; ")
}

/// The failed probes in one line; `None` if all probes were graded.
pub(super) fn failure(report: &Report) -> Option<String> {
    let first = report.first_failure.as_deref()?;
    Some(format!(
        "cannot grade {}; the first error: {first}",
        counted(report.failed, "probe")
    ))
}

//! Text: one line per finding, then a summary of each dataset.

use std::collections::BTreeMap;
use std::io::{self, Write};

use super::summary::{counted, escape_line, failure, summary};
use crate::{Mutants, Report};

/// Maximum number of findings with one code and message that are listed one by one.
const MAX_EQUAL: usize = 10;

/// Number of findings that are shown of more than that.
const SHOWN_OF_EQUAL: usize = 2;

pub(super) fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let mut repeated: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for finding in &report.findings {
        let same = (finding.code.name, finding.message.as_str());
        *repeated.entry(same).or_default() += 1;
    }
    let mut shown: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for finding in &report.findings {
        let (location, message, key) =
            (finding.location.to_string(), &finding.message, &finding.key);
        let same = (finding.code.name, message.as_str());
        let (all, before) = (repeated[&same], shown.entry(same).or_default());
        *before += 1;
        let (before, is_collapsed) = (*before, all > MAX_EQUAL);
        if is_collapsed && before > SHOWN_OF_EQUAL {
            continue;
        }
        writeln!(
            out,
            "{}: {}: {} [{}]",
            escape_line(&location),
            finding.code.name,
            escape_line(message),
            escape_line(key)
        )?;
        if is_collapsed && before == SHOWN_OF_EQUAL {
            let more = all - SHOWN_OF_EQUAL;
            writeln!(
                out,
                "  the same finding in {}",
                counted(more as u64, "more row")
            )?;
        }
    }
    if !report.findings.is_empty() {
        writeln!(out)?;
    }
    for dataset in &report.datasets {
        let revision = dataset
            .revision
            .as_ref()
            .map_or_else(String::new, |revision| format!(" at {revision}"));
        let tasks: Vec<String> = dataset
            .tasks
            .iter()
            .map(|(kind, count)| format!("{count} {kind}"))
            .collect();
        let of_rows = if dataset.checked == dataset.rows {
            String::new()
        } else {
            format!(" of {}", dataset.rows)
        };
        let rows = counted(dataset.checked, "row");
        let (name, tasks) = (
            escape_line(&format!("{}{revision}", dataset.dataset)),
            tasks.join(", "),
        );
        writeln!(out, "{name}: {rows}{of_rows}; tasks: {tasks}")?;
        for (kind, mutants) in &dataset.mutants {
            let Mutants { tried, killed } = mutants;
            let percent = mutants.rate().unwrap_or_default() * 100.0;
            writeln!(
                out,
                "  {kind}: {killed} of {tried} wrong answers rejected ({percent:.1} %)"
            )?;
        }
    }
    for dataset in &report.datasets {
        for (reason, count) in &dataset.unchecked {
            let rows = counted(*count, "row");
            writeln!(
                out,
                "  unchecked: {rows} of {}: {reason}",
                escape_line(&dataset.dataset)
            )?;
        }
    }
    for (code, count) in &report.counts {
        writeln!(out, "  {code}: {count}")?;
    }
    if let Some(failure) = failure(report) {
        writeln!(out, "{}", escape_line(&failure))?;
    }
    writeln!(out, "{}", summary(report))
}

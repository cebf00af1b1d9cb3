//! Text: one line per finding, then a summary of each dataset.

use std::io::{self, Write};

use super::summary::{counted, escape_line, failure, summary};
use crate::{Mutants, Report};

pub(super) fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    for finding in &report.findings {
        let (location, message, key) =
            (finding.location.to_string(), &finding.message, &finding.key);
        writeln!(
            out,
            "{}: {}: {} [{}]",
            escape_line(&location),
            finding.code.name,
            escape_line(message),
            escape_line(key)
        )?;
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
    for (code, count) in &report.counts {
        writeln!(out, "  {code}: {count}")?;
    }
    if let Some(failure) = failure(report) {
        writeln!(out, "{}", escape_line(&failure))?;
    }
    writeln!(out, "{}", summary(report))
}

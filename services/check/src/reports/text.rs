//! A line for each finding, then what each dataset had.

use std::io::{self, Write};

use super::{counted, failure, plain, summary};
use crate::{Mutants, Report};

pub(super) fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    for finding in &report.findings {
        let (place, message, key) = (finding.place.to_string(), &finding.message, &finding.key);
        writeln!(
            out,
            "{}: {}: {} [{}]",
            plain(&place),
            finding.code.name,
            plain(message),
            plain(key)
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
        let drawn = if dataset.checked == dataset.rows {
            String::new()
        } else {
            format!(" of {}", dataset.rows)
        };
        let rows = counted(dataset.checked, "row");
        let (name, tasks) = (
            plain(&format!("{}{revision}", dataset.dataset)),
            tasks.join(", "),
        );
        writeln!(out, "{name}: {rows}{drawn}; tasks: {tasks}")?;
        for (kind, mutants) in &dataset.mutants {
            let Mutants { tried, killed } = mutants;
            let percent = mutants.rate().unwrap_or_default() * 100.0;
            writeln!(
                out,
                "  {kind}: {killed} of {tried} wrong answers were told from right ones \
                 ({percent:.1} %)"
            )?;
        }
    }
    for (code, count) in &report.counts {
        writeln!(out, "  {code}: {count}")?;
    }
    if let Some(failure) = failure(report) {
        writeln!(out, "{}", plain(&failure))?;
    }
    writeln!(out, "{}", summary(report))
}

//! Markdown tables for the job summary of GitHub Actions.

use std::io::{self, Write};

use super::summary::{escape_line, failure, summary};
use crate::Report;
use crate::findings::Code;

/// Maximum number of listed findings. A job summary may have at most 1 MiB.
const MAX_LISTED: usize = 100;

pub(super) fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "## Datasets checked\n\n{}\n", cell(&summary(report)))?;
    writeln!(
        out,
        "| dataset | revision | rows | checked | tasks | wrong answers rejected \
         |\n|---|---|---|---|---|---|"
    )?;
    for dataset in &report.datasets {
        let tasks: Vec<String> = dataset
            .tasks
            .iter()
            .map(|(kind, count)| format!("{count} `{kind}`"))
            .collect();
        let rejected = dataset.mutants.iter().map(|(kind, mutants)| {
            format!(
                "`{kind}` {:.1} % of {}",
                mutants.rate().unwrap_or_default() * 100.0,
                mutants.tried
            )
        });
        let rejected: Vec<String> = rejected.collect();
        let revision = cell(dataset.revision.as_deref().unwrap_or_default());
        let (name, tasks, rejected) = (
            cell(&dataset.dataset),
            tasks.join(", "),
            rejected.join(", "),
        );
        writeln!(
            out,
            "| {name} | {revision} | {} | {} | {tasks} | {rejected} |",
            dataset.rows, dataset.checked
        )?;
    }
    if !report.counts.is_empty() {
        writeln!(out, "\n| code | findings | meaning |\n|---|---|---|")?;
        for (name, count) in &report.counts {
            let title = report.codes.get(name).map_or("", Code::title);
            writeln!(out, "| `{name}` | {count} | {} |", cell(title))?;
        }
        writeln!(out, "\n| row | code | message |\n|---|---|---|")?;
        for finding in report.findings.iter().take(MAX_LISTED) {
            let (location, message) = (cell(&finding.location.to_string()), cell(&finding.message));
            writeln!(out, "| {location} | `{}` | {message} |", finding.code.name)?;
        }
        let more = report
            .total()
            .saturating_sub(report.findings.len().min(MAX_LISTED) as u64);
        if more > 0 {
            writeln!(out, "\nand {more} more")?;
        }
    }
    match failure(report) {
        Some(failure) => writeln!(out, "\n**{}**", cell(&failure)),
        None => Ok(()),
    }
}

/// Escapes a text for a table cell.
fn cell(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in escape_line(&text.replace(['\n', '\r'], " ")).chars() {
        match c {
            '|' | '*' | '_' | '\\' | '[' | ']' | '~' | '#' | '$' => {
                escaped.push('\\');
                escaped.push(c);
            }
            '<' => escaped.push_str("&lt;"),
            '&' => escaped.push_str("&amp;"),
            _ => escaped.push(c),
        }
    }
    escaped
}

//! Tables, as the summary of a step shows them.

use std::io::{self, Write};

use super::{failure, plain, summary};
use crate::Report;
use crate::findings;

/// Findings listed. A summary may have a mebibyte, and nobody reads more.
const LISTED: usize = 100;

pub(super) fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "## Datasets checked\n\n{}\n", cell(&summary(report)))?;
    writeln!(
        out,
        "| dataset | revision | rows | checked | tasks | wrong answers told \
         |\n|---|---|---|---|---|---|"
    )?;
    for dataset in &report.datasets {
        let tasks: Vec<String> = dataset
            .tasks
            .iter()
            .map(|(kind, count)| format!("{count} `{kind}`"))
            .collect();
        let told = dataset.mutants.iter().map(|(kind, mutants)| {
            format!(
                "`{kind}` {:.1} % of {}",
                mutants.rate().unwrap_or_default() * 100.0,
                mutants.tried
            )
        });
        let told: Vec<String> = told.collect();
        let revision = cell(dataset.revision.as_deref().unwrap_or_default());
        let (name, tasks, told) = (cell(&dataset.dataset), tasks.join(", "), told.join(", "));
        writeln!(
            out,
            "| {name} | {revision} | {} | {} | {tasks} | {told} |",
            dataset.rows, dataset.checked
        )?;
    }
    if !report.counts.is_empty() {
        writeln!(out, "\n| code | findings | what it says |\n|---|---|---|")?;
        for (name, count) in &report.counts {
            let title = findings::code(name).map_or("", |code| code.title);
            writeln!(out, "| `{name}` | {count} | {title} |")?;
        }
        writeln!(out, "\n| row | code | what |\n|---|---|---|")?;
        for finding in report.findings.iter().take(LISTED) {
            let (place, message) = (cell(&finding.place.to_string()), cell(&finding.message));
            writeln!(out, "| {place} | `{}` | {message} |", finding.code.name)?;
        }
        let more = report
            .total()
            .saturating_sub(report.findings.len().min(LISTED) as u64);
        if more > 0 {
            writeln!(out, "\nand {more} more")?;
        }
    }
    match failure(report) {
        Some(failure) => writeln!(out, "\n**{}**", cell(&failure)),
        None => Ok(()),
    }
}

/// A text that stays in its cell and is shown as it is.
fn cell(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in plain(&text.replace(['\n', '\r'], " ")).chars() {
        match c {
            '|' | '*' | '_' | '\\' | '[' | ']' | '~' | '#' | '$' => {
                shown.push('\\');
                shown.push(c);
            }
            '<' => shown.push_str("&lt;"),
            '&' => shown.push_str("&amp;"),
            _ => shown.push(c),
        }
    }
    shown
}

//! A page for people: the datasets, the codes, and the findings by code, without scripts.

use std::collections::BTreeMap;
use std::io::{self, Write};

use super::summary::{counted, escape_line, failure, summary};
use crate::findings::Severity;
use crate::{Finding, Report};

/// Maximum number of listed findings of a code.
const MAX_LISTED: usize = 200;

const HEAD: &str = include_str!("head.html");

pub(super) fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "{HEAD}\n<h1>Datasets checked</h1>\n<p>{}</p>",
        text(&summary(report))
    )?;
    if let Some(failure) = failure(report) {
        writeln!(out, "<p class=\"error\">{}</p>", text(&failure))?;
    }
    writeln!(
        out,
        "<table><tr><th>dataset</th><th>rows</th><th>checked</th><th>tasks</th>\
         <th>wrong answers rejected</th>\
         <th>unchecked</th></tr>"
    )?;
    for dataset in &report.datasets {
        let tasks: Vec<String> = dataset
            .tasks
            .iter()
            .map(|(kind, count)| format!("{count} {kind}"))
            .collect();
        let rejected: Vec<String> = dataset
            .mutants
            .iter()
            .map(|(kind, mutants)| format!("{kind}: {} of {}", mutants.killed, mutants.tried))
            .collect();
        let unchecked: Vec<String> = dataset
            .unchecked
            .iter()
            .map(|(reason, count)| format!("{count}: {reason}"))
            .collect();
        writeln!(
            out,
            "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
            text(&dataset.dataset),
            dataset.rows,
            dataset.checked,
            text(&tasks.join(", ")),
            text(&rejected.join(", ")),
            text(&unchecked.join("; "))
        )?;
    }
    writeln!(out, "</table>\n<h2>Findings</h2>")?;
    let mut by_code: BTreeMap<&str, Vec<&Finding>> = BTreeMap::new();
    for finding in &report.findings {
        by_code.entry(finding.code.name).or_default().push(finding);
    }
    for (name, count) in &report.counts {
        let Some(code) = report.codes.get(name) else {
            continue;
        };
        let class = match code.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        let listed = by_code.remove(name).unwrap_or_default();
        writeln!(
            out,
            "<details><summary><b class=\"{class}\">{name}</b>: {} — {}</summary>\n\
             <pre>{}</pre>\n<table>",
            counted(*count, class),
            text(code.title()),
            markup(code.page)
        )?;
        for finding in listed.iter().take(MAX_LISTED) {
            writeln!(
                out,
                "<tr><td>{}</td><td>{}</td><td>{}</td></tr>",
                text(&finding.location.to_string()),
                text(&finding.message),
                text(&finding.key)
            )?;
        }
        writeln!(out, "</table>")?;
        let more = count.saturating_sub(listed.len().min(MAX_LISTED) as u64);
        if more > 0 {
            writeln!(out, "<p>and {more} more</p>")?;
        }
        writeln!(out, "</details>")?;
    }
    writeln!(out, "</body></html>")
}

/// Escapes a text of a row for HTML, on one line without unsafe characters.
fn text(text: &str) -> String {
    markup(&escape_line(text))
}

/// Escapes a text for HTML.
fn markup(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;").replace('"', "&quot;")
}

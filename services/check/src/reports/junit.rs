//! JUnit's XML, in the shape that servers agree on: a suite a dataset, in it a test a code, so that
//! its size does not grow with the rows.

use std::io::{self, Write};

use super::{counted, failure};
use crate::findings::{ALL, Code};
use crate::{Finding, Report};

pub(super) fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>"
    )?;
    for (id, dataset) in report.datasets.iter().enumerate() {
        let name = escaped(&dataset.dataset);
        let of = |code: &'static Code| -> Vec<&Finding> {
            let here = |finding: &&Finding| {
                finding.code == code && *finding.place.dataset == *dataset.dataset
            };
            report.findings.iter().filter(here).collect()
        };
        let found: Vec<_> = ALL.iter().map(|code| (*code, of(code))).collect();
        let failures = found
            .iter()
            .filter(|(_, findings)| !findings.is_empty())
            .count();
        // What could not be graded is told once, with the first dataset.
        let failed = failure(report).filter(|_| id == 0);
        let (tests, errors) = (
            ALL.len() + usize::from(failed.is_some()),
            usize::from(failed.is_some()),
        );
        // Verdicts do not depend on time, and neither does the report.
        writeln!(
            out,
            "  <testsuite name=\"{name}\" package=\"assay\" id=\"{id}\" \
             timestamp=\"1970-01-01T00:00:00\" hostname=\"localhost\" tests=\"{tests}\" \
             failures=\"{failures}\" errors=\"{errors}\" time=\"0\">\n    <properties>"
        )?;
        let revision = dataset.revision.as_deref().unwrap_or_default();
        for (property, value) in [
            ("rows", dataset.rows.to_string()),
            ("checked", dataset.checked.to_string()),
        ] {
            writeln!(
                out,
                "      <property name=\"{property}\" value=\"{value}\"/>"
            )?;
        }
        writeln!(
            out,
            "      <property name=\"revision\" value=\"{}\"/>\n    </properties>",
            escaped(revision)
        )?;
        for (code, findings) in found {
            write!(
                out,
                "    <testcase classname=\"{name}\" name=\"{}\" time=\"0\"",
                code.name
            )?;
            if findings.is_empty() {
                writeln!(out, "/>")?;
                continue;
            }
            let message = escaped(&format!(
                "{}: {}",
                code.title,
                counted(findings.len() as u64, "finding")
            ));
            writeln!(
                out,
                ">\n      <failure message=\"{message}\" type=\"{}\">",
                code.name
            )?;
            for finding in findings {
                writeln!(
                    out,
                    "{}",
                    escaped(&format!(
                        "{}: {} [{}]",
                        finding.place, finding.message, finding.key
                    ))
                )?;
            }
            writeln!(out, "</failure>\n    </testcase>")?;
        }
        if let Some(failed) = failed {
            writeln!(
                out,
                "    <testcase classname=\"{name}\" name=\"graded\" time=\"0\">\n      <error \
                 message=\"{}\" type=\"not-graded\"/>\n    </testcase>",
                escaped(&failed)
            )?;
        }
        writeln!(out, "    <system-out/>\n    <system-err/>\n  </testsuite>")?;
    }
    writeln!(out, "</testsuites>")
}

/// A text in XML 1.0: marks escaped, characters that it does not have replaced.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\t' | '\n' | '\r' => escaped.push(' '),
            '\0'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            _ => escaped.push(c),
        }
    }
    escaped
}

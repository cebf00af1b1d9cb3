//! JUnit XML in the common schema: one suite per dataset, with one test per code, so that the
//! number of tests does not depend on the number of rows.

use std::io::{self, Write};

use super::summary::{counted, failure};
use crate::findings::Code;
use crate::{Finding, Report};

pub(super) fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>"
    )?;
    for (id, dataset) in report.datasets.iter().enumerate() {
        let name = escaped(&dataset.dataset);
        let of = |code: &'static Code| -> Vec<&Finding> {
            let matches = |finding: &&Finding| {
                finding.code == code && *finding.location.dataset == *dataset.dataset
            };
            report.findings.iter().filter(matches).collect()
        };
        let findings_by_code: Vec<_> = report.codes.iter().map(|code| (code, of(code))).collect();
        let failures = findings_by_code
            .iter()
            .filter(|(_, findings)| !findings.is_empty())
            .count();
        // Failed probes are reported once, in the suite of the first dataset.
        let failed = failure(report).filter(|_| id == 0);
        let (tests, errors) = (
            findings_by_code.len() + usize::from(failed.is_some()),
            usize::from(failed.is_some()),
        );
        // The times are constant, so that the same findings make the same report.
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
        for (code, findings) in findings_by_code {
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
                code.title(),
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
                        finding.location, finding.message, finding.key
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

/// Escapes a text for XML 1.0. Characters that XML does not allow are replaced.
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

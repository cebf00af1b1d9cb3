//! SARIF 2.1.0 (OASIS, 2020): rules, and results with line numbers.

use std::io::{self, Write};

use assay_base::visible;
use serde_json::{Value, json};

use super::summary::failure;
use crate::findings::{Codes, Severity};
use crate::{Finding, Report};

pub(super) fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let rules: Vec<Value> = report
        .codes
        .iter()
        .map(|code| {
            json!({
                "id": code.name,
                "shortDescription": { "text": code.title() },
                "fullDescription": { "text": code.title() },
                "help": { "text": plain(code.page), "markdown": code.page },
                "defaultConfiguration": { "level": level(code.severity) },
            })
        })
        .collect();
    let results = report.findings.iter();
    let results: Vec<Value> = results
        .map(|finding| result(finding, &report.codes))
        .collect();
    let mut notifications = Vec::new();
    if let Some(failure) = failure(report) {
        notifications.push(json!({ "level": "error", "message": { "text": failure } }));
    }
    let document = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {
                "driver": {
                    "name": "assay", "version": report.version,
                    "semanticVersion": report.version, "rules": rules,
                },
            },
            "invocations": [{
                "executionSuccessful": report.failed == 0,
                "toolExecutionNotifications": notifications,
            }],
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    });
    writeln!(
        out,
        "{}",
        visible::json(&serde_json::to_string_pretty(&document)?)
    )
}

/// A page of the documentation without the marks of Markdown.
fn plain(page: &str) -> String {
    page.replace(['#', '`'], "").trim().to_owned()
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    }
}

fn result(finding: &Finding, codes: &Codes) -> Value {
    let location = &finding.location;
    let mut physical = json!({ "artifactLocation": { "uri": uri(&location.dataset) } });
    if let Some(line) = location.line {
        physical["region"] = json!({ "startLine": line });
    }
    let row = if location.is_line {
        String::new()
    } else {
        format!("row {}: ", location.number)
    };
    json!({
        "ruleId": finding.code.name,
        "ruleIndex": codes.position(finding.code),
        "level": level(finding.code.severity),
        "message": { "text": format!("{row}{}", finding.message) },
        "locations": [{ "physicalLocation": physical }],
        "partialFingerprints": { "assayRow/v1": format!("{} {}", finding.code.name, finding.key) },
    })
}

/// A dataset name as a URI reference (RFC 3986), percent-encoded.
fn uri(name: &str) -> String {
    let mut uri = String::with_capacity(name.len());
    for byte in name.bytes() {
        match byte {
            b'A'..=b'Z'
            | b'a'..=b'z'
            | b'0'..=b'9'
            | b'-'
            | b'.'
            | b'_'
            | b'~'
            | b'/'
            | b'@'
            | b'+' => {
                uri.push(char::from(byte));
            }
            // The colon of a scheme is kept. Other colons are encoded, because they would be read
            // as the end of a scheme.
            b':' if name.starts_with("hf://") => uri.push(':'),
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}

//! SARIF 2.1.0 (OASIS, 2020): rules, and results at lines.

use std::io::{self, Write};

use assay_core::visible;
use serde_json::{Value, json};

use crate::findings::{ALL, Severity};
use crate::{Finding, Report};

pub(super) fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let rules: Vec<Value> = ALL
        .iter()
        .map(|code| {
            json!({
                "id": code.name,
                "shortDescription": { "text": code.title },
                "help": { "text": format!("docs/findings/{}.md says what to do.", code.name) },
                "defaultConfiguration": { "level": level(code.severity) },
            })
        })
        .collect();
    let results: Vec<Value> = report.findings.iter().map(result).collect();
    let mut notifications = Vec::new();
    if let Some(failure) = super::failure(report) {
        notifications.push(json!({ "level": "error", "message": { "text": failure } }));
    }
    let document = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": { "name": "assay", "version": report.version, "semanticVersion": report.version, "rules": rules } },
            "invocations": [{ "executionSuccessful": report.failed == 0, "toolExecutionNotifications": notifications }],
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

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    }
}

fn result(finding: &Finding) -> Value {
    let place = &finding.place;
    let mut physical = json!({ "artifactLocation": { "uri": uri(&place.dataset) } });
    if place.is_line {
        physical["region"] = json!({ "startLine": place.number });
    }
    let row = if place.is_line {
        String::new()
    } else {
        format!("row {}: ", place.number)
    };
    json!({
        "ruleId": finding.code.name,
        "ruleIndex": ALL.iter().position(|code| *code == finding.code),
        "level": level(finding.code.severity),
        "message": { "text": format!("{row}{}", finding.message) },
        "locations": [{ "physicalLocation": physical }],
        "partialFingerprints": { "assayRow/v1": format!("{} {}", finding.code.name, finding.key) },
    })
}

/// A name as a reference (RFC 3986): what no path has is percent-encoded.
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
            // A scheme keeps its colon; a colon in a name would be taken for one.
            b':' if name.starts_with("hf://") => uri.push(':'),
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}

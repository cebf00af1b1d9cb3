//! Evidence of the image's driver about a failure: the line of the test, the compared values, the
//! limit of the sandbox. It explains a verdict and never decides one, because a program can forge
//! part of it.

use assay_worker::program::MAX_DRIVER_EVIDENCE;
use serde::Deserialize;

/// Most bytes or characters shown of a text, from its start or its end.
pub(crate) const MAX_SHOWN: usize = 400;

/// Most calls that are shown: the last ones.
const MAX_CALLS: usize = 3;

/// File names of the test's code.
const FILES: &[&str] = &["test.py", "setup.py", "test.js", "setup.js"];

/// The evidence. Every field is optional.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct DriverEvidence {
    /// The file of the failing line, such as `test.py` or `setup.py`.
    pub(crate) file: Option<String>,
    /// The failing line, from 1.
    pub(crate) line: Option<u64>,
    /// The text of that line.
    pub(crate) source: Option<String>,
    /// The comparison that was false, and its two values.
    pub(crate) operator: Option<String>,
    pub(crate) left: Option<String>,
    pub(crate) right: Option<String>,
    /// The last calls of the program by the test, oldest first.
    pub(crate) calls: Vec<Call>,
    pub(crate) limit: Option<Limit>,
}

/// A call of the program by the test.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct Call {
    pub(crate) call: String,
    pub(crate) returned: Option<String>,
    pub(crate) raised: Option<String>,
}

/// A limit of the sandbox that the run reached: its kind, and the module or function.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct Limit {
    pub(crate) cause: String,
    pub(crate) name: String,
}

impl Limit {
    /// What to add to a message about the task's own code that reached the limit.
    pub(crate) fn hint(&self) -> String {
        let name = &self.name;
        if self.cause == "module" {
            format!("; the image has no module `{name}`; `assay doctor --json` lists its modules")
        } else {
            format!("; the sandbox does not support `{name}`")
        }
    }
}

impl DriverEvidence {
    /// Reads the evidence and truncates long texts and lists; `None` if it is malformed.
    pub(crate) fn read(text: &str) -> Option<Self> {
        if text.len() > MAX_DRIVER_EVIDENCE {
            return None;
        }
        let mut evidence: Self = serde_json::from_str(text).ok()?;
        evidence.file = evidence.file.filter(|file| FILES.contains(&file.as_str()));
        for text in [
            &mut evidence.source,
            &mut evidence.operator,
            &mut evidence.left,
            &mut evidence.right,
        ]
        .into_iter()
        .flatten()
        {
            truncate(text);
        }
        evidence
            .calls
            .drain(..evidence.calls.len().saturating_sub(MAX_CALLS));
        for Call {
            call,
            returned,
            raised,
        } in &mut evidence.calls
        {
            truncate(call);
            [returned, raised].into_iter().flatten().for_each(truncate);
        }
        if let Some(Limit { cause, name }) = &mut evidence.limit {
            truncate(cause);
            truncate(name);
        }
        Some(evidence)
    }
}

fn truncate(text: &mut String) {
    if let Some((end, _)) = text.char_indices().nth(MAX_SHOWN) {
        text.truncate(end);
        text.push('…');
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn reads_known_fields() {
        let text = r#"{"file":"test.py","line":3,"left":"5",
            "calls":[{"call":"f(2)","returned":"5"}],"new":[1]}"#;
        let evidence = DriverEvidence::read(text).unwrap();
        assert_eq!(
            (
                evidence.line,
                evidence.left.as_deref(),
                evidence.right,
                evidence.limit
            ),
            (Some(3), Some("5"), None, None)
        );
        assert_eq!(evidence.calls[0].returned.as_deref(), Some("5"));
        for malformed in ["", "[5]", "5", r#"{"line":"3"}"#, r#"{"calls":{}}"#] {
            assert_eq!(DriverEvidence::read(malformed), None, "{malformed}");
        }
    }

    #[test]
    fn truncates_long_texts_and_lists() {
        let long = "é".repeat(MAX_SHOWN + 1);
        let calls = vec![json!({"call": long, "raised": long}); 9];
        let limit = json!({"cause": long, "name": "x"});
        let text = json!({"file": "main.py", "left": long, "calls": calls, "limit": limit});
        let evidence = DriverEvidence::read(&text.to_string()).unwrap();
        assert_eq!(
            (evidence.calls.len(), evidence.file.as_ref()),
            (MAX_CALLS, None)
        );
        let truncated = "é".repeat(MAX_SHOWN) + "…";
        assert_eq!(evidence.left.as_ref(), Some(&truncated));
        assert_eq!(
            (&evidence.calls[2].call, evidence.calls[2].raised.as_ref()),
            (&truncated, Some(&truncated))
        );
        assert_eq!(evidence.limit.unwrap().cause, truncated);
        assert_eq!(
            DriverEvidence::read(&json!({"left": "x".repeat(MAX_DRIVER_EVIDENCE)}).to_string()),
            None
        );
    }
}

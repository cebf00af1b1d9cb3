//! Which strings of the record are texts that may be redacted.

use assay_record::{BodyKind, Claim};

use super::json_strings::JsonStrings;
use super::redaction::Redactor;

/// All strings.
pub(crate) const ALL: JsonStrings = JsonStrings {
    fixed: &[],
    free: &[],
};

/// Strings of messages: all but roles and types of parts.
const MESSAGES: JsonStrings = JsonStrings {
    fixed: &["role", "type"],
    free: &[],
};

/// Strings of a task: all but types.
pub(crate) const TASK: JsonStrings = JsonStrings {
    fixed: &["type"],
    free: &[],
};

/// Strings of a report of a dataset check: all but names and codes.
const REPORT: JsonStrings = JsonStrings {
    fixed: &["code", "dataset", "revision", "severity", "version"],
    free: &[],
};

/// Strings of a reply or of a grade: all but identifiers and the names that this service chose.
pub(crate) const REPLY: JsonStrings = JsonStrings {
    fixed: &[
        "advantage_estimator",
        "batch",
        "channel",
        "code",
        "grade",
        "grader",
        "group",
        "id",
        "judge",
        "name",
        "outcome",
        "policy",
        "prompt_key",
        "type",
        "verdict",
    ],
    free: &["evidence", "meta"],
};

impl Redactor {
    /// Redacts all strings of an optional JSON text.
    pub fn all_strings(&self, json: &mut Option<String>) {
        self.json_field(ALL, json);
    }

    /// The redacted content of a body; `None` if nothing matches.
    pub(crate) fn body(&self, kind: BodyKind, content: &[u8]) -> Option<Vec<u8>> {
        if self.is_empty() {
            return None;
        }
        // Bodies are UTF-8.
        let text = std::str::from_utf8(content).ok()?;
        let redacted = match kind {
            BodyKind::Text => self.text(text),
            BodyKind::Messages | BodyKind::Pair => self.json(MESSAGES, text),
            BodyKind::Task => self.json(TASK, text),
            BodyKind::Report => self.json(REPORT, text),
            // A setting and not a text of an item.
            BodyKind::Policy => None,
        };
        redacted.map(String::into_bytes)
    }

    /// The claim as it is stored. A repeated request gets the reply with the same replacements as
    /// the record, because the stored reply is part of the record.
    pub(crate) fn claim(&self, mut claim: Claim) -> Claim {
        if let Some(reply) = &mut claim.reply
            && let Ok(text) = std::str::from_utf8(&reply.body)
            && let Some(redacted) = self.json(REPLY, text)
        {
            reply.body = redacted.into_bytes();
        }
        claim
    }

    /// A body that is redacted if necessary.
    #[must_use]
    pub fn stored_body(&self, mut body: assay_record::Body) -> assay_record::Body {
        if let Some(content) = self.body(body.kind, &body.content) {
            body.hash = body.kind.hash(&content);
            body.content = content;
        }
        body
    }
}

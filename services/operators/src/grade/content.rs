//! Prompts and completions as sent: texts or chat messages.

use assay_record::{Body, BodyKind};
use serde_json::Value;

use crate::display::{MAX_TEXT_CHARACTERS, SafeText, cell, count, text};

/// A text or a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Part {
    /// Role of the message; empty for a text.
    pub(crate) role: String,
    pub(crate) before: String,
    /// The part that was graded; empty if unknown.
    pub(crate) marked: String,
    pub(crate) after: String,
}

impl Part {
    fn plain(role: &str, content: &str) -> Self {
        Self {
            role: cell(role),
            before: text(content),
            marked: String::new(),
            after: String::new(),
        }
    }
}

/// The parts of a body. `marked` is the graded range of a text, in bytes.
pub(super) fn parts(body: &Body, marked: Option<(usize, usize)>) -> Vec<Part> {
    let content = String::from_utf8_lossy(&body.content);
    if body.kind == BodyKind::Text {
        return vec![
            marked
                .and_then(|range| marked_part(&content, range))
                .unwrap_or_else(|| Part::plain("", &content)),
        ];
    }
    let Ok(Value::Array(messages)) = serde_json::from_str(&content) else {
        return vec![Part::plain("", &content)];
    };
    messages.iter().flat_map(message).collect()
}

/// A text with its graded range, and as much of the surrounding text as a page shows.
fn marked_part(content: &str, (start, end): (usize, usize)) -> Option<Part> {
    let marked = content
        .get(start..end)
        .filter(|marked| !marked.is_empty())?;
    let side = MAX_TEXT_CHARACTERS / 2;
    let head = &content[..start];
    let before = match head.char_indices().rev().nth(side) {
        Some((from, _)) => format!(
            "({} bytes before) … {}",
            count(from as u64),
            SafeText(&head[from..])
        ),
        None => SafeText(head).to_string(),
    };
    let tail = &content[end..];
    let after = match tail.char_indices().nth(side) {
        Some((to, _)) => format!(
            "{} … ({} bytes after)",
            SafeText(&tail[..to]),
            count((tail.len() - to) as u64)
        ),
        None => SafeText(tail).to_string(),
    };
    Some(Part {
        role: String::new(),
        before,
        marked: text(marked),
        after,
    })
}

/// The parts of a message: its content, then its other fields.
fn message(message: &Value) -> Vec<Part> {
    let Some(fields) = message.as_object() else {
        return vec![Part::plain("", &message.to_string())];
    };
    let role = fields
        .get("role")
        .and_then(Value::as_str)
        .unwrap_or("message");
    let mut parts = Vec::new();
    for (name, value) in fields
        .iter()
        .filter(|(name, value)| *name != "role" && !value.is_null())
    {
        let role = if name == "content" {
            role.to_owned()
        } else {
            format!("{role}, {name}")
        };
        match value {
            Value::String(content) => parts.push(Part::plain(&role, content)),
            Value::Array(list) if name == "content" => {
                parts.extend(list.iter().map(
                    |part| match part.get("text").and_then(Value::as_str) {
                        Some(content) => Part::plain(&role, content),
                        None => Part::plain(&role, &pretty(part)),
                    },
                ));
            }
            other => parts.push(Part::plain(&role, &pretty(other))),
        }
    }
    parts
}

/// Indented JSON. Cannot fail, because values of the record can be serialised.
pub(super) fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use assay_core::Hash;

    use super::*;

    fn body(kind: BodyKind, content: &str) -> Body {
        Body {
            hash: Hash::of(b"x"),
            kind,
            content: content.as_bytes().to_vec(),
        }
    }

    #[test]
    fn marks_the_graded_part() {
        let parts = parts(&body(BodyKind::Text, "so \\boxed{½} it is"), Some((10, 12)));
        let [part] = parts.as_slice() else {
            panic!("one part")
        };
        assert_eq!(
            (
                part.before.as_str(),
                part.marked.as_str(),
                part.after.as_str()
            ),
            ("so \\boxed{", "½", "} it is")
        );
        let long = format!("{}4{}", "a".repeat(50_000), "b".repeat(50_000));
        let part = &super::parts(&body(BodyKind::Text, &long), Some((50_000, 50_001)))[0];
        assert!(
            part.before.starts_with("(39,999 bytes before)")
                && part.after.ends_with("(40,000 bytes after)")
        );
    }

    #[test]
    fn ignores_invalid_ranges() {
        for range in [(1, 2), (0, 99), (5, 2), (0, 0)] {
            let part = &parts(&body(BodyKind::Text, "½ b"), Some(range))[0];
            assert_eq!(
                (part.before.as_str(), part.marked.as_str()),
                ("½ b", ""),
                "{range:?}"
            );
        }
    }

    #[test]
    fn splits_chats_into_messages() {
        let chat = r#"[{"role":"user","content":"hi"},
            {"role":"assistant","content":null,"tool_calls":[{"name":"f"}]},
            {"role":"user","content":[{"type":"text","text":"a"},{"type":"image"}]},7]"#;
        let parts = parts(&body(BodyKind::Messages, chat), None);
        let roles: Vec<&str> = parts.iter().map(|part| part.role.as_str()).collect();
        assert_eq!(roles, ["user", "assistant, tool_calls", "user", "user", ""]);
        assert!(parts[1].before.contains("\"name\": \"f\"") && parts[3].before.contains("image"));
        let damaged = super::parts(&body(BodyKind::Messages, "no json"), None);
        assert_eq!(damaged[0].before, "no json");
    }
}

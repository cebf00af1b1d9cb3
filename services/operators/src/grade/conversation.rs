//! Prompts and completions as conversations: a text, or chat messages with their reasoning, tool
//! calls and results.

use std::ops::Range;

use assay_record::{Body, BodyKind};
use serde_json::{Map, Value};

use crate::display::{MAX_TEXT_CHARACTERS, SafeText, bytes, cell, count, sentence, text};

/// Maximum number of messages on a page.
const MAX_MESSAGES: usize = 200;

/// Maximum length of a conversation on a page, in bytes, except for the message with the graded
/// part. Later messages are counted.
const MAX_BYTES: usize = 5 * MAX_TEXT_CHARACTERS;

/// Messages of a conversation that are longer than this are folded, in bytes.
const MAX_UNFOLDED_BYTES: usize = 2_000;

/// Fields of a message, and types of the parts of its content, with the reasoning of a model.
const REASONING: [&str; 5] = [
    "reasoning_content",
    "reasoning",
    "thinking",
    "reasoning_text",
    "summary_text",
];

/// Parts of a content that are not texts, by the start of their type.
const MEDIA: [(&str, &str); 7] = [
    ("image", "image"),
    ("input_image", "image"),
    ("audio", "audio"),
    ("input_audio", "audio"),
    ("video", "video"),
    ("file", "file"),
    ("input_file", "file"),
];

/// A text of which a part may be graded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MarkedText {
    pub(crate) before: String,
    /// The part that was graded; empty if unknown.
    pub(crate) marked: String,
    pub(crate) after: String,
}

/// A part of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Part {
    Text(MarkedText),
    Reasoning(String),
    /// A tool call: its name and arguments.
    Call(String, String),
    /// The result of a tool call.
    Result(String),
    /// An image or another part that is not a text: what it is.
    Media(&'static str),
    /// Another field: its name and value.
    Other(String, String),
}

/// A message, or a text without a role.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Message {
    /// Its role, and the name of its author or tool; empty for a text.
    pub(crate) role: String,
    /// Class of the style sheet: `user`, `assistant`, `tool`, `system` or
    /// `plain-text`.
    pub(crate) class: &'static str,
    pub(crate) parts: Vec<Part>,
    /// The first words and the length, if the message is folded.
    pub(crate) summary: Option<String>,
}

/// The messages of a prompt or completion.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Conversation {
    pub(crate) messages: Vec<Message>,
    /// Number of messages that are not shown.
    pub(crate) left: usize,
}

impl Conversation {
    /// The conversation of a body. `marked` is the graded range, in bytes: of a text, or of the
    /// joined texts of the last message of the assistant, which graders of texts read.
    pub(super) fn of(body: &Body, marked: Option<Range<usize>>) -> Self {
        let content = String::from_utf8_lossy(&body.content);
        if body.kind == BodyKind::Text {
            return Self::of_text(&content, marked);
        }
        let Ok(Value::Array(messages)) = serde_json::from_str(&content) else {
            return Self::of_text(&content, None);
        };
        let graded = messages
            .iter()
            .rposition(|message| message["role"] == "assistant")
            .filter(|_| marked.is_some());
        let mut conversation = Self::default();
        let mut shown = 0;
        for (at, message) in messages.iter().enumerate() {
            let is_graded = graded == Some(at);
            let is_full = conversation.messages.len() >= MAX_MESSAGES || shown >= MAX_BYTES;
            if is_full && !is_graded {
                conversation.left += 1;
                continue;
            }
            let marked = marked.clone().filter(|_| is_graded);
            let is_last = at + 1 == messages.len();
            let message = Message::read(message, marked, !is_last);
            shown += message.bytes();
            conversation.messages.push(message);
        }
        conversation
    }

    fn of_text(content: &str, marked: Option<Range<usize>>) -> Self {
        Self {
            messages: vec![Message {
                role: String::new(),
                class: "plain-text",
                parts: vec![Part::Text(MarkedText::new(content, marked))],
                summary: None,
            }],
            left: 0,
        }
    }
}

impl Message {
    /// A message with its fields. It is folded if it is long, has no graded part, and `folds`.
    fn read(message: &Value, marked: Option<Range<usize>>, folds: bool) -> Self {
        let empty = Map::new();
        let fields = message.as_object().unwrap_or(&empty);
        let role = fields
            .get("role")
            .and_then(Value::as_str)
            .unwrap_or("message");
        let class = match role {
            "user" => "user",
            "assistant" => "assistant",
            "tool" | "function" => "tool",
            "system" | "developer" => "system",
            _ => "plain-text",
        };
        let is_marked = marked.is_some();
        let mut parts = Parts {
            parts: Vec::new(),
            marked,
            read: 0,
            is_result: class == "tool",
        };
        // Reasoning comes before the text, and other fields follow.
        let rank = |name: &str| match name {
            name if REASONING.contains(&name) => 0,
            "content" => 1,
            "tool_calls" | "function_call" => 2,
            _ => 3,
        };
        let mut ordered: Vec<_> = fields
            .iter()
            .filter(|(name, value)| *name != "role" && !value.is_null())
            .collect();
        ordered.sort_by_key(|(name, _)| rank(name));
        for (name, value) in ordered {
            parts.field(name, value);
        }
        if !message.is_object() {
            parts.text(&message.to_string());
        }
        let name = fields.get("name").and_then(Value::as_str);
        let mut read = Self {
            role: name.map_or_else(|| cell(role), |name| cell(&format!("{role}, {name}"))),
            class,
            parts: parts.parts,
            summary: None,
        };
        if folds && !is_marked && read.bytes() > MAX_UNFOLDED_BYTES {
            let start = read.parts.iter().find_map(Part::words);
            let length = bytes(read.bytes() as f64);
            read.summary = Some(format!(
                "{} ({length})",
                sentence(start.unwrap_or_default())
            ));
        }
        read
    }

    /// Bytes on the page.
    fn bytes(&self) -> usize {
        self.parts.iter().map(Part::bytes).sum()
    }
}

impl Part {
    fn bytes(&self) -> usize {
        match self {
            Self::Text(text) => text.before.len() + text.marked.len() + text.after.len(),
            Self::Reasoning(text) | Self::Result(text) => text.len(),
            Self::Call(name, value) | Self::Other(name, value) => name.len() + value.len(),
            Self::Media(name) => name.len(),
        }
    }

    fn words(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(&text.before),
            Self::Reasoning(text) | Self::Result(text) => Some(text),
            Self::Call(name, _) | Self::Other(name, _) => Some(name),
            Self::Media(_) => None,
        }
    }
}

/// The parts of a message while its fields are read.
struct Parts {
    parts: Vec<Part>,
    /// The graded range of the joined texts, in bytes.
    marked: Option<Range<usize>>,
    /// Bytes of the texts so far.
    read: usize,
    /// Whether texts are results of tools.
    is_result: bool,
}

impl Parts {
    fn field(&mut self, name: &str, value: &Value) {
        match (name, value) {
            // Shown with the role.
            ("name", Value::String(_)) => {}
            ("content", Value::String(content)) => self.text(content),
            ("content", Value::Array(list)) => list.iter().for_each(|part| self.part(part)),
            ("tool_calls", Value::Array(calls)) => calls.iter().for_each(|call| self.call(call)),
            ("function_call", call) => self.call(call),
            (name, Value::String(content)) if REASONING.contains(&name) => {
                self.parts.push(Part::Reasoning(text(content)));
            }
            (name, Value::String(content)) => self.other(name, content),
            (name, other) => self.other(name, &pretty(other)),
        }
    }

    fn text(&mut self, content: &str) {
        let start = self.read;
        self.read += content.len();
        if self.is_result {
            self.parts.push(Part::Result(text(content)));
            return;
        }
        let marked = self.marked.as_ref().and_then(|marked| {
            let within = marked.start.max(start)..marked.end.min(self.read);
            (within.start < within.end).then(|| within.start - start..within.end - start)
        });
        self.parts
            .push(Part::Text(MarkedText::new(content, marked)));
    }

    /// A part of the content.
    fn part(&mut self, part: &Value) {
        let kind = part["type"].as_str().unwrap_or_default();
        if let Some(content) = part.as_str().or_else(|| part["text"].as_str()) {
            if REASONING.contains(&kind) {
                self.parts.push(Part::Reasoning(text(content)));
            } else {
                self.text(content);
            }
        } else if let Some(thought) = part[kind].as_str().filter(|_| REASONING.contains(&kind)) {
            self.parts.push(Part::Reasoning(text(thought)));
        } else if kind == "tool_use" {
            self.call(part);
        } else if kind == "tool_result" {
            let content = &part["content"];
            let content = content
                .as_str()
                .map_or_else(|| pretty(content), str::to_owned);
            self.parts.push(Part::Result(text(&content)));
        } else if let Some((_, media)) = MEDIA.iter().find(|(start, _)| kind.starts_with(start)) {
            self.parts.push(Part::Media(media));
        } else {
            self.other(kind, &pretty(part));
        }
    }

    fn call(&mut self, call: &Value) {
        let function = call.get("function").filter(|function| function.is_object());
        let call_of = function.unwrap_or(call);
        let arguments = ["arguments", "input", "parameters"];
        let arguments = arguments.iter().find_map(|name| call_of.get(name));
        let (Some(name), Some(arguments)) = (call_of["name"].as_str(), arguments) else {
            return self.other("tool call", &pretty(call));
        };
        let arguments = match arguments {
            Value::String(json) => match serde_json::from_str::<Value>(json) {
                Ok(value) => pretty(&value),
                Err(_) => json.clone(),
            },
            value => pretty(value),
        };
        self.parts.push(Part::Call(cell(name), text(&arguments)));
    }

    fn other(&mut self, name: &str, value: &str) {
        self.parts.push(Part::Other(cell(name), text(value)));
    }
}

impl MarkedText {
    /// A text with its graded range in bytes, and as much of the surrounding text as a page shows.
    fn new(content: &str, marked: Option<Range<usize>>) -> Self {
        marked
            .and_then(|range| Self::marked(content, range))
            .unwrap_or_else(|| Self {
                before: text(content),
                marked: String::new(),
                after: String::new(),
            })
    }

    fn marked(content: &str, Range { start, end }: Range<usize>) -> Option<Self> {
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
        Some(Self {
            before,
            marked: text(marked),
            after,
        })
    }
}

/// Indented JSON. Cannot fail, because values of the record can be serialised.
pub(super) fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use assay_core::Hash;

    use super::*;

    fn conversation(kind: BodyKind, content: &str, marked: Option<Range<usize>>) -> Conversation {
        let body = Body {
            hash: Hash::of(b"x"),
            kind,
            content: content.as_bytes().to_vec(),
        };
        Conversation::of(&body, marked)
    }

    fn texts(conversation: &Conversation) -> Vec<&MarkedText> {
        let parts = conversation
            .messages
            .iter()
            .flat_map(|message| &message.parts);
        parts
            .filter_map(|part| match part {
                Part::Text(text) => Some(text),
                _ => None,
            })
            .collect()
    }

    #[test]
    fn marks_the_graded_part() {
        let marked = |text: &str, range| {
            let found = conversation(BodyKind::Text, text, Some(range));
            texts(&found)[0].clone()
        };
        let part = marked("so \\boxed{½} it is", 10..12);
        assert_eq!(
            [part.before, part.marked, part.after],
            ["so \\boxed{", "½", "} it is"]
        );
        let part = marked(
            &format!("{}4{}", "a".repeat(50_000), "b".repeat(50_000)),
            50_000..50_001,
        );
        assert!(
            part.before.starts_with("(39,999 bytes before)")
                && part.after.ends_with("(40,000 bytes after)")
        );
    }

    #[test]
    fn ignores_invalid_ranges() {
        for range in [(1, 2), (0, 99), (5, 2), (0, 0)] {
            let found = conversation(BodyKind::Text, "½ b", Some(range.0..range.1));
            let part = texts(&found)[0];
            assert_eq!(
                (part.before.as_str(), part.marked.as_str()),
                ("½ b", ""),
                "{range:?}"
            );
        }
    }

    #[test]
    fn marks_the_graded_part_of_the_last_answer() {
        let chat = r#"[{"role":"assistant","content":"4"},{"role":"user","content":"sure?"},
            {"role":"assistant","content":[{"type":"text","text":"no: "},"it is 5."]}]"#;
        let found = conversation(BodyKind::Messages, chat, Some(10..11));
        let marked: Vec<&str> = texts(&found).iter().map(|text| &*text.marked).collect();
        assert_eq!(marked, ["", "", "", "5"]);
    }

    #[test]
    fn messages_have_texts_reasoning_calls_results_and_media() {
        let chat = r#"[{"role":"user","content":[{"type":"text","text":"a"},{"type":"image_url"}]},
            {"role":"assistant","content":"b","reasoning_content":"why","tool_calls":[
                {"id":"1","function":{"name":"f","arguments":"{\"x\":1}"}}]},
            {"role":"tool","name":"f","content":"2"},
            {"role":"assistant","content":[{"type":"thinking","thinking":"so"},
                {"type":"tool_use","name":"g","input":{}}],"refusal":null,"audio":{"id":7}},7]"#;
        let found = conversation(BodyKind::Messages, chat, None);
        let roles = found.messages.iter().map(|message| &*message.role);
        let roles: Vec<&str> = roles.collect();
        assert_eq!(
            roles,
            ["user", "assistant", "tool, f", "assistant", "message"]
        );
        let plain = |text: &str| {
            Part::Text(MarkedText {
                before: text.to_owned(),
                marked: String::new(),
                after: String::new(),
            })
        };
        let call = |name: &str, arguments: &str| Part::Call(name.to_owned(), arguments.to_owned());
        let other = Part::Other("audio".to_owned(), "{\n  \"id\": 7\n}".to_owned());
        let reasoning = |text: &str| Part::Reasoning(text.to_owned());
        let expected = [
            vec![plain("a"), Part::Media("image")],
            vec![reasoning("why"), plain("b"), call("f", "{\n  \"x\": 1\n}")],
            vec![Part::Result("2".to_owned())],
            vec![reasoning("so"), call("g", "{}"), other],
            vec![plain("7")],
        ];
        for (message, expected) in found.messages.iter().zip(expected) {
            assert_eq!(message.parts, expected);
        }
        let damaged = conversation(BodyKind::Messages, "no json", None);
        assert_eq!(texts(&damaged)[0].before, "no json");
    }

    #[test]
    fn long_conversations_are_folded_and_cut() {
        let message = |length: usize| {
            let content = "x ".repeat(length);
            serde_json::json!({ "role": "user", "content": content })
        };
        let chat = Value::Array(vec![message(30_000); 40]).to_string();
        let found = conversation(BodyKind::Messages, &chat, None);
        assert_eq!((found.messages.len(), found.left), (5, 35));
        let summary = found.messages[0].summary.as_deref().unwrap();
        assert!(
            summary.starts_with("x x") && summary.ends_with("… (20.0 kB)"),
            "{summary}"
        );
        let chat = Value::Array(vec![message(1); MAX_MESSAGES + 3]).to_string();
        let found = conversation(BodyKind::Messages, &chat, None);
        assert_eq!((found.messages.len(), found.left), (MAX_MESSAGES, 3));
        assert_eq!(found.messages[0].summary, None);
    }
}

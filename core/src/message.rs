//! A chat message, as trainers send it.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use serde::de::{self, Error as _, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use crate::RawJson;
use assay_base::truncated;

/// A chat message. Fields that the service does not read are preserved for graders that do. Numbers
/// keep their digits.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Message {
    /// `system`, `user`, `assistant` or `tool`.
    pub role: String,
    /// Text, parts, or none.
    pub content: MessageContent,
    /// All other fields, such as `tool_calls`, `reasoning_content` and `name`.
    #[serde(flatten)]
    pub rest: BTreeMap<String, RawJson>,
}

/// The content of a message.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(untagged)]
pub enum MessageContent {
    /// No content, as in a message that has only tool calls.
    #[default]
    Null,
    /// A text.
    Text(String),
    /// Parts.
    Parts(Vec<ContentPart>),
}

/// A part of the content of a message.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum ContentPart {
    /// A text.
    Text(String),
    /// An object with a `type`.
    Fields(BTreeMap<String, RawJson>),
}

/// Valid roles. With another spelling, a grader would silently ignore the message.
const ROLES: &[&str] = &[
    "system",
    "developer",
    "user",
    "assistant",
    "tool",
    "function",
];

/// Maximum length of a role in an error message, in characters.
const MAX_QUOTED: usize = 60;

/// Parts of Gemini and Bedrock, which have a member with their content in place of a `type`.
const UNTYPED_PARTS: &[&str] = &[
    "functionCall",
    "functionResponse",
    "toolUse",
    "toolResult",
    "inlineData",
    "fileData",
    "executableCode",
    "codeExecutionResult",
];

/// Message of the error for invalid content.
const INVALID_CONTENT: &str =
    "`content` of a message must be a string, null, or an array of parts with a `type`";

impl Message {
    /// Checks that the role is valid. The error is the reason.
    pub(crate) fn check(&self) -> Result<(), String> {
        if ROLES.contains(&self.role.as_str()) {
            return Ok(());
        }
        Err(format!(
            "unknown `role` `{}` of a message; expected one of {}",
            truncated(&self.role, MAX_QUOTED),
            ROLES.join(", ")
        ))
    }

    /// The text parts, joined. Images and other parts are ignored.
    #[must_use]
    pub fn text(&self) -> String {
        match &self.content {
            MessageContent::Null => String::new(),
            MessageContent::Text(text) => text.clone(),
            MessageContent::Parts(parts) => parts
                .iter()
                .filter_map(ContentPart::text)
                .collect::<Vec<_>>()
                .concat(),
        }
    }

    /// The value of the field `name` of `rest`, if it is a string.
    #[must_use]
    pub fn text_of(&self, name: &str) -> Option<String> {
        self.rest.get(name).and_then(string)
    }
}

impl MessageContent {
    /// The parts; empty for other content.
    #[must_use]
    pub fn parts(&self) -> &[ContentPart] {
        match self {
            Self::Parts(parts) => parts,
            Self::Null | Self::Text(_) => &[],
        }
    }
}

impl ContentPart {
    /// The text of the part, if it has one.
    #[must_use]
    pub fn text(&self) -> Option<Cow<'_, str>> {
        match self {
            Self::Text(text) => Some(Cow::Borrowed(text)),
            Self::Fields(fields) => fields.get("text").and_then(string).map(Cow::Owned),
        }
    }

    /// Its `type`; `None` for a plain text.
    #[must_use]
    pub fn kind(&self) -> Option<String> {
        self.field("type").and_then(string)
    }

    /// A field of the part.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&RawJson> {
        match self {
            Self::Text(_) => None,
            Self::Fields(fields) => fields.get(name),
        }
    }

    pub(crate) fn is_valid(&self) -> bool {
        match self {
            Self::Text(_) => true,
            Self::Fields(_) => match self.kind().as_deref() {
                Some("text") => self.text().is_some(),
                Some(_) => true,
                None => UNTYPED_PARTS.iter().any(|name| self.field(name).is_some()),
            },
        }
    }
}

/// The value, if it is a string.
pub(crate) fn string(value: &RawJson) -> Option<String> {
    serde_json::from_str(value.get()).ok()
}

/// A message whose role may be missing, as it is in other interfaces.
pub(crate) struct AnyMessage {
    pub(crate) role: Option<String>,
    pub(crate) content: Option<MessageContent>,
    pub(crate) rest: BTreeMap<String, RawJson>,
}

/// Implemented manually because the derived implementation would parse the flattened fields into
/// values, in which large integers become floats.
impl<'de> Deserialize<'de> for AnyMessage {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Fields;

        impl<'de> Visitor<'de> for Fields {
            type Value = AnyMessage;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a message")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<AnyMessage, A::Error> {
                let (mut role, mut content) = (None, None);
                let mut rest = BTreeMap::new();
                while let Some(name) = fields.next_key::<String>()? {
                    match name.as_str() {
                        "role" if role.is_some() => return Err(A::Error::duplicate_field("role")),
                        "role" => role = Some(fields.next_value()?),
                        "content" if content.is_some() => {
                            return Err(A::Error::duplicate_field("content"));
                        }
                        "content" => content = Some(fields.next_value()?),
                        _ => {
                            rest.insert(name, fields.next_value()?);
                        }
                    }
                }
                Ok(AnyMessage {
                    role,
                    content,
                    rest,
                })
            }
        }

        deserializer.deserialize_map(Fields)
    }
}

impl<'de> Deserialize<'de> for Message {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let any = AnyMessage::deserialize(deserializer)?;
        Ok(Self {
            role: any.role.ok_or_else(|| D::Error::missing_field("role"))?,
            content: any.content.unwrap_or_default(),
            rest: any.rest,
        })
    }
}

impl<'de> Deserialize<'de> for MessageContent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Content;

        impl<'de> Visitor<'de> for Content {
            type Value = MessageContent;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string, null, or an array of parts with a `type`")
            }

            fn visit_unit<E: de::Error>(self) -> Result<MessageContent, E> {
                Ok(MessageContent::Null)
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<MessageContent, E> {
                Ok(MessageContent::Text(text.to_owned()))
            }

            fn visit_string<E: de::Error>(self, text: String) -> Result<MessageContent, E> {
                Ok(MessageContent::Text(text))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<MessageContent, A::Error> {
                let mut parts = Vec::new();
                while let Some(part) = seq.next_element::<ContentPart>()? {
                    if !part.is_valid() {
                        return Err(A::Error::custom(INVALID_CONTENT));
                    }
                    parts.push(part);
                }
                Ok(MessageContent::Parts(parts))
            }

            fn visit_bool<E: de::Error>(self, _: bool) -> Result<MessageContent, E> {
                Err(E::custom(INVALID_CONTENT))
            }

            fn visit_i64<E: de::Error>(self, _: i64) -> Result<MessageContent, E> {
                Err(E::custom(INVALID_CONTENT))
            }

            fn visit_u64<E: de::Error>(self, _: u64) -> Result<MessageContent, E> {
                Err(E::custom(INVALID_CONTENT))
            }

            fn visit_f64<E: de::Error>(self, _: f64) -> Result<MessageContent, E> {
                Err(E::custom(INVALID_CONTENT))
            }

            fn visit_map<A: MapAccess<'de>>(self, _: A) -> Result<MessageContent, A::Error> {
                Err(A::Error::custom(INVALID_CONTENT))
            }
        }

        deserializer.deserialize_any(Content)
    }
}

impl<'de> Deserialize<'de> for ContentPart {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = RawJson::deserialize(deserializer)?;
        let text = raw.get();
        // Fails only if the value is neither a string nor an object.
        let part = if text.starts_with('"') {
            serde_json::from_str(text).map(Self::Text)
        } else {
            serde_json::from_str(text).map(Self::Fields)
        };
        part.map_err(|_| D::Error::custom(INVALID_CONTENT))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn message(json: &str) -> Message {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn numbers_keep_their_digits() {
        let large = "-123456789012345678901234567890";
        let text = format!(
            r#"{{"role":"assistant","content":[{{"input":{{"n":{large}}},"type":"tool_use"}}],"#
        ) + &format!(
            r#""tool_calls":[{{"function":{{"arguments":{{"n":{large},"x":1.50}}}}}}]}}"#
        );
        assert_eq!(serde_json::to_string(&message(&text)).unwrap(), text);
    }

    #[test]
    fn a_message_is_read_from_a_value() {
        let value = json!({
            "role": "assistant", "content": ["a", { "type": "text", "text": "b\n" }, { "type": "image" }],
            "name": "n", "tool_calls": [{ "id": 1 }],
        });
        let read: Message = serde_json::from_value(value.clone()).unwrap();
        assert_eq!(read.text(), "ab\n");
        assert_eq!(read.text_of("name").as_deref(), Some("n"));
        assert_eq!(read.text_of("tool_calls"), None);
        assert_eq!(read.content.parts()[2].kind().as_deref(), Some("image"));
        assert_eq!(serde_json::to_value(&read).unwrap(), value);
        for content in [Value::Null, json!(""), json!([])] {
            let value = json!({ "role": "user", "content": content });
            let read: Message = serde_json::from_value(value.clone()).unwrap();
            assert_eq!(serde_json::to_value(&read).unwrap(), value);
        }
        assert_eq!(message(r#"{"role":"user"}"#).content, MessageContent::Null);
    }

    #[test]
    fn rejects_invalid_content_and_repeated_fields() {
        for content in [
            json!(1),
            json!(-1),
            json!(0.5),
            json!(true),
            json!({ "type": "text", "text": "a" }),
            json!([1]),
            json!([null]),
            json!([["a"]]),
            json!([{ "text": "a" }]),
            json!([{ "type": "text" }]),
            json!([{ "type": "text", "text": 1 }]),
            json!([{ "type": 1 }]),
        ] {
            let text = json!({ "role": "user", "content": content }).to_string();
            let error = serde_json::from_str::<Message>(&text).unwrap_err();
            assert!(
                error.to_string().contains(INVALID_CONTENT),
                "{text}: {error}"
            );
        }
        for (text, reason) in [
            (r#"{"content":"a"}"#, "missing field `role`"),
            (r#"{"role":"user","role":"user"}"#, "duplicate field `role`"),
            (
                r#"{"role":"user","content":"a","content":"b"}"#,
                "duplicate field `content`",
            ),
        ] {
            let error = serde_json::from_str::<Message>(text).unwrap_err();
            assert!(error.to_string().contains(reason), "{text}: {error}");
        }
    }
}

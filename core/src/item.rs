//! An item: one completion and the facts that its grader may read.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::de::{self, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use crate::message::AnyMessage;
use crate::{Hash, Measure, Message, RawJson, message_forms};

/// The output of the model: plain text or a list of messages. Prompts have the same two forms.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Completion {
    /// Plain text.
    Text(Arc<str>),
    /// A list of messages.
    Messages(Arc<[Message]>),
}

/// Implemented manually: the derive for untagged enums would copy every text twice and report no
/// reason.
impl<'de> Deserialize<'de> for Completion {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextOrMessages;

        impl<'de> Visitor<'de> for TextOrMessages {
            type Value = Completion;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string or an array of messages")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Completion, E> {
                Ok(Completion::Text(text.into()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Completion, A::Error> {
                let mut messages = Vec::new();
                while let Some(message) = seq.next_element::<AnyMessage>()? {
                    messages.push(message);
                }
                if messages.is_empty() {
                    return Err(de::Error::custom("a list of messages must not be empty"));
                }
                let messages = message_forms::messages(messages).map_err(de::Error::custom)?;
                Ok(Completion::Messages(messages.into()))
            }
        }

        deserializer.deserialize_any(TextOrMessages)
    }
}

impl Completion {
    /// The text that text graders read: the text itself, or the joined text parts of the last
    /// assistant message. `reasoning_content` and tool messages are ignored.
    #[must_use]
    pub fn text(&self) -> Cow<'_, str> {
        match self {
            Self::Text(text) => Cow::Borrowed(text),
            Self::Messages(messages) => messages
                .iter()
                .rev()
                .find(|message| message.role == "assistant")
                .map(|message| Cow::Owned(message.text()))
                .unwrap_or_default(),
        }
    }

    /// Whether there is anything for a text grader to read: a text or an assistant message.
    #[must_use]
    pub fn has_answer(&self) -> bool {
        match self {
            Self::Text(_) => true,
            Self::Messages(messages) => messages.iter().any(|message| message.role == "assistant"),
        }
    }

    /// Size in bytes of the text, or of the messages as JSON.
    #[must_use]
    pub fn bytes(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Messages(_) => self.to_body().len(),
        }
    }

    /// The stored form: the text itself, or the messages as a JSON array.
    #[must_use]
    pub fn to_body(&self) -> Cow<'_, [u8]> {
        match self {
            Self::Text(text) => Cow::Borrowed(text.as_bytes()),
            // Messages were parsed from JSON, so serialising them does not fail.
            Self::Messages(messages) => {
                Cow::Owned(serde_json::to_vec(messages).unwrap_or_default())
            }
        }
    }

    /// Hash of the content. A text and messages with the same serialised form have different
    /// hashes.
    #[must_use]
    pub fn hash(&self) -> Hash {
        match self {
            Self::Text(text) => Hash::of(text.as_bytes()),
            Self::Messages(_) => Hash::of_parts(&[b"messages", &self.to_body()]),
        }
    }
}

/// Facts that the trainer sends with an item. Known keys have a meaning; other keys are preserved
/// as they were written.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Meta {
    /// Length of the completion in tokens; reported as the measure `tokens`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// The completion was truncated at the length limit.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
    /// The prompt ended inside `<think>`, so the completion starts as reasoning.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub think_open: bool,
    /// All other facts, unparsed: a tree of values would take many times the memory of its text.
    #[serde(flatten)]
    pub rest: BTreeMap<String, RawJson>,
}

impl Meta {
    /// The measures contained in the facts. They are reported in addition to those of the grader.
    pub fn measures(&self) -> impl Iterator<Item = (&'static str, Measure)> {
        let tokens = self.tokens.map(|tokens| ("tokens", tokens as f64));
        let truncated = self.truncated.then_some(("truncated", 1.0));
        let facts = tokens.into_iter().chain(truncated);
        facts.filter_map(|(name, value)| Some((name, Measure::new(value).ok()?)))
    }

    /// The numeric values among the other facts.
    pub fn numbers(&self) -> impl Iterator<Item = (&str, f64)> {
        let is_number = |fact: &RawJson| {
            fact.get()
                .starts_with(|first: char| first == '-' || first.is_ascii_digit())
        };
        let numbers = self.rest.iter().filter(move |(_, fact)| is_number(fact));
        numbers.filter_map(|(name, fact)| {
            Some((name.as_str(), serde_json::from_str(fact.get()).ok()?))
        })
    }

    /// The value of the other fact with this name, if it is a string.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<String> {
        self.rest
            .get(name)
            .and_then(|fact| serde_json::from_str(fact.get()).ok())
    }
}

/// Implemented manually because the derive for flattened fields would build a tree of every value.
impl<'de> Deserialize<'de> for Meta {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Facts;

        impl<'de> Visitor<'de> for Facts {
            type Value = Meta;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of facts")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut facts: A) -> Result<Meta, A::Error> {
                let mut meta = Meta::default();
                let (mut truncated, mut think_open) = (None, None);
                while let Some(name) = facts.next_key::<String>()? {
                    match name.as_str() {
                        "tokens" => once(&mut meta.tokens, "tokens", facts.next_value()?)?,
                        "truncated" => {
                            once(&mut truncated, "truncated", Some(facts.next_value()?))?;
                        }
                        "think_open" => {
                            once(&mut think_open, "think_open", Some(facts.next_value()?))?;
                        }
                        _ => {
                            meta.rest.insert(name, facts.next_value()?);
                        }
                    }
                }
                meta.truncated = truncated.unwrap_or(false);
                meta.think_open = think_open.unwrap_or(false);
                Ok(meta)
            }
        }

        fn once<T, E: de::Error>(
            fact: &mut Option<T>,
            name: &'static str,
            value: Option<T>,
        ) -> Result<(), E> {
            if fact.is_some() {
                return Err(E::duplicate_field(name));
            }
            *fact = value;
            Ok(())
        }

        deserializer.deserialize_map(Facts)
    }
}

/// The input of a grader: one completion and the facts about it.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    /// The prompt, if the trainer sent it.
    pub prompt: Option<Completion>,
    /// The completion to grade.
    pub completion: Completion,
    /// Facts about the completion.
    pub meta: Meta,
}

impl Item {
    /// Hash of everything except the completion.
    #[must_use]
    pub fn context_hash(&self) -> Hash {
        let prompt = self.prompt.as_ref().map(Completion::hash);
        // Facts were parsed from JSON, so serialising them does not fail.
        let facts = serde_json::to_vec(&self.meta).unwrap_or_default();
        Hash::of_parts(&[
            prompt.as_ref().map_or(&[][..], |hash| hash.as_bytes()),
            &facts,
        ])
    }

    /// Creates an item with a plain text and no prompt or facts.
    #[must_use]
    pub fn text(completion: &str) -> Self {
        Self {
            prompt: None,
            completion: Completion::Text(completion.into()),
            meta: Meta::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(json: &str) -> Completion {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn reads_only_the_last_assistant_message() {
        let completion = messages(
            r#"[{"role":"assistant","content":"first"},
                {"role":"assistant",
                 "content":[{"type":"text","text":"a"},{"type":"image"},{"type":"text","text":"b"}],
                 "reasoning_content":"hidden"},
                {"role":"tool","content":"9"}]"#,
        );
        assert_eq!(completion.text(), "ab");
    }

    #[test]
    fn preserves_unknown_fields_of_messages() {
        let completion =
            messages(r#"[{"role":"assistant","content":null,"tool_calls":[{"id":"1"}]}]"#);
        let body = completion.to_body().into_owned();
        assert_eq!(
            serde_json::from_slice::<Completion>(&body).unwrap(),
            completion
        );
        assert_eq!(completion.text(), "");
    }

    #[test]
    fn parses_facts_on_access() {
        let text = r#"{"tokens":7,"cost":0.5,"model":"m \u00e9","flags":[1],"think_open":true}"#;
        let meta: Meta = serde_json::from_str(text).unwrap();
        assert_eq!(
            (meta.tokens, meta.truncated, meta.think_open),
            (Some(7), false, true)
        );
        assert_eq!(meta.numbers().collect::<Vec<_>>(), [("cost", 0.5)]);
        assert_eq!(
            (
                meta.text("model").as_deref(),
                meta.text("cost"),
                meta.text("none")
            ),
            (Some("m é"), None, None)
        );
        let written = serde_json::to_string(&meta).unwrap();
        assert_eq!(serde_json::from_str::<Meta>(&written).unwrap(), meta);
        assert_eq!(
            serde_json::from_value::<Meta>(serde_json::to_value(&meta).unwrap())
                .unwrap()
                .rest
                .len(),
            3
        );
        assert!(serde_json::from_str::<Meta>(r#"{"think_open":null}"#).is_err());
    }

    #[test]
    fn hashes_text_and_messages_differently() {
        let completion = messages(r#"[{"role":"assistant","content":"x"}]"#);
        let body = String::from_utf8(completion.to_body().into_owned()).unwrap();
        assert_ne!(Completion::Text(body.into()).hash(), completion.hash());
    }
}

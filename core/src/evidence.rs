//! Evidence for a grade, as a JSON object that people can read.

use std::borrow::Cow;
use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// Maximum length of one text, in characters. Evidence explains the grade; the completion itself is
/// stored as a body.
pub const MAX_TEXT: usize = 2_000;

/// Most evidence of a mathematical answer is shorter, in bytes.
const USUAL_LENGTH: usize = 256;

/// Named facts that explain a verdict, in the order in which the grader added them.
///
/// They are kept as the text of a JSON object: replies, the record and the cache contain the same
/// text, and few of their readers need the values.
#[derive(Debug, Clone)]
pub struct Evidence(String);

/// The order of the facts does not matter.
impl PartialEq for Evidence {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0 || self.facts() == other.facts()
    }
}

impl Default for Evidence {
    fn default() -> Self {
        let mut empty = String::with_capacity(USUAL_LENGTH);
        empty.push_str("{}");
        Self(empty)
    }
}

impl Evidence {
    /// Creates empty evidence.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a text. It is truncated to [`MAX_TEXT`] characters, with a note of its length in bytes.
    #[must_use]
    pub fn text(self, name: &str, text: &str) -> Self {
        let end = if text.len() > MAX_TEXT {
            text.char_indices().nth(MAX_TEXT)
        } else {
            None
        };
        match end {
            Some((end, _)) => {
                let truncated = format!("{}… ({} bytes in all)", &text[..end], text.len());
                self.fact(name, &truncated)
            }
            None => self.fact(name, text),
        }
    }

    /// Adds any other JSON value. The grader must bound its size.
    #[must_use]
    pub fn value(self, name: &str, value: impl Into<Value>) -> Self {
        self.fact(name, &value.into())
    }

    /// Adds a value that is written as JSON. The grader must bound its size.
    #[must_use]
    pub fn serialized(self, name: &str, value: &impl Serialize) -> Self {
        self.fact(name, value)
    }

    /// Adds a fact, or replaces the fact of that name. Texts and JSON values can be serialised.
    fn fact(mut self, name: &str, value: &(impl Serialize + ?Sized)) -> Self {
        let mut key = serde_json::to_string(name).unwrap_or_default();
        key.push(':');
        if self.0.contains(&key) && self.facts().contains_key(name) {
            return self.replaced(name, value);
        }
        let separator = if self.is_empty() { "" } else { "," };
        self.0.pop();
        let mut text = self.0.into_bytes();
        text.extend_from_slice(separator.as_bytes());
        text.extend_from_slice(key.as_bytes());
        // Texts and JSON values can be serialised, and JSON is UTF-8.
        let _ = serde_json::to_writer(&mut text, value);
        text.push(b'}');
        Self(String::from_utf8(text).unwrap_or_default())
    }

    /// The evidence with another value for the fact `name`.
    fn replaced(&self, name: &str, value: &(impl Serialize + ?Sized)) -> Self {
        let Ordered(facts) = self.read().unwrap_or_default();
        facts.iter().fold(Self::new(), |evidence, (key, old)| {
            if key == name {
                evidence.fact(key, value)
            } else {
                evidence.fact(key, old)
            }
        })
    }

    /// The facts as values.
    #[must_use]
    pub fn facts(&self) -> Map<String, Value> {
        serde_json::from_str(&self.0).unwrap_or_default()
    }

    /// Reads some of the facts; `None` if their types differ from those of `T`.
    #[must_use]
    pub fn read<'e, T: Deserialize<'e>>(&'e self) -> Option<T> {
        serde_json::from_str(&self.0).ok()
    }

    /// The text of the JSON object.
    #[must_use]
    pub fn get(&self) -> &str {
        &self.0
    }

    /// The bytes that are allocated for the text.
    pub(crate) fn capacity(&self) -> usize {
        self.0.capacity()
    }

    /// Whether it is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0 == "{}"
    }
}

impl Serialize for Evidence {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let raw: &RawValue = serde_json::from_str(&self.0).map_err(S::Error::custom)?;
        raw.serialize(serializer)
    }
}

/// Deserialises through [`Value`]s: a [`RawValue`] cannot be read inside an internally tagged enum
/// such as a line of a stream.
impl<'de> Deserialize<'de> for Evidence {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Ordered(facts) = Ordered::deserialize(deserializer)?;
        let add = |evidence: Self, (name, value): &(String, Value)| evidence.fact(name, value);
        Ok(facts.iter().fold(Self::new(), add))
    }
}

/// The facts in their order, which a [`Map`] does not keep.
#[derive(Default)]
struct Ordered(Vec<(String, Value)>);

impl<'de> Deserialize<'de> for Ordered {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Facts;

        impl<'de> Visitor<'de> for Facts {
            type Value = Ordered;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of facts")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut facts: A) -> Result<Ordered, A::Error> {
                let mut ordered = Vec::new();
                while let Some(fact) = facts.next_entry()? {
                    ordered.push(fact);
                }
                Ok(Ordered(ordered))
            }
        }

        deserializer.deserialize_map(Facts)
    }
}

/// A fact that is a text, without spaces around it, as a field of what [`Evidence::read`] reads;
/// `None` for other values.
#[derive(Debug, Default)]
pub struct TextFact<'e>(pub Option<Cow<'e, str>>);

impl<'e> TextFact<'e> {
    /// The text.
    #[must_use]
    pub fn get(&self) -> Option<&str> {
        self.0.as_deref()
    }
}

impl<'de: 'e, 'e> Deserialize<'de> for TextFact<'e> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        /// Borrows a text without escapes.
        #[derive(Deserialize)]
        struct Text<'e>(#[serde(borrow)] Cow<'e, str>);

        let json: &'de RawValue = Deserialize::deserialize(deserializer)?;
        Ok(Self(match serde_json::from_str(json.get()) {
            Ok(Text(Cow::Borrowed(text))) => Some(Cow::Borrowed(text.trim())),
            Ok(Text(Cow::Owned(text))) => Some(Cow::Owned(text.trim().to_owned())),
            Err(_) => None,
        }))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn truncates_long_texts_at_a_character() {
        let evidence = Evidence::new().text("extracted", &"é".repeat(MAX_TEXT + 1));
        let facts = evidence.facts();
        let kept = facts["extracted"].as_str().unwrap();
        assert!(kept.ends_with("… (4002 bytes in all)"), "{kept}");
    }

    #[test]
    fn reads_some_facts_as_texts() {
        #[derive(Deserialize)]
        struct Read<'e> {
            #[serde(borrow)]
            gold: TextFact<'e>,
            #[serde(borrow, default)]
            extracted: TextFact<'e>,
            #[serde(borrow)]
            span: TextFact<'e>,
        }
        let evidence = Evidence::new()
            .value("span", vec![1, 2])
            .text("gold", " \\frac12 ");
        let read: Read<'_> = evidence.read().unwrap();
        assert_eq!(read.gold.get(), Some("\\frac12"));
        assert_eq!((read.extracted.get(), read.span.get()), (None, None));
    }

    #[test]
    fn keeps_order_and_replaces_facts_of_the_same_name() {
        let evidence = Evidence::new()
            .text("b", r#"\frac "a":1"#)
            .value("a", json!([1, { "b": null }]))
            .value("b", 2);
        assert_eq!(
            serde_json::to_string(&evidence).unwrap(),
            r#"{"b":2,"a":[1,{"b":null}]}"#
        );
        assert_eq!(serde_json::to_value(&evidence).unwrap()["b"], 2);
        let read: Evidence = serde_json::from_str(evidence.get()).unwrap();
        assert_eq!(read.get(), evidence.get());
        assert_eq!(
            read,
            Evidence::new()
                .value("a", json!([1, { "b": null }]))
                .value("b", 2)
        );
        assert!(Evidence::new().is_empty() && !evidence.is_empty());
    }
}

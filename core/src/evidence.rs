//! Evidence for a grade, as a JSON object that people can read.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Maximum length of one text, in characters. Evidence explains the grade; the completion itself is
/// stored as a body.
pub const MAX_TEXT: usize = 2_000;

/// Named facts that explain a verdict, in the order in which the grader added them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Evidence(Map<String, Value>);

impl Evidence {
    /// Creates empty evidence.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a text. It is truncated to [`MAX_TEXT`] characters, with a note of its length in bytes.
    #[must_use]
    pub fn text(mut self, name: &str, text: &str) -> Self {
        let truncated = match text.char_indices().nth(MAX_TEXT) {
            Some((end, _)) => format!("{}… ({} bytes in all)", &text[..end], text.len()),
            None => text.to_owned(),
        };
        self.0.insert(name.to_owned(), Value::String(truncated));
        self
    }

    /// Adds any other JSON value. The grader must bound its size.
    #[must_use]
    pub fn value(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.0.insert(name.to_owned(), value.into());
        self
    }

    /// The facts.
    #[must_use]
    pub fn as_map(&self) -> &Map<String, Value> {
        &self.0
    }

    /// Whether it is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn truncates_long_texts_at_a_character() {
        let evidence = Evidence::new().text("extracted", &"é".repeat(MAX_TEXT + 1));
        let kept = evidence.as_map()["extracted"].as_str().unwrap();
        assert!(kept.ends_with("… (4002 bytes in all)"), "{kept}");
    }
}

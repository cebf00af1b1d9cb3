//! Why a grade is what it is, as a JSON object a person can read.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Longest text one piece of evidence keeps, in characters. Evidence explains; the completion
/// itself is kept as a body.
pub const MAX_TEXT: usize = 2_000;

/// Named facts behind a verdict, in the order the grader wrote them down.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Evidence(Map<String, Value>);

impl Evidence {
    /// No evidence yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a text, cut to [`MAX_TEXT`] characters with an ellipsis that says so.
    #[must_use]
    pub fn text(mut self, name: &str, text: &str) -> Self {
        let kept = match text.char_indices().nth(MAX_TEXT) {
            Some((end, _)) => format!("{}… ({} bytes in all)", &text[..end], text.len()),
            None => text.to_owned(),
        };
        self.0.insert(name.to_owned(), Value::String(kept));
        self
    }

    /// Adds any other JSON value. Bounding its size is the grader's duty.
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

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut_at_a_character() {
        let evidence = Evidence::new().text("extracted", &"é".repeat(MAX_TEXT + 1));
        let kept = evidence.as_map()["extracted"].as_str().unwrap();
        assert!(kept.ends_with("… (4002 bytes in all)"), "{kept}");
    }
}

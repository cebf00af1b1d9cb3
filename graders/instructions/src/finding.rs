//! What a check found in a text.

use std::ops::Range;

use serde_json::{Map, Value, json};

/// Longest excerpt in evidence, in characters.
pub(crate) const MAX_EXCERPT: usize = 60;

/// Whether a rule holds, and the facts that decided.
#[derive(Debug)]
pub(crate) struct Finding {
    pub(crate) met: bool,
    pub(crate) facts: Map<String, Value>,
}

impl Finding {
    pub(crate) fn new(met: bool) -> Self {
        Self {
            met,
            facts: Map::new(),
        }
    }

    pub(crate) fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.facts.insert(name.to_owned(), value.into());
        self
    }

    /// Adds an excerpt of a text with its position.
    pub(crate) fn excerpt(self, text: &str, at: Range<usize>) -> Self {
        let end = text[at.clone()]
            .char_indices()
            .nth(MAX_EXCERPT)
            .map_or(at.end, |(end, _)| at.start + end);
        self.with("at", json!([[at.start, at.end]]))
            .with("excerpt", &text[at.start..end])
    }
}

/// What was found for a constraint.
#[derive(Debug)]
pub(crate) struct Checked {
    pub(crate) finding: Finding,
    /// The form of the response that meets it, if that is not the whole one.
    pub(crate) form: Option<&'static str>,
}

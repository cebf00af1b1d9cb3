//! Redaction: texts that match a pattern are replaced before they are stored.
//!
//! Patterns are matched by automata in time linear in the text, and their compiled size is limited.
//! A text that spans several strings of a JSON document is not found.

use std::borrow::Cow;

use regex::{NoExpand, Regex, RegexBuilder};

use super::json_strings::JsonStrings;

/// Maximum number of patterns.
const MAX_PATTERNS: usize = 64;

/// Maximum length of a pattern, in bytes.
const MAX_PATTERN_BYTES: usize = 4_096;

/// Maximum memory of a compiled pattern, and of the states that are cached while it is matched, in
/// bytes.
const MAX_COMPILED_BYTES: usize = 1 << 20;

/// Maximum length of a replacement, in bytes.
const MAX_REPLACEMENT_BYTES: usize = 64;

/// A redacted text is at most this many times as long as the original, plus
/// [`MAX_REPLACEMENT_BYTES`]. A longer one is replaced as a whole, so that short matches with a
/// long replacement do not multiply the size of the record.
const MAX_GROWTH: usize = 2;

/// A named pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redaction {
    /// Its name.
    pub name: String,
    /// A regular expression in the syntax of the `regex` crate.
    pub pattern: String,
    /// The text that replaces each match.
    pub replacement: String,
}

/// A pattern that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RedactionError {
    /// There are too many.
    #[error("at most {MAX_PATTERNS} patterns are allowed: {0}")]
    TooMany(usize),
    /// The pattern is too long.
    #[error("`{name}`: the pattern has {bytes} bytes; at most {MAX_PATTERN_BYTES} are allowed")]
    TooLong {
        /// Its name.
        name: String,
        /// Its length.
        bytes: usize,
    },
    /// The replacement is too long.
    #[error(
        "`{name}`: the replacement has {bytes} bytes; at most {MAX_REPLACEMENT_BYTES} are allowed"
    )]
    ReplacementTooLong {
        /// Name of the pattern.
        name: String,
        /// Length of the replacement.
        bytes: usize,
    },
    /// It is not a regular expression, or too large when compiled.
    #[error("`{name}`: {reason}")]
    Invalid {
        /// Its name.
        name: String,
        /// Why.
        reason: String,
    },
    /// It matches the empty text, so it would match everywhere.
    #[error("`{name}`: the pattern matches the empty text; require at least one character")]
    MatchesNothing {
        /// Its name.
        name: String,
    },
}

#[derive(Debug, Clone)]
struct Rule {
    pattern: Regex,
    replacement: String,
}

/// Replaces what matches the patterns, in their order.
#[derive(Debug, Clone, Default)]
pub struct Redactor {
    rules: Vec<Rule>,
}

impl Redactor {
    /// Compiles the patterns.
    ///
    /// # Errors
    /// [`RedactionError`] for the first pattern that cannot be used.
    pub fn new(redactions: &[Redaction]) -> Result<Self, RedactionError> {
        if redactions.len() > MAX_PATTERNS {
            return Err(RedactionError::TooMany(redactions.len()));
        }
        let rules = redactions.iter().map(compile).collect::<Result<_, _>>()?;
        Ok(Self { rules })
    }

    /// Whether there are no patterns.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// The redacted text; `None` if nothing matches.
    #[must_use]
    pub fn text(&self, text: &str) -> Option<String> {
        let mut redacted = Cow::Borrowed(text);
        for rule in &self.rules {
            let replaced = rule
                .pattern
                .replace_all(&redacted, NoExpand(&rule.replacement));
            if let Cow::Owned(new) = replaced {
                if new.len() > text.len() * MAX_GROWTH + MAX_REPLACEMENT_BYTES {
                    return Some(rule.replacement.clone());
                }
                redacted = Cow::Owned(new);
            }
        }
        match redacted {
            Cow::Borrowed(_) => None,
            Cow::Owned(redacted) => Some(redacted),
        }
    }

    /// The JSON text with redacted strings; `None` if nothing matches.
    pub(crate) fn json(&self, strings: JsonStrings, json: &str) -> Option<String> {
        if self.is_empty() {
            return None;
        }
        strings.replace(json, |string| self.text(string))
    }

    /// Redacts an optional JSON text; returns whether it changed.
    pub(crate) fn json_field(&self, strings: JsonStrings, json: &mut Option<String>) -> bool {
        let redacted = json.as_deref().and_then(|json| self.json(strings, json));
        let changed = redacted.is_some();
        if changed {
            *json = redacted;
        }
        changed
    }
}

fn compile(redaction: &Redaction) -> Result<Rule, RedactionError> {
    let Redaction {
        name,
        pattern,
        replacement,
    } = redaction;
    let name = || name.clone();
    if pattern.len() > MAX_PATTERN_BYTES {
        return Err(RedactionError::TooLong {
            name: name(),
            bytes: pattern.len(),
        });
    }
    if replacement.len() > MAX_REPLACEMENT_BYTES {
        return Err(RedactionError::ReplacementTooLong {
            name: name(),
            bytes: replacement.len(),
        });
    }
    let compiled = RegexBuilder::new(pattern)
        .size_limit(MAX_COMPILED_BYTES)
        .dfa_size_limit(MAX_COMPILED_BYTES)
        .build()
        .map_err(|error| RedactionError::Invalid {
            name: name(),
            reason: error.to_string(),
        })?;
    if compiled.is_match("") {
        return Err(RedactionError::MatchesNothing { name: name() });
    }
    Ok(Rule {
        pattern: compiled,
        replacement: replacement.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn redaction(name: &str, pattern: &str, replacement: &str) -> Redaction {
        Redaction {
            name: name.to_owned(),
            pattern: pattern.to_owned(),
            replacement: replacement.to_owned(),
        }
    }

    fn redactor(patterns: &[(&str, &str)]) -> Redactor {
        let redactions: Vec<Redaction> = patterns
            .iter()
            .map(|(pattern, replacement)| redaction("name", pattern, replacement))
            .collect();
        Redactor::new(&redactions).unwrap()
    }

    #[test]
    fn replaces_every_match_of_every_pattern_literally() {
        let redactor = redactor(&[(r"\d{3}-\d{4}", "$0"), (r"(?i)alice", "[name]")]);
        assert_eq!(
            redactor.text("Alice: 555-1234, 555-9999").unwrap(),
            "[name]: $0, $0"
        );
        assert_eq!(redactor.text("nothing here"), None);
        assert_eq!(Redactor::default().text("555-1234"), None);
    }

    #[test]
    fn replaces_the_whole_text_if_it_would_grow_too_much() {
        let redactor = redactor(&[("a", &"x".repeat(64))]);
        assert_eq!(redactor.text(&"a".repeat(1_000)).unwrap(), "x".repeat(64));
        assert_eq!(redactor.text("a").unwrap(), "x".repeat(64));
    }

    #[test]
    fn matches_nested_repetitions_in_linear_time() {
        let redactor = redactor(&[("(a|aa)+$", "[a]")]);
        let text = format!("{}b", "a".repeat(1 << 20));
        assert_eq!(redactor.text(&text), None);
    }

    #[test]
    fn rejects_patterns_that_cannot_be_used() {
        let error = |redactions: &[Redaction]| Redactor::new(redactions).unwrap_err().to_string();
        assert!(error(&[redaction("open", "(", "")]).starts_with("`open`: regex parse error"));
        assert!(error(&[redaction("large", "(?:a{1000}){1000}", "")]).contains("size limit"));
        assert!(error(&[redaction("all", "a*", "")]).contains("matches the empty text"));
        assert!(error(&[redaction("long", &"a".repeat(5_000), "")]).contains("5000 bytes"));
        assert!(error(&[redaction("wide", "a", &"b".repeat(65))]).contains("65 bytes"));
        assert!(error(&vec![redaction("a", "a", ""); 65]).contains("at most 64"));
    }
}

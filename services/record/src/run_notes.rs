//! What operators note about a run: tags, a note, and whether lists leave it out.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Maximum number of tags of a run.
pub const MAX_TAGS: usize = 16;

/// Maximum length of a tag, in bytes.
pub const MAX_TAG_BYTES: usize = 64;

/// Maximum length of the note of a run, in bytes.
pub const MAX_NOTE_BYTES: usize = 4_096;

/// Changes of what is noted about a run. Fields that are absent stay as they are.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = RunChanges)]
pub struct RunChanges {
    /// The tags, in place of those that the run has: at most 16, each with at most 64 characters
    /// of `a-z`, `0-9`, `.`, `_` and `-`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tags: Option<Vec<String>>,
    /// The note, in place of the one that the run has; at most 4,096 bytes. Empty for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Whether lists of runs leave the run out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub archived: Option<bool>,
}

/// Why changes of a run are rejected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct InvalidRunChanges {
    /// The field, as a JSON pointer.
    pub pointer: String,
    /// What is wrong, and what is allowed.
    pub message: String,
}

impl RunChanges {
    /// Checks the limits of all fields.
    ///
    /// # Errors
    /// [`InvalidRunChanges`] for the first field that exceeds them, or if there is no field.
    pub fn check(&self) -> Result<(), InvalidRunChanges> {
        let invalid = |pointer: String, message: String| InvalidRunChanges { pointer, message };
        if *self == Self::default() {
            let message = "nothing to change; send `tags`, `note` or `archived`";
            return Err(invalid(String::new(), message.to_owned()));
        }
        let tags = self.tags.as_deref().unwrap_or_default();
        if tags.len() > MAX_TAGS {
            let message = format!("a run has at most {MAX_TAGS} tags, not {}", tags.len());
            return Err(invalid("/tags".to_owned(), message));
        }
        if let Some(at) = tags.iter().position(|tag| !is_tag(tag)) {
            let message = format!(
                "a tag must have 1 to {MAX_TAG_BYTES} characters of `a-z`, `0-9`, `.`, `_` and `-`"
            );
            return Err(invalid(format!("/tags/{at}"), message));
        }
        let note = self.note.as_deref().unwrap_or_default();
        if note.len() > MAX_NOTE_BYTES {
            let message = format!("the note is longer than {MAX_NOTE_BYTES} bytes; shorten it");
            return Err(invalid("/note".to_owned(), message));
        }
        let is_invisible = |c: char| c.is_control() && !['\n', '\t'].contains(&c);
        if note.contains(is_invisible) {
            let message = "the note has control characters other than line feeds and tabs";
            return Err(invalid("/note".to_owned(), message.to_owned()));
        }
        Ok(())
    }
}

/// Whether a text is a valid tag.
#[must_use]
pub fn is_tag(tag: &str) -> bool {
    let is_valid = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "._-".contains(c);
    (1..=MAX_TAG_BYTES).contains(&tag.len()) && tag.chars().all(is_valid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejects_what_exceeds_the_limits() {
        let tags = |tags: &[&str]| RunChanges {
            tags: Some(tags.iter().map(|tag| (*tag).to_owned()).collect()),
            ..RunChanges::default()
        };
        let note = |note: &str| RunChanges {
            note: Some(note.to_owned()),
            ..RunChanges::default()
        };
        let long = "x".repeat(MAX_TAG_BYTES + 1);
        for (changes, pointer) in [
            (RunChanges::default(), ""),
            (tags(&["a"; MAX_TAGS + 1]), "/tags"),
            (tags(&["a", ""]), "/tags/1"),
            (tags(&["A"]), "/tags/0"),
            (tags(&["a b"]), "/tags/0"),
            (tags(&["ü"]), "/tags/0"),
            (tags(&[&long]), "/tags/0"),
            (note(&"x".repeat(MAX_NOTE_BYTES + 1)), "/note"),
            (note("a\u{0}"), "/note"),
        ] {
            assert_eq!(changes.check().unwrap_err().pointer, pointer, "{changes:?}");
        }
        for changes in [
            tags(&[]),
            tags(&["a.b_c-9", &long[1..]]),
            note("a\n\tb"),
            note(""),
        ] {
            assert_eq!(changes.check(), Ok(()), "{changes:?}");
        }
    }
}

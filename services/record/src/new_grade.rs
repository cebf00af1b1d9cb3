//! A grade as it is recorded.

use crate::facts::{GradeFacts, Measured};
use crate::{GradeSource, ItemGrade, StoredGrade};

/// A grade to record: the fields of its row, and its document.
#[derive(Debug, Clone, PartialEq)]
pub struct NewGrade {
    /// The fields that columns, counts and lists use.
    pub row: StoredGrade,
    /// What follows from its evidence.
    pub facts: GradeFacts,
    /// What the engine measured besides.
    pub measured: Measured,
    /// Whether its policy has no judge for its channel, so that no judge could have checked it.
    pub unjudged: bool,
    /// The whole grade as JSON; empty once the packs of its entry contain it.
    pub(crate) document: String,
}

impl NewGrade {
    /// A grade. `redact` returns the JSON of the grade with replaced texts, or `None` if there is
    /// nothing to replace.
    #[must_use]
    pub fn new(
        source: GradeSource,
        grade: &ItemGrade,
        redact: impl FnOnce(&str) -> Option<String>,
    ) -> Self {
        // Finite numbers and string keys can be serialised.
        let json = serde_json::to_string(grade).unwrap_or_default();
        let redacted = redact(&json);
        let facts = match &redacted {
            // Parts of the texts must not be stored.
            Some(redacted) => serde_json::from_str(redacted)
                .map(|grade| GradeFacts::of(&grade))
                .unwrap_or_default(),
            None => GradeFacts::of(grade),
        };
        let mut document = redacted.unwrap_or(json);
        for (name, sent) in [("meta", &source.meta), ("checks", &source.checks)] {
            let Some(sent) = sent else { continue };
            document.pop();
            document.extend([",\"", name, "\":", sent.get(), "}"]);
        }
        let source = GradeSource {
            meta: None,
            checks: None,
            ..source
        };
        Self {
            row: StoredGrade {
                source,
                grade: grade.row(),
            },
            facts,
            measured: Measured::default(),
            unjudged: false,
            document,
        }
    }

    /// The same grade of an item whose policy has no judge for its channel, if `unjudged`.
    #[must_use]
    pub fn with_unjudged(self, unjudged: bool) -> Self {
        Self { unjudged, ..self }
    }

    /// The same grade with what the engine measured.
    #[must_use]
    pub fn with_measured(self, measured: Measured) -> Self {
        Self { measured, ..self }
    }

    /// The row of a grade whose document is stored separately.
    pub(crate) fn read(source: GradeSource, document: &str) -> serde_json::Result<Self> {
        let grade: ItemGrade = serde_json::from_str(document)?;
        let facts = GradeFacts::of(&grade);
        let grade = grade.row();
        Ok(Self {
            row: StoredGrade { source, grade },
            facts,
            measured: Measured::default(),
            unjudged: false,
            document: String::new(),
        })
    }

    /// The grade as reads return it.
    ///
    /// # Errors
    /// If the document is not that of a grade.
    pub fn stored(&self) -> serde_json::Result<StoredGrade> {
        StoredGrade::read(self.row.source.clone(), &self.document)
    }
}

impl From<StoredGrade> for NewGrade {
    fn from(stored: StoredGrade) -> Self {
        Self::new(stored.source, &stored.grade, |_| None)
    }
}

#[cfg(test)]
mod tests {
    use assay_core::clock::BatchId;
    use assay_core::{Hash, RawJson};

    use super::*;

    #[test]
    fn values_as_deep_as_requests_may_send_are_read_back() {
        let value = format!("{}{}", "[".repeat(100), "]".repeat(100));
        let mut sent = StoredGrade::passed(BatchId::default(), 0, Hash::of(b"completion"));
        sent.source.meta = RawJson::stored(&format!(r#"{{"x":{value}}}"#));
        sent.source.checks = RawJson::stored(&format!(r#"{{"c":{{"type":"text","x":{value}}}}}"#));
        let stored = NewGrade::from(sent.clone()).stored().unwrap();
        assert_eq!(stored, sent);
        let json = serde_json::to_string(&stored).unwrap();
        let shown: StoredGrade = serde_json::from_str(&json).unwrap();
        assert_eq!(shown.source.meta, sent.source.meta);
    }
}

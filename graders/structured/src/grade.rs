//! Grades a completion: finds the document, parses it, validates it against the schema and
//! compares it.

use std::collections::BTreeMap;
use std::sync::Arc;

use assay_core::{Evidence, Grade, Item, Measure, Outcome, PureGrader, Score, Verdict};
use assay_documents::schema::Violation;
use assay_documents::{Json, Schema, SyntaxError};

use crate::call::{CallDocument, read_call};
use crate::compare::Expected;
use crate::extract::{Candidate, extract, whole};
use crate::formats::Format;
use crate::levels::Levels;
use crate::requirements::Wanted;
use crate::source::Source;
use crate::task::Extract;
use crate::typing::{Patterns, Preference, Typing, typed};
use crate::{evidence, verdict};

/// A task whose schema is compiled.
pub(crate) struct PreparedStructured {
    pub(crate) format: Format,
    pub(crate) extract: Extract,
    /// The tool whose call contains the document.
    pub(crate) tool: Option<String>,
    /// Decides which of several documents in prose is used.
    pub(crate) wanted: Wanted,
    pub(crate) schema: Option<Arc<Schema>>,
    /// The patterns of the schema, to type scalars of an untyped format.
    pub(crate) patterns: Patterns,
    pub(crate) expected: Option<Expected>,
    /// The levels of partial scores, if the task has them.
    pub(crate) levels: Option<Levels>,
}

impl PureGrader for PreparedStructured {
    fn grade_one(&self, item: &Item) -> Outcome {
        if let Some(tool) = &self.tool {
            return Outcome::Graded(self.grade_call(item, tool));
        }
        let completion = item.completion.text();
        let visible = Source::visible(&completion, item.meta.think_open);
        let candidates = match self.extract {
            Extract::Auto => extract(self.format, &visible, &self.wanted),
            Extract::Whole => whole(self.format, &visible),
        };
        let Some((candidate, read)) = self.read(candidates, item.meta.truncated) else {
            return Outcome::Graded(Grade::new(Verdict::NO_ANSWER, Score::ZERO));
        };
        let evidence = evidence::of_document(self.format, &candidate);
        let mut grade = match read {
            Ok(document) => self.grade_document(document, evidence),
            Err(error) => {
                let evidence =
                    evidence::with_syntax_error(evidence, &error, &candidate, &completion);
                Grade::new(verdict::MALFORMED, Score::ZERO).with_evidence(evidence)
            }
        };
        let bytes = candidate.source.text().len();
        grade.work = bytes as u64;
        grade.measures = measures(bytes, visible.text().len());
        Outcome::Graded(grade)
    }

    fn bytes(&self) -> usize {
        size_of::<Self>()
            + self.wanted.bytes()
            + self.patterns.bytes()
            + self.schema.as_deref().map_or(0, Schema::bytes)
            + self.expected.as_ref().map_or(0, Expected::bytes)
            + self.levels.as_ref().map_or(0, Levels::bytes)
    }
}

impl PreparedStructured {
    /// The grade of a document in a call.
    fn grade_call(&self, item: &Item, tool: &str) -> Grade {
        let span = |span: [usize; 2]| vec![span[0] as u64, span[1] as u64];
        match read_call(item, tool, self.schema.as_deref().map(Schema::source)) {
            CallDocument::Missing => Grade::new(Verdict::NO_ANSWER, Score::ZERO),
            CallDocument::Malformed(error, range) => {
                let evidence = Evidence::new()
                    .text("extraction", "call")
                    .value("span", span(range));
                let evidence = evidence.text("reason", &error.reason).value("at", error.at);
                Grade::new(verdict::MALFORMED, Score::ZERO).with_evidence(evidence)
            }
            CallDocument::Document(document, range) => {
                let text = document.to_string();
                let evidence = Evidence::new()
                    .text("document", &text)
                    .value("span", span(range));
                let mut grade = self.grade_document(
                    document,
                    evidence.text("extraction", "call").text("format", "json"),
                );
                grade.work = text.len() as u64;
                grade.measures = measures(text.len(), text.len());
                grade
            }
        }
    }

    /// The first well-formed candidate, or else the first one with its syntax error. If the
    /// completion is truncated, a document at its end must show its own end.
    fn read<'a>(
        &self,
        candidates: Vec<Candidate<'a>>,
        is_truncated: bool,
    ) -> Option<(Candidate<'a>, Result<Json, SyntaxError>)> {
        let mut first = None;
        for mut candidate in candidates {
            let read = candidate
                .document
                .take()
                .unwrap_or_else(|| self.format.read(candidate.source.text()));
            let read = read.and_then(|document| {
                if is_truncated && candidate.rule == "whole" && !self.format.has_end(&document) {
                    let reason = "the completion is truncated, and nothing ends the document";
                    return Err(SyntaxError::new(candidate.source.text().len(), reason));
                }
                Ok(document)
            });
            match read {
                Ok(document) => return Some((candidate, Ok(document))),
                Err(error) => {
                    first.get_or_insert((candidate, Err(error)));
                }
            }
        }
        first
    }

    /// The document with the types that the task requires, and its violation of the schema, if the
    /// task has one.
    fn validated(&self, document: Json) -> (Json, Option<Option<Violation>>) {
        let violation = |document: &Json| {
            let schema = self.schema.as_deref();
            schema.map(|schema| schema.violation(document))
        };
        if !self.format.is_untyped() {
            let violation = violation(&document);
            return (document, violation);
        }
        let typing = Typing {
            schema: self.schema.as_deref().map(Schema::source),
            patterns: &self.patterns,
            expected: self.expected.as_ref().map(|expected| &expected.value),
            is_ordered: self.expected.as_ref().is_none_or(Expected::is_ordered),
        };
        let document = typed(document, typing, Preference::Text);
        let found = violation(&document);
        if !matches!(found, Some(Some(_))) {
            return (document, found);
        }
        // A string may be allowed somewhere, but not this one.
        let other = typed(document.clone(), typing, Preference::Scalar);
        if other != document && matches!(violation(&other), Some(None)) {
            return (other, Some(None));
        }
        (document, found)
    }

    fn grade_document(&self, document: Json, mut evidence: Evidence) -> Grade {
        let (document, violation) = self.validated(document);
        let is_expected = self
            .expected
            .as_ref()
            .map(|expected| expected.equals(&document));
        let is_valid = violation.as_ref().map(Option::is_none);
        let verdict = match (is_valid, is_expected) {
            (Some(false), _) => verdict::INVALID,
            (_, Some(false)) => verdict::WRONG_VALUE,
            _ => Verdict::CORRECT,
        };
        if let Some(violation) = violation.flatten() {
            evidence = evidence::with_violation(evidence, &violation);
        }
        // With partial scores, differences are listed even if the document violates the schema.
        if let Some(expected) = &self.expected
            && is_expected == Some(false)
            && (verdict == verdict::WRONG_VALUE || self.levels.is_some())
        {
            evidence = evidence::with_differences(evidence, expected, &document);
        }
        let Some(levels) = &self.levels else {
            return Grade::all_or_nothing(verdict).with_evidence(evidence);
        };
        let values = self
            .expected
            .as_ref()
            .zip(is_expected)
            .map(|(expected, is_equal)| expected.share(&document, is_equal));
        let reached = levels.reached(&document, is_valid, values);
        let score = Score::new(reached.score(verdict == Verdict::CORRECT)).unwrap_or(Score::ZERO);
        evidence = evidence.value("levels", reached.table());
        if verdict == Verdict::CORRECT || score == Score::ZERO {
            return Grade::new(verdict, score).with_evidence(evidence);
        }
        Grade::new(Verdict::PARTIAL, score).with_evidence(evidence.text("reason", verdict.as_str()))
    }
}

fn measures(bytes: usize, visible: usize) -> BTreeMap<&'static str, Measure> {
    let numbers = [
        ("bytes", bytes as f64),
        ("outside", visible.saturating_sub(bytes) as f64),
    ];
    numbers
        .into_iter()
        .filter_map(|(name, number)| Some((name, Measure::new(number).ok()?)))
        .collect()
}

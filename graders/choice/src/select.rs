//! Which options a completion selects.

use std::collections::{BTreeMap, BTreeSet};

use assay_core::{GradeContext, Item, Meta, Nested, Outcome};
use assay_extraction::choice::{labels, option_text};
use assay_extraction::{Extracted, Mode, Options, Rule, extract};

use crate::task::Extract;
use crate::texts::comparable;

/// The options of a task as they are shown.
pub(crate) struct Shown {
    pub(crate) labels: Vec<String>,
    /// Texts in the order of the labels.
    pub(crate) texts: Vec<String>,
    /// The texts in the form in which they are compared.
    pub(crate) comparable: Vec<String>,
    pub(crate) by_label: BTreeMap<String, String>,
    /// The tasks that compare an answer with the values of options that have one.
    pub(crate) values: Vec<Option<Nested>>,
    pub(crate) extract: Extract,
    pub(crate) language: Option<String>,
}

/// What a completion selects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Selection {
    /// Positions of the selected options.
    pub(crate) options: BTreeSet<usize>,
    /// How they were recognised: `label`, `text` or `value`; `alternatives` or `contradiction` if
    /// they are no choice.
    pub(crate) by: &'static str,
    pub(crate) text: String,
    pub(crate) span: (usize, usize),
    pub(crate) extraction: Rule,
}

impl Selection {
    fn new(
        found: &Extracted<'_>,
        by: &'static str,
        options: impl IntoIterator<Item = usize>,
    ) -> Self {
        Self {
            options: options.into_iter().collect(),
            by,
            text: found.text.to_string(),
            span: (found.span.start, found.span.end),
            extraction: found.rule,
        }
    }

    /// Whether it is a choice, and not alternatives or a contradiction.
    pub(crate) fn is_choice(&self) -> bool {
        matches!(self.by, "label" | "text" | "value")
    }
}

impl Shown {
    /// The selection of a completion; `None` if it selects nothing.
    pub(crate) async fn selection(
        &self,
        text: &str,
        meta: &Meta,
        cx: &GradeContext,
    ) -> Option<Selection> {
        let with = |choices| Options {
            mode: match self.extract {
                Extract::Auto => Mode::Auto,
                Extract::Boxed => Mode::Boxed,
                Extract::Whole => Mode::Whole,
            },
            think_open: meta.think_open,
            choices,
            yes_no: false,
            language: self.language.as_deref(),
        };
        let lettered = extract(text, &with(true));
        let labelled = lettered
            .as_ref()
            .and_then(|found| self.by_label(text, found));
        // A label that an explicit statement gives needs no other reading, unless it is a part of
        // the text of an option, as in "Vitamin C".
        if let Some(selection) = &labelled
            && !self.has_label_in_text(selection)
        {
            return labelled;
        }
        let plain = extract(text, &with(false));
        let by_text = plain.as_ref().and_then(|found| self.by_text(found));
        match (labelled, by_text) {
            (Some(label), Some(text)) => {
                let inside = text.span.0 <= label.span.0 && label.span.1 <= text.span.1;
                Some(if inside { text } else { label })
            }
            (Some(selection), None) | (None, Some(selection)) => Some(selection),
            (None, None) => {
                let found = plain.or(lettered)?;
                Some(self.by_value(&found, cx).await.unwrap_or(Selection::new(
                    &found,
                    "nothing",
                    [],
                )))
            }
        }
    }

    /// The selection if the answer starts with labels.
    fn by_label(&self, text: &str, found: &Extracted<'_>) -> Option<Selection> {
        let known: Vec<&str> = self.labels.iter().map(String::as_str).collect();
        let read = labels::read(&found.text, &known)?;
        let options = read.labels.iter().filter_map(|label| self.position(label));
        let is_closed = labels::is_closed(read.rest) || read.alternatives;
        if !is_closed && !self.comparable.contains(&comparable(read.rest)) {
            return None;
        }
        let by = if read.alternatives {
            "alternatives"
        } else if self.is_contradicted(text, found, &read) {
            "contradiction"
        } else {
            "label"
        };
        Some(Selection::new(found, by, options))
    }

    fn position(&self, label: &str) -> Option<usize> {
        self.labels.iter().position(|own| own == label)
    }

    /// Whether the text of another option follows a label.
    fn is_contradicted(
        &self,
        text: &str,
        found: &Extracted<'_>,
        read: &labels::Labels<'_>,
    ) -> bool {
        let [label] = read.labels.as_slice() else {
            return false;
        };
        let own = self.position(label);
        let rest = if read.rest.is_empty() {
            String::new()
        } else {
            comparable(read.rest)
        };
        if !rest.is_empty() {
            let other = self.comparable.iter().position(|text| *text == rest);
            return other.is_some_and(|other| {
                Some(other) != own && own.is_none_or(|own| self.comparable[own] != rest)
            });
        }
        let after = text.get(found.span.end..).unwrap_or_default();
        option_text::contradicting(label, after, &self.by_label).is_some()
    }

    /// Whether the text of an option has a selected label as one of its words.
    fn has_label_in_text(&self, selection: &Selection) -> bool {
        let is_word = |label: &str, text: &str| {
            text.split(|c: char| !c.is_alphanumeric())
                .any(|word| word == label)
        };
        selection.options.iter().any(|option| {
            self.texts
                .iter()
                .any(|text| is_word(&self.labels[*option], text))
        })
    }

    /// The selection if the answer is the text of an option.
    fn by_text(&self, found: &Extracted<'_>) -> Option<Selection> {
        let given = comparable(&found.text);
        let same = |text: &String| !text.is_empty() && *text == given;
        let option = self.comparable.iter().position(same)?;
        Some(Selection::new(found, "text", [option]))
    }

    /// The selection if the answer has the value of exactly one option.
    async fn by_value(&self, found: &Extracted<'_>, cx: &GradeContext) -> Option<Selection> {
        let item = Item::text(&found.text);
        let mut equal = Vec::new();
        for (option, value) in self.values.iter().enumerate() {
            let Some(value) = value else { continue };
            if let Outcome::Graded(grade) = value.grade(&item, cx).await
                && grade.score.get() == 1.0
            {
                equal.push(option);
            }
        }
        (equal.len() == 1).then(|| Selection::new(found, "value", equal))
    }
}

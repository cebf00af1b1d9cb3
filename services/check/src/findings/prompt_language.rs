//! `prompt-language`: nearly all prompts are in one language, and this one is in another.

use std::collections::BTreeMap;

use super::Sink;
use super::code::{Code, code};
use super::rule::DatasetRule;
use crate::graded_row::{GradedRow, excerpt};
use crate::reading::language::language;
use crate::row::RowLocation;
use crate::thresholds::is_share;

pub(super) const CODE: Code = code!("prompt-language", Warning);

/// Minimum number of prompts of a known language for a finding.
const MIN_PROMPTS: u64 = 20;

/// Maximum number of rows kept for each language.
const MAX_ROWS: usize = 1_000;

/// The languages so far.
#[derive(Default)]
pub(super) struct Languages(BTreeMap<&'static str, Prompts>);

#[derive(Default)]
struct Prompts {
    count: u64,
    /// Location, key and start of the first prompts.
    first: Vec<(RowLocation, String, String)>,
}

impl DatasetRule for Languages {
    fn add_row(&mut self, row: &GradedRow, _sink: &mut Sink<'_>) {
        let prompt = row
            .subject
            .as_ref()
            .ok()
            .and_then(|subject| subject.prompt.as_deref());
        let Some((prompt, language)) = prompt.and_then(|prompt| Some((prompt, language(prompt)?)))
        else {
            return;
        };
        let prompts = self.0.entry(language).or_default();
        prompts.count += 1;
        if prompts.first.len() < MAX_ROWS {
            prompts
                .first
                .push((row.location.clone(), row.key.clone(), excerpt(prompt)));
        }
    }

    fn finish(&mut self, sink: &mut Sink<'_>) {
        let all: u64 = self.0.values().map(|prompts| prompts.count).sum();
        let share = sink.thresholds().main_language_share;
        let is_main = |prompts: &Prompts| is_share(prompts.count, all, share);
        let main = self.0.iter().find(|(_, prompts)| is_main(prompts));
        let Some(main) = main
            .map(|(language, _)| *language)
            .filter(|_| all >= MIN_PROMPTS)
        else {
            return;
        };
        for (language, prompts) in self.0.iter().filter(|(language, _)| **language != main) {
            for (location, key, start) in &prompts.first {
                let message = format!(
                    "the prompt `{start}` seems to be in {language}, but nearly all others are in \
                     {main}"
                );
                sink.add(&CODE, location, key, message);
            }
        }
    }
}

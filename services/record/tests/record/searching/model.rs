//! Searches equal a model.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use assay_record::{GradeFilter, TextQuery};
use proptest::prelude::*;
use proptest::sample::select;

use super::{indexed, searching, texts};
use crate::fixture::{all, change, record};

const WORDS: [&str; 8] = [
    "alpha", "Alphabet", "beta", "gamma", "Éclair", "x-ray", "delta42", "NOT",
];

fn passage() -> impl Strategy<Value = String> {
    let word = (
        select(&WORDS[..]),
        select(&[" ", ", ", "\n", "(", "\"", " -"][..]),
    );
    prop::collection::vec(word, 0..8).prop_map(|words| {
        let words = words.into_iter();
        words
            .map(|(word, separator)| format!("{word}{separator}"))
            .collect()
    })
}

/// A term of a search, as the model sees it.
#[derive(Debug, Clone)]
struct Term {
    words: Vec<String>,
    is_prefix: bool,
    is_excluded: bool,
}

impl Term {
    fn written(&self) -> String {
        let sign = if self.is_excluded { "-" } else { "" };
        let words = self.words.join(" ");
        if self.is_prefix {
            format!("{sign}{words}*")
        } else {
            format!("{sign}\"{words}\"")
        }
    }

    fn occurs(&self, tokens: &[String]) -> bool {
        let words: Vec<String> = self.words.iter().flat_map(|word| tokens_of(word)).collect();
        tokens.windows(words.len()).any(|window| {
            let pairs = window.iter().zip(&words).enumerate();
            pairs.into_iter().all(|(at, (token, word))| {
                let is_open = self.is_prefix && at + 1 == words.len();
                token == word || is_open && token.starts_with(word.as_str())
            })
        })
    }
}

fn tokens_of(text: &str) -> Vec<String> {
    let text = text.to_lowercase().replace('é', "e");
    let words = text.split(|c: char| !c.is_alphanumeric());
    words
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect()
}

fn term() -> impl Strategy<Value = Term> {
    let phrase = prop::collection::vec(select(&WORDS[..]), 1..3).prop_map(|words| Term {
        words: words.into_iter().map(str::to_owned).collect(),
        is_prefix: false,
        is_excluded: false,
    });
    let prefix = (select(&WORDS[..4]), 3..6usize).prop_map(|(word, length)| Term {
        words: vec![tokens_of(word).concat().chars().take(length).collect()],
        is_prefix: true,
        is_excluded: false,
    });
    (
        prop_oneof![3 => phrase, 2 => prefix],
        prop::bool::weighted(0.3),
    )
        .prop_map(|(term, is_excluded)| Term {
            is_excluded,
            ..term
        })
}

fn filters() -> impl Strategy<Value = (Vec<Term>, GradeFilter)> {
    let terms = (term(), prop::collection::vec(term(), 0..3)).prop_map(|(first, others)| {
        let first = Term {
            is_excluded: false,
            ..first
        };
        [vec![first], others].concat()
    });
    let others = (
        prop::option::weighted(0.3, select(vec!["correct", "wrong_answer"])),
        prop::option::weighted(0.3, select(vec!["run-a", "run-b", "run-c"])),
        prop::option::weighted(0.2, 0..3i64),
        prop::option::weighted(0.2, 0..3i64),
    );
    (terms, others).prop_map(|(terms, (verdict, run, step, step_min))| {
        let written: Vec<String> = terms.iter().map(Term::written).collect();
        let query: TextQuery = written.join(" ").parse().unwrap();
        let filter = GradeFilter {
            verdicts: verdict.into_iter().map(str::to_owned).collect(),
            run: run.map(str::to_owned),
            step,
            step_min,
            text: Some(query),
            ..GradeFilter::default()
        };
        (terms, filter)
    })
}

type Texts = (String, Option<String>);

fn entries() -> impl Strategy<Value = Vec<(u64, u32, Vec<Texts>)>> {
    let grade = (passage(), prop::option::of(passage()));
    let entry = (0..4u64, 0..4u32, prop::collection::vec(grade, 0..4));
    prop::collection::vec(entry, 0..8)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn searches_equal_the_model(
        entries in entries(),
        filters in prop::collection::vec((filters(), 1..5u32), 1..10),
        unsearched in 0..8usize,
        reopened in 0..8usize,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let mut fixture = searching();
            // The first entries are recorded without a search, others by another process.
            fixture.options.text_search = unsearched == 0;
            let mut store = fixture.open().await;
            let (mut numbers, mut expected) = (BTreeMap::new(), BTreeMap::new());
            for (at, (n, first, grades)) in entries.iter().enumerate() {
                if at == unsearched || at == reopened {
                    store.close().await.unwrap();
                    fixture.options.text_search |= at == unsearched;
                    store = fixture.open().await;
                }
                let borrowed: Vec<_> = grades
                    .iter()
                    .map(|(completion, prompt)| (completion.as_str(), prompt.as_deref()))
                    .collect();
                let mut entry = texts(*n, *first, &borrowed);
                let run = ["run-a", "run-b"][*n as usize % 2];
                entry.run = Some(Arc::from(run));
                for grade in &mut entry.grades {
                    change(grade, |source, _| source.run = Some(run.into()));
                }
                if entry.items > 0 {
                    let next = numbers.len();
                    numbers.entry(*n).or_insert(next);
                }
                for (grade, texts) in entry.grades.iter().zip(grades) {
                    let stored = grade.stored().unwrap();
                    let place = (numbers[n], stored.grade.position);
                    expected.entry(place).or_insert((stored, texts.clone()));
                }
                record(&store, entry).await;
            }
            fixture.options.text_search = true;
            store.close().await.unwrap();
            let store = fixture.open().await;
            for ((terms, filter), page) in &filters {
                let matches = |texts: &Texts| {
                    let completion = tokens_of(&texts.0);
                    let prompt = tokens_of(texts.1.as_deref().unwrap_or_default());
                    terms.iter().all(|term| {
                        let occurs = term.occurs(&completion) || term.occurs(&prompt);
                        occurs != term.is_excluded
                    })
                };
                let matching: Vec<_> = expected
                    .values()
                    .rev()
                    .filter(|(grade, texts)| filter.keeps(grade) && matches(texts))
                    .map(|(grade, _)| crate::lists::shown(grade))
                    .collect();
                prop_assert_eq!(all(&store, filter, *page).await, matching, "{:?}", filter);
            }
            store.close().await.unwrap();
            let keys: BTreeSet<_> = expected.keys().collect();
            prop_assert_eq!(indexed(&fixture).await, keys.len() as i64);
            Ok(())
        })?;
    }
}

//! Searches for texts equal a model, also after crashes and deletions.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use assay_core::{GradeId, Hash};
use assay_record::chart::Topic;
use assay_record::storage::{PruneFilter, PruneState};
use assay_record::{
    Body, BodyKind, Entry, Event, GradeFilter, KindCounts, Record, RecordError, RecordOptions,
    TextQuery, backup,
};
use proptest::prelude::*;
use proptest::sample::select;
use sqlx::{AssertSqlSafe, Connection, SqliteConnection};

use crate::batches::{BatchSpec, of_run, prune};
use crate::comments::comment;
use crate::fixture::{Fixture, all, change, contains_entry, entry, events, id, part, record};

fn searching() -> Fixture {
    let mut fixture = Fixture::new();
    fixture.options.text_search = true;
    fixture
}

fn text(search: &str) -> GradeFilter {
    GradeFilter {
        text: Some(search.parse().unwrap()),
        ..GradeFilter::default()
    }
}

/// The number of grades by kind.
fn counted(counts: &KindCounts) -> u64 {
    let kinds = counts.counted.values_of(Topic::Kind);
    kinds.map(|(_, grades)| grades).sum()
}

/// An entry of the `n`th batch with these completions and prompts from position `first`.
fn texts(n: u64, first: u32, grades: &[(&str, Option<&str>)]) -> Entry {
    let mut entry = part(n, first, grades.len() as u32);
    entry.bodies.clear();
    let mut bodies: BTreeMap<Hash, Body> = BTreeMap::new();
    let mut body = |kind: BodyKind, content: String| {
        let content = content.into_bytes();
        let hash = kind.hash(&content);
        bodies.insert(
            hash,
            Body {
                hash,
                kind,
                content,
            },
        );
        hash
    };
    for (grade, (completion, prompt)) in entry.grades.iter_mut().zip(grades) {
        change(grade, |source, _| {
            source.completion_hash = body(BodyKind::Text, (*completion).to_owned());
            source.prompt_hash = prompt.map(|prompt| {
                let messages = serde_json::json!([{ "role": "user", "content": prompt }]);
                body(BodyKind::Messages, messages.to_string())
            });
        });
    }
    entry.bodies = bodies.into_values().collect();
    entry
}

/// The batches and positions of the grades that a search finds, in its order.
async fn found(store: &Record, filter: &GradeFilter) -> Vec<(u64, u32)> {
    let grades = all(store, filter, 3).await;
    let place = |grade: &assay_record::StoredGrade| {
        let batch = u128::from(grade.source.batch) >> 24 & 0xff_ffff;
        (batch as u64 - 1, grade.grade.position)
    };
    grades.iter().map(place).collect()
}

async fn execute_on_index(fixture: &Fixture, sql: &str) {
    let mut connection = index(fixture).await;
    sqlx::raw_sql(AssertSqlSafe(sql.to_owned()))
        .execute(&mut connection)
        .await
        .unwrap();
    connection.close().await.unwrap();
}

async fn index(fixture: &Fixture) -> SqliteConnection {
    let url = format!("sqlite://{}.texts", fixture.database().display());
    SqliteConnection::connect(&url).await.unwrap()
}

/// The number of grades in the index.
async fn indexed(fixture: &Fixture) -> i64 {
    let mut connection = index(fixture).await;
    sqlx::query_scalar("select count(*) from texts_docsize")
        .fetch_one(&mut connection)
        .await
        .unwrap()
}

#[tokio::test]
async fn finds_words_phrases_and_prefixes_in_completions_and_prompts() {
    let fixture = searching();
    let store = fixture.open().await;
    let entry = texts(
        0,
        0,
        &[
            (
                "The answer is \\boxed{42}.",
                Some("What is six times seven?"),
            ),
            ("I think it is 41", Some("What is six times seven?")),
            ("Élan vital, AND more", None),
            ("a \"quoted\" word, x-ray", Some("completion: NEAR(a b)")),
        ],
    );
    record(&store, entry).await;
    for (search, positions) in [
        ("answer", vec![0]),
        ("ANSWER 42", vec![0]),
        ("\\boxed{42}", vec![0]),
        ("\"answer is\"", vec![0]),
        ("\"is answer\"", vec![]),
        ("is", vec![1, 0]),
        ("seven 41", vec![1]),
        ("is -41", vec![0]),
        ("is -\"it is\"", vec![0]),
        ("elan", vec![2]),
        ("ans*", vec![0]),
        ("seve* -answ*", vec![1]),
        ("is -none*", vec![1, 0]),
        ("is none*", vec![]),
        ("ANS* x-ray*", vec![]),
        ("x-ray*", vec![3]),
        ("AND", vec![2]),
        ("and more", vec![2]),
        ("NEAR(a b)", vec![3]),
        ("completion:", vec![3]),
        ("completion:NEAR", vec![3]),
        ("quoted", vec![3]),
        ("x-ray", vec![3]),
        ("ray-x", vec![]),
        ("OR", vec![]),
        ("answer OR quoted", vec![]),
        ("NOT", vec![]),
        ("^answer", vec![0]),
        ("{answer}:is", vec![0]),
        ("answer\u{0}is", vec![0]),
        ("drop';", vec![]),
    ] {
        let found = found(&store, &text(search)).await;
        let found: Vec<u32> = found.into_iter().map(|(_, position)| position).collect();
        assert_eq!(found, positions, "{search}");
    }
    let seen = store.kind_counts(&text("is"), 10).await.unwrap();
    assert_eq!((counted(&seen), seen.more), (2, false));
    store.close().await.unwrap();
}

#[tokio::test]
async fn rejects_a_prefix_of_too_many_words() {
    let fixture = searching();
    let store = fixture.open().await;
    let words: Vec<String> = (0..200).map(|n| format!("word{n}")).collect();
    record(&store, texts(0, 0, &[(&words.join(" "), None)])).await;
    assert_eq!(found(&store, &text("word1*")).await, [(0, 0)]);
    assert_eq!(
        store
            .search_problem(&"word1*".parse().unwrap())
            .await
            .unwrap(),
        None
    );
    let problem = store
        .search_problem(&"word*".parse().unwrap())
        .await
        .unwrap();
    let expected = "`word*` stands for more than 128 words; make it longer";
    assert_eq!(problem.as_deref(), Some(expected));
    let error = store.grades(&text("word*"), None, 9).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("the record is unavailable: {expected}")
    );
    store.close().await.unwrap();
}

#[tokio::test]
async fn searches_only_with_the_setting() {
    let mut fixture = Fixture::new();
    let store = fixture.open().await;
    record(&store, entry(0, 2)).await;
    assert!(!store.searches_texts());
    let error = store
        .grades(&text("completion"), None, 9)
        .await
        .unwrap_err();
    assert!(
        matches!(&error, RecordError::Unavailable(reason) if reason.contains("store.text_search")),
        "{error}"
    );
    assert_eq!(store.storage(1).await.unwrap().text_bytes, None);
    store.close().await.unwrap();
    assert!(!fixture.root().join("assay.db.texts").exists());

    // What was recorded before is added.
    fixture.options.text_search = true;
    let store = fixture.open().await;
    assert_eq!(found(&store, &text("completion")).await, [(0, 1), (0, 0)]);
    assert!(store.storage(1).await.unwrap().text_bytes > Some(0));
    store.close().await.unwrap();

    // A database in memory has an index in memory.
    fixture.options.database = "sqlite::memory:".to_owned();
    let store = fixture.open().await;
    record(&store, entry(0, 2)).await;
    assert_eq!(found(&store, &text("completion")).await, [(0, 1), (0, 0)]);
    store.close().await.unwrap();
}

#[tokio::test]
async fn a_caller_finds_only_its_own_grades() {
    let fixture = searching();
    let store = fixture.open().await;
    for (n, caller) in [(0, "alice"), (1, "bob"), (2, "alice")] {
        let spec = BatchSpec {
            n,
            run: None,
            caller,
            grades: 2,
            tasks: "shared",
        };
        record(&store, spec.entry()).await;
    }
    let both = [(2, 1), (2, 0), (1, 1), (1, 0), (0, 1), (0, 0)];
    assert_eq!(found(&store, &text("shared")).await, both);
    let alice = store.seen_by("alice");
    let own = [(2, 1), (2, 0), (0, 1), (0, 0)];
    assert_eq!(found(&alice, &text("shared")).await, own);
    let counts = alice.kind_counts(&text("shared"), 9).await.unwrap();
    assert_eq!(counted(&counts), 4);
    let of_bob = GradeFilter {
        caller: Some("bob".to_owned()),
        ..text("shared")
    };
    assert_eq!(found(&alice, &of_bob).await, []);
    assert_eq!(found(&store.seen_by("carol"), &text("shared")).await, []);
    store.close().await.unwrap();
}

#[tokio::test]
async fn finds_texts_of_grades_with_a_label_and_the_next_one() {
    let fixture = searching();
    let store = fixture.open().await;
    let graded = texts(0, 0, &[("red fox", None), ("red hen", None), ("hen", None)]);
    let [first, second, third] = [0, 1, 2].map(|position| id(&graded, position));
    record(&store, graded).await;
    for (n, grade) in [(10, first), (11, first), (12, third)] {
        let comment = comment(n, grade, &["gold"]);
        record(&store, events(5_000 + n, vec![Event::Commented(comment)])).await;
    }
    let gold = |search: &str| GradeFilter {
        label: Some("gold".to_owned()),
        ..text(search)
    };
    assert_eq!(found(&store, &gold("red")).await, [(0, 0)]);
    assert_eq!(found(&store, &gold("hen")).await, [(0, 2)]);

    let next = async |filter: &GradeFilter| store.neighbours(filter, third).await.unwrap().older;
    assert_eq!(next(&text("red")).await, Some(second));
    assert_eq!(next(&gold("red")).await, Some(first));
    assert_eq!(next(&gold("hen")).await, None);
}

#[tokio::test]
async fn completes_the_index_after_a_crash_on_either_side() {
    let mut fixture = searching();
    let texts_file = fixture.root().join("assay.db.texts");
    let store = fixture.open().await;
    record(&store, texts(0, 0, &[("first", None), ("first", None)])).await;
    fixture.applied(&store).await;
    store.close().await.unwrap();
    let earlier = std::fs::read(fixture.database()).unwrap();

    // The index misses a batch, and a part of another one.
    fixture.options.text_search = false;
    let store = fixture.open().await;
    record(&store, texts(0, 2, &[("first", None)])).await;
    record(&store, texts(1, 0, &[("second", None)])).await;
    store.close().await.unwrap();
    fixture.options.text_search = true;
    let store = fixture.open().await;
    assert_eq!(
        found(&store, &text("first")).await,
        [(0, 2), (0, 1), (0, 0)]
    );
    assert_eq!(found(&store, &text("second")).await, [(1, 0)]);
    // Another part of a batch of which the index has all others.
    record(&store, texts(0, 3, &[("first", None)])).await;
    assert_eq!(found(&store, &text("first")).await.len(), 4);
    store.close().await.unwrap();

    // The database lost the last batches, and another one got the number of one of them.
    std::fs::write(fixture.database(), earlier).unwrap();
    std::fs::remove_dir_all(fixture.spool()).unwrap();
    let store = fixture.open().await;
    record(&store, texts(2, 0, &[("third", None)])).await;
    assert_eq!(found(&store, &text("second")).await, []);
    assert_eq!(found(&store, &text("third")).await, [(2, 0)]);
    assert_eq!(found(&store, &text("first")).await.len(), 2);
    store.close().await.unwrap();
    assert_eq!(indexed(&fixture).await, 3);

    // A missing, a damaged and another index are built again.
    for contents in [None, Some(vec![7; 8_192])] {
        match contents {
            None => std::fs::remove_file(&texts_file).unwrap(),
            Some(contents) => std::fs::write(&texts_file, contents).unwrap(),
        }
        let store = fixture.open().await;
        assert_eq!(found(&store, &text("first")).await.len(), 2);
        store.close().await.unwrap();
    }
    execute_on_index(&fixture, "pragma user_version = 1000; drop table texts").await;
    let store = fixture.open().await;
    assert_eq!(found(&store, &text("third")).await, [(2, 0)]);
    store.close().await.unwrap();
}

#[tokio::test]
async fn the_index_of_a_restored_backup_is_built_again() {
    let fixture = searching();
    let store = fixture.open().await;
    record(&store, texts(0, 0, &[("first", Some("asked"))])).await;
    record(&store, texts(1, 0, &[("second", None)])).await;
    let copy = fixture.root().join("copy");
    let done = backup(&fixture.options, &copy).await.unwrap();
    // The index is not in the copy.
    let names = std::fs::read_dir(&copy).unwrap();
    let is_index = |name: &str| name.ends_with(".texts");
    let mut names = names.map(|file| file.unwrap().file_name().into_string().unwrap());
    assert!(!names.any(|name| is_index(&name)));
    store.close().await.unwrap();

    let mut options = RecordOptions::new(format!("sqlite://{}", done.database.display()));
    options.text_search = true;
    let restored = Record::open(&options, fixture.clock.clone()).await.unwrap();
    while restored.grades(&text("first"), None, 1).await.is_err() {
        tokio::time::sleep(std::time::Duration::from_millis(1)).await;
    }
    assert_eq!(found(&restored, &text("asked")).await, [(0, 0)]);
    assert_eq!(found(&restored, &text("second")).await, [(1, 0)]);
    restored.close().await.unwrap();
}

#[tokio::test]
async fn records_while_texts_cannot_be_added_and_adds_them_later() {
    let fixture = searching();
    let store = fixture.open().await;
    record(&store, texts(0, 0, &[("first", None)])).await;
    assert_eq!(found(&store, &text("first")).await, [(0, 0)]);
    execute_on_index(&fixture, "alter table indexed rename to hidden").await;
    let second = texts(1, 0, &[("second", None)]);
    record(&store, second.clone()).await;
    assert!(contains_entry(&store, &second).await);
    let error = store.grades(&text("second"), None, 9).await.unwrap_err();
    assert!(error.to_string().contains("index"), "{error}");
    execute_on_index(&fixture, "alter table hidden rename to indexed").await;
    store.close().await.unwrap();
    let store = fixture.open().await;
    assert_eq!(found(&store, &text("second")).await, [(1, 0)]);
    assert_eq!(found(&store, &text("first")).await, [(0, 0)]);
    store.close().await.unwrap();
}

#[tokio::test]
async fn deletes_texts_with_grades_and_with_bodies() {
    let fixture = searching();
    let store = fixture.open().await;
    for n in 0..6 {
        let run = ["grades", "bodies", "kept"][n as usize % 3];
        record(&store, of_run(n, run, 24)).await;
    }
    assert_eq!(found(&store, &text("completion")).await.len(), 144);
    let runs = |run: &str| PruneFilter {
        runs: vec![run.to_owned()],
        ..PruneFilter::default()
    };
    let bodies = PruneFilter {
        bodies_only: true,
        ..runs("bodies")
    };
    for filter in [runs("grades"), bodies] {
        let pruned = prune(&store, filter).await;
        assert_eq!((pruned.state, pruned.error), (PruneState::Done, None));
    }
    let left = found(&store, &text("completion")).await;
    assert_eq!(left.len(), 48);
    assert!(left.iter().all(|(batch, _)| batch % 3 == 2), "{left:?}");
    assert_eq!(indexed(&fixture).await, 48);
    // The grades whose bodies were deleted are still listed without a search.
    assert_eq!(all(&store, &GradeFilter::default(), 50).await.len(), 96);
    store.close().await.unwrap();
}

#[tokio::test]
async fn a_cursor_stays_valid_when_its_batch_is_deleted() {
    let fixture = searching();
    let store = fixture.open().await;
    for n in 0..3 {
        record(&store, of_run(n, &format!("run-{n}"), 4)).await;
    }
    let page = store.grades(&text("completion"), None, 6).await.unwrap();
    assert_eq!(page.grades.len(), 6);
    let last = page.grades.last().unwrap().grade.grade;
    let rest = store.grades(&text("completion"), page.next, 9).await;
    // The id of a grade is a cursor, too.
    let after = store.grades(&text("completion"), Some(last), 9).await;
    assert_eq!(rest.unwrap().grades, after.unwrap().grades);
    let filter = PruneFilter {
        runs: vec!["run-1".to_owned()],
        ..PruneFilter::default()
    };
    prune(&store, filter).await;
    for before in [page.next, Some(last)] {
        let rest = store.grades(&text("completion"), before, 9).await.unwrap();
        let ids: Vec<GradeId> = rest.grades.iter().map(|grade| grade.grade.grade).collect();
        let oldest = of_run(0, "run-0", 4);
        assert_eq!(ids, [3, 2, 1, 0].map(|n| id(&oldest, n)));
        assert_eq!(rest.next, None);
    }
    store.close().await.unwrap();
}

#[tokio::test]
async fn looks_at_limited_numbers_of_matches_and_always_returns_a_cursor() {
    const MATCHES: usize = 40_000;
    let fixture = searching();
    let store = fixture.open().await;
    record(&store, texts(0, 0, &[("needle", None)])).await;
    assert_eq!(found(&store, &text("needle")).await, [(0, 0)]);
    // As a batch that was deleted and is still in the index.
    execute_on_index(
        &fixture,
        &format!(
            "with recursive n(n) as (\
               select 0 union all select n + 1 from n where n < {MATCHES} - 1\
             ) insert into texts (rowid, completion, prompt) \
             select (900 << 24) + n, 'needle', '' from n"
        ),
    )
    .await;
    let (mut pages, mut next, mut grades) = (0, None, Vec::new());
    loop {
        let page = store.grades(&text("needle"), next, 5).await.unwrap();
        pages += 1;
        grades.extend(page.grades);
        next = page.next;
        if next.is_none() {
            break;
        }
        assert!(grades.is_empty());
    }
    assert!(pages > 4, "{pages}");
    assert_eq!(grades.len(), 1);
    // A filter that selects batches skips them.
    let of_run = GradeFilter {
        run: Some("run-a".to_owned()),
        ..text("needle")
    };
    let page = store.grades(&of_run, None, 5).await.unwrap();
    assert_eq!((page.grades.len(), page.next), (1, None));
    let counts = store.kind_counts(&text("needle"), 9).await.unwrap();
    assert_eq!((counted(&counts), counts.more), (0, true));
    store.close().await.unwrap();
}

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
                    .map(|(grade, _)| grade.clone())
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

#[tokio::test]
async fn finds_regular_expressions_with_words_and_with_filters() {
    let fixture = searching();
    let store = fixture.open().await;
    let first = texts(
        0,
        0,
        &[
            ("So it is \\boxed{42}", Some("how many?")),
            ("So it is \\boxed{x}", Some("room 101?")),
            ("so it is 7", None),
        ],
    );
    record(&store, first).await;
    record(&store, texts(1, 0, &[("box 42", None), ("Box x", None)])).await;
    for (search, expected) in [
        (r"/\\boxed\{\d+\}/", &[(0, 0)][..]),
        // In the prompt, or in the completion.
        (r"/\d{2}/", &[(1, 0), (0, 1), (0, 0)]),
        (r"/\d{2}/ -/box/", &[]),
        (r"/\d{2}/ -/boxed/", &[(1, 0)]),
        // Case matters, unless it is turned off.
        (r"/^So it is .*x/", &[(0, 1), (0, 0)]),
        (r"/^so it is/", &[(0, 2)]),
        (r"/(?i)^so it is/", &[(0, 2), (0, 1), (0, 0)]),
        // With words, which are looked up first.
        (r"boxed /\{x/", &[(0, 1)]),
        (r"box /\d/ -boxed", &[(1, 0)]),
        (r"/ it is \d/", &[(0, 2)]),
        (r"/nothing/", &[]),
    ] {
        assert_eq!(found(&store, &text(search)).await, expected, "{search}");
        let counts = store.kind_counts(&text(search), 9).await.unwrap();
        assert_eq!(counted(&counts), expected.len() as u64, "{search}");
    }
    let of_step = GradeFilter {
        run: Some("run-a".to_owned()),
        step: Some(1),
        ..text(r"/x|7|42/")
    };
    assert_eq!(found(&store, &of_step).await, [(1, 1), (1, 0)]);
    store.close().await.unwrap();
}

#[tokio::test]
async fn a_page_matches_a_limited_number_of_texts() {
    let fixture = searching();
    let store = fixture.open().await;
    let texts_of = |n: u64| {
        let words: Vec<String> = (0..600).map(|at| format!("text {at} of {n}")).collect();
        let words: Vec<(&str, Option<&str>)> =
            words.iter().map(|text| (text.as_str(), None)).collect();
        texts(n, 0, &words)
    };
    for n in 0..4 {
        record(&store, texts_of(n)).await;
    }
    fixture.applied(&store).await;
    // Only the oldest batch matches, so that the first pages are empty, but not the last one.
    let filter = text(r"/t ?7 of 0\b/");
    let (mut before, mut pages, mut grades) = (None, 0, 0);
    loop {
        let page = store.grades(&filter, before, 9).await.unwrap();
        (pages, grades) = (pages + 1, grades + page.grades.len());
        before = page.next;
        if before.is_none() {
            break;
        }
    }
    assert_eq!((grades, pages > 1), (1, true), "{pages} pages");
    store.close().await.unwrap();
}

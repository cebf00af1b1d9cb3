//! Words, phrases and prefixes, by whom they are found, and the pages of a search.

use assay_core::GradeId;
use assay_record::storage::PruneFilter;
use assay_record::{Event, GradeFilter};

use super::{counted, execute_on_index, found, searching, text, texts};
use crate::batches::{BatchSpec, of_run, prune};
use crate::comments::comment;
use crate::fixture::{events, id, on, record};

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
async fn finds_phrases_anywhere_in_long_texts() {
    let fixture = searching();
    let store = fixture.open().await;
    // More words than PostgreSQL keeps places of, and more of one word.
    let long = format!("{}the last words", "a b the ".repeat(3_000));
    let other = format!("{}the words last", "a b the ".repeat(3_000));
    let entry = texts(0, 0, &[(&long, Some("asked")), (&other, Some("the"))]);
    record(&store, entry).await;
    for (search, expected) in [
        ("\"last words\"", &[(0, 0)][..]),
        ("\"the last words\"", &[(0, 0)]),
        ("the -\"last words\"", &[(0, 1)]),
        ("\"the a b\" -\"words the\"", &[(0, 1), (0, 0)]),
        // No phrase extends from the completion to the prompt.
        ("\"words asked\"", &[]),
        ("\"last the\"", &[]),
        ("\"last words\" /words$/", &[(0, 0)]),
    ] {
        assert_eq!(found(&store, &text(search)).await, expected, "{search}");
    }
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
async fn looks_at_limited_numbers_of_matches_and_always_returns_a_cursor() {
    let fixture = searching();
    let store = fixture.open().await;
    record(&store, texts(0, 0, &[("needle", None)])).await;
    assert_eq!(found(&store, &text("needle")).await, [(0, 0)]);
    // As a batch that was deleted and is still in the index.
    execute_on_index(
        &fixture,
        on(
            "with recursive n(n) as (\
               select 0 union all select n + 1 from n where n < 39999\
             ) insert into texts (rowid, completion, prompt) \
             select (900 << 24) + n, 'needle', '' from n",
            "insert into texts (key, words) \
             select (cast(900 as bigint) << 24) + n, array_to_tsvector(array['needle']) \
             from generate_series(0, 39999) n",
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

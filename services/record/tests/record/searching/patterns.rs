//! Regular expressions.

use assay_record::GradeFilter;

use super::{counted, found, searching, text, texts};
use crate::fixture::record;

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

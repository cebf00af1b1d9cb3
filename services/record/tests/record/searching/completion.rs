//! The index has the texts that the record has, whatever happened to either.

use assay_record::storage::{PruneFilter, PruneState};
use assay_record::{GradeFilter, RecordError};

use super::{execute_on_index, found, indexed, searching, text, texts};
use crate::batches::{of_run, prune};
use crate::fixture::{Fixture, all, contains_entry, entry, on, record};

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

    // What was recorded before is added.
    fixture.options.text_search = true;
    let store = fixture.open().await;
    assert_eq!(found(&store, &text("completion")).await, [(0, 1), (0, 0)]);
    assert!(store.storage(1).await.unwrap().text_bytes > Some(0));
    store.close().await.unwrap();
}

#[tokio::test]
async fn completes_an_index_that_misses_texts_and_has_others() {
    let mut fixture = searching();
    let store = fixture.open().await;
    record(&store, texts(0, 0, &[("first", None), ("first", None)])).await;
    fixture.applied(&store).await;
    store.close().await.unwrap();

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

    // A batch that the record does not have, and one whose number another batch has.
    execute_on_index(
        &fixture,
        on(
            "insert into texts (rowid, completion, prompt) values (9 << 24, 'second', ''); \
             insert into indexed (batch, id, grades) values (9, zeroblob(16), 1); \
             update indexed set id = zeroblob(16) where batch = 2",
            "insert into texts (key, words) \
             values (cast(9 as bigint) << 24, array_to_tsvector(array['second'])); \
             insert into indexed (batch, id, grades) \
             values (9, decode(repeat('00', 16), 'hex'), 1); \
             update indexed set id = decode(repeat('00', 16), 'hex') where batch = 2",
        ),
    )
    .await;
    let store = fixture.open().await;
    assert_eq!(found(&store, &text("second")).await, [(1, 0)]);
    store.close().await.unwrap();
    assert_eq!(indexed(&fixture).await, 5);
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

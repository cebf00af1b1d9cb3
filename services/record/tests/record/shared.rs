//! Nodes that share a record on PostgreSQL.

use std::time::Duration;

use assay_core::Hash;
use assay_record::access::{AccessStore as _, QuotaUse};
use assay_record::storage::PruneFilter;
use assay_record::{Acknowledge, GradeFilter, Record};

use crate::batches::{of_run, prune};
use crate::fixture::{Fixture, all, batch, claim, contains_entry, key, record};
use crate::searching::{execute_on_index, found, indexed, text, texts};

/// Two nodes with their own spools.
async fn two_nodes(fixture: &Fixture) -> (Record, Record) {
    (fixture.open().await, fixture.open_replica("other").await)
}

#[tokio::test]
async fn a_node_is_ready_while_the_database_cannot_be_read() {
    let mut fixture = Fixture::on_postgres();
    let store = fixture.open().await;
    fixture.options.acknowledge = Acknowledge::Database;
    let waiting = fixture.open_replica("waiting").await;
    let rename = "alter table grades rename to moved";
    fixture.execute(rename).await.unwrap();
    let state = store.ready().await.unwrap();
    assert!(state.read_error.is_some(), "{state:?}");
    waiting.ready().await.unwrap_err();
    let rename = "alter table moved rename to grades";
    fixture.execute(rename).await.unwrap();
    for node in [&store, &waiting] {
        assert_eq!(node.ready().await.unwrap().read_error, None);
    }
    store.close().await.unwrap();
    waiting.close().await.unwrap();
}

#[tokio::test]
async fn every_node_reads_what_all_recorded() {
    let fixture = Fixture::on_postgres();
    let (one, other) = two_nodes(&fixture).await;
    for n in 0..6 {
        let node = if n % 2 == 0 { &one } else { &other };
        record(node, of_run(n, "run", 3)).await;
    }
    fixture.applied(&one).await;
    fixture.applied(&other).await;
    for node in [&one, &other] {
        assert_eq!(all(node, &GradeFilter::default(), 5).await.len(), 18);
        assert!(contains_entry(node, &of_run(3, "run", 3)).await);
    }
    one.close().await.unwrap();
    other.close().await.unwrap();
    let verified = assay_record::verify(&fixture.options, |_| {})
        .await
        .unwrap();
    assert_eq!((verified.grades, verified.damages), (18, Vec::new()));
}

#[tokio::test]
async fn one_node_grades_a_request_and_the_other_waits_for_its_reply() {
    let fixture = Fixture::on_postgres();
    let (one, other) = two_nodes(&fixture).await;
    let request = Hash::of(b"same");
    let first = one.hold(&key("same"), request, batch(1)).await.unwrap();
    assert_eq!(first.batch(), batch(1));

    let same = key("same");
    let waiting = other.hold(&same, request, batch(2));
    let waited = tokio::time::timeout(Duration::from_millis(300), waiting).await;
    assert!(waited.is_err(), "two nodes hold one request");

    record(&one, claim("same", 1, Some("reply"))).await;
    drop(other.hold(&key("same"), request, batch(2)).await.unwrap());
    let claim = other.claim(&key("same")).await.unwrap().unwrap();
    assert_eq!(claim.reply.unwrap().body, b"reply");
    drop(first);
}

#[tokio::test]
async fn a_released_request_is_graded_by_the_other_node() {
    let fixture = Fixture::on_postgres();
    let (one, other) = two_nodes(&fixture).await;
    let request = Hash::of(b"same");
    let first = one.hold(&key("same"), request, batch(1)).await.unwrap();
    first.release().await;
    let second = other.hold(&key("same"), request, batch(2)).await.unwrap();
    assert_eq!(second.batch(), batch(2));
}

#[tokio::test]
async fn the_batch_of_a_node_that_did_not_finish_is_continued() {
    let fixture = Fixture::on_postgres();
    let (one, other) = two_nodes(&fixture).await;
    let request = Hash::of(b"same");
    drop(one.hold(&key("same"), request, batch(1)).await.unwrap());
    // As if the node had ended longer ago than a hold lasts.
    fixture
        .execute("update holds set until_us = 0")
        .await
        .unwrap();
    let again = other.hold(&key("same"), request, batch(2)).await.unwrap();
    assert_eq!(again.batch(), batch(1));
    // The first node may have recorded some of the batch, so that the next one continues it, too.
    again.release().await;
    fixture
        .execute("update holds set until_us = 0")
        .await
        .unwrap();
    let different = Hash::of(b"different");
    let new = one.hold(&key("same"), different, batch(3)).await.unwrap();
    assert_eq!(new.batch(), batch(3));
}

#[tokio::test]
async fn every_node_finds_the_texts_of_all() {
    let mut fixture = Fixture::on_postgres();
    fixture.options.text_search = true;
    let (one, other) = two_nodes(&fixture).await;
    for n in 0..6 {
        let node = if n % 2 == 0 { &one } else { &other };
        record(node, of_run(n, ["kept", "deleted"][n as usize % 2], 2)).await;
    }
    // A search waits for the texts of its own node.
    for node in [&one, &other, &one] {
        found(node, &text("completion")).await;
    }
    for node in [&one, &other] {
        assert_eq!(found(node, &text("completion")).await.len(), 12);
    }
    let filter = PruneFilter {
        runs: vec!["deleted".to_owned()],
        ..PruneFilter::default()
    };
    prune(&other, filter).await;
    assert_eq!(found(&one, &text("completion")).await.len(), 6);
    assert_eq!(indexed(&fixture).await, 6);

    // A node that does not search leaves its grades to the others, which find them later.
    other.close().await.unwrap();
    fixture.options.text_search = false;
    let silent = fixture.open_replica("silent").await;
    record(&silent, of_run(9, "kept", 2)).await;
    silent.close().await.unwrap();
    one.close().await.unwrap();
    fixture.options.text_search = true;
    let again = fixture.open().await;
    assert_eq!(found(&again, &text("completion")).await.len(), 8);
    again.close().await.unwrap();
}

#[tokio::test]
async fn a_prefix_stands_for_any_number_of_words() {
    let mut fixture = Fixture::on_postgres();
    fixture.options.text_search = true;
    let store = fixture.open().await;
    let words: Vec<String> = (0..200).map(|n| format!("word{n}")).collect();
    record(&store, texts(0, 0, &[(&words.join(" "), None)])).await;
    assert_eq!(found(&store, &text("word*")).await, [(0, 0)]);
    assert_eq!(found(&store, &text("word19*")).await, [(0, 0)]);
    assert_eq!(found(&store, &text("words*")).await, []);
    store.close().await.unwrap();
}

#[tokio::test]
async fn finds_rare_words_below_many_grades_without_them() {
    let mut fixture = Fixture::on_postgres();
    fixture.options.text_search = true;
    let store = fixture.open().await;
    record(&store, texts(0, 0, &[("needle hay", None), ("hay", None)])).await;
    assert_eq!(found(&store, &text("needle")).await, [(0, 0)]);
    // As batches that were deleted and are still in the index.
    execute_on_index(
        &fixture,
        "insert into texts (key, words) \
         select (cast(900 as bigint) << 24) + n, array_to_tsvector(array['straw']) \
         from generate_series(0, 29999) n",
    )
    .await;
    for (search, expected) in [
        ("needle", &[(0, 0)][..]),
        ("hay", &[(0, 1), (0, 0)]),
        ("\"needle hay\"", &[(0, 0)]),
        ("hay -needle", &[(0, 1)]),
        ("nowhere", &[]),
    ] {
        let page = store.grades(&text(search), None, 9).await.unwrap();
        assert_eq!(page.next, None, "{search}");
        assert_eq!(found(&store, &text(search)).await, expected, "{search}");
    }
    store.close().await.unwrap();
}

#[tokio::test]
async fn processes_read_what_others_have_admitted() {
    let fixture = Fixture::on_postgres();
    let (one, other) = two_nodes(&fixture).await;
    let used = |key: &str, items, in_flight| QuotaUse {
        key: key.to_owned(),
        items,
        cpu_us: 7,
        in_flight,
    };
    let nothing = one.access().exchange_uses(&[used("a", 3, 2)]).await;
    assert_eq!(nothing.unwrap(), []);
    one.access()
        .exchange_uses(&[used("a", 5, 4), used("b", 1, 0)])
        .await
        .unwrap();
    let exchange = async || {
        let others = other.access().exchange_uses(&[used("a", 9, 0)]).await;
        let mut others: Vec<QuotaUse> = others.unwrap().into_iter().map(|row| row.used).collect();
        others.sort_by(|a, b| a.key.cmp(&b.key));
        others
    };
    assert_eq!(exchange().await, [used("a", 5, 4), used("b", 1, 0)]);
    let later = "update quota_uses set written_us = written_us - 11000000";
    fixture.execute(later).await.unwrap();
    assert_eq!(exchange().await, [used("a", 5, 0), used("b", 1, 0)]);
    let ended = "update quota_uses set written_us = written_us - 3600000000";
    fixture.execute(ended).await.unwrap();
    assert_eq!(exchange().await, []);
}

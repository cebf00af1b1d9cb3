//! Pairs for reward models: each is stored once and listed in order of arrival, whether pending or
//! applied, by this node or a replica.

use std::time::Duration;

use assay_core::Completion;
use assay_record::pair::{CollectedPair, Pair};
use assay_record::{Entry, Event, Record, RecordError};

use crate::fixture::{self, Fixture, events, record};

fn pair(n: u64) -> Pair {
    let text = |text: String| Completion::Text(text.into());
    Pair {
        prompt: text(format!("what is {n}?")),
        accepted: text(format!("it is {n} ").repeat(50)),
        rejected: text(format!("it is {n} less one ").repeat(50)),
        reference: n.is_multiple_of(2).then(|| n.to_string()),
    }
}

/// An entry that collects these pairs for a model.
fn collect(at: u64, model: &str, pairs: impl IntoIterator<Item = u64>) -> Entry {
    let mut entry = events(at, Vec::new());
    for n in pairs {
        let body = pair(n).to_body();
        entry.events.push(Event::Collected(CollectedPair {
            model: model.to_owned(),
            pair: body.hash,
            source_json: Some(format!(r#"{{"step":{n}}}"#)),
            caller: "local".to_owned(),
            time_us: fixture::START_US,
        }));
        entry.bodies.push(body);
    }
    entry
}

/// Every pair of a model, page by page.
async fn all(store: &Record, model: &str, limit: u32) -> Vec<Pair> {
    let (mut pairs, mut after) = (Vec::new(), 0);
    loop {
        let page = store.pairs(model, after, limit).await.unwrap();
        for stored in page.pairs {
            assert!(stored.number > after);
            assert_eq!(stored.collected.pair, stored.pair.to_body().hash);
            after = stored.number;
            pairs.push(stored.pair);
        }
        if !page.more {
            return pairs;
        }
    }
}

fn pairs(numbers: impl IntoIterator<Item = u64>) -> Vec<Pair> {
    numbers.into_iter().map(pair).collect()
}

#[tokio::test]
async fn lists_pairs_in_order_of_arrival() {
    let fixture = Fixture::new();
    let store = fixture.open().await;
    record(&store, collect(1, "rm", [3, 1])).await;
    record(&store, collect(2, "other", [9])).await;
    record(&store, collect(3, "rm", [2, 7, 5])).await;
    for limit in [1, 2, 5, 100] {
        assert_eq!(all(&store, "rm", limit).await, pairs([3, 1, 2, 7, 5]));
    }
    assert_eq!(all(&store, "other", 10).await, pairs([9]));
    assert_eq!(all(&store, "nobody", 10).await, []);
    let first = store.pairs("rm", 0, 1).await.unwrap();
    let collected = &first.pairs[0].collected;
    assert_eq!(
        (collected.model.as_str(), collected.source_json.as_deref()),
        ("rm", Some(r#"{"step":3}"#))
    );
    assert!(first.more);
}

#[tokio::test]
async fn counts_pending_and_applied_pairs_once_per_model() {
    let fixture = Fixture::new();
    let store = fixture.open().await;
    record(&store, collect(1, "rm", [1, 2])).await;
    fixture.applied(&store).await;
    let lock = fixture.lock_database().await;
    record(&store, collect(2, "rm", [2, 3])).await;
    record(&store, collect(3, "rm", [3])).await;
    record(&store, collect(4, "other", [4])).await;
    drop(lock);
    let hashes: Vec<_> = (1..=4).map(|n| pair(n).to_body().hash).collect();
    let mut known = store.known_pairs("rm", &hashes).await.unwrap();
    known
        .known
        .sort_by_key(|known| hashes.iter().position(|hash| hash == known));
    assert_eq!((known.known.as_slice(), known.total), (&hashes[..3], 3));
    fixture.applied(&store).await;
    let known = store.known_pairs("rm", &hashes).await.unwrap();
    assert_eq!((known.known.len(), known.total), (3, 3));
    assert_eq!(all(&store, "rm", 10).await, pairs([1, 2, 3]));
}

#[tokio::test]
async fn pairs_survive_without_closing_the_store() {
    let fixture = Fixture::new();
    let store = fixture.open().await;
    let lock = fixture.lock_database().await;
    record(&store, collect(1, "rm", [1, 2, 3])).await;
    drop((store, lock));
    let store = fixture.open().await;
    assert_eq!(all(&store, "rm", 2).await, pairs([1, 2, 3]));
    store.close().await.unwrap();
    drop(store);
    assert_eq!(all(&fixture.open().await, "rm", 2).await, pairs([1, 2, 3]));
    assert_eq!(fixture.number("select count(*) from pairs").await, 3);
}

#[tokio::test]
async fn continuing_after_a_number_misses_no_pairs_of_a_replica() {
    let fixture = Fixture::new();
    let (one, other) = (
        fixture.open().await,
        fixture.open_replica("other.spool").await,
    );
    let (mut listed, mut after) = (Vec::new(), 0);
    for n in 0..6 {
        let writer = if n % 2 == 0 { &one } else { &other };
        record(writer, collect(n, "rm", [n])).await;
        // A page contains the pairs that this node received; those of the other node follow once
        // they are in the database.
        for stored in one.pairs("rm", after, 10).await.unwrap().pairs {
            after = stored.number;
            listed.push(stored.pair);
        }
    }
    fixture.applied(&other).await;
    listed.extend(
        one.pairs("rm", after, 10)
            .await
            .unwrap()
            .pairs
            .into_iter()
            .map(|stored| stored.pair),
    );
    listed.sort_by_key(|pair| pair.prompt.text().into_owned());
    assert_eq!(listed, pairs(0..6));
}

#[tokio::test]
async fn rejects_a_page_that_would_omit_pending_pairs() {
    let mut fixture = Fixture::new();
    fixture.options.read_timeout = Duration::from_millis(50);
    let store = fixture.open().await;
    let lock = fixture.lock_database().await;
    record(&store, collect(1, "rm", [1])).await;
    let rejected = store.pairs("rm", 0, 10).await;
    assert!(
        matches!(rejected, Err(RecordError::Unavailable(_))),
        "{rejected:?}"
    );
    drop(lock);
}

#[tokio::test]
async fn stores_a_pair_of_two_models_once() {
    let fixture = Fixture::new();
    let store = fixture.open().await;
    record(&store, collect(1, "one", [1])).await;
    record(&store, collect(2, "two", [1])).await;
    assert_eq!(all(&store, "one", 10).await, all(&store, "two", 10).await);
    assert_eq!(fixture.number("select count(*) from bodies").await, 1);
}

//! Pairs for reward models: each once, in the order of arrival, waiting or applied, here or in a
//! replica.

use std::time::Duration;

use assay_core::Completion;
use assay_core::channel::Event;
use assay_core::pair::{CollectedPair, Pair};
use assay_core::record::Entry;
use assay_core::store::{Reader, Recorder, StoreError};
use assay_store::DurableStore;

use crate::world::{self, World, events, record};

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
            time_us: world::START_US,
        }));
        entry.bodies.push(body);
    }
    entry
}

/// Every pair of a model, page by page.
async fn all(store: &DurableStore, model: &str, limit: u32) -> Vec<Pair> {
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
async fn pairs_come_in_the_order_of_arrival_page_by_page() {
    let world = World::new();
    let store = world.open().await;
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
async fn a_pair_counts_once_a_model_whether_it_waits_or_is_applied() {
    let world = World::new();
    let store = world.open().await;
    record(&store, collect(1, "rm", [1, 2])).await;
    world.applied(&store).await;
    let lock = world.lock_database().await;
    record(&store, collect(2, "rm", [2, 3])).await;
    record(&store, collect(3, "rm", [3])).await;
    record(&store, collect(4, "other", [4])).await;
    let hashes: Vec<_> = (1..=4).map(|n| pair(n).to_body().hash).collect();
    let known = store.known_pairs("rm", &hashes).await.unwrap();
    assert_eq!((known.known.as_slice(), known.total), (&hashes[..3], 3));
    drop(lock);
    world.applied(&store).await;
    let known = store.known_pairs("rm", &hashes).await.unwrap();
    assert_eq!((known.known.len(), known.total), (3, 3));
    assert_eq!(all(&store, "rm", 10).await, pairs([1, 2, 3]));
}

#[tokio::test]
async fn pairs_survive_a_store_that_was_not_closed() {
    let world = World::new();
    let store = world.open().await;
    let lock = world.lock_database().await;
    record(&store, collect(1, "rm", [1, 2, 3])).await;
    drop((store, lock));
    let store = world.open().await;
    assert_eq!(all(&store, "rm", 2).await, pairs([1, 2, 3]));
    store.close().await.unwrap();
    drop(store);
    assert_eq!(all(&world.open().await, "rm", 2).await, pairs([1, 2, 3]));
    assert_eq!(world.number("select count(*) from pairs").await, 3);
}

#[tokio::test]
async fn a_reader_that_goes_on_from_its_number_misses_nothing_of_a_replica() {
    let world = World::new();
    let (one, other) = (world.open().await, world.open_replica("other.spool").await);
    let (mut seen, mut after) = (Vec::new(), 0);
    for n in 0..6 {
        let writer = if n % 2 == 0 { &one } else { &other };
        record(writer, collect(n, "rm", [n])).await;
        // One node's page holds what it took itself; what the other took follows once it is in the
        // database.
        for stored in one.pairs("rm", after, 10).await.unwrap().pairs {
            after = stored.number;
            seen.push(stored.pair);
        }
    }
    world.applied(&other).await;
    seen.extend(
        one.pairs("rm", after, 10)
            .await
            .unwrap()
            .pairs
            .into_iter()
            .map(|stored| stored.pair),
    );
    seen.sort_by_key(|pair| pair.prompt.text().into_owned());
    assert_eq!(seen, pairs(0..6));
}

#[tokio::test]
async fn a_page_that_would_leave_pairs_out_is_refused() {
    let mut world = World::new();
    world.options.read_timeout = Duration::from_millis(50);
    let store = world.open().await;
    let lock = world.lock_database().await;
    record(&store, collect(1, "rm", [1])).await;
    let refused = store.pairs("rm", 0, 10).await;
    assert!(
        matches!(refused, Err(StoreError::Unavailable(_))),
        "{refused:?}"
    );
    drop(lock);
}

#[tokio::test]
async fn the_same_body_for_two_models_is_kept_once() {
    let world = World::new();
    let store = world.open().await;
    record(&store, collect(1, "one", [1])).await;
    record(&store, collect(2, "two", [1])).await;
    assert_eq!(all(&store, "one", 10).await, all(&store, "two", 10).await);
    assert_eq!(world.number("select count(*) from bodies").await, 1);
}

//! A repeated request gets the same reply, for a day.

use std::time::Duration;

use assay_core::record::RequestKey;
use assay_core::store::{Reader, Recorder};

use crate::world::{START_US, World, batch, claim, entry, key, record};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Runs `check` on claims that wait and, after reopening, on the same claims in the database.
async fn waiting_and_stored(
    entries: Vec<assay_core::record::Entry>,
    check: impl AsyncFn(&assay_store::DurableStore),
) {
    let world = World::new();
    let store = world.open().await;
    let lock = world.lock_database().await;
    for entry in entries {
        record(&store, entry).await;
    }
    check(&store).await;
    drop(lock);
    store.close().await.unwrap();
    let store = world.open().await;
    check(&store).await;
    store.close().await.unwrap();
}

#[tokio::test]
async fn a_later_entry_closes_the_claim_with_its_reply() {
    let reply = "a reply that is long enough to be compressed ".repeat(10);
    let entries = vec![
        claim("open", 1, None),
        claim("closed", 2, None),
        claim("closed", 2, Some(&reply)),
    ];
    waiting_and_stored(entries, async |store| {
        let open = store.claim(&key("open")).await.unwrap().unwrap();
        assert_eq!(
            (open.batch, open.reply, open.time_us),
            (batch(1), None, START_US)
        );
        let closed = store.claim(&key("closed")).await.unwrap().unwrap();
        let got = closed.reply.unwrap();
        assert_eq!(
            (got.media.as_str(), got.body),
            ("application/json", reply.clone().into_bytes())
        );
        assert_eq!(store.claim(&key("never")).await.unwrap(), None);
    })
    .await;
}

#[tokio::test]
async fn a_claim_said_again_keeps_its_reply_unless_it_is_for_another_batch() {
    let entries = vec![
        claim("same", 1, Some("reply")),
        claim("same", 1, None),
        claim("other", 1, Some("reply")),
        claim("other", 2, None),
    ];
    waiting_and_stored(entries, async |store| {
        let same = store.claim(&key("same")).await.unwrap().unwrap();
        assert_eq!(same.reply.unwrap().body, b"reply");
        let other = store.claim(&key("other")).await.unwrap().unwrap();
        assert_eq!((other.batch, other.reply), (batch(2), None));
    })
    .await;
}

#[tokio::test]
async fn an_empty_reply_is_a_reply() {
    waiting_and_stored(vec![claim("empty", 1, Some(""))], async |store| {
        let claim = store.claim(&key("empty")).await.unwrap().unwrap();
        assert_eq!(claim.reply.unwrap().body, b"");
    })
    .await;
}

#[tokio::test]
async fn keys_of_two_callers_never_meet() {
    let mut theirs = claim("key", 2, Some("theirs"));
    let their_key = RequestKey {
        caller: "other".into(),
        ..key("key")
    };
    theirs.claim.as_mut().unwrap().key = their_key.clone();
    waiting_and_stored(vec![claim("key", 1, Some("ours")), theirs], async |store| {
        let ours = store.claim(&key("key")).await.unwrap().unwrap();
        let theirs = store.claim(&their_key).await.unwrap().unwrap();
        assert_eq!(
            (ours.reply.unwrap().body, theirs.reply.unwrap().body),
            (b"ours".to_vec(), b"theirs".to_vec())
        );
    })
    .await;
}

#[tokio::test]
async fn a_claim_is_gone_after_a_day_and_purged_by_the_next_write() {
    let world = World::new();
    let store = world.open().await;
    record(&store, claim("key", 1, Some("reply"))).await;
    world.clock.advance(DAY - Duration::from_micros(1));
    assert!(store.claim(&key("key")).await.unwrap().is_some());
    world.clock.advance(Duration::from_micros(1));
    assert_eq!(store.claim(&key("key")).await.unwrap(), None);
    store.close().await.unwrap();
    let store = world.open().await;
    assert_eq!(store.claim(&key("key")).await.unwrap(), None);
    record(&store, entry(2, 1)).await;
    store.close().await.unwrap();
    assert_eq!(world.number("select count(*) from idempotency").await, 0);
}

//! Idempotency keys: a repeated request gets the same reply for a day.

use std::time::Duration;

use assay_record::RequestKey;

use crate::fixture::{Fixture, START_US, batch, claim, entry, key, record};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Runs `check` on pending claims and, after reopening, on the same claims in the database.
async fn pending_and_stored(
    entries: Vec<assay_record::Entry>,
    check: impl AsyncFn(&assay_record::Record),
) {
    let fixture = Fixture::new();
    let store = fixture.open().await;
    let lock = fixture.lock_database().await;
    for entry in entries {
        record(&store, entry).await;
    }
    drop(lock);
    check(&store).await;
    store.close().await.unwrap();
    let store = fixture.open().await;
    check(&store).await;
    store.close().await.unwrap();
}

#[tokio::test]
async fn a_later_entry_adds_the_reply_to_a_claim() {
    let reply = "a reply that is long enough to be compressed ".repeat(10);
    let entries = vec![
        claim("open", 1, None),
        claim("closed", 2, None),
        claim("closed", 2, Some(&reply)),
    ];
    pending_and_stored(entries, async |store| {
        let open = store.claim(&key("open")).await.unwrap().unwrap();
        assert_eq!(
            (open.batch, open.reply, open.time_us),
            (batch(1), None, START_US)
        );
        let closed = store.claim(&key("closed")).await.unwrap().unwrap();
        let recorded = closed.reply.unwrap();
        assert_eq!(
            (recorded.media.as_str(), recorded.body),
            ("application/json", reply.clone().into_bytes())
        );
        assert_eq!(store.claim(&key("never")).await.unwrap(), None);
    })
    .await;
}

#[tokio::test]
async fn a_repeated_claim_keeps_its_reply_within_a_batch() {
    let entries = vec![
        claim("same", 1, Some("reply")),
        claim("same", 1, None),
        claim("other", 1, Some("reply")),
        claim("other", 2, None),
    ];
    pending_and_stored(entries, async |store| {
        let same = store.claim(&key("same")).await.unwrap().unwrap();
        assert_eq!(same.reply.unwrap().body, b"reply");
        let other = store.claim(&key("other")).await.unwrap().unwrap();
        assert_eq!((other.batch, other.reply), (batch(2), None));
    })
    .await;
}

#[tokio::test]
async fn an_empty_reply_is_a_reply() {
    pending_and_stored(vec![claim("empty", 1, Some(""))], async |store| {
        let claim = store.claim(&key("empty")).await.unwrap().unwrap();
        assert_eq!(claim.reply.unwrap().body, b"");
    })
    .await;
}

#[tokio::test]
async fn keys_are_scoped_to_their_caller() {
    let mut other_callers = claim("key", 2, Some("theirs"));
    let their_key = RequestKey {
        caller: "other".into(),
        ..key("key")
    };
    other_callers.claim.as_mut().unwrap().key = their_key.clone();
    pending_and_stored(
        vec![claim("key", 1, Some("ours")), other_callers],
        async |store| {
            let own = store.claim(&key("key")).await.unwrap().unwrap();
            let other_callers = store.claim(&their_key).await.unwrap().unwrap();
            assert_eq!(
                (own.reply.unwrap().body, other_callers.reply.unwrap().body),
                (b"ours".to_vec(), b"theirs".to_vec())
            );
        },
    )
    .await;
}

#[tokio::test]
async fn claims_expire_after_a_day_and_are_deleted_by_the_next_write() {
    let fixture = Fixture::new();
    let store = fixture.open().await;
    record(&store, claim("key", 1, Some("reply"))).await;
    fixture.clock.advance(DAY - Duration::from_micros(1));
    assert!(store.claim(&key("key")).await.unwrap().is_some());
    fixture.clock.advance(Duration::from_micros(1));
    assert_eq!(store.claim(&key("key")).await.unwrap(), None);
    store.close().await.unwrap();
    let store = fixture.open().await;
    assert_eq!(store.claim(&key("key")).await.unwrap(), None);
    record(&store, entry(2, 1)).await;
    store.close().await.unwrap();
    assert_eq!(fixture.number("select count(*) from idempotency").await, 0);
}

//! With `Acknowledge::Database`, an entry is acknowledged once the database has committed it.

use std::sync::Arc;
use std::time::Duration;

use assay_record::{Acknowledge, RecordError};

use crate::fixture::{Fixture, claim, contains_entry, entry, key, record};

fn waiting_for_the_database() -> Fixture {
    let mut fixture = Fixture::new();
    fixture.options.acknowledge = Acknowledge::Database;
    fixture
}

#[tokio::test]
async fn what_is_acknowledged_is_in_the_database() {
    let fixture = waiting_for_the_database();
    let store = fixture.open().await;
    for n in 0..3 {
        record(&store, entry(n, 2)).await;
        assert_eq!(store.state().pending, 0);
        let grades = fixture.number("select count(*) from grades").await;
        assert_eq!(grades, 2 * (n as i64 + 1));
    }
    store.close().await.unwrap();
}

#[tokio::test]
async fn an_entry_that_waits_too_long_is_applied_once() {
    let mut fixture = waiting_for_the_database();
    fixture.options.read_timeout = Duration::from_millis(200);
    let store = fixture.open().await;
    let lock = fixture.lock_database().await;
    for _ in 0..2 {
        let error = store.append(Arc::new(entry(1, 2))).await.unwrap_err();
        assert!(matches!(error, RecordError::NotCommitted(_)), "{error}");
        assert!(error.to_string().contains("in the spool"), "{error}");
    }
    let error = store.append(Arc::new(claim("key", 2, Some("reply")))).await;
    assert!(matches!(error, Err(RecordError::NotCommitted(_))));
    drop(lock);
    fixture.applied(&store).await;
    record(&store, entry(1, 2)).await;
    assert!(contains_entry(&store, &entry(1, 2)).await);
    let claimed = store.claim(&key("key")).await.unwrap().unwrap();
    assert_eq!(claimed.reply.unwrap().body, b"reply");
    store.close().await.unwrap();
    assert_eq!(fixture.number("select count(*) from grades").await, 2);
    assert_eq!(fixture.number("select sum(grades) from runs").await, 2);
}

//! Dataset checks: each is stored once, and they are listed newest first.

use assay_core::BatchId;
use assay_record::dataset_check::{self, DatasetCheck};
use assay_record::{Event, Record};

use crate::fixture::{self, Fixture, events, record};

fn check(n: u64) -> DatasetCheck {
    DatasetCheck {
        id: fixture::batch(n),
        datasets: vec![format!("{n}.jsonl"), "a \"quoted\" name".to_owned()],
        checked: 10 * n,
        errors: n,
        warnings: 2 * n,
        report: dataset_check::to_body(report(n)).hash,
        caller: "local".to_owned(),
        time_us: fixture::START_US,
    }
}

fn report(n: u64) -> Vec<u8> {
    format!(r#"{{"rows":{n}}}"#).into_bytes()
}

async fn record_check(store: &Record, n: u64) {
    let mut entry = events(n, vec![Event::Checked(check(n))]);
    entry.bodies.push(dataset_check::to_body(report(n)));
    record(store, entry).await;
}

#[tokio::test]
async fn lists_checks_newest_first() {
    let fixture = Fixture::new();
    let store = fixture.open().await;
    for n in 1..=3 {
        record_check(&store, n).await;
    }
    fixture.applied(&store).await;
    let lock = fixture.lock_database().await;
    for n in 3..=5 {
        record_check(&store, n).await;
    }
    drop(lock);
    let list = async |before: Option<u64>, limit| {
        let found = store
            .dataset_checks(before.map(fixture::batch), limit)
            .await
            .unwrap();
        found
            .into_iter()
            .map(|check| check.checked / 10)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        list(None, 10).await,
        [5, 4, 3, 2, 1],
        "two of them were pending"
    );
    assert_eq!(list(None, 2).await, [5, 4]);
    assert_eq!(list(Some(4), 2).await, [3, 2]);
    assert!(list(Some(1), 2).await.is_empty());
    assert_eq!(
        store.dataset_check(fixture::batch(4)).await.unwrap(),
        Some(check(4))
    );
    assert_eq!(store.dataset_check(BatchId::from(7)).await.unwrap(), None);
    assert_eq!(
        store.body(check(4).report).await.unwrap().unwrap().content,
        report(4)
    );
    fixture.applied(&store).await;
    assert_eq!(list(None, 10).await, [5, 4, 3, 2, 1], "all are applied");
    store.close().await.unwrap();
    drop(store);
    let store = fixture.open().await;
    assert_eq!(
        store.dataset_check(fixture::batch(5)).await.unwrap(),
        Some(check(5))
    );
    assert_eq!(
        fixture.number("select count(*) from dataset_checks").await,
        5
    );
}

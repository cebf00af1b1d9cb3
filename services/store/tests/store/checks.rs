//! Checks of datasets: each once, the newest first, waiting or applied.

use assay_core::BatchId;
use assay_core::channel::Event;
use assay_core::check::{self, DatasetCheck};
use assay_core::store::{Reader, Recorder};

use crate::world::{self, World, events, record};

fn check(n: u64) -> DatasetCheck {
    DatasetCheck {
        id: world::batch(n),
        datasets: vec![format!("{n}.jsonl"), "a \"quoted\" name".to_owned()],
        checked: 10 * n,
        errors: n,
        warnings: 2 * n,
        report: check::to_body(report(n)).hash,
        caller: "local".to_owned(),
        time_us: world::START_US,
    }
}

fn report(n: u64) -> Vec<u8> {
    format!(r#"{{"rows":{n}}}"#).into_bytes()
}

async fn keep(store: &impl Recorder, n: u64) {
    let mut entry = events(n, vec![Event::Checked(check(n))]);
    entry.bodies.push(check::to_body(report(n)));
    record(store, entry).await;
}

#[tokio::test]
async fn checks_come_newest_first_whether_they_wait_or_are_applied() {
    let world = World::new();
    let store = world.open().await;
    for n in 1..=3 {
        keep(&store, n).await;
    }
    world.applied(&store).await;
    let lock = world.lock_database().await;
    for n in 3..=5 {
        keep(&store, n).await;
    }
    let list = async |before: Option<u64>, limit| {
        let found = store
            .dataset_checks(before.map(world::batch), limit)
            .await
            .unwrap();
        found
            .into_iter()
            .map(|check| check.checked / 10)
            .collect::<Vec<_>>()
    };
    assert_eq!(list(None, 10).await, [5, 4, 3, 2, 1], "two of them wait");
    assert_eq!(list(None, 2).await, [5, 4]);
    assert_eq!(list(Some(4), 2).await, [3, 2]);
    assert!(list(Some(1), 2).await.is_empty());
    assert_eq!(
        store.dataset_check(world::batch(4)).await.unwrap(),
        Some(check(4))
    );
    assert_eq!(store.dataset_check(BatchId::from(7)).await.unwrap(), None);
    assert_eq!(
        store.body(check(4).report).await.unwrap().unwrap().content,
        report(4)
    );
    drop(lock);
    world.applied(&store).await;
    assert_eq!(list(None, 10).await, [5, 4, 3, 2, 1], "all are applied");
    store.close().await.unwrap();
    drop(store);
    let store = world.open().await;
    assert_eq!(
        store.dataset_check(world::batch(5)).await.unwrap(),
        Some(check(5))
    );
    assert_eq!(world.number("select count(*) from dataset_checks").await, 5);
}

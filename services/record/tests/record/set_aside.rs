//! Entries that the database rejects neither block others nor are lost.

use std::sync::Arc;
use std::time::Duration;

use assay_record::chart::Number;
use assay_record::{Entry, GradeFilter, Record, RecordError, set_aside_entries};

use crate::fixture::{Fixture, all, batch, change, change_all, contains_entry, entry, on, record};

/// A batch in which every item has this reward.
fn rewarded(n: u64, reward: f64) -> Entry {
    let mut entry = entry(n, 2);
    change_all(&mut entry, |source, grade| {
        grade.reward = Some(reward);
        source.step = Some(1);
        grade.prompt_key = Some("prompt".to_owned());
    });
    entry.step = Some(1);
    entry
}

async fn sums_are_finite(store: &Record, grades: u64) {
    let steps = store.run_steps("run-a", 1).await.unwrap();
    let sums = steps[&Some(1)].sums(Number::Reward);
    assert_eq!(sums.count, grades);
    assert!(sums.sum.is_finite() && sums.squares.is_finite(), "{sums:?}");
    assert!(sums.mean().unwrap().is_finite() && sums.deviation().unwrap().is_finite());
    let visits = store.visits("run-a", None).await.unwrap();
    let visit = visits["prompt"][0];
    assert_eq!(u64::from(visit.rewards), grades);
    assert!(
        visit.reward_sum.is_finite() && visit.reward_squares.is_finite(),
        "{visit:?}"
    );
}

#[tokio::test]
async fn applies_rewards_whose_sum_overflows() {
    let fixture = Fixture::new();
    let store = fixture.open().await;
    for (n, reward) in [(1, 1e308), (2, -1e308), (3, 1e308)] {
        record(&store, rewarded(n, reward)).await;
        fixture.applied(&store).await;
        sums_are_finite(&store, 2 * n).await;
    }
    let lock = fixture.lock_database().await;
    record(&store, rewarded(4, -1e308)).await;
    drop(lock);
    sums_are_finite(&store, 8).await;
    fixture.applied(&store).await;
    assert_eq!(store.state().set_aside, 0);
    store.close().await.unwrap();
    assert_eq!(fixture.number("select count(*) from grades").await, 8);
}

#[tokio::test]
async fn reads_and_updates_infinite_sums_of_an_earlier_release() {
    let fixture = Fixture::new();
    let store = fixture.open().await;
    record(&store, rewarded(1, 1.0)).await;
    fixture.applied(&store).await;
    fixture
        .execute(on(
            "update step_numbers set sum = 9e999, squares = 9e999; \
                 update prompt_history set reward_sum = -9e999; \
                 update runs set score_sum = 9e999; update rollups set score_squares = 9e999",
            "update step_numbers set sum = 'inf', squares = 'inf'; \
                 update prompt_history set reward_sum = '-inf'; \
                 update runs set score_sum = 'inf'; update rollups set score_squares = 'inf'",
        ))
        .await
        .unwrap();
    sums_are_finite(&store, 2).await;
    record(&store, rewarded(2, -1e308)).await;
    fixture.applied(&store).await;
    sums_are_finite(&store, 4).await;
    assert!(
        store
            .run("run-a")
            .await
            .unwrap()
            .unwrap()
            .mean_score
            .unwrap()
            .is_finite()
    );
    assert!(
        store
            .run_series("run-a")
            .await
            .unwrap()
            .values()
            .all(|totals| totals.score_squares.is_finite())
    );
    store.close().await.unwrap();
}

#[tokio::test]
async fn applies_and_reads_extreme_values() {
    let fixture = Fixture::new();
    let store = fixture.open().await;
    for n in 0..3 {
        let mut odd = entry(n, 2);
        odd.run = Some("run\0with a NUL".into());
        odd.step = Some([i64::MIN, i64::MIN + 1, i64::MAX][n as usize]);
        let (run, step) = (odd.run.clone(), odd.step);
        change_all(&mut odd, |source, grade| {
            source.run = run.clone();
            source.step = step;
            grade.id = Some("\0".to_owned());
            grade.score = Some(f64::NAN);
            grade.reward = Some(f64::INFINITY);
            grade.advantage = Some(f64::NEG_INFINITY);
            (grade.work, grade.queue_us, grade.grade_us) = (u64::MAX, u64::MAX, u64::MAX);
        });
        record(&store, odd).await;
        fixture.applied(&store).await;
    }
    assert_eq!(store.state().set_aside, 0);
    for width in [1, 10, 4096] {
        let steps = store.run_steps("run\0with a NUL", width).await.unwrap();
        assert_eq!(
            steps
                .values()
                .map(assay_record::chart::Counted::grades)
                .sum::<u64>(),
            6,
            "width {width}"
        );
    }
    assert_eq!(all(&store, &GradeFilter::default(), 10).await.len(), 6);
    assert_eq!(store.runs(10).await.unwrap()[0].grades, 6);
    store.close().await.unwrap();
}

/// Makes the database reject grades of the item `refused`.
fn reject_item() -> &'static str {
    on(
        "create trigger refuse before insert on grades when new.item = 'refused' \
         begin select raise(abort, 'no such item'); end",
        "alter table grades add constraint refuse check (item <> 'refused')",
    )
}

fn rejected(n: u64) -> Entry {
    let mut entry = entry(n, 2);
    change(&mut entry.grades[1], |_, grade| {
        grade.id = Some("refused".to_owned());
    });
    entry
}

#[tokio::test]
async fn sets_a_rejected_entry_aside_and_applies_it_later() {
    let fixture = Fixture::new();
    let store = fixture.open().await;
    fixture.execute(reject_item()).await.unwrap();
    let lock = fixture.lock_database().await;
    for n in 0..20 {
        record(
            &store,
            if n == 3 || n == 11 {
                rejected(n)
            } else {
                entry(n, 2)
            },
        )
        .await;
    }
    drop(lock);
    fixture.applied(&store).await;
    assert_eq!(store.state().set_aside, 2);
    assert_eq!(set_aside_entries(&fixture.options).unwrap(), 2);
    let listed = store.set_aside().await.unwrap();
    assert_eq!(
        listed.iter().map(|entry| entry.batch).collect::<Vec<_>>(),
        [Some(batch(3)), Some(batch(11))]
    );
    assert!(
        listed[0].reason.contains(on("no such item", "refuse")) && listed[0].grades == 2,
        "{listed:?}"
    );
    assert_eq!(store.grade(batch(3).grade(0)).await.unwrap(), None);
    assert_eq!(all(&store, &GradeFilter::default(), 50).await.len(), 36);
    record(&store, entry(20, 2)).await;
    fixture.applied(&store).await;
    store.ready().await.unwrap();
    store.close().await.unwrap();
    assert!(fixture.segments().is_empty());

    let store = fixture.open().await;
    assert_eq!((store.state().pending, store.state().set_aside), (0, 2));
    let results = store.apply_set_aside().await.unwrap();
    assert!(results.iter().all(|(_, error)| {
        error
            .as_ref()
            .is_some_and(|error| error.contains(on("no such item", "refuse")))
    }));
    assert_eq!(store.state().set_aside, 2);

    fixture
        .execute(on(
            "drop trigger refuse",
            "alter table grades drop constraint refuse",
        ))
        .await
        .unwrap();
    let results = store.apply_set_aside().await.unwrap();
    assert!(
        results.len() == 2 && results.iter().all(|(_, error)| error.is_none()),
        "{results:?}"
    );
    assert_eq!(
        (
            store.state().set_aside,
            store.set_aside().await.unwrap().len()
        ),
        (0, 0)
    );
    assert!(
        contains_entry(&store, &rejected(3)).await && contains_entry(&store, &rejected(11)).await
    );
    store.close().await.unwrap();
    assert_eq!(fixture.number("select count(*) from grades").await, 42);
    assert_eq!(fixture.number("select sum(grades) from rollups").await, 42);
}

#[tokio::test]
async fn an_entry_set_aside_before_a_crash_is_kept_once() {
    let fixture = Fixture::new();
    let store = fixture.open().await;
    fixture.execute(reject_item()).await.unwrap();
    record(&store, rejected(1)).await;
    fixture.applied(&store).await;
    // As if the process had ended after it wrote the copy and before it advanced the progress.
    fixture.execute("delete from spool_progress").await.unwrap();
    drop(store);
    let store = fixture.open().await;
    fixture.applied(&store).await;
    assert_eq!(store.state().set_aside, 1);
    drop(store);

    fixture
        .execute(on(
            "delete from spool_progress; drop trigger refuse",
            "delete from spool_progress; alter table grades drop constraint refuse",
        ))
        .await
        .unwrap();
    let store = fixture.open().await;
    fixture.applied(&store).await;
    assert!(contains_entry(&store, &rejected(1)).await);
    assert_eq!(store.state().set_aside, 0, "an applied entry needs no copy");
    store.close().await.unwrap();
}

#[tokio::test]
async fn sets_nothing_aside_if_the_database_rejects_valid_entries() {
    let fixture = Fixture::new();
    let store = fixture.open().await;
    fixture
        .execute("alter table prompt_history rename to away")
        .await
        .unwrap();
    for n in 0..4 {
        record(&store, entry(n, 2)).await;
    }
    while store.state().apply_error.is_none() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(
        store
            .state()
            .apply_error
            .unwrap()
            .contains(on("no such table", "does not exist"))
    );
    assert_eq!((store.state().set_aside, store.state().pending), (0, 4));
    store.ready().await.unwrap();
    fixture
        .execute("alter table away rename to prompt_history")
        .await
        .unwrap();
    fixture.applied(&store).await;
    assert_eq!(
        (store.state().set_aside, store.state().apply_error),
        (0, None)
    );
    store.close().await.unwrap();
    assert_eq!(fixture.number("select count(*) from grades").await, 8);
}

#[tokio::test]
async fn is_not_ready_and_records_nothing_without_the_spool_thread() {
    let fixture = Fixture::new();
    let store = fixture.open().await;
    record(&store, entry(1, 2)).await;
    store.ready().await.unwrap();
    fixture.clock.panic_in_spool();
    for n in 2..5 {
        let result =
            tokio::time::timeout(Duration::from_secs(60), store.append(Arc::new(entry(n, 2))))
                .await;
        let rejected = result.expect("an append is answered").unwrap_err();
        assert!(
            rejected.to_string().contains("the spool thread has ended"),
            "{rejected}"
        );
    }
    let rejected = store.ready().await.unwrap_err();
    assert!(matches!(rejected, RecordError::Unavailable(_)));
    assert!(
        rejected.to_string().contains("the clock stopped"),
        "{rejected}"
    );
    drop(store);
    let store = fixture.open_with_new_clock().await;
    assert!(contains_entry(&store, &entry(1, 2)).await);
    store.ready().await.unwrap();
}

#[tokio::test]
async fn is_not_ready_and_loses_nothing_without_the_writer() {
    let fixture = Fixture::new();
    let store = fixture.open().await;
    fixture.clock.panic_in_writer();
    record(&store, entry(1, 2)).await;
    while store.ready().await.is_ok() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let rejected = store.ready().await.unwrap_err().to_string();
    assert!(
        rejected.contains("the database writer has ended (the clock stopped)"),
        "{rejected}"
    );
    let read = store
        .grade(batch(1).grade(0))
        .await
        .unwrap_err()
        .to_string();
    assert!(read.contains("the database writer has ended"), "{read}");
    drop(store);
    let store = fixture.open_with_new_clock().await;
    fixture.applied(&store).await;
    store.close().await.unwrap();
    assert_eq!(fixture.number("select count(*) from grades").await, 2);
}

#[tokio::test]
async fn is_not_ready_while_the_spool_cannot_be_written() {
    let fixture = Fixture::new();
    let store = fixture.open().await;
    let away = fixture.spool().with_extension("away");
    std::fs::rename(fixture.spool(), &away).unwrap();
    std::fs::write(fixture.spool(), b"not a folder").unwrap();
    store.append(Arc::new(entry(1, 2))).await.unwrap_err();
    let rejected = store.ready().await.unwrap_err().to_string();
    assert!(rejected.contains("cannot write to the spool"), "{rejected}");
    std::fs::remove_file(fixture.spool()).unwrap();
    std::fs::rename(&away, fixture.spool()).unwrap();
    store.ready().await.unwrap();
    record(&store, entry(2, 2)).await;
    store.close().await.unwrap();
}

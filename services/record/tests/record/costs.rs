//! What items cost, and the slowest grades.

use std::time::Duration;

use assay_record::cost::{Cost, CostFilter, CostKey, CostRow};
use assay_record::facts::Measured;
use assay_record::{Entry, Record};

use crate::fixture::{Fixture, change_all, entry, record};

/// The `n`th batch with grades whose times are these.
fn timed(n: u64, times: std::ops::Range<u64>) -> Entry {
    let grades = u32::try_from(times.end - times.start).unwrap();
    let mut entry = entry(n, grades);
    change_all(&mut entry, |_, grade| {
        grade.grade_us = times.start + u64::from(grade.position);
        grade.queue_us = 2;
        grade.work = 3;
    });
    for grade in &mut entry.grades {
        grade.measured = Measured {
            cpu_us: 5,
            has_literals: None,
        };
    }
    entry
}

async fn slowest(store: &Record, filter: &CostFilter) -> Vec<u64> {
    let grades = store.slowest(filter, 50).await.unwrap();
    grades.iter().map(|stored| stored.grade.grade_us).collect()
}

#[tokio::test]
async fn costs_are_summed_by_run_caller_and_grader() {
    let fixture = Fixture::new();
    let store = fixture.open().await;
    record(&store, timed(0, 0..10)).await;
    let mut other = timed(1, 100..102);
    other.run = None;
    other.step = None;
    change_all(&mut other, |source, grade| {
        source.run = None;
        source.step = None;
        grade.grader.name = "code".into();
    });
    record(&store, other).await;
    let all = CostFilter::default();
    let runs = store.costs(CostKey::Run, &all, 9).await.unwrap();
    let names: Vec<_> = runs.iter().map(|row| row.name.as_deref()).collect();
    assert_eq!(names, [None, Some("run-a")]);
    let CostRow { cost, .. } = &runs[1];
    assert_eq!(
        Cost { bytes: 0, ..*cost },
        Cost {
            grades: 10,
            cpu_us: 50,
            grade_us: 45,
            queue_us: 20,
            work: 30,
            bytes: 0,
        }
    );
    assert!(cost.bytes > 10 * 20 * 14, "completions count: {cost:?}");
    let graders = store.costs(CostKey::Grader, &all, 9).await.unwrap();
    assert_eq!(graders[0].name.as_deref(), Some("code"));
    let code = CostFilter {
        grader: Some("code".to_owned()),
        ..CostFilter::default()
    };
    let callers = store.costs(CostKey::Caller, &code, 9).await.unwrap();
    assert_eq!(callers[0].name.as_deref(), Some("local"));
    assert_eq!(callers[0].cost.grades, 2);
    assert_eq!(slowest(&store, &code).await, [101, 100]);
    store.close().await.unwrap();
}

#[tokio::test]
async fn the_record_keeps_the_fifty_slowest_grades() {
    let fixture = Fixture::new();
    let store = fixture.open().await;
    for (n, times) in [(0, 0..60), (1, 40..45), (2, 1_000..1_020), (3, 0..300)] {
        record(&store, timed(n, times)).await;
    }
    let mut expected: Vec<u64> = (0..60)
        .chain(40..45)
        .chain(1_000..1_020)
        .chain(0..300)
        .collect();
    expected.sort_unstable_by(|x, y| y.cmp(x));
    expected.truncate(50);
    let filter = CostFilter {
        run: Some("run-a".to_owned()),
        ..CostFilter::default()
    };
    assert_eq!(slowest(&store, &filter).await, expected);
    assert_eq!(slowest(&store, &CostFilter::default()).await, expected);
    let none = CostFilter {
        run: Some("run-b".to_owned()),
        ..CostFilter::default()
    };
    assert!(slowest(&store, &none).await.is_empty());
    fixture.applied(&store).await;
    let kept = fixture.number("select count(*) from slow_grades").await;
    assert_eq!(kept, 50);
    store.close().await.unwrap();
}

#[tokio::test]
async fn measured_costs_survive_a_crash() {
    let mut fixture = Fixture::new();
    fixture.options.close_timeout = Duration::from_millis(50);
    let store = fixture.open().await;
    let lock = fixture.lock_database().await;
    record(&store, timed(0, 0..10)).await;
    // The entry is only in the spool.
    store.close().await.unwrap_err();
    drop(lock);
    let store = fixture.open_with_new_clock().await;
    let costs = store.costs(CostKey::Run, &CostFilter::default(), 9).await;
    assert_eq!(costs.unwrap()[0].cost.cpu_us, 50);
    store.close().await.unwrap();
}

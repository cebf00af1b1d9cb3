//! What was graded lately: the last steps of runs, and the verdicts of channels.

use std::time::Duration;

use assay_record::RecentChannel;
use assay_record::chart::{Number, Topic};
use assay_rewards::channel::counts::BUCKET_US;

use crate::fixture::{Fixture, START_US, change_all, entry, record};

#[tokio::test]
async fn reads_the_last_steps_of_recent_runs() {
    let fixture = Fixture::new();
    let store = fixture.open().await;
    for n in 1..=6 {
        let mut entry = entry(n, 4);
        if n == 6 {
            change_all(&mut entry, |_, grade| grade.outcome = "failed".into());
        }
        record(&store, entry).await;
    }
    let mut other = entry(9, 1);
    other.run = Some("run-b".into());
    change_all(&mut other, |source, grade| {
        source.run = Some("run-b".into());
        grade.time_us = START_US - 1;
    });
    record(&store, other).await;

    let runs = store.recent_runs(START_US, 9, 3).await.unwrap();
    assert_eq!(runs.len(), 1, "the other run is not recent");
    assert_eq!(
        (&*runs[0].summary.run, runs[0].summary.grades),
        ("run-a", 24)
    );
    let steps = &runs[0].steps;
    assert_eq!(steps.keys().copied().collect::<Vec<_>>(), [4, 5, 6]);
    let whole = store.run_steps("run-a", 1).await.unwrap();
    for (step, counted) in steps {
        let expected = &whole[&Some(*step)];
        for number in [Number::Reward, Number::QueueUs] {
            assert_eq!(counted.sums(number), expected.sums(number));
            assert_eq!(counted.sums(number).count, 4);
        }
        let outcomes: Vec<_> = counted.values_of(Topic::Outcome).collect();
        let outcome = if *step == 6 { "failed" } else { "graded" };
        assert_eq!(outcomes, [(outcome, 4)]);
        assert_eq!(counted.sums(Number::GradeUs).count, 0, "it is not read");
    }
    assert_eq!(store.recent_runs(0, 9, 3).await.unwrap().len(), 2);
    assert_eq!(store.recent_runs(0, 1, 3).await.unwrap().len(), 1);
    store.close().await.unwrap();
}

#[tokio::test]
async fn sums_verdicts_of_recent_channels_by_time() {
    let fixture = Fixture::new();
    let store = fixture.open().await;
    fixture.clock.advance(Duration::from_hours(1));
    for (n, bucket) in [(1, 0), (2, 1), (3, 2)] {
        let mut entry = entry(n, 5);
        change_all(&mut entry, |_, grade| {
            grade.time_us = START_US + bucket * BUCKET_US;
            // Earlier versions of a grader are not read.
            grade.grader.version = if n == 3 { 2 } else { 1 + u32::from(n == 2) };
        });
        record(&store, entry).await;
    }
    let math = |negatives, positives| RecentChannel {
        channel: "math/default".to_owned(),
        version: 2,
        negatives,
        positives,
    };
    let since = async |bucket: i64| {
        let since_us = START_US + bucket * BUCKET_US;
        store.recent_channels(START_US, since_us, 9).await.unwrap()
    };
    assert_eq!(since(0).await, [math(4, 6)]);
    assert_eq!(since(2).await, [math(2, 3)]);
    assert_eq!(
        since(3).await,
        [math(0, 0)],
        "used, but without verdicts since"
    );
    let later = START_US + 3 * BUCKET_US;
    assert_eq!(store.recent_channels(later, 0, 9).await.unwrap(), []);
    assert_eq!(store.recent_channels(0, 0, 0).await.unwrap(), []);
    store.close().await.unwrap();
}

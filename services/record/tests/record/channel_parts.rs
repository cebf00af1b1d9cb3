//! Counts of a channel by time, by run and by policy.

use assay_record::channel_part::PartKey;
use assay_record::event::Adjudication;
use assay_record::storage::{ChannelFilter, PruneFilter};
use assay_record::{Entry, Event, Record};
use assay_rewards::channel::ChannelCounts;
use assay_rewards::channel::counts::{BUCKET_US, OPERATOR};

use crate::batches::prune;
use crate::fixture::{Fixture, START_US, change_all, entry, events, id, record};
use crate::retention::runs;

const CHANNEL: &str = "math/default";

/// The `n`th batch of a run.
fn of_run(n: u64, run: &str, grades: u32) -> Entry {
    let mut entry = entry(n, grades);
    entry.run = Some(run.into());
    change_all(&mut entry, |source, _| source.run = Some(run.into()));
    entry
}

/// Items, overturned negatives, unjudged items, and checks by judges and operators.
fn summary(counts: &ChannelCounts) -> [u64; 5] {
    let mut sums = [0; 5];
    for graded in counts.graded.values() {
        sums[0] += graded.items();
        sums[1] += graded.overturned_negatives;
        sums[2] += graded.unjudged_negatives + graded.unjudged_positives;
    }
    for (checker, checked) in counts.checked.values().flatten() {
        sums[3 + usize::from(checker.judge == OPERATOR)] += checked.checks;
    }
    sums
}

async fn parts(store: &Record, key: PartKey) -> Vec<(Option<String>, [u64; 5])> {
    let parts = store.channel_parts(CHANNEL, 1, key, 9).await.unwrap();
    parts
        .into_iter()
        .map(|part| (part.name, summary(&part.counts)))
        .collect()
}

#[tokio::test]
async fn counts_are_split_by_run_and_by_policy() {
    let fixture = Fixture::new();
    let store = fixture.open().await;
    let mut mixed = of_run(1, "one", 8);
    change_all(&mut mixed, |source, grade| {
        if grade.position >= 4 {
            source.policy = "strict".into();
        }
    });
    for grade in &mut mixed.grades[4..] {
        grade.unjudged = true;
    }
    record(&store, mixed.clone()).await;
    let mut without_run = entry(2, 2);
    (without_run.run, without_run.step) = (None, None);
    change_all(&mut without_run, |source, _| {
        (source.run, source.step) = (None, None);
    });
    record(&store, without_run).await;
    let adjudication = |n: u128, weight| {
        Event::Adjudicated(Adjudication {
            id: n,
            grade: id(&mixed, 5),
            channel: CHANNEL.to_owned(),
            version: 1,
            graded_pass: false,
            pass: true,
            weight,
            corrects: None,
            judged: Some(("judge@1".to_owned(), true)),
            caller: "local".to_owned(),
            note: None,
            time_us: START_US + BUCKET_US,
        })
    };
    record(&store, events(100, vec![adjudication(1, Some(1.0))])).await;
    // One that an operator chose counts nowhere.
    record(&store, events(101, vec![adjudication(2, None)])).await;
    let part = |name: &str, sums| ((!name.is_empty()).then(|| name.to_owned()), sums);
    for _ in 0..2 {
        assert_eq!(
            parts(&store, PartKey::Run).await,
            [part("one", [8, 4, 4, 4, 1]), part("", [2, 1, 0, 1, 0])]
        );
        assert_eq!(
            parts(&store, PartKey::Policy).await,
            [
                part("default", [6, 3, 0, 3, 0]),
                part("strict", [4, 2, 4, 2, 1])
            ]
        );
        fixture.applied(&store).await;
    }
    let policies = store.channel_parts(CHANNEL, 1, PartKey::Policy, 1).await;
    let counts = &policies.unwrap()[0].counts;
    assert_eq!(
        counts.truths.len(),
        1,
        "verdicts of judges are those of the channel"
    );
    let hidden = store.seen_by("somebody");
    assert_eq!(parts(&hidden, PartKey::Run).await, []);
    store.close().await.unwrap();
}

#[tokio::test]
async fn counts_by_time_have_few_spans() {
    let fixture = Fixture::new();
    let store = fixture.open().await;
    let mut long = entry(1, 100);
    change_all(&mut long, |_, grade| {
        grade.time_us += i64::from(grade.position) * BUCKET_US;
    });
    record(&store, long).await;
    let first = START_US / BUCKET_US;
    for (spans, width) in [(100, 1), (99, 6), (20, 6), (2, 144)] {
        let times = store.channel_times(CHANNEL, 1, spans).await.unwrap();
        assert_eq!(times.width, width, "{spans}");
        assert!(times.spans.len() <= usize::try_from(spans).unwrap());
        assert_eq!(times.spans.keys().next(), Some(&(first - first % width)));
        let items: u64 = times.spans.values().map(|counts| summary(counts)[0]).sum();
        assert_eq!(items, 100);
    }
    let none = store.channel_times("math/other", 1, 9).await.unwrap();
    assert_eq!((none.width, none.spans.len()), (0, 0));
    store.close().await.unwrap();
}

#[tokio::test]
async fn parts_are_deleted_with_runs_and_channels() {
    let fixture = Fixture::new();
    let store = fixture.open().await;
    for entry in [of_run(0, "deleted", 4), of_run(1, "kept", 4)] {
        record(&store, entry).await;
    }
    fixture.applied(&store).await;
    prune(&store, runs(&["deleted"])).await;
    let kept = [(Some("kept".to_owned()), [4, 2, 0, 2, 0])];
    assert_eq!(parts(&store, PartKey::Run).await, kept);
    assert_eq!(
        parts(&store, PartKey::Policy).await,
        [(Some("default".to_owned()), [8, 4, 0, 4, 0])],
        "policies are counted over all runs"
    );
    let rows = "select (select count(*) from channel_sources) \
                + (select count(*) from channel_source_checks)";
    assert_eq!(fixture.number(rows).await, 4);
    let channel = ChannelFilter {
        names: vec![CHANNEL.to_owned()],
        ..ChannelFilter::default()
    };
    let channel = PruneFilter {
        channels: Some(channel),
        ..PruneFilter::default()
    };
    prune(&store, channel).await;
    assert_eq!(fixture.number(rows).await, 0);
    store.close().await.unwrap();
}

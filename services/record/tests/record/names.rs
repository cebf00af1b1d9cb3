//! Names that callers choose: who used each first, how many prompts a run has, and the deletion of
//! channels.

use std::time::Duration;

use assay_record::event::Adjudication;
use assay_record::names::DeletedNames;
use assay_record::storage::{ChannelFilter, PruneFilter, PruneProgress, PruneState};
use assay_record::{Entry, Event, Record};
use assay_rewards::channel::counts::Calibration;

use crate::batches::{of_run, prune};
use crate::fixture::{
    Fixture, START_US, batch, change_all, contains_entry, entry, events, part, record,
};

/// The `n`th batch of a caller, with two grades of a channel that judges have checked.
fn of_channel(n: u64, caller: &str, channel: &str) -> Entry {
    let mut entry = part(n, 0, 2);
    entry.caller = caller.into();
    change_all(&mut entry, |source, grade| {
        source.caller = caller.into();
        grade.channel = channel.into();
    });
    entry
}

fn adjudicated(n: u64, channel: &str) -> Entry {
    let adjudication = Adjudication {
        id: n.into(),
        grade: batch(n).grade(1),
        channel: channel.to_owned(),
        version: 1,
        graded_pass: false,
        pass: true,
        weight: Some(1.0),
        corrects: None,
        judged: Some(("judge@1".to_owned(), true)),
        caller: "operator".to_owned(),
        note: None,
        time_us: START_US,
    };
    events(n + 1_000, vec![Event::Adjudicated(adjudication)])
}

fn calibrated(n: u64, channel: &str) -> Entry {
    let calibration = Calibration {
        channel: channel.to_owned(),
        version: 1,
        method: "labels".to_owned(),
        right: 10.0,
        right_rejected: 1.0,
        wrong: 20.0,
        wrong_passed: 2.0,
        time_us: START_US,
    };
    events(n + 2_000, vec![Event::Calibrated(calibration)])
}

fn channels(filter: ChannelFilter) -> PruneFilter {
    PruneFilter {
        channels: Some(filter),
        ..PruneFilter::default()
    }
}

async fn used_channels(store: &Record) -> Vec<(String, String)> {
    let names = store.used_names().await.unwrap();
    let channels = names.channels.iter();
    channels
        .map(|(channel, caller)| (channel.to_string(), caller.to_string()))
        .collect()
}

/// The channels that have counts, checks, adjudicated checks or a calibration.
async fn counted(store: &Record) -> Vec<String> {
    let counts = store.channels().await.unwrap();
    let mut names: Vec<String> = counts
        .graded
        .into_keys()
        .map(|place| place.channel)
        .chain(counts.checked.into_keys().map(|place| place.channel))
        .chain(counts.truths.into_keys().map(|key| key.0))
        .chain(counts.calibrations.into_keys().map(|key| key.0))
        .collect();
    names.sort();
    names.dedup();
    names
}

fn done(progress: &PruneProgress) -> u64 {
    assert_eq!(
        (progress.state, progress.error.as_deref()),
        (PruneState::Done, None)
    );
    progress.channels
}

#[tokio::test]
async fn names_belong_to_the_caller_that_used_them_first() {
    let fixture = Fixture::new();
    let store = fixture.open().await;
    record(&store, of_channel(1, "alice", "math/a")).await;
    record(&store, of_channel(2, "bob", "math/a")).await;
    record(&store, of_channel(3, "bob", "math/b")).await;
    let expected = [("math/a", "alice"), ("math/b", "bob")]
        .map(|(channel, caller)| (channel.to_owned(), caller.to_owned()));
    for _ in 0..2 {
        assert_eq!(used_channels(&store).await, expected);
        let runs = store.used_names().await.unwrap().runs;
        let runs: Vec<(&str, &str)> = runs
            .iter()
            .map(|(run, caller)| (&**run, &**caller))
            .collect();
        assert_eq!(runs, [("run-a", "alice")]);
        fixture.applied(&store).await;
    }
    store.close().await.unwrap();
    drop(store);
    assert_eq!(used_channels(&fixture.open().await).await, expected);
}

#[tokio::test]
async fn counts_the_prompts_of_a_run_once() {
    let fixture = Fixture::new();
    let store = fixture.open().await;
    // Six grades of one prompt at one step, which it is visited at again, and another prompt.
    record(&store, part(1, 0, 6)).await;
    let mut again = part(1, 6, 6);
    again.step = Some(9);
    change_all(&mut again, |source, _| {
        source.step = Some(9);
    });
    again.batch = batch(7);
    change_all(&mut again, |source, grade| {
        (source.batch, grade.grade) = (batch(7), batch(7).grade(grade.position));
    });
    record(&store, again).await;
    record(&store, entry(2, 2)).await;
    let pending = store.prompts("run-a").await.unwrap();
    assert!((2..=14).contains(&pending), "an upper bound: {pending}");
    fixture.applied(&store).await;
    assert_eq!(store.visits("run-a", None).await.unwrap().len(), 2);
    assert_eq!(store.prompts("run-a").await.unwrap(), 2);
    record(&store, part(1, 0, 6)).await;
    fixture.applied(&store).await;
    assert_eq!(store.prompts("run-a").await.unwrap(), 2);
    assert_eq!(store.prompts("run-b").await.unwrap(), 0);
}

#[tokio::test]
async fn deletes_channels_by_prefix_from_every_table_and_keeps_their_grades() {
    let fixture = Fixture::new();
    let store = fixture.open().await;
    let deleted = of_channel(1, "alice", "math/tmp-1");
    record(&store, deleted.clone()).await;
    record(&store, adjudicated(1, "math/tmp-1")).await;
    record(&store, of_channel(2, "alice", "math/tmp-2")).await;
    record(&store, of_channel(3, "alice", "math/tmp")).await;
    record(&store, adjudicated(3, "math/tmp")).await;
    fixture.applied(&store).await;
    let filter = channels(ChannelFilter {
        prefix: Some("math/tmp-".to_owned()),
        ..ChannelFilter::default()
    });
    let estimate = store.prune_estimate(&filter).await.unwrap();
    assert_eq!((estimate.channels, estimate.batches), (2, 0));
    let pruned = prune(&store, filter).await;
    assert_eq!((done(&pruned), pruned.grades), (2, 0));
    assert_eq!(counted(&store).await, ["math/tmp"]);
    assert_eq!(
        used_channels(&store).await,
        [("math/tmp".to_owned(), "alice".to_owned())]
    );
    let left = "select (select count(*) from channels where channel <> 'math/tmp') \
                + (select count(*) from channel_checks where channel <> 'math/tmp') \
                + (select count(*) from judges where channel <> 'math/tmp')";
    assert_eq!(fixture.number(left).await, 0);
    assert!(contains_entry(&store, &deleted).await);
    assert_eq!(
        store.take_deleted_names(),
        DeletedNames {
            channels: vec!["math/tmp-1".to_owned(), "math/tmp-2".to_owned()],
            runs: Vec::new(),
        }
    );
    assert!(store.take_deleted_names().is_empty());
    // Applying the same grades again does not count them, and new ones introduce the channel again.
    record(&store, deleted).await;
    fixture.applied(&store).await;
    assert_eq!(counted(&store).await, ["math/tmp"]);
    record(&store, of_channel(4, "bob", "math/tmp-1")).await;
    fixture.applied(&store).await;
    assert_eq!(
        used_channels(&store).await[1],
        ("math/tmp-1".to_owned(), "bob".to_owned())
    );
    store.close().await.unwrap();
}

#[tokio::test]
async fn deletes_the_unused_channels_of_a_caller() {
    let fixture = Fixture::new();
    let store = fixture.open().await;
    record(&store, of_channel(1, "alice", "math/old")).await;
    record(&store, of_channel(2, "bob", "math/other")).await;
    record(&store, of_channel(50_000, "alice", "math/new")).await;
    fixture.applied(&store).await;
    let filter = channels(ChannelFilter {
        caller: Some("alice".to_owned()),
        unused_since_us: Some(START_US + 10_000_000),
        ..ChannelFilter::default()
    });
    assert_eq!(done(&prune(&store, filter.clone()).await), 1);
    assert_eq!(counted(&store).await, ["math/new", "math/other"]);
    assert_eq!(done(&prune(&store, filter).await), 0);
    store.close().await.unwrap();
}

#[tokio::test]
async fn a_calibrated_channel_is_deleted_only_by_its_name() {
    let fixture = Fixture::new();
    let store = fixture.open().await;
    record(&store, of_channel(1, "alice", "math/a")).await;
    record(&store, calibrated(1, "math/a")).await;
    record(&store, calibrated(2, "math/never used")).await;
    fixture.applied(&store).await;
    for filter in [
        ChannelFilter {
            unused_since_us: Some(i64::MAX),
            ..ChannelFilter::default()
        },
        ChannelFilter {
            prefix: Some("math/".to_owned()),
            ..ChannelFilter::default()
        },
    ] {
        let filter = channels(filter);
        let estimate = store.prune_estimate(&filter).await.unwrap();
        assert_eq!((estimate.channels, estimate.calibrated_channels), (0, 2));
        assert_eq!(done(&prune(&store, filter).await), 0);
    }
    assert_eq!(counted(&store).await, ["math/a", "math/never used"]);
    let named = channels(ChannelFilter {
        names: vec!["math/a".to_owned(), "math/never used".to_owned()],
        ..ChannelFilter::default()
    });
    let estimate = store.prune_estimate(&named).await.unwrap();
    assert_eq!((estimate.channels, estimate.calibrated_channels), (2, 0));
    assert_eq!(done(&prune(&store, named).await), 2);
    assert!(counted(&store).await.is_empty());
    store.close().await.unwrap();
}

#[tokio::test]
async fn deletes_more_channels_than_fit_in_one_step() {
    let fixture = Fixture::new();
    let store = fixture.open().await;
    let mut many = part(1, 0, 400);
    change_all(&mut many, |_, grade| {
        grade.channel = format!("math/{}", grade.position).into();
    });
    record(&store, many).await;
    fixture.applied(&store).await;
    let all = channels(ChannelFilter {
        prefix: Some(String::new()),
        ..ChannelFilter::default()
    });
    assert_eq!(done(&prune(&store, all).await), 400);
    assert!(counted(&store).await.is_empty());
    assert_eq!(store.take_deleted_names().channels.len(), 400);
    store.close().await.unwrap();
}

#[tokio::test]
async fn a_deleted_run_frees_its_name() {
    let fixture = Fixture::new();
    let store = fixture.open().await;
    record(&store, of_run(1, "old", 4)).await;
    record(&store, of_run(2, "kept", 4)).await;
    fixture.applied(&store).await;
    let old = PruneFilter {
        runs: vec!["old".to_owned()],
        ..PruneFilter::default()
    };
    assert_eq!(prune(&store, old).await.runs, 1);
    assert_eq!(store.take_deleted_names().runs, ["old"]);
    let runs = store.used_names().await.unwrap().runs;
    assert_eq!(
        runs.keys().map(AsRef::as_ref).collect::<Vec<&str>>(),
        ["kept"]
    );
    store.close().await.unwrap();
}

#[tokio::test]
async fn enforces_the_limit_on_unused_channels() {
    let mut fixture = Fixture::new();
    fixture.options.limits.channel_age_us = 10_000_000;
    fixture.options.limits_interval = Duration::from_millis(20);
    let store = fixture.open().await;
    record(&store, of_channel(1, "alice", "math/old")).await;
    record(&store, of_channel(2, "alice", "math/calibrated")).await;
    record(&store, calibrated(2, "math/calibrated")).await;
    record(&store, of_channel(8_000, "alice", "math/young")).await;
    fixture.applied(&store).await;
    fixture.clock.advance(Duration::from_secs(12));
    while counted(&store).await.len() > 2 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(counted(&store).await, ["math/calibrated", "math/young"]);
    let pruned = store.storage(1).await.unwrap().prune.unwrap();
    assert!(pruned.automatic && pruned.filter.channels.is_some());
    store.close().await.unwrap();
}

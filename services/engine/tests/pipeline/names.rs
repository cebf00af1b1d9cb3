//! The limits on the names that callers introduce, and the refresh of the rates of channels.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use assay_core::ErrorCode;
use assay_engine::{Batch, BatchItem, EngineError, Limits, Mode};
use assay_record::storage::{ChannelFilter, PruneFilter, PruneState};
use tokio::sync::{Notify, Semaphore};

use crate::fixtures::{
    Fixture, Recorded, batch, fixture_after, fixture_refreshing, fixture_with, item, keyed,
};

fn limits(channels: usize, runs: usize, prompts: usize) -> Limits {
    Limits {
        workers: 2,
        channels_per_caller: channels,
        runs_per_caller: runs,
        prompts_per_run: prompts,
        ..Limits::default()
    }
}

fn of_channel(channel: Option<&str>) -> BatchItem {
    let mut item = item("exact", "1", "1");
    item.channel = channel.map(str::to_owned);
    item
}

fn channels(names: &[&str]) -> Batch {
    batch(names.iter().map(|name| of_channel(Some(name))).collect())
}

fn of_run(run: &str, prompts: &[&str]) -> Batch {
    let items = prompts.iter().map(|prompt| {
        let mut item = item("exact", "1", "1");
        item.prompt_key = Some((*prompt).to_owned());
        item
    });
    Batch {
        run: Some(run.into()),
        ..batch(items.collect())
    }
}

async fn grade(fixture: &Fixture, batch: Batch) -> Result<(), EngineError> {
    fixture.engine.grade(batch, Mode::Whole).await.map(drop)
}

/// The pointer and message of a rejection.
fn refusal(result: Result<(), EngineError>) -> (String, String) {
    match result {
        Err(EngineError::Refused {
            code: ErrorCode::InvalidField,
            pointer,
            message,
        }) => (pointer, message),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn rejects_channels_beyond_the_limit_before_anything_is_graded() {
    let fixture = fixture_with(Recorded::default(), limits(2, 9, 9)).await;
    grade(&fixture, channels(&["a", "b", "a"])).await.unwrap();
    let graded = fixture.graded.load(Ordering::Relaxed);
    let (pointer, message) = refusal(grade(&fixture, channels(&["a", "c", "d"])).await);
    assert_eq!(pointer, "/items/1/channel");
    assert!(
        message.contains("more than 2 channels (`channels.per_caller`)"),
        "{message}"
    );
    assert_eq!(fixture.graded.load(Ordering::Relaxed), graded);

    // Known channels, items without a channel and those of other callers pass.
    let mut known = channels(&["b", "a", "default"]);
    known.items.push(of_channel(None));
    grade(&fixture, known).await.unwrap();
    let other = Batch {
        caller: "other".into(),
        ..channels(&["a", "c", "d"])
    };
    grade(&fixture, other).await.unwrap();
    grade(&fixture, channels(&["c", "d"])).await.unwrap();
    refusal(grade(&fixture, channels(&["e"])).await);
}

#[tokio::test]
async fn unrecorded_batches_introduce_nothing() {
    let fixture = fixture_with(Recorded::default(), limits(1, 9, 9)).await;
    for name in ["a", "b"] {
        let batch = channels(&[name, "c"]);
        fixture.engine.grade_unrecorded(batch).await.unwrap();
    }
    fixture.recorded.broken.store(true, Ordering::Relaxed);
    grade(&fixture, channels(&["a"])).await.unwrap();
    fixture.recorded.broken.store(false, Ordering::Relaxed);
    grade(&fixture, channels(&["b"])).await.unwrap();
    refusal(grade(&fixture, channels(&["a"])).await);
}

#[tokio::test]
async fn concurrent_batches_do_not_exceed_the_limit_together() {
    let gate = Arc::new(Notify::new());
    let recorded = Recorded {
        gate: Some(Arc::clone(&gate)),
        ..Recorded::default()
    };
    let fixture = fixture_with(recorded, limits(1, 1, 9)).await;
    let engine = fixture.engine.clone();
    let batch = Batch {
        run: Some("r".into()),
        ..channels(&["a"])
    };
    let first = tokio::spawn(async move {
        let request = keyed("k", "body");
        engine
            .grade_once(request, batch, Mode::Whole)
            .await
            .map(drop)
    });
    while fixture.graded.load(Ordering::Relaxed) == 0 {
        tokio::task::yield_now().await;
    }
    refusal(grade(&fixture, channels(&["b"])).await);
    let (pointer, message) = refusal(grade(&fixture, of_run("s", &["p"])).await);
    assert_eq!(pointer, "/run");
    assert!(message.contains("`engine.runs_per_caller`"), "{message}");
    gate.notify_one();
    first.await.unwrap().unwrap();
    refusal(grade(&fixture, channels(&["b"])).await);
}

/// Deletes what the filter matches.
async fn prune(fixture: &Fixture, filter: PruneFilter) {
    let number = fixture.record.prune(filter).await.unwrap().number;
    loop {
        let prune = fixture.record.storage(1).await.unwrap().prune.unwrap();
        if prune.number == number && prune.state != PruneState::Running {
            assert_eq!(prune.state, PruneState::Done);
            return;
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn names_of_the_record_count_after_a_restart_until_they_are_deleted() {
    let before = fixture_with(Recorded::default(), limits(1, 1, 9)).await;
    let named = Batch {
        run: Some("r".into()),
        ..channels(&["a"])
    };
    grade(&before, named).await.unwrap();
    let fixture = fixture_after(&before, limits(1, 1, 9));
    refusal(grade(&fixture, channels(&["b"])).await);
    refusal(grade(&fixture, of_run("s", &["p"])).await);
    let runs = PruneFilter {
        runs: vec!["r".to_owned()],
        ..PruneFilter::default()
    };
    prune(&fixture, runs).await;
    let channel = PruneFilter {
        channels: Some(ChannelFilter {
            names: vec!["exact/a".to_owned()],
            ..ChannelFilter::default()
        }),
        ..PruneFilter::default()
    };
    prune(&fixture, channel).await;
    grade(&fixture, channels(&["b"])).await.unwrap();
    grade(&fixture, of_run("s", &["p"])).await.unwrap();
    refusal(grade(&fixture, channels(&["a"])).await);
}

#[tokio::test]
async fn rejects_prompts_beyond_the_limit_of_a_run() {
    let fixture = fixture_with(Recorded::default(), limits(9, 9, 3)).await;
    for prompts in [
        &["p", "p", "q"][..],
        &["q", "r", "r"],
        &["p", "q", "r", "p"],
    ] {
        grade(&fixture, of_run("r", prompts)).await.unwrap();
    }
    let (pointer, message) = refusal(grade(&fixture, of_run("r", &["p", "s"])).await);
    assert_eq!(pointer, "/items/1/prompt_key");
    assert!(message.contains("`engine.prompts_per_run`"), "{message}");
    grade(&fixture, of_run("another", &["s"])).await.unwrap();
    let computed = Batch {
        run: Some("r".into()),
        ..batch(vec![item("exact", "1", "1")])
    };
    assert_eq!(refusal(grade(&fixture, computed).await).0, "/items/0");
}

#[tokio::test]
async fn a_batch_does_not_wait_for_the_refresh_of_the_rates() {
    let reads = Arc::new(Semaphore::new(1));
    let recorded = Recorded {
        channel_reads: Some(Arc::clone(&reads)),
        ..Recorded::default()
    };
    let fixture = fixture_refreshing(recorded, Duration::from_nanos(1)).await;
    let begun = || fixture.recorded.channel_reads_begun.load(Ordering::Relaxed);
    let one = || batch(vec![item("exact", "1", "1")]);
    // The first batch reads the counts itself; a later one starts a read, which does not end.
    grade(&fixture, one()).await.unwrap();
    assert_eq!(begun(), 1);
    while begun() < 2 {
        grade(&fixture, one()).await.unwrap();
    }
    for _ in 0..20 {
        grade(&fixture, one()).await.unwrap();
    }
    assert_eq!(begun(), 2, "one read at a time");
    reads.add_permits(1);
    while begun() < 3 {
        grade(&fixture, one()).await.unwrap();
    }
}

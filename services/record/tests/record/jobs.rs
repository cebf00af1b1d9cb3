//! Jobs: which node grades a shard, how often, and what of a job is shown to whom.

use std::time::Duration;

use assay_core::Hash;
use assay_record::Record;
use assay_record::job::{JobKind, JobState, NewJob, NewShard, ShardOutcome, ShardState};

use crate::fixture::{Fixture, batch};

const LEASE: Duration = Duration::from_secs(30);

fn job(n: u64, key: Option<&str>) -> NewJob {
    NewJob {
        id: batch(n),
        kind: JobKind::Grade,
        caller: "alice".to_owned(),
        share: "alice".to_owned(),
        run: Some("alice:run".to_owned()),
        step: Some(7),
        policy: None,
        key: key.map(str::to_owned),
        options: None,
    }
}

fn lines(n: u32) -> Vec<u8> {
    format!("line {n}\n").repeat(40).into_bytes()
}

/// Adds a job with so many shards.
async fn submit(record: &Record, n: u64, shards: u32) {
    assert!(record.begin_job(&job(n, None)).await.unwrap());
    for no in 0..shards {
        let shard = NewShard {
            no,
            first_line: u64::from(no) * 40 + 1,
            items: 40,
            content: lines(no),
        };
        record.add_job_shard(batch(n), shard).await.unwrap();
    }
    record
        .complete_job(batch(n), Hash::of(b"request"))
        .await
        .unwrap();
}

fn graded(items: u64) -> ShardOutcome {
    ShardOutcome {
        graded: items,
        passed: items / 2,
        invalid: 40 - items,
        problems: Some("[]".to_owned()),
        ..ShardOutcome::default()
    }
}

#[tokio::test]
async fn a_shard_is_claimed_once_until_its_lease_ends() {
    let fixture = Fixture::new();
    let one = fixture.open().await;
    submit(&one, 1, 2).await;
    let first = one
        .claim_job_shard(batch(1), batch(10), LEASE)
        .await
        .unwrap()
        .unwrap();
    assert_eq!((first.no, first.batch, first.tries), (0, batch(10), 1));
    assert_eq!((first.first_line, &first.content), (1, &lines(0)));
    let second = one
        .claim_job_shard(batch(1), batch(11), LEASE)
        .await
        .unwrap()
        .unwrap();
    assert_eq!((second.no, second.batch), (1, batch(11)));
    let claim = async |id| {
        let claimed = one.claim_job_shard(batch(1), batch(id), LEASE).await;
        claimed
            .unwrap()
            .map(|shard| (shard.no, shard.batch, shard.tries))
    };
    assert_eq!(claim(12).await, None);
    fixture.clock.advance(LEASE / 2);
    one.extend_job_shard(batch(1), 1, LEASE).await.unwrap();
    fixture.clock.advance(LEASE / 2);
    assert_eq!(
        claim(13).await,
        Some((0, batch(10), 2)),
        "with the batch of the first try"
    );
    assert_eq!(claim(14).await, None, "the other one was extended");
}

#[tokio::test]
async fn a_restarted_node_continues_what_it_was_grading() {
    let fixture = Fixture::new();
    let record = fixture.open().await;
    submit(&record, 1, 1).await;
    assert!(record.begin_job(&job(2, None)).await.unwrap());
    record
        .claim_job_shard(batch(1), batch(10), LEASE)
        .await
        .unwrap()
        .unwrap();
    drop(record);
    let record = fixture.open().await;
    record.recover_jobs().await.unwrap();
    let again = record
        .claim_job_shard(batch(1), batch(11), LEASE)
        .await
        .unwrap();
    assert_eq!(
        again.map(|shard| (shard.batch, shard.tries)),
        Some((batch(10), 2))
    );
    assert!(
        record.begin_job(&job(2, None)).await.unwrap(),
        "the job that was being received is deleted"
    );
}

#[tokio::test]
async fn a_job_is_finished_with_its_last_shard() {
    let fixture = Fixture::new();
    let record = fixture.open().await;
    submit(&record, 1, 2).await;
    let read = async || record.job(batch(1)).await.unwrap().unwrap();
    let claim = async || {
        let claimed = record.claim_job_shard(batch(1), batch(10), LEASE).await;
        claimed.unwrap().unwrap()
    };
    assert_eq!(read().await.state(), JobState::Waiting);
    claim().await;
    assert_eq!(read().await.state(), JobState::Running);
    for _ in 0..2 {
        // Another node may have graded the same shard.
        record
            .finish_job_shard(batch(1), 0, &graded(30))
            .await
            .unwrap();
    }
    record
        .release_job_shard(
            batch(1),
            claim().await.no,
            Duration::ZERO,
            Some("no answer"),
        )
        .await
        .unwrap();
    let failing = record.failing_shards(batch(1), 9).await.unwrap();
    assert_eq!((failing[0].tries, failing[0].set_aside), (1, false));
    assert!(!record.finish_job(batch(1)).await.unwrap());
    assert_eq!(claim().await.reason.as_deref(), Some("no answer"));
    record
        .set_job_shard_aside(batch(1), 1, "too often")
        .await
        .unwrap();
    let job = read().await;
    assert_eq!(
        (job.state(), job.finished_us.is_some()),
        (JobState::Done, true)
    );
    let counts = job.counts;
    assert_eq!((counts.done, counts.set_aside, counts.items), (1, 1, 80));
    assert_eq!((counts.graded, counts.passed, counts.invalid), (30, 15, 10));
    assert_eq!((counts.finished(), counts.items_set_aside), (80, 40));
    let shards = record.result_shards(batch(1), 0, 9).await.unwrap();
    assert_eq!(shards[0].state, ShardState::Done);
    assert_eq!((&shards[0].content, &shards[0].reason), (&None, &None));
    assert_eq!(shards[1].content.as_deref(), Some(&*lines(1)));
    assert_eq!(shards[1].reason.as_deref(), Some("too often"));
    assert_eq!(record.open_jobs().await.unwrap(), []);
    let recent = record.recent_shards(batch(1), 0).await.unwrap();
    assert_eq!(recent.items, 80);
}

#[tokio::test]
async fn a_released_shard_is_tried_again_after_a_pause() {
    let fixture = Fixture::new();
    let record = fixture.open().await;
    submit(&record, 1, 1).await;
    let claim = async || {
        let claimed = record.claim_job_shard(batch(1), batch(10), LEASE).await;
        claimed.unwrap().map(|shard| shard.tries)
    };
    assert_eq!(claim().await, Some(1));
    let release = async |pause, reason| {
        let released = record.release_job_shard(batch(1), 0, pause, reason).await;
        released.unwrap();
    };
    release(Duration::ZERO, None).await;
    assert_eq!(
        claim().await,
        Some(1),
        "without a reason, a try does not count"
    );
    release(LEASE, Some("no answer")).await;
    assert_eq!(claim().await, None);
    fixture.clock.advance(LEASE);
    assert_eq!(claim().await, Some(2));
}

#[tokio::test]
async fn a_cancelled_job_is_not_graded() {
    let fixture = Fixture::new();
    let record = fixture.open().await;
    submit(&record, 1, 2).await;
    record
        .claim_job_shard(batch(1), batch(10), LEASE)
        .await
        .unwrap()
        .unwrap();
    let used = record.job_use("alice").await.unwrap();
    assert_eq!((used.jobs, used.bytes), (1, 2 * lines(0).len() as u64));
    record.cancel_job(batch(1)).await.unwrap();
    assert_eq!(record.open_jobs().await.unwrap(), []);
    let claimed = record.claim_job_shard(batch(1), batch(11), LEASE).await;
    assert_eq!(claimed.unwrap(), None, "its lines are deleted");
    record
        .finish_job_shard(batch(1), 0, &graded(40))
        .await
        .unwrap();
    let job = record.job(batch(1)).await.unwrap().unwrap();
    assert_eq!((job.state(), job.counts.graded), (JobState::Cancelled, 40));
    assert_eq!(job.finished_us, None);
    assert_eq!(record.job_use("alice").await.unwrap().jobs, 0);
}

#[tokio::test]
async fn jobs_are_shown_to_their_callers() {
    let fixture = Fixture::new();
    let record = fixture.open().await;
    for n in 1..=3 {
        submit(&record, n, 1).await;
    }
    let ids = |jobs: Vec<assay_record::job::Job>| -> Vec<_> {
        jobs.into_iter().map(|job| job.id).collect()
    };
    let all = ids(record.jobs(None, 9).await.unwrap());
    assert_eq!(all, [batch(3), batch(2), batch(1)]);
    let page = ids(record.jobs(Some(batch(3)), 1).await.unwrap());
    assert_eq!(page, [batch(2)]);
    let alice = record.seen_by("alice");
    let own = alice.job(batch(1)).await.unwrap().unwrap();
    assert_eq!(own.run.as_deref(), Some("run"));
    assert_eq!(ids(alice.jobs(None, 9).await.unwrap()).len(), 3);
    let bob = record.seen_by("bob");
    assert_eq!(bob.job(batch(1)).await.unwrap(), None);
    assert_eq!(bob.jobs(None, 9).await.unwrap(), []);
}

#[tokio::test]
async fn a_key_belongs_to_one_job_of_a_caller() {
    let fixture = Fixture::new();
    let record = fixture.open().await;
    assert!(record.begin_job(&job(1, Some("k"))).await.unwrap());
    assert!(!record.begin_job(&job(2, Some("k"))).await.unwrap());
    let known = async |caller| record.job_of_key(caller, "k").await.unwrap();
    assert_eq!(known("alice").await.unwrap().request, None);
    assert_eq!(
        record.jobs(None, 9).await.unwrap(),
        [],
        "it is not received"
    );
    let request = Hash::of(b"request");
    record.complete_job(batch(1), request).await.unwrap();
    let found = known("alice").await.unwrap();
    assert_eq!((found.id, found.request), (batch(1), Some(request)));
    assert_eq!(known("bob").await, None);
    record.delete_job(batch(1)).await.unwrap();
    assert_eq!(known("alice").await, None);
}

#[tokio::test]
async fn jobs_are_deleted_long_after_their_end() {
    let fixture = Fixture::new();
    let record = fixture.open().await;
    submit(&record, 1, 1).await;
    submit(&record, 2, 1).await;
    record
        .finish_job_shard(batch(1), 0, &graded(40))
        .await
        .unwrap();
    let kept = Duration::from_secs(100);
    fixture.clock.advance(kept);
    record.delete_outdated_jobs(kept).await.unwrap();
    assert_eq!(record.jobs(None, 9).await.unwrap().len(), 2);
    fixture.clock.advance(Duration::from_secs(1));
    record.delete_outdated_jobs(kept).await.unwrap();
    let left = record.jobs(None, 9).await.unwrap();
    assert_eq!(left.len(), 1, "the other one has not ended");
    assert_eq!(left[0].id, batch(2));
    let shards = fixture.number("select count(*) from job_shards").await;
    assert_eq!(shards, 1);
}

#[tokio::test]
async fn a_replay_keeps_its_options_summaries_and_results() {
    let fixture = Fixture::new();
    let record = fixture.open().await;
    let replay = NewJob {
        kind: JobKind::Replay,
        options: Some("{\"form\":\"decimal\"}".to_owned()),
        ..job(1, None)
    };
    assert!(record.begin_job(&replay).await.unwrap());
    for no in 0..2 {
        let shard = NewShard {
            no,
            first_line: 1,
            items: 40,
            content: lines(no),
        };
        record.add_job_shard(batch(1), shard).await.unwrap();
    }
    let request = Hash::of(b"request");
    record.complete_job(batch(1), request).await.unwrap();
    let open = record.open_jobs().await.unwrap();
    assert_eq!(
        (open[0].kind, &open[0].options),
        (JobKind::Replay, &replay.options)
    );
    let results = b"a result\n".repeat(40);
    for no in 0..2 {
        let shard = record
            .claim_job_shard(batch(1), batch(10 + u64::from(no)), LEASE)
            .await;
        assert_eq!(shard.unwrap().unwrap().content, lines(no));
        let outcome = ShardOutcome {
            summary: Some(format!("{{\"shard\":{no}}}")),
            results: Some(results.clone()),
            ..graded(40)
        };
        record
            .finish_job_shard(batch(1), no, &outcome)
            .await
            .unwrap();
    }
    let job = record.job(batch(1)).await.unwrap().unwrap();
    assert_eq!(
        (job.kind(), job.state()),
        (Some(JobKind::Replay), JobState::Done)
    );
    assert_eq!(job.options, replay.options);
    let summaries = record.shard_summaries(batch(1)).await.unwrap();
    assert_eq!(summaries, ["{\"shard\":0}", "{\"shard\":1}"]);
    let shards = record.result_shards(batch(1), 0, 10).await.unwrap();
    assert_eq!(shards.len(), 2);
    assert!(
        shards
            .iter()
            .all(|shard| shard.content.as_ref() == Some(&results))
    );
}

#[tokio::test]
async fn jobs_of_later_releases_are_left_to_them() {
    let fixture = Fixture::new();
    let record = fixture.open().await;
    submit(&record, 1, 1).await;
    submit(&record, 2, 1).await;
    let later =
        "update jobs set kind = 'later' where id = (select id from jobs order by id limit 1)";
    fixture.execute(later).await.unwrap();
    let open = record.open_jobs().await.unwrap();
    assert_eq!(
        open.iter().map(|job| job.id).collect::<Vec<_>>(),
        [batch(2)]
    );
    let later = record.job(batch(1)).await.unwrap().unwrap();
    assert_eq!((later.kind(), &*later.kind), (None, "later"));
}

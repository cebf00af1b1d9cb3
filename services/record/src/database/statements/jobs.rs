//! Jobs and the shadows of runs.

use std::time::Duration;

use assay_core::Hash;

use super::ids::{CALLER, batch};
use crate::Record;
use crate::job::{JobKind, NewJob, NewShard, ShardOutcome};
use crate::shadow::{NewShadow, ShadowBatch, ShadowChange};

/// Uses every read and write of jobs.
pub(super) async fn use_jobs(record: &Record) {
    let submit = async |n| {
        let job = NewJob {
            id: batch(n),
            kind: JobKind::Grade,
            caller: CALLER.to_owned(),
            share: CALLER.to_owned(),
            run: None,
            step: Some(1),
            policy: None,
            key: Some(n.to_string()),
            options: None,
        };
        assert!(record.begin_job(&job).await.unwrap());
        for no in 0..2 {
            let shard = NewShard {
                no,
                first_line: 1,
                items: 1,
                content: b"{}\n".to_vec(),
            };
            record.add_job_shard(batch(n), shard).await.unwrap();
        }
        let request = Hash::of(b"request");
        record.complete_job(batch(n), request).await.unwrap();
    };
    for n in 20..22 {
        submit(n).await;
    }
    let (job, lease) = (batch(20), Duration::from_secs(60));
    assert!(record.job_of_key(CALLER, "20").await.unwrap().is_some());
    assert_eq!(record.open_jobs().await.unwrap().len(), 2);
    let claim = async || record.claim_job_shard(job, batch(30), lease).await.unwrap();
    assert_eq!(claim().await.unwrap().no, 0);
    record.extend_job_shard(job, 0, lease).await.unwrap();
    let released = record.release_job_shard(job, 0, Duration::ZERO, Some("no answer"));
    released.await.unwrap();
    assert_eq!(record.failing_shards(job, 9).await.unwrap().len(), 1);
    assert_eq!(claim().await.unwrap().tries, 2);
    record.recover_jobs().await.unwrap();
    let outcome = ShardOutcome {
        summary: Some("{}".to_owned()),
        results: Some(b"{}\n".to_vec()),
        ..ShardOutcome::default()
    };
    record.finish_job_shard(job, 0, &outcome).await.unwrap();
    assert_eq!(record.shard_summaries(job).await.unwrap(), ["{}"]);
    assert!(!record.finish_job(job).await.unwrap());
    record
        .set_job_shard_aside(job, 1, "no answer")
        .await
        .unwrap();
    assert_eq!(record.result_shards(job, 0, 9).await.unwrap().len(), 2);
    assert_eq!(record.recent_shards(job, 0).await.unwrap().items, 2);
    assert_eq!(record.job_use(CALLER).await.unwrap().jobs, 1);
    record.cancel_job(batch(21)).await.unwrap();
    assert_eq!(record.jobs(None, 9).await.unwrap().len(), 2);
    record.delete_outdated_jobs(Duration::ZERO).await.unwrap();
    record.delete_job(batch(21)).await.unwrap();
}

/// Uses every read and write of shadows. The record has batches of the run `run`.
pub(super) async fn use_shadows(record: &Record) {
    let start = async |n, from_start| {
        let shadow = NewShadow {
            id: batch(n),
            run: "run".to_owned(),
            caller: CALLER.to_owned(),
            part: 0.5,
            options: "{}".to_owned(),
            from_start,
        };
        record.start_shadow(&shadow).await.unwrap()
    };
    assert!(start(40, true).await);
    assert!(!start(41, true).await, "one is open");
    let shadow = record.open_shadows().await.unwrap().remove(0);
    assert_eq!((shadow.id, shadow.part), (batch(40), 0.5));
    let batches = record.shadow_batches(&shadow, 9).await.unwrap();
    let to = batches.first().map_or(shadow.next, ShadowBatch::end);
    assert!(
        record
            .advance_shadow(&shadow, to, Some("{}"))
            .await
            .unwrap()
    );
    if to != shadow.next {
        assert!(!record.advance_shadow(&shadow, to, None).await.unwrap());
    }
    assert!(
        record
            .change_shadow(shadow.id, ShadowChange::End)
            .await
            .unwrap()
    );
    assert!(start(42, false).await);
    let newest = record.shadow("run").await.unwrap().unwrap();
    assert_eq!((newest.id, newest.summary), (batch(42), None));
    for change in [ShadowChange::Promote, ShadowChange::Withdraw] {
        assert!(record.change_shadow(batch(42), change).await.unwrap());
        assert!(!record.change_shadow(batch(42), change).await.unwrap());
        let promoted = record.promoted_shadows().await.unwrap().len();
        assert_eq!(promoted, usize::from(change == ShadowChange::Promote));
    }
}

//! Receives a replay: the ids of the selected grades are stored in shards, and are graded again
//! once all are stored.

use std::collections::BTreeMap;

use assay_core::{BatchId, ErrorCode, GradeId, Hash};
use assay_record::job::{JobKind, NewJob, NewShard};
use assay_record::{GradeFilter, Record};
use assay_review::Review;
use assay_review::replay::{ReplayError, ReplayOptions};
use assay_wire::Problem;
use serde_json::value::RawValue;

use super::pending::different_request;
use crate::replay_options::ReplayJobOptions;
use crate::{JobError, Jobs};

/// A request to grade stored grades again.
#[derive(Debug, Clone)]
pub struct ReplayRequest {
    /// Name of the caller.
    pub caller: String,
    /// Whose share of a node the job uses.
    pub share: String,
    /// The grades.
    pub filter: GradeFilter,
    /// Whether the caller sees the grades of all callers.
    pub sees_all: bool,
    /// Name of the run in the filter, as recorded.
    pub run: Option<String>,
    /// Fields to set in the tasks, as JSON values by name.
    pub options: BTreeMap<String, Box<RawValue>>,
    /// The idempotency key.
    pub key: Option<String>,
    /// Hash of the request, which a repeated one must have too.
    pub request: Hash,
}

/// Ids that are read at once.
const IDS_PER_PAGE: u32 = 16_384;

/// Grades of a shard.
const GRADES_PER_SHARD: usize = 512;

/// Grades whose tasks are checked with the options before the job is accepted.
const MAX_CHECKED: usize = 512;

/// Most bytes of the options. Messages about them quote them.
const MAX_OPTIONS: usize = 16 << 10;

impl Jobs {
    /// Submits a replay of the grades that `review` shows. Those that are recorded later are not
    /// part of it.
    ///
    /// # Errors
    /// [`JobError`]: no grade matches, no task accepts the options, the caller has too many jobs,
    /// or the record cannot be read or written.
    pub async fn submit_replay(
        &self,
        review: &Review,
        request: ReplayRequest,
    ) -> Result<BatchId, JobError> {
        let record = self.record()?.clone();
        if let Some(key) = &request.key
            && let Some(known) = record.job_of_key(&request.caller, key).await?
        {
            let earlier = known.request.ok_or(JobError::InProgress)?;
            return if earlier == request.request {
                Ok(known.id)
            } else {
                Err(different_request())
            };
        }
        let shown = review.engine().record().ok_or(JobError::NoRecord)?;
        let mut pages = Pages::new(shown, request.filter.clone());
        let mut first = pages.next().await?;
        while first.is_empty() && !pages.ended {
            first = pages.next().await?;
        }
        check(review, &request, &first).await?;
        let hash = request.request;
        let job = new_job(self.engine().new_id(), request)?;
        let mut pending = self.receive(&record, &job).await?;
        let mut shards = IdShards::new(first);
        loop {
            for shard in shards.take(pages.ended) {
                pending.count(shard.content.len())?;
                pending.add(shard).await?;
            }
            if pages.ended {
                break;
            }
            shards.waiting.extend(pages.next().await?);
        }
        let id = pending.complete(hash).await?;
        self.wake();
        Ok(id)
    }
}

/// Rejects a selection without grades, and options that no task accepts.
async fn check(
    review: &Review,
    request: &ReplayRequest,
    first: &[GradeId],
) -> Result<(), JobError> {
    if first.is_empty() {
        let message = "no grade matches; `GET /v1/grades` lists those that do";
        return Err(Problem::new(ErrorCode::EmptyBatch, message).into());
    }
    let bytes: usize = request
        .options
        .values()
        .map(|value| value.get().len())
        .sum();
    if bytes > MAX_OPTIONS {
        let message = format!("the options have more than {MAX_OPTIONS} bytes");
        return Err(Problem::new(ErrorCode::InvalidField, message).into());
    }
    if request.options.is_empty() {
        return Ok(());
    }
    let options = ReplayOptions {
        fields: request.options.clone(),
        call_judges: false,
    };
    let checked = &first[..first.len().min(MAX_CHECKED)];
    match review.check_replay(checked, &options).await {
        Ok(()) => Ok(()),
        Err(ReplayError::Store(error)) => Err(error.into()),
        Err(error) => {
            let message = format!(
                "none of the first {} grades can be replayed with these options; the first error: \
                 {error}",
                checked.len()
            );
            Err(Problem::new(error.code(), message).into())
        }
    }
}

fn new_job(id: BatchId, request: ReplayRequest) -> Result<NewJob, JobError> {
    let options = serde_json::to_string(&ReplayJobOptions {
        fields: request.options,
        of_all_callers: request.sees_all,
    })
    .map_err(|error| Problem::new(ErrorCode::InvalidField, error.to_string()))?;
    Ok(NewJob {
        id,
        kind: JobKind::Replay,
        caller: request.caller,
        share: request.share,
        run: request.run,
        step: request.filter.step,
        policy: None,
        key: request.key,
        options: Some(options),
    })
}

/// Divides ids into shards, whose lines they are.
struct IdShards {
    waiting: Vec<GradeId>,
    no: u32,
    first_line: u64,
}

impl IdShards {
    fn new(waiting: Vec<GradeId>) -> Self {
        Self {
            waiting,
            no: 0,
            first_line: 1,
        }
    }

    /// The shards of the ids that wait; ids that do not fill one wait further unless they are the
    /// last.
    fn take(&mut self, are_last: bool) -> Vec<NewShard> {
        let ready = if are_last {
            self.waiting.len()
        } else {
            self.waiting.len() / GRADES_PER_SHARD * GRADES_PER_SHARD
        };
        let ready: Vec<GradeId> = self.waiting.drain(..ready).collect();
        ready
            .chunks(GRADES_PER_SHARD)
            .map(|ids| self.shard(ids))
            .collect()
    }

    fn shard(&mut self, ids: &[GradeId]) -> NewShard {
        let lines: String = ids.iter().map(|id| format!("{id}\n")).collect();
        let shard = NewShard {
            no: self.no,
            first_line: self.first_line,
            items: u32::try_from(ids.len()).unwrap_or(u32::MAX),
            content: lines.into_bytes(),
        };
        self.no += 1;
        self.first_line += u64::from(shard.items);
        shard
    }
}

/// The ids of the grades that match a filter, newest first, page by page.
struct Pages<'r> {
    record: &'r Record,
    filter: GradeFilter,
    before: Option<GradeId>,
    ended: bool,
}

impl<'r> Pages<'r> {
    fn new(record: &'r Record, filter: GradeFilter) -> Self {
        Self {
            record,
            filter,
            before: None,
            ended: false,
        }
    }

    async fn next(&mut self) -> Result<Vec<GradeId>, JobError> {
        let page = self
            .record
            .grade_ids(&self.filter, self.before, IDS_PER_PAGE);
        let (ids, next) = page.await?;
        self.ended = next.is_none();
        self.before = next;
        Ok(ids)
    }
}

#[cfg(test)]
mod tests {
    use assay_core::BatchId;

    use super::*;

    #[test]
    fn every_id_is_in_one_shard_and_only_the_last_one_is_smaller() {
        let all: Vec<GradeId> = (0..1_500).map(|n| BatchId::from(7).grade(n)).collect();
        let mut shards = IdShards::new(all[..700].to_vec());
        let mut made = shards.take(false);
        shards.waiting.extend(&all[700..]);
        made.extend(shards.take(true));
        let sizes: Vec<_> = made
            .iter()
            .map(|shard| (shard.no, shard.first_line, shard.items))
            .collect();
        assert_eq!(sizes, [(0, 1, 512), (1, 513, 512), (2, 1_025, 476)]);
        let lines = made
            .iter()
            .flat_map(|shard| shard.content.clone())
            .collect();
        let lines = String::from_utf8(lines).unwrap();
        let read: Vec<GradeId> = lines.lines().map(|line| line.parse().unwrap()).collect();
        assert_eq!(read, all);
    }
}

//! The results of a job, as JSON lines in the order of its lines, one shard at a time.

use std::collections::VecDeque;

use assay_core::{BatchId, ErrorCode, Fault};
use assay_mapping::invalid_line;
use assay_record::job::{JobKind, JobState, ResultShard, ShardState};
use assay_record::{GradeFilter, ItemGrade, Record, RecordError};
use assay_wire::jobs::LastJobLine;
use assay_wire::{Problem, Selected, Selection};
use serde::Serialize;

use crate::invalid_item::{self, InvalidItem};
use crate::{JobError, replaying};

/// Shards that are read at once.
const SHARDS_READ: u32 = 16;

/// Grades that are read at once.
const GRADES_READ: u32 = 1_000;

/// The results of a job up to the first shard that is not finished. Each is read when it is sent,
/// so that memory is bounded.
pub struct Results {
    record: Record,
    job: BatchId,
    kind: JobKind,
    /// The next shard.
    next: u32,
    /// Results after which no further shard is sent; `None` without a limit.
    left: Option<usize>,
    /// Shards that were read and not sent.
    read: VecDeque<ResultShard>,
    /// Whether the job is known to be cancelled: its shards that wait have no results.
    is_cancelled: bool,
    is_ended: bool,
}

impl Results {
    pub(crate) fn new(
        record: Record,
        (job, kind): (BatchId, JobKind),
        after: u32,
        limit: Option<u32>,
    ) -> Self {
        Self {
            record,
            job,
            kind,
            next: after,
            left: limit.map(|limit| limit as usize),
            read: VecDeque::new(),
            is_cancelled: false,
            is_ended: false,
        }
    }

    /// The lines of the next shard, or the last line; `None` after it.
    ///
    /// # Errors
    /// [`JobError`] if the record cannot be read.
    pub async fn next_lines(&mut self) -> Result<Option<Vec<u8>>, JobError> {
        if self.is_ended {
            return Ok(None);
        }
        let lines = self.read_lines().await;
        self.is_ended |= lines.is_err();
        lines.map(Some)
    }

    async fn read_lines(&mut self) -> Result<Vec<u8>, JobError> {
        loop {
            if self.left == Some(0) {
                return self.page(true).await;
            }
            if self.read.is_empty() {
                let page = self.record.result_shards(self.job, self.next, SHARDS_READ);
                self.read = page.await?.into();
            }
            let Some(shard) = self.read.pop_front() else {
                return self.page(false).await;
            };
            let mut lines = Vec::new();
            let count = match shard.state {
                ShardState::Done | ShardState::SetAside if self.kind == JobKind::Replay => {
                    lines = replay_lines(&shard)?;
                    memchr::memchr_iter(b'\n', &lines).count()
                }
                ShardState::Done => self.push_done(&shard, &mut lines).await?,
                ShardState::SetAside => push_set_aside(&shard, &mut lines)?,
                ShardState::Waiting | ShardState::Running if self.is_cancelled().await? => 0,
                ShardState::Waiting | ShardState::Running => return self.page(true).await,
            };
            self.next = shard.no + 1;
            self.left = self.left.map(|left| left.saturating_sub(count));
            if !lines.is_empty() {
                return Ok(lines);
            }
        }
    }

    async fn state(&self) -> Result<JobState, JobError> {
        let job = self.record.job(self.job).await?;
        Ok(job.ok_or(JobError::NotFound(self.job))?.state())
    }

    async fn is_cancelled(&mut self) -> Result<bool, JobError> {
        self.is_cancelled = self.is_cancelled || self.state().await? == JobState::Cancelled;
        Ok(self.is_cancelled)
    }

    /// The last line. `has_more`: whether shards follow.
    async fn page(&mut self, has_more: bool) -> Result<Vec<u8>, JobError> {
        self.is_ended = true;
        let mut line = Vec::new();
        let page = LastJobLine::Page {
            next: has_more.then_some(self.next),
            state: self.state().await?.as_str().to_owned(),
        };
        push(&mut line, &page)?;
        Ok(line)
    }

    /// Adds the lines of a shard that was graded; returns their number. Grades that retention has
    /// deleted have none.
    async fn push_done(&self, shard: &ResultShard, lines: &mut Vec<u8>) -> Result<usize, JobError> {
        let invalid =
            invalid_item::read(shard.problems.as_deref()).map_err(|error| inconsistent(&error))?;
        let grades = match shard.batch {
            Some(batch) if invalid.len() < shard.items as usize => self.grades(batch).await?,
            _ => Vec::new(),
        };
        let (mut invalid, mut grades) = (
            invalid.into_iter().peekable(),
            grades.into_iter().peekable(),
        );
        let (mut count, mut position) = (0, 0);
        for at in 0..shard.items as usize {
            if let Some(item) = invalid.next_if(|item| item.at == at) {
                push_invalid(lines, item, "ungradable")?;
                count += 1;
                continue;
            }
            if let Some(grade) = grades.next_if(|grade| grade.position == position) {
                let selected = Selected {
                    selection: Selection::default(),
                    streamed: false,
                    grade: &grade,
                };
                push(lines, &selected)?;
                count += 1;
            }
            position += 1;
        }
        Ok(count)
    }

    /// The grades of a batch in the order of their positions.
    async fn grades(&self, batch: BatchId) -> Result<Vec<ItemGrade>, JobError> {
        let filter = GradeFilter {
            batch: Some(batch),
            ..GradeFilter::default()
        };
        let (mut grades, mut before) = (Vec::new(), None);
        loop {
            let page = self.record.grades(&filter, before, GRADES_READ).await?;
            grades.extend(page.grades.into_iter().map(|stored| stored.grade));
            before = page.next;
            if before.is_none() {
                break;
            }
        }
        grades.sort_unstable_by_key(|grade| grade.position);
        Ok(grades)
    }
}

/// The results of a shard whose grades were graded again, or that is set aside.
fn replay_lines(shard: &ResultShard) -> Result<Vec<u8>, JobError> {
    let content = shard.content.as_deref().unwrap_or_default();
    if shard.state == ShardState::Done {
        return Ok(content.to_vec());
    }
    let reason = shard.reason.as_deref().unwrap_or_default();
    replaying::set_aside(content, reason)
        .map_err(|error| RecordError::Inconsistent(error.to_string()).into())
}

/// Adds a line for each item of a shard that is set aside; returns their number.
fn push_set_aside(shard: &ResultShard, lines: &mut Vec<u8>) -> Result<usize, JobError> {
    let content = shard.content.as_deref().unwrap_or_default();
    let reason = shard.reason.as_deref().unwrap_or_default();
    let numbered = content.split(|byte| *byte == b'\n').zip(shard.first_line..);
    let numbered = numbered.filter(|(line, _)| !line.iter().all(u8::is_ascii_whitespace));
    let mut count = 0;
    for (at, (line, number)) in numbered.enumerate() {
        let item: Named = serde_json::from_slice(line).unwrap_or_default();
        let problem = Problem::new(
            ErrorCode::Internal,
            format!("not graded, because its shard is set aside: {reason}"),
        );
        let error = Fault {
            retryable: true,
            ..invalid_line::fault(number, &problem)
        };
        let item = InvalidItem {
            at,
            id: item.id,
            group: item.group,
            error,
        };
        push_invalid(lines, item, "failed")?;
        count += 1;
    }
    Ok(count)
}

/// The names of an item.
#[derive(Default, serde::Deserialize)]
struct Named {
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    group: Option<String>,
}

fn push_invalid(
    lines: &mut Vec<u8>,
    item: InvalidItem,
    outcome: &'static str,
) -> Result<(), JobError> {
    let form = (Selection::default(), false);
    let result = invalid_line::result(outcome, (item.id, item.group), item.error, form);
    push(lines, &result.map_err(|error| inconsistent(&error))?)
}

fn push(lines: &mut Vec<u8>, line: &impl Serialize) -> Result<(), JobError> {
    serde_json::to_writer(&mut *lines, line).map_err(|error| inconsistent(&error))?;
    lines.push(b'\n');
    Ok(())
}

fn inconsistent(error: &serde_json::Error) -> JobError {
    RecordError::Inconsistent(error.to_string()).into()
}

//! Limits how many channels and runs a caller introduces, and how many prompts a run has. Sums are
//! kept in the record for each of these names, and the rates of all channels are read for batches
//! of everyone.
//!
//! A name belongs to the caller that used it first. Names are read from the record once and then
//! kept in memory; a batch holds its new names until it ends, so that concurrent batches together
//! do not exceed a limit. Replicas that share a record do not see each other's new names.

mod prompts;
mod register;

use std::collections::{BTreeMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use assay_core::{Clock, ErrorCode};
use assay_record::{Record, RecordError};

use self::prompts::PromptCounts;
use self::register::Register;
use crate::batch::prompt_key;
use crate::{Batch, EngineError};

/// The family of items without a channel. It does not count: there is one for each grader.
pub(crate) const DEFAULT_FAMILY: &str = "default";

/// Time after which names are read again if the record cannot be read.
const RETRY: Duration = Duration::from_secs(5);

/// Limits on the number of names.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NameLimits {
    pub(crate) channels_per_caller: usize,
    pub(crate) runs_per_caller: usize,
    pub(crate) prompts_per_run: usize,
}

/// The names in use.
pub(crate) struct Names {
    limits: NameLimits,
    clock: Arc<dyn Clock>,
    table: Mutex<Table>,
    /// Locked while names are read, so that one read serves all batches that wait.
    reading: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct Table {
    is_read: bool,
    /// When to read names again after a failure, on the monotonic clock.
    retry: Duration,
    channels: Register,
    runs: Register,
    prompts: PromptCounts,
}

/// The new names of a batch, held until it ends.
#[derive(Default)]
pub(crate) struct HeldNames {
    names: Option<Arc<Names>>,
    channels: Vec<Arc<str>>,
    run: Option<Arc<str>>,
    /// Run, and upper bound of its new prompts.
    prompts: Option<(Arc<str>, u64)>,
    recorded: AtomicBool,
    released: AtomicBool,
}

impl HeldNames {
    /// The record has the names.
    pub(crate) fn set_recorded(&self) {
        if self.recorded.swap(true, Ordering::Relaxed) {
            return;
        }
        let Some(names) = &self.names else { return };
        let mut table = names.lock();
        for channel in &self.channels {
            table.channels.record(channel);
        }
        if let Some(run) = &self.run {
            table.runs.record(run);
        }
    }

    /// The batch has ended. Dropping it has the same effect, but a worker thread may keep the batch
    /// for a moment after its reply.
    pub(crate) fn release(&self) {
        if self.released.swap(true, Ordering::Relaxed) {
            return;
        }
        let Some(names) = &self.names else { return };
        let mut table = names.lock();
        for channel in &self.channels {
            table.channels.release(channel);
        }
        if let Some(run) = &self.run {
            table.runs.release(run);
        }
        if let Some((run, prompts)) = &self.prompts {
            let recorded = self.recorded.load(Ordering::Relaxed);
            table.prompts.end(run, *prompts, recorded);
        }
    }
}

impl Drop for HeldNames {
    fn drop(&mut self) {
        self.release();
    }
}

impl Names {
    pub(crate) fn new(limits: NameLimits, clock: Arc<dyn Clock>) -> Self {
        Self {
            limits,
            clock,
            table: Mutex::default(),
            reading: tokio::sync::Mutex::new(()),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Holds the new names of a batch that is recorded in `record`; `grader_of` returns the name of
    /// the grader of the item at a position. If the record cannot be read, the names are not
    /// limited, so that grading continues.
    ///
    /// # Errors
    /// [`EngineError::Refused`] if a name would exceed a limit.
    pub(crate) async fn hold(
        self: &Arc<Self>,
        record: Option<&Record>,
        batch: &Batch,
        grader_of: impl Fn(usize) -> &'static str,
    ) -> Result<HeldNames, EngineError> {
        let Some(record) = record else {
            return Ok(HeldNames::default());
        };
        self.forget_deleted(record);
        if !self.are_read(record).await {
            return Ok(HeldNames::default());
        }
        let mut held = self.hold_names(batch, &channels_of(batch, grader_of))?;
        if let Some(run) = &batch.run {
            held.prompts = self.hold_prompts(record, run, batch).await?;
        }
        Ok(held)
    }

    /// Reads the names, unless they were read before; `false` if that is not possible.
    pub(crate) async fn are_read(&self, record: &Record) -> bool {
        let is_known = |table: &Table| table.is_read || self.clock.monotonic() < table.retry;
        {
            let table = self.lock();
            if is_known(&table) {
                return table.is_read;
            }
        }
        let _reading = self.reading.lock().await;
        {
            let table = self.lock();
            if is_known(&table) {
                return table.is_read;
            }
        }
        let used = record.used_names().await;
        let mut table = self.lock();
        match used {
            Ok(used) => {
                for (channel, caller) in used.channels {
                    if !is_default(&channel) {
                        table.channels.add_recorded(channel, caller);
                    }
                }
                for (run, caller) in used.runs {
                    table.runs.add_recorded(run, caller);
                }
                table.is_read = true;
            }
            Err(error) => {
                warn_unlimited(&error);
                table.retry = self.clock.monotonic() + RETRY;
            }
        }
        table.is_read
    }

    fn forget_deleted(&self, record: &Record) {
        let deleted = record.take_deleted_names();
        if deleted.is_empty() {
            return;
        }
        let mut table = self.lock();
        for channel in &deleted.channels {
            table.channels.forget(channel);
        }
        for run in &deleted.runs {
            table.runs.forget(run);
            table.prompts.forget(run);
        }
    }

    /// Holds the channels and the run of a batch.
    fn hold_names(
        self: &Arc<Self>,
        batch: &Batch,
        channels: &[(String, usize)],
    ) -> Result<HeldNames, EngineError> {
        let caller = &batch.caller;
        let NameLimits {
            channels_per_caller,
            runs_per_caller,
            ..
        } = self.limits;
        let mut table = self.lock();
        let names = channels.iter().map(|(name, _)| name.as_str());
        let excess = table
            .channels
            .first_excess(names, caller, channels_per_caller);
        if let Some((_, item)) = excess.and_then(|at| channels.get(at)) {
            return Err(refused(
                format!("/items/{item}/channel"),
                format!(
                    "`{caller}` would have more than {channels_per_caller} channels \
                     (`channels.per_caller`); use one channel for a family of many tasks, or ask \
                     the operator to delete unused channels with `assay prune`"
                ),
            ));
        }
        if let Some(run) = batch.run.as_deref()
            && table
                .runs
                .first_excess([run], caller, runs_per_caller)
                .is_some()
        {
            return Err(refused(
                "/run".to_owned(),
                format!(
                    "`{caller}` would have more than {runs_per_caller} runs \
                     (`engine.runs_per_caller`); use an existing run, or ask the operator to delete \
                     old runs with `assay prune --run`"
                ),
            ));
        }
        let held_channels = channels
            .iter()
            .filter_map(|(name, _)| table.channels.hold(name, caller))
            .collect();
        let run = batch
            .run
            .as_deref()
            .and_then(|run| table.runs.hold(run, caller));
        Ok(HeldNames {
            names: Some(Arc::clone(self)),
            channels: held_channels,
            run,
            prompts: None,
            recorded: AtomicBool::new(false),
            released: AtomicBool::new(false),
        })
    }

    /// Holds the prompts of a batch; `None` if it has no new ones.
    async fn hold_prompts(
        &self,
        record: &Record,
        run: &Arc<str>,
        batch: &Batch,
    ) -> Result<Option<(Arc<str>, u64)>, EngineError> {
        let most = self.limits.prompts_per_run as u64;
        let items = batch.items.len() as u64;
        let before = {
            let mut table = self.lock();
            if table.prompts.reserve(run, items, most) {
                return Ok(Some((Arc::clone(run), items)));
            }
            table.prompts.of(run).unwrap_or_default()
        };
        let recorded = match record.prompts(run).await {
            Ok(recorded) => recorded,
            Err(error) => {
                warn_unlimited(&error);
                return Ok(None);
            }
        };
        {
            let mut table = self.lock();
            table.prompts.read(run, recorded, before);
            if table.prompts.reserve(run, items, most) {
                return Ok(Some((Arc::clone(run), items)));
            }
        }
        let new = match new_prompts(record, run, batch).await {
            Ok(new) => new,
            Err(error) => {
                warn_unlimited(&error);
                return Ok(None);
            }
        };
        let Some(first) = new.first().copied() else {
            return Ok(None);
        };
        let prompts = new.len() as u64;
        if self.lock().prompts.reserve(run, prompts, most) {
            return Ok(Some((Arc::clone(run), prompts)));
        }
        let field = batch
            .items
            .get(first)
            .and_then(|item| item.prompt_key.as_ref())
            .map_or("", |_| "/prompt_key");
        Err(refused(
            format!("/items/{first}{field}"),
            format!(
                "the run would have more than {most} prompts (`engine.prompts_per_run`); use \
                 another run, or ask the operator to raise the limit"
            ),
        ))
    }
}

fn refused(pointer: String, message: String) -> EngineError {
    EngineError::Refused {
        code: ErrorCode::InvalidField,
        pointer,
        message,
    }
}

fn warn_unlimited(error: &RecordError) {
    tracing::warn!(%error, "cannot read the names of channels and runs; grading without a limit on \
                            their number");
}

/// Whether a channel is that of items without one.
fn is_default(channel: &str) -> bool {
    channel
        .split_once('/')
        .is_some_and(|(_, family)| family == DEFAULT_FAMILY)
}

/// The distinct channels that items name, each with the position of its first item.
fn channels_of(batch: &Batch, grader_of: impl Fn(usize) -> &'static str) -> Vec<(String, usize)> {
    let mut seen: HashSet<(&str, &str)> = HashSet::new();
    let named = batch.items.iter().enumerate().filter_map(|(at, item)| {
        let family = item
            .channel
            .as_deref()
            .filter(|family| *family != DEFAULT_FAMILY)?;
        let grader = grader_of(at);
        seen.insert((grader, family))
            .then(|| (format!("{grader}/{family}"), at))
    });
    named.collect()
}

/// Positions of the first item of each prompt that has no visits in the run.
async fn new_prompts(record: &Record, run: &str, batch: &Batch) -> Result<Vec<usize>, RecordError> {
    let mut first: BTreeMap<String, usize> = BTreeMap::new();
    for (at, item) in batch.items.iter().enumerate() {
        first.entry(prompt_key(item)).or_insert(at);
    }
    let keys: Vec<String> = first.keys().cloned().collect();
    let visited = record.visits(run, Some(&keys)).await?;
    let mut new: Vec<usize> = first
        .into_iter()
        .filter(|(key, _)| !visited.contains_key(key))
        .map(|(_, at)| at)
        .collect();
    new.sort_unstable();
    Ok(new)
}

//! A record like that of a year of training: concurrent runs of uneven size, steps, groups of
//! eight, graders and verdicts in uneven shares, failures, appeals, adjudications. Its rows are
//! copies of a pool that this binary graded.

mod pool;
mod rows;
mod schedule;

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use assay_base::Random;
use assay_core::BatchId;
use assay_node::Config;
use assay_record::{Entry, Record, RecordError};
use tokio::task::JoinSet;

use pool::Pool;
use rows::Writer;
use schedule::Schedule;

/// Maximum number of concurrent appends.
const IN_FLIGHT: usize = 8;

/// Maximum number of entries that the database has not applied before generation pauses.
const WAITING: u64 = 128;

/// Options.
#[derive(Debug, Clone, Copy)]
pub struct Amount {
    /// Number of grades, rounded up to whole batches of every run.
    pub grades: u64,
    /// Equal seeds give the same record except for grading times.
    pub seed: u64,
    /// Time of the last grade, in microseconds since the Unix epoch.
    pub until_us: i64,
}

/// Fills the record. `report` is called periodically with the number of grades written so far.
/// Returns the number of grades written.
///
/// # Errors
/// If the pool cannot be graded or an entry cannot be recorded.
pub async fn fill(
    config: Config,
    store: &Arc<Record>,
    amount: Amount,
    mut report: impl FnMut(u64),
) -> anyhow::Result<u64> {
    let pool = Pool::graded(config).await?;
    let mut random = Random::stream(&[amount.seed]);
    let schedule = Schedule::new(amount.grades, amount.until_us, &pool, &mut random);
    let mut writer = Writer::new(&pool, random);
    let mut recording = JoinSet::new();
    let mut written = 0;
    for due in schedule {
        let entry = writer.batch(&due);
        written += entry.grades.len() as u64;
        let words = writer.words(&entry);
        for entry in std::iter::once(entry).chain(words) {
            while recording.len() >= IN_FLIGHT {
                recorded(recording.join_next().await)?;
            }
            let store = Arc::clone(store);
            recording.spawn(async move { store.append(Arc::new(entry)).await });
        }
        while store.state().pending > WAITING {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        report(written);
    }
    while !recording.is_empty() {
        recorded(recording.join_next().await)?;
    }
    Ok(written)
}

fn recorded(
    done: Option<Result<Result<(), RecordError>, tokio::task::JoinError>>,
) -> anyhow::Result<()> {
    done.context("nothing was being recorded")??
        .context("an entry cannot be recorded")
}

/// An id of the time `us`, in microseconds since the Unix epoch.
fn batch_id(us: i64, random: &mut Random) -> BatchId {
    let ms = u128::from((us / 1_000).unsigned_abs());
    // The lowest 24 bits are the positions'.
    BatchId::from(ms << 80 | u128::from(random.bits() >> 8) << 24)
}

/// An entry that contains only events.
fn events(events: Vec<assay_record::Event>, us: i64, random: &mut Random) -> Entry {
    Entry::of_events(batch_id(us, random), "operator".into(), events, us)
}

//! Selects the grades of a run to replay: all that match the filters, or a random sample.

use std::collections::BTreeMap;
use std::pin::pin;

use anyhow::{bail, ensure};
use assay_core::Hash;
use assay_record::StoredGrade;

use super::batches::Replayer;
use super::report::ReplayReport;
use crate::arguments::Replay;
use crate::commands::record::{PAGE, Rows, Source};
use crate::exit::CommandStatus;
use crate::process::stop_signal;
use crate::progress::Progress;

/// Maximum number of items graded at once.
const BATCH: usize = 512;

/// Replays the grades that `arguments` select.
pub(super) async fn replay(
    source: &Source,
    arguments: &Replay,
    replayer: &Replayer<'_>,
    report: &mut ReplayReport,
) -> anyhow::Result<CommandStatus> {
    let mut stop = pin!(stop_signal());
    let mut rows = Rows::new(source, &arguments.selection);
    let work = async {
        let mut sample = arguments
            .sample
            .map(|size| IdSample::new(size as usize, arguments.seed));
        let mut waiting: Vec<String> = Vec::new();
        let mut seen = 0u64;
        let mut progress = Progress::new(None, "grades");
        loop {
            let page = rows.next_of_run(PAGE).await?;
            if page.is_empty() {
                break;
            }
            seen += page.len() as u64;
            for StoredGrade { grade, .. } in page {
                let id = grade.grade.to_string();
                match &mut sample {
                    Some(sample) => sample.offer(id),
                    None => waiting.push(id),
                }
            }
            while waiting.len() >= BATCH {
                let rest = waiting.split_off(BATCH);
                batch(replayer, &waiting, report, &mut progress).await?;
                waiting = rest;
            }
        }
        let name = arguments.selection.run.as_deref().unwrap_or_default();
        ensure!(
            seen > 0,
            "no grade of the run `{name}` matches the options; run `assay grades` to list grades"
        );
        waiting.extend(sample.map(IdSample::into_ids).unwrap_or_default());
        for ids in waiting.chunks(BATCH) {
            batch(replayer, ids, report, &mut progress).await?;
        }
        progress.finish();
        Ok(CommandStatus::Done)
    };
    tokio::select! {
        ended = work => ended,
        () = &mut stop => Ok(CommandStatus::Interrupted),
    }
}

async fn batch(
    replayer: &Replayer<'_>,
    ids: &[String],
    report: &mut ReplayReport,
    progress: &mut Progress,
) -> anyhow::Result<()> {
    let mut first_reason = None;
    let replayed = replayer.replay(ids).await?;
    let mut any = false;
    for replay in replayed {
        match replay {
            Ok(replay) => {
                any = true;
                report.add(&replay)?;
            }
            Err(reason) => {
                report.add_missing(&reason);
                first_reason.get_or_insert(reason);
            }
        }
    }
    // An option that no task accepts is a mistake. It is reported after the first batch, not after
    // the whole run.
    if let Some(reason) = first_reason
        && !any
        && !replayer.options.fields.is_empty()
    {
        bail!("no task accepts these options: {reason}");
    }
    progress.advance(ids.len() as u64);
    Ok(())
}

/// A uniform sample of ids: those with the lowest hashes under the seed. It does not depend on the
/// order in which ids are offered.
struct IdSample {
    size: usize,
    seed: u64,
    lowest: BTreeMap<[u8; 32], String>,
}

impl IdSample {
    fn new(size: usize, seed: u64) -> Self {
        Self {
            size,
            seed,
            lowest: BTreeMap::new(),
        }
    }

    fn offer(&mut self, id: String) {
        let hash = Hash::of(format!("{}/{id}", self.seed).as_bytes());
        self.lowest.insert(*hash.as_bytes(), id);
        if self.lowest.len() > self.size {
            self.lowest.pop_last();
        }
    }

    /// The sampled ids, newest first.
    fn into_ids(self) -> Vec<String> {
        let mut ids: Vec<String> = self.lowest.into_values().collect();
        ids.sort_unstable_by(|one, other| other.cmp(one));
        ids
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draw(seed: u64, ids: impl Iterator<Item = u32>) -> Vec<String> {
        let mut sample = IdSample::new(100, seed);
        ids.for_each(|id| sample.offer(format!("{id:05}")));
        sample.into_ids()
    }

    #[test]
    fn sample_depends_on_the_seed_and_not_on_the_order() {
        let one = draw(1, 0..10_000);
        assert_eq!(one.len(), 100);
        assert_eq!(one, draw(1, (0..10_000).rev()));
        assert_ne!(one, draw(2, 0..10_000));
        assert!(one.is_sorted_by(|newer, older| newer > older));
    }

    #[test]
    fn sample_is_uniform() {
        let low = draw(3, 0..10_000)
            .iter()
            .filter(|id| id.as_str() < "05000")
            .count();
        assert!(
            (30..=70).contains(&low),
            "{low} of 100 are from the first half"
        );
        assert_eq!(draw(3, 0..7).len(), 7);
    }
}

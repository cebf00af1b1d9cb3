//! Which grades of a run are replayed: all that the filters keep, or a sample of them.

use std::collections::BTreeMap;
use std::pin::pin;

use anyhow::{bail, ensure};
use assay_core::Hash;

use super::{Replayer, Report};
use crate::arguments::Replay;
use crate::commands::record::{PAGE, Rows, Source};
use crate::commands::stop_signal;
use crate::exit::Ended;
use crate::progress::Progress;

/// Items graded at once.
const BATCH: usize = 512;

/// Replays what `arguments` choose.
pub(super) async fn replay(
    source: &Source,
    arguments: &Replay,
    replayer: &Replayer<'_>,
    report: &mut Report,
) -> anyhow::Result<Ended> {
    let mut stop = pin!(stop_signal());
    let mut rows = Rows::new(source, &arguments.which);
    let work = async {
        let mut sample = arguments
            .sample
            .map(|size| Sample::new(size as usize, arguments.seed));
        let mut waiting: Vec<String> = Vec::new();
        let mut seen = 0u64;
        let mut progress = Progress::new(None, "grades");
        loop {
            let page = rows.next(PAGE).await?;
            if page.is_empty() {
                break;
            }
            seen += page.len() as u64;
            for grade in page {
                match &mut sample {
                    Some(sample) => sample.offer(grade.grade),
                    None => waiting.push(grade.grade),
                }
            }
            while waiting.len() >= BATCH {
                let rest = waiting.split_off(BATCH);
                batch(replayer, &waiting, report, &mut progress).await?;
                waiting = rest;
            }
        }
        let names = arguments.which.run.as_deref().unwrap_or_default();
        ensure!(
            seen > 0,
            "no grade of the run `{names}` is what was asked for; `assay grades` lists them"
        );
        waiting.extend(sample.map(Sample::chosen).unwrap_or_default());
        for ids in waiting.chunks(BATCH) {
            batch(replayer, ids, report, &mut progress).await?;
        }
        progress.finish();
        Ok(Ended::Done)
    };
    tokio::select! {
        ended = work => ended,
        () = &mut stop => Ok(Ended::Interrupted),
    }
}

async fn batch(
    replayer: &Replayer<'_>,
    ids: &[String],
    report: &mut Report,
    progress: &mut Progress,
) -> anyhow::Result<()> {
    let mut refused = None;
    let replayed = replayer.replay(ids).await?;
    let mut any = false;
    for replay in replayed {
        match replay {
            Ok(replay) => {
                any = true;
                report.add(&replay)?;
            }
            Err(reason) => {
                refused.get_or_insert_with(|| reason.clone());
                report.miss(reason);
            }
        }
    }
    // An option that no task takes is a slip, found at the first batch rather than after a million
    // grades.
    if let Some(reason) = refused
        && !any
        && !replayer.options.is_empty()
    {
        bail!("no task takes these options: {reason}");
    }
    progress.advance(ids.len() as u64);
    Ok(())
}

/// So many ids out of any number, each as likely, and the same ones in whatever order they come:
/// those whose hash with the seed is lowest.
struct Sample {
    size: usize,
    seed: u64,
    lowest: BTreeMap<[u8; 32], String>,
}

impl Sample {
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

    /// The ids, the newest first.
    fn chosen(self) -> Vec<String> {
        let mut ids: Vec<String> = self.lowest.into_values().collect();
        ids.sort_unstable_by(|one, other| other.cmp(one));
        ids
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draw(seed: u64, ids: impl Iterator<Item = u32>) -> Vec<String> {
        let mut sample = Sample::new(100, seed);
        ids.for_each(|id| sample.offer(format!("{id:05}")));
        sample.chosen()
    }

    #[test]
    fn a_sample_depends_on_the_seed_and_on_no_order() {
        let one = draw(1, 0..10_000);
        assert_eq!(one.len(), 100);
        assert_eq!(one, draw(1, (0..10_000).rev()));
        assert_ne!(one, draw(2, 0..10_000));
        assert!(one.is_sorted_by(|newer, older| newer > older));
    }

    #[test]
    fn a_sample_takes_from_everywhere_evenly() {
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

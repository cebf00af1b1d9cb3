//! Collects pairs on which reward models are trained. Each pair is stored once per model, is
//! durable before the request is answered, and is listed in order of arrival.
//!
//! Callers send pairs, or have them chosen from the grades of a run (`from_run.rs`).

mod from_run;
mod reference;

pub use from_run::{PairsOfRun, RunPairsError};

use std::collections::HashSet;
use std::sync::Arc;

use assay_core::Hash;
use assay_record::pair::{Collected, CollectedPair, Pair, PairPage};
use assay_record::{Entry, Event};

use crate::{Review, ReviewError};

/// A pair, as received.
#[derive(Debug, Clone, PartialEq)]
pub struct NewPair {
    /// The pair.
    pub pair: Pair,
    /// Where it comes from, a JSON object.
    pub source_json: Option<String>,
}

impl Review {
    /// Stores pairs for a reward model; pairs that are stored already are skipped. Returns once
    /// they are durable.
    ///
    /// # Errors
    /// [`ReviewError::NoRecord`], [`ReviewError::Store`].
    pub async fn collect_pairs(
        &self,
        model: &str,
        pairs: Vec<NewPair>,
        caller: &str,
    ) -> Result<Collected, ReviewError> {
        let record = self.record()?;
        let received = pairs.len() as u64;
        let redactor = self.engine.redactor();
        let bodies: Vec<_> = pairs
            .iter()
            .map(|new| redactor.stored_body(new.pair.to_body()))
            .collect();
        let hashes: Vec<Hash> = bodies.iter().map(|body| body.hash).collect();
        let _lock = self.locks.pairs.lock().await;
        let stored = record.known_pairs(model, &hashes).await?;
        let mut known_or_new: HashSet<Hash> = stored.known.into_iter().collect();
        let (batch, time_us) = (self.engine.new_id(), self.engine.clock().unix_us());
        let mut entry = Entry::of_events(batch, caller.into(), Vec::new(), time_us);
        for (mut new, body) in pairs.into_iter().zip(bodies) {
            if known_or_new.insert(body.hash) {
                redactor.all_strings(&mut new.source_json);
                entry.events.push(Event::Collected(CollectedPair {
                    model: model.to_owned(),
                    pair: body.hash,
                    source_json: new.source_json,
                    caller: caller.to_owned(),
                    time_us,
                }));
                entry.bodies.push(body);
            }
        }
        let added = entry.events.len() as u64;
        if added > 0 {
            record.append(Arc::new(entry)).await?;
        }
        Ok(Collected {
            added,
            known: received - added,
            total: stored.total + added,
        })
    }

    /// Returns at most `limit` pairs of a reward model whose number is above `after`, in order of
    /// arrival.
    ///
    /// # Errors
    /// [`ReviewError::NoRecord`], [`ReviewError::Store`].
    pub async fn pairs(
        &self,
        model: &str,
        after: u64,
        limit: u32,
    ) -> Result<PairPage, ReviewError> {
        Ok(self.record()?.pairs(model, after, limit).await?)
    }
}

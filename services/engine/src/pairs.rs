//! Pairs that reward models learn from: collected once each, durable before they are answered for,
//! handed out in the order of arrival.

use std::collections::HashSet;
use std::sync::Arc;

use assay_core::Hash;
use assay_core::channel::Event;
use assay_core::pair::{CollectedPair, Pair, PairPage};
use assay_core::record::Entry;

use crate::{ChannelError, Engine};

/// A pair as it came.
#[derive(Debug, Clone, PartialEq)]
pub struct NewPair {
    /// The pair.
    pub pair: Pair,
    /// Where it comes from, as an object.
    pub source_json: Option<String>,
}

/// What became of the pairs of one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Collected {
    /// New ones.
    pub added: u64,
    /// Those that the model had, and repetitions within the request.
    pub known: u64,
    /// Pairs of the model in all.
    pub total: u64,
}

impl Engine {
    /// Keeps pairs for a reward model; one that the model has already changes nothing. The answer
    /// comes when they are durable.
    ///
    /// # Errors
    /// [`ChannelError::NoRecord`], [`ChannelError::Store`].
    pub async fn collect_pairs(
        &self,
        model: &str,
        pairs: Vec<NewPair>,
        caller: &str,
    ) -> Result<Collected, ChannelError> {
        let store = self.kept()?;
        let shared = self.shared();
        let sent = pairs.len() as u64;
        let bodies: Vec<_> = pairs.iter().map(|new| new.pair.to_body()).collect();
        let hashes: Vec<Hash> = bodies.iter().map(|body| body.hash).collect();
        let _alone = shared.pairs.lock().await;
        let before = store.known_pairs(model, &hashes).await?;
        let mut seen: HashSet<Hash> = before.known.into_iter().collect();
        let batch = shared.ids.batch(shared.clock.as_ref());
        let time_us = shared.clock.unix_us();
        let mut entry = Entry::of_events(batch, caller.into(), Vec::new(), time_us);
        for (new, body) in pairs.into_iter().zip(bodies) {
            if seen.insert(body.hash) {
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
            store.record(Arc::new(entry)).await?;
        }
        Ok(Collected {
            added,
            known: sent - added,
            total: before.total + added,
        })
    }

    /// Pairs of a reward model in the order of arrival, those with a number above `after`, at most
    /// `limit`.
    ///
    /// # Errors
    /// [`ChannelError::NoRecord`], [`ChannelError::Store`].
    pub async fn pairs(
        &self,
        model: &str,
        after: u64,
        limit: u32,
    ) -> Result<PairPage, ChannelError> {
        Ok(self.kept()?.pairs(model, after, limit).await?)
    }
}

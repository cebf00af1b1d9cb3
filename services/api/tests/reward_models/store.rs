//! A record in memory that stores only pairs.

use std::collections::BTreeMap;
use std::future::ready;
use std::sync::{Arc, Mutex};

use assay_core::{BatchId, BoxFuture, GradeId, Hash};
use assay_record::Event;
use assay_record::chart::Steps;
use assay_record::dataset_check::DatasetCheck;
use assay_record::event::{Adjudication, Draw};
use assay_record::names::{DeletedNames, UsedNames};
use assay_record::pair::{KnownPairs, PairPage, StoredPair};
use assay_record::rollup::Rollups;
use assay_record::{Body, Claim, Entry, GradeRecord, RequestKey};
use assay_record::{GradeFilter, GradePage, Reader, RecordError, Recorder, RunSummary};
use assay_rewards::Visit;
use assay_rewards::channel::ChannelCounts;

#[derive(Default)]
pub(crate) struct Memory(Mutex<Vec<StoredPair>>);

impl Recorder for Memory {
    fn record(&self, entry: Arc<Entry>) -> BoxFuture<'_, Result<(), RecordError>> {
        let mut stored = self.0.lock().unwrap();
        for (event, body) in entry.events.iter().zip(&entry.bodies) {
            if let Event::Collected(collected) = event {
                let pair = serde_json::from_slice(&body.content).unwrap();
                let number = stored.len() as u64 + 1;
                stored.push(StoredPair {
                    number,
                    collected: collected.clone(),
                    pair,
                });
            }
        }
        Box::pin(ready(Ok(())))
    }

    fn close(&self) -> BoxFuture<'_, Result<(), RecordError>> {
        Box::pin(ready(Ok(())))
    }
}

fn unsupported<T: Send + 'static>() -> BoxFuture<'static, Result<T, RecordError>> {
    Box::pin(ready(Err(RecordError::Unavailable(
        "this record stores only pairs".to_owned(),
    ))))
}

impl Reader for Memory {
    fn used_names(&self) -> BoxFuture<'_, Result<UsedNames, RecordError>> {
        Box::pin(std::future::ready(Ok(UsedNames::default())))
    }

    fn take_deleted_names(&self) -> DeletedNames {
        DeletedNames::default()
    }

    fn prompts<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<u64, RecordError>> {
        Box::pin(std::future::ready(Ok(0)))
    }

    fn known_pairs<'a>(
        &'a self,
        model: &'a str,
        pairs: &'a [Hash],
    ) -> BoxFuture<'a, Result<KnownPairs, RecordError>> {
        let stored = self.0.lock().unwrap();
        let of_model: Vec<Hash> = stored
            .iter()
            .filter(|pair| pair.collected.model == model)
            .map(|pair| pair.collected.pair)
            .collect();
        let known = pairs
            .iter()
            .copied()
            .filter(|pair| of_model.contains(pair))
            .collect();
        Box::pin(ready(Ok(KnownPairs {
            known,
            total: of_model.len() as u64,
        })))
    }

    fn pairs<'a>(
        &'a self,
        model: &'a str,
        after: u64,
        limit: u32,
    ) -> BoxFuture<'a, Result<PairPage, RecordError>> {
        let stored = self.0.lock().unwrap();
        let mut following = stored
            .iter()
            .filter(|pair| pair.collected.model == model && pair.number > after)
            .cloned()
            .peekable();
        let pairs = following.by_ref().take(limit as usize).collect();
        Box::pin(ready(Ok(PairPage {
            pairs,
            more: following.peek().is_some(),
        })))
    }

    fn grade(&self, _: GradeId) -> BoxFuture<'_, Result<Option<GradeRecord>, RecordError>> {
        unsupported()
    }

    fn grades<'a>(
        &'a self,
        _: &'a GradeFilter,
        _: Option<GradeId>,
        _: u32,
    ) -> BoxFuture<'a, Result<GradePage, RecordError>> {
        unsupported()
    }

    fn runs_of<'a>(
        &'a self,
        _: &'a str,
        _: u32,
    ) -> BoxFuture<'a, Result<Vec<RunSummary>, RecordError>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn runs(&self, _: u32) -> BoxFuture<'_, Result<Vec<RunSummary>, RecordError>> {
        unsupported()
    }

    fn run<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Option<RunSummary>, RecordError>> {
        unsupported()
    }

    fn run_series<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Rollups, RecordError>> {
        unsupported()
    }

    fn body(&self, _: Hash) -> BoxFuture<'_, Result<Option<Body>, RecordError>> {
        unsupported()
    }

    fn claim<'a>(&'a self, _: &'a RequestKey) -> BoxFuture<'a, Result<Option<Claim>, RecordError>> {
        unsupported()
    }

    fn channels(&self) -> BoxFuture<'_, Result<ChannelCounts, RecordError>> {
        unsupported()
    }

    fn visits<'a>(
        &'a self,
        _: &'a str,
        _: Option<&'a [String]>,
    ) -> BoxFuture<'a, Result<BTreeMap<String, Vec<Visit>>, RecordError>> {
        unsupported()
    }

    fn adjudications(&self, _: GradeId) -> BoxFuture<'_, Result<Vec<Adjudication>, RecordError>> {
        unsupported()
    }

    fn run_steps<'a>(&'a self, _: &'a str, _: i64) -> BoxFuture<'a, Result<Steps, RecordError>> {
        unsupported()
    }

    fn last_adjudications(&self, _: u32) -> BoxFuture<'_, Result<Vec<Adjudication>, RecordError>> {
        unsupported()
    }

    fn dataset_checks(
        &self,
        _: Option<BatchId>,
        _: u32,
    ) -> BoxFuture<'_, Result<Vec<DatasetCheck>, RecordError>> {
        unsupported()
    }

    fn dataset_check(
        &self,
        _: BatchId,
    ) -> BoxFuture<'_, Result<Option<DatasetCheck>, RecordError>> {
        unsupported()
    }

    fn draws<'a>(&'a self, _: &'a [GradeId]) -> BoxFuture<'a, Result<Vec<Draw>, RecordError>> {
        unsupported()
    }

    fn ready(&self) -> BoxFuture<'_, Result<(), RecordError>> {
        Box::pin(ready(Ok(())))
    }
}

//! Plan of a request: which sequences to run. Each distinct sequence is run once, and cached ones
//! are not run.

use std::collections::HashMap;

use assay_core::Hash;
use assay_core::reward_model::{ModelOutput, ModelScore, Refusal};

use super::cache::ReadoutCache;
use super::contract::Model;
use super::tokeniser_pool::{KeyedInput, KeyedSequence};
use crate::Sequence;

/// Number of last token ids reported for a sequence.
const LAST_IDS: usize = 4;

/// A request between tokenisation and scoring.
pub(super) struct Plan {
    inputs: Vec<Result<PlannedInput, Refusal>>,
    /// Readouts of the distinct sequences of the request, `None` where not known yet.
    readouts: Vec<Option<ModelOutput>>,
    /// Indices and cache keys of the readouts that are not known yet.
    pending: Vec<(usize, Hash)>,
    pub(super) hits: usize,
    pub(super) duplicates: usize,
}

/// One input: indices of its readouts, and what is reported of its tokens.
struct PlannedInput {
    main: usize,
    reference: Option<usize>,
    tokens: u32,
    truncated_tokens: u32,
    last_ids: Vec<u32>,
}

impl Plan {
    /// Plans a request, with cached readouts if there is a `cache`. Also returns the sequences to
    /// run. [`Plan::store`] takes their indices.
    pub(super) fn new(
        read: Vec<Result<KeyedInput, Refusal>>,
        cache: Option<&ReadoutCache>,
    ) -> (Self, Vec<Sequence>) {
        let mut plan = Self {
            inputs: Vec::with_capacity(read.len()),
            readouts: vec![],
            pending: vec![],
            hits: 0,
            duplicates: 0,
        };
        let mut indices = HashMap::new();
        let mut sequences = Vec::new();
        for input in read {
            let planned = input.map(|KeyedInput { main, reference }| {
                let ids = &main.sequence.ids;
                let last_ids = ids[ids.len().saturating_sub(LAST_IDS)..].to_vec();
                let tokens = u32::try_from(ids.len()).unwrap_or(u32::MAX);
                let truncated_tokens = main.sequence.truncated_tokens;
                let mut index =
                    |keyed| plan.readout_index(keyed, &mut indices, &mut sequences, cache);
                PlannedInput {
                    main: index(main),
                    reference: reference.map(index),
                    tokens,
                    truncated_tokens,
                    last_ids,
                }
            });
            plan.inputs.push(planned);
        }
        (plan, sequences)
    }

    fn readout_index(
        &mut self,
        KeyedSequence { key, sequence }: KeyedSequence,
        indices: &mut HashMap<Hash, usize>,
        sequences: &mut Vec<Sequence>,
        cache: Option<&ReadoutCache>,
    ) -> usize {
        if let Some(index) = indices.get(&key) {
            self.duplicates += 1;
            return *index;
        }
        let index = self.readouts.len();
        indices.insert(key, index);
        let cached = cache.and_then(|cache| cache.get(&key));
        if cached.is_some() {
            self.hits += 1;
        } else {
            self.pending.push((index, key));
            sequences.push(sequence);
        }
        self.readouts.push(cached);
        index
    }

    /// Stores the readout of the sequence at this index of those to run, and caches it.
    pub(super) fn store(&mut self, at: usize, readout: ModelOutput, cache: Option<&ReadoutCache>) {
        let Some((index, key)) = self.pending.get(at) else {
            return;
        };
        if let Some(cache) = cache {
            cache.insert(*key, &readout);
        }
        self.readouts[*index] = Some(readout);
    }

    /// Scores of all inputs, or `None` if a readout is missing.
    pub(super) fn scores(self, model: &dyn Model) -> Option<Vec<Result<ModelScore, Refusal>>> {
        let readouts: Vec<ModelOutput> = self.readouts.into_iter().collect::<Option<_>>()?;
        let score = |planned: PlannedInput| {
            let readout = readouts[planned.main].clone();
            let judged = model.score(
                &readout,
                planned.reference.map(|reference| &readouts[reference]),
            );
            let PlannedInput {
                tokens,
                truncated_tokens,
                last_ids,
                ..
            } = planned;
            ModelScore {
                readout,
                raw: judged.raw,
                score: judged.score,
                tokens,
                truncated_tokens,
                last_ids,
            }
        };
        Some(
            self.inputs
                .into_iter()
                .map(|input| input.map(score))
                .collect(),
        )
    }
}

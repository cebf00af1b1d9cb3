//! Plan of a request: which sequences to run. Each distinct sequence is run once, and cached ones
//! are not run.

use std::collections::HashMap;

use assay_core::Hash;
use assay_core::reward_model::{ModelScore, Readout, Refusal};

use super::cache::Readouts;
use super::contract::Model;
use super::reading::{Named, Read};
use crate::Sequence;

/// Number of last token ids reported for a sequence.
const LAST_IDS: usize = 4;

/// A request between tokenisation and scoring.
pub(super) struct Plan {
    inputs: Vec<Result<Planned, Refusal>>,
    /// Readouts of the distinct sequences of the request, `None` where not known yet.
    readouts: Vec<Option<Readout>>,
    /// Indices and cache keys of the readouts that are not known yet.
    missing: Vec<(usize, Hash)>,
    pub(super) hits: usize,
    pub(super) duplicates: usize,
}

/// One input: indices of its readouts, and what is reported of its tokens.
struct Planned {
    main: usize,
    reference: Option<usize>,
    tokens: u32,
    cut: u32,
    last_ids: Vec<u32>,
}

impl Plan {
    /// Plans a request. Also returns the sequences to run. [`Plan::store`] takes their indices.
    pub(super) fn new(read: Vec<Result<Read, Refusal>>, cache: &Readouts) -> (Self, Vec<Sequence>) {
        let mut plan = Self {
            inputs: Vec::with_capacity(read.len()),
            readouts: vec![],
            missing: vec![],
            hits: 0,
            duplicates: 0,
        };
        let mut places = HashMap::new();
        let mut sequences = Vec::new();
        for input in read {
            let planned = input.map(|Read { main, reference }| {
                let ids = &main.sequence.ids;
                let last_ids = ids[ids.len().saturating_sub(LAST_IDS)..].to_vec();
                let tokens = u32::try_from(ids.len()).unwrap_or(u32::MAX);
                let cut = main.sequence.cut;
                let mut place = |named| plan.place(named, &mut places, &mut sequences, cache);
                Planned {
                    main: place(main),
                    reference: reference.map(place),
                    tokens,
                    cut,
                    last_ids,
                }
            });
            plan.inputs.push(planned);
        }
        (plan, sequences)
    }

    fn place(
        &mut self,
        Named { key, sequence }: Named,
        places: &mut HashMap<Hash, usize>,
        sequences: &mut Vec<Sequence>,
        cache: &Readouts,
    ) -> usize {
        if let Some(place) = places.get(&key) {
            self.duplicates += 1;
            return *place;
        }
        let place = self.readouts.len();
        places.insert(key, place);
        let known = cache.get(&key);
        if known.is_some() {
            self.hits += 1;
        } else {
            self.missing.push((place, key));
            sequences.push(sequence);
        }
        self.readouts.push(known);
        place
    }

    /// Stores the readout of the sequence at this index of those to run, and caches it.
    pub(super) fn put(&mut self, at: usize, readout: Readout, cache: &Readouts) {
        let Some((place, key)) = self.missing.get(at) else {
            return;
        };
        cache.keep(*key, &readout);
        self.readouts[*place] = Some(readout);
    }

    /// Scores of all inputs, or `None` if a readout is missing.
    pub(super) fn scores(self, model: &dyn Model) -> Option<Vec<Result<ModelScore, Refusal>>> {
        let readouts: Vec<Readout> = self.readouts.into_iter().collect::<Option<_>>()?;
        let score = |planned: Planned| {
            let readout = readouts[planned.main].clone();
            let judged = model.judge(
                &readout,
                planned.reference.map(|reference| &readouts[reference]),
            );
            let Planned {
                tokens,
                cut,
                last_ids,
                ..
            } = planned;
            ModelScore {
                readout,
                raw: judged.raw,
                score: judged.score,
                tokens,
                cut,
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

//! Writing: many completions at once, each token after what was written before it. Keys and values
//! are kept, the completions of a prompt share those of the prompt, and a completion that ends
//! makes room for the next.
//!
//! What a completion says depends on its prompt, its key and the weights: the random number of a
//! token is made of the key and the place, so a completion that is broken off can be gone on with
//! later, and no state of a generator has to be kept.

mod cache;
mod choose;
mod padded;
mod rows;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use assay_core::Random;
use serde::{Deserialize, Serialize};

use crate::batch::{Packed, small};
use crate::decoder::Decoder;
use crate::ops::{Tape, on_workers, rows};
use crate::{PolicyError, PolicyModel};

use cache::{Cache, Reading};
use choose::choose;

/// How tokens are chosen, and when a completion ends.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Sampling {
    /// Logits are divided by it; 0 takes the likeliest token.
    pub temperature: f64,
    /// Only so many of the likeliest tokens; 0 for all.
    pub top_k: usize,
    /// Only the likeliest tokens that together have this probability; 1 for all.
    pub top_p: f64,
    /// Only tokens at least this probable compared with the likeliest; 0 for all.
    pub min_p: f64,
    /// Most tokens of a completion.
    pub max_tokens: usize,
    /// Completions written at a time.
    pub rows: usize,
}

impl Default for Sampling {
    fn default() -> Self {
        Self {
            temperature: 1.0,
            top_k: 0,
            top_p: 1.0,
            min_p: 0.0,
            max_tokens: 256,
            rows: 512,
        }
    }
}

impl Sampling {
    /// Refuses numbers that mean nothing.
    ///
    /// # Errors
    /// Which, and what is allowed.
    pub fn check(&self) -> Result<(), PolicyError> {
        let shares = [
            ("top_p", self.top_p, f64::MIN_POSITIVE),
            ("min_p", self.min_p, 0.0),
        ];
        if let Some((name, value, least)) = shares
            .iter()
            .find(|(_, value, least)| !(*least..=1.0).contains(value))
        {
            return Err(PolicyError::new(format!(
                "`{name}` is a share from {least} to 1: {value}"
            )));
        }
        if !(self.temperature.is_finite() && self.temperature >= 0.0) {
            return Err(PolicyError::new(format!(
                "`temperature` is 0 or more: {}",
                self.temperature
            )));
        }
        if self.max_tokens == 0 || self.rows == 0 {
            return Err(PolicyError::new("`max_tokens` and `rows` are at least 1"));
        }
        Ok(())
    }

    /// The temperature log-probabilities are told under: 1 where the likeliest token is taken.
    #[must_use]
    pub fn scoring_temperature(&self) -> f64 {
        if self.temperature > 0.0 {
            self.temperature
        } else {
            1.0
        }
    }
}

/// A completion that is wanted.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// The prompt. Requests that follow one another with the same `Arc` share its keys.
    pub prompt: Arc<[u32]>,
    /// What was written of it before, to be gone on with.
    pub written: Vec<u32>,
    /// What its random numbers are made of.
    pub key: [u64; 3],
}

/// A completion.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Written {
    /// The tokens written now, without those written before; the one that ends it is among them.
    pub tokens: Vec<u32>,
    /// Natural logarithm of the probability of each token, under the softmax of logits over the
    /// temperature.
    pub log_probs: Vec<f32>,
    /// Whether it came to an end by itself.
    pub ended: bool,
    /// Whether nothing is to be added: it ended, or it is as long as it may be.
    pub done: bool,
}

/// One completion on its way.
struct Row {
    at: usize,
    prompt: usize,
    before: usize,
    key: [u64; 3],
    written: Written,
}

/// Writes completions, in the order of the requests.
///
/// `pause` is asked before every token and shown which requests are done; when it says so, what is
/// written so far is returned.
///
/// # Errors
/// Settings that mean nothing, tokens the policy does not have, no room on the device.
pub fn generate(
    policy: &PolicyModel,
    wanted: &[Wanted],
    sampling: &Sampling,
    ends: &[u32],
    pause: &dyn Fn(&[bool]) -> bool,
) -> Result<Vec<Written>, PolicyError> {
    with_cache(policy, wanted, sampling, ends, pause, Cache::new(policy))
}

fn with_cache(
    policy: &PolicyModel,
    wanted: &[Wanted],
    sampling: &Sampling,
    ends: &[u32],
    pause: &dyn Fn(&[bool]) -> bool,
    mut cache: Cache,
) -> Result<Vec<Written>, PolicyError> {
    sampling.check()?;
    let decoder = policy.view()?.laid_out()?;
    let mut done: Vec<Written> = vec![Written::default(); wanted.len()];
    let mut finished = vec![false; wanted.len()];
    let mut next = 0;
    let mut rows: Vec<Row> = Vec::new();
    let mut logits: Vec<f32> = Vec::new();
    let vocabulary = policy.vocabulary();
    loop {
        // Half the rows make room at a time, so that prompts are read in batches.
        if next < wanted.len() && rows.len() <= sampling.rows / 2 {
            let end = wanted.len().min(next + sampling.rows - rows.len());
            let read = read_prompts(policy, &decoder, &wanted[next..end], &mut cache)?;
            logits.extend_from_slice(&read);
            rows.extend((next..end).map(|at| {
                let request = &wanted[at];
                Row {
                    at,
                    prompt: request.prompt.len(),
                    before: request.written.len(),
                    key: request.key,
                    written: Written::default(),
                }
            }));
            next = end;
        }
        if rows.is_empty() {
            return Ok(done);
        }
        if pause(&finished) {
            rows.drain(..).for_each(|row| done[row.at] = row.written);
            return Ok(done);
        }
        let places = rows.iter().map(|row| {
            let [one, other, third] = row.key;
            let place = (row.before + row.written.tokens.len()) as u64;
            Random::stream(&[one, other, third, place]).uniform()
        });
        let places: Vec<f64> = places.collect();
        let chosen = on_workers(|| choose(&logits, vocabulary, sampling, &places));
        if chosen.iter().any(|(_, log_prob)| !log_prob.is_finite()) {
            return Err(PolicyError::new(
                "the policy gives no finite probabilities: its weights are not finite, or far too \
                 large",
            ));
        }
        let mut stays = Vec::with_capacity(rows.len());
        for (row, (token, log_prob)) in rows.iter_mut().zip(&chosen) {
            row.written.tokens.push(*token);
            row.written.log_probs.push(*log_prob);
            row.written.ended = ends.contains(token);
            let full = row.before + row.written.tokens.len() >= sampling.max_tokens
                || row.prompt + row.before + row.written.tokens.len() >= policy.max_positions();
            stays.push(!row.written.ended && !full);
        }
        let mut stay = stays.iter();
        let (going, ended): (Vec<Row>, Vec<Row>) = rows
            .into_iter()
            .partition(|_| *stay.next().unwrap_or(&false));
        for row in ended {
            finished[row.at] = true;
            done[row.at] = Written {
                done: true,
                ..row.written
            };
        }
        rows = going;
        cache.keep(&stays)?;
        logits.clear();
        if rows.is_empty() {
            continue;
        }
        let ids: Vec<u32> = rows
            .iter()
            .filter_map(|row| row.written.tokens.last().copied())
            .collect();
        let at: Vec<u32> = rows
            .iter()
            .map(|row| small(row.prompt + row.before + row.written.tokens.len() - 1))
            .collect();
        let (ids, turns, mut tape) = (policy.ids(&ids)?, policy.turns(&at)?, Tape::default());
        logits = numbers(&on_workers(|| {
            let hidden = decoder.hidden(&ids, &turns, &mut cache, &mut tape)?;
            decoder.logits(&hidden, &mut tape)
        })?)?;
    }
}

/// Reads the prompts of some requests into the cache, each prompt once; says the logits behind each
/// request, row by row.
fn read_prompts(
    policy: &PolicyModel,
    decoder: &Decoder,
    wanted: &[Wanted],
    cache: &mut Cache,
) -> Result<Vec<f32>, PolicyError> {
    let mut texts: Vec<[&[u32]; 2]> = Vec::new();
    let mut text_of = Vec::with_capacity(wanted.len());
    for (at, request) in wanted.iter().enumerate() {
        let shares = |before: &Wanted| {
            before.written.is_empty()
                && request.written.is_empty()
                && Arc::ptr_eq(&before.prompt, &request.prompt)
        };
        if !(at > 0 && shares(&wanted[at - 1])) {
            texts.push([&request.prompt, &request.written]);
        }
        text_of.push(texts.len() - 1);
    }
    let packed = Packed::new(texts.into_iter(), policy.vocabulary(), policy.device())?;
    let (mut reading, mut tape) = (Reading::new(policy, &packed), Tape::default());
    let (turns, last) = (
        policy.turns(&packed.positions)?,
        policy.ids(&packed.last())?,
    );
    let logits = numbers(&on_workers(|| {
        let hidden = decoder.hidden(&packed.ids, &turns, &mut reading, &mut tape)?;
        decoder.logits(&rows(&hidden, &last, &mut tape)?, &mut tape)
    })?)?;
    cache.admit(&reading.into_kept(), &packed.starts, &text_of)?;
    let vocabulary = policy.vocabulary();
    Ok(text_of
        .iter()
        .flat_map(|text| logits[text * vocabulary..][..vocabulary].iter().copied())
        .collect())
}

/// All numbers of a tensor, row by row.
fn numbers(tensor: &candle_core::Tensor) -> Result<Vec<f32>, PolicyError> {
    Ok(tensor
        .to_dtype(candle_core::DType::F32)?
        .flatten_all()?
        .to_vec1()?)
}

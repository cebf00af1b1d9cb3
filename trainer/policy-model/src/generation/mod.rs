//! Generation of many completions at once with a key-value cache. Completions of a prompt share its
//! keys and values, and a completed row is replaced by the next request.
//!
//! A completion depends only on its prompt, its key and the weights: the random number of a token
//! is derived from the key and the position. An interrupted completion can therefore be continued
//! later without saving the state of a generator.

mod cache;
mod choose;
mod padded;
mod rows;
mod sampling;
mod share;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use assay_base::Random;

use crate::batch::{Packed, to_u32};
use crate::decoder::Decoder;
use crate::ops::{Tape, on_thread_pool, rows};
use crate::{PolicyError, PolicyModel};
use cache::{Cache, PromptAttention};
use choose::choose;

pub use sampling::Sampling;

/// A request for one completion.
#[derive(Debug, Clone)]
pub struct GenerationRequest {
    /// The prompt. Consecutive requests with the same `Arc` share its keys and values.
    pub prompt: Arc<[u32]>,
    /// Tokens of the completion that were generated earlier and are to be continued.
    pub prefix: Vec<u32>,
    /// Key of the random numbers.
    pub key: [u64; 3],
}

/// A completion.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct GeneratedCompletion {
    /// The new tokens, without the prefix but with the token that ends the completion.
    pub tokens: Vec<u32>,
    /// Log-probability (natural logarithm) of each token, from the softmax of logits over
    /// temperature.
    pub log_probs: Vec<f32>,
    /// Whether an end token was generated.
    pub ended: bool,
    /// Whether generation is finished: it ended, or the maximum length is reached.
    pub done: bool,
}

/// A completion that is being generated.
struct Row {
    /// Index of the request.
    request: usize,
    /// Length of the prompt.
    prompt: usize,
    /// Length of the prefix.
    prefix: usize,
    key: [u64; 3],
    completion: GeneratedCompletion,
}

/// Generates completions, in the order of the requests.
///
/// `pause` is called before every token with a flag for each request that is true once it is done.
/// If it returns true, generation stops and the partial completions are returned.
///
/// # Errors
/// The settings are invalid, a token is outside the vocabulary, or the device is out of memory.
pub fn generate(
    policy: &PolicyModel,
    requests: &[GenerationRequest],
    sampling: &Sampling,
    ends: &[u32],
    pause: &dyn Fn(&[bool]) -> bool,
) -> Result<Vec<GeneratedCompletion>, PolicyError> {
    with_cache(policy, requests, sampling, ends, pause, Cache::new(policy))
}

fn with_cache(
    policy: &PolicyModel,
    requests: &[GenerationRequest],
    sampling: &Sampling,
    ends: &[u32],
    pause: &dyn Fn(&[bool]) -> bool,
    mut cache: Cache,
) -> Result<Vec<GeneratedCompletion>, PolicyError> {
    sampling.check()?;
    let decoder = policy.view()?.pack_weights()?;
    let mut completions = vec![GeneratedCompletion::default(); requests.len()];
    let mut finished = vec![false; requests.len()];
    let mut next = 0;
    let mut rows: Vec<Row> = Vec::new();
    let mut logits: Vec<f32> = Vec::new();
    let vocabulary = policy.vocabulary();
    loop {
        // Requests are admitted once half the rows are free, so that prompts are read in batches.
        if next < requests.len() && rows.len() <= sampling.rows / 2 {
            let end = requests.len().min(next + sampling.rows - rows.len());
            let read = read_prompts(policy, &decoder, &requests[next..end], &mut cache)?;
            logits.extend_from_slice(&read);
            rows.extend((next..end).map(|index| {
                let request = &requests[index];
                Row {
                    request: index,
                    prompt: request.prompt.len(),
                    prefix: request.prefix.len(),
                    key: request.key,
                    completion: GeneratedCompletion::default(),
                }
            }));
            next = end;
        }
        if rows.is_empty() {
            return Ok(completions);
        }
        if pause(&finished) {
            rows.drain(..)
                .for_each(|row| completions[row.request] = row.completion);
            return Ok(completions);
        }
        let random = rows.iter().map(|row| {
            let [first, second, third] = row.key;
            let position = (row.prefix + row.completion.tokens.len()) as u64;
            Random::stream(&[first, second, third, position]).uniform()
        });
        let random: Vec<f64> = random.collect();
        let chosen = on_thread_pool(|| choose(&logits, vocabulary, sampling, &random));
        if chosen.iter().any(|(_, log_prob)| !log_prob.is_finite()) {
            return Err(PolicyError::new(
                "the policy model returned probabilities that are not finite; its weights are not \
                 finite or too large",
            ));
        }
        let mut unfinished = Vec::with_capacity(rows.len());
        for (row, (token, log_prob)) in rows.iter_mut().zip(&chosen) {
            row.completion.tokens.push(*token);
            row.completion.log_probs.push(*log_prob);
            row.completion.ended = ends.contains(token);
            let length = row.prefix + row.completion.tokens.len();
            let full =
                length >= sampling.max_tokens || row.prompt + length >= policy.max_positions();
            unfinished.push(!row.completion.ended && !full);
        }
        let mut flags = unfinished.iter();
        let (open, done): (Vec<Row>, Vec<Row>) = rows
            .into_iter()
            .partition(|_| *flags.next().unwrap_or(&false));
        for row in done {
            finished[row.request] = true;
            completions[row.request] = GeneratedCompletion {
                done: true,
                ..row.completion
            };
        }
        rows = open;
        cache.retain(&unfinished)?;
        logits.clear();
        if rows.is_empty() {
            continue;
        }
        let ids: Vec<u32> = rows
            .iter()
            .filter_map(|row| row.completion.tokens.last().copied())
            .collect();
        let positions: Vec<u32> = rows
            .iter()
            .map(|row| to_u32(row.prompt + row.prefix + row.completion.tokens.len() - 1))
            .collect();
        let (ids, rotary) = (policy.ids(&ids)?, policy.rotary(&positions)?);
        let mut tape = Tape::default();
        logits = numbers(&on_thread_pool(|| {
            let hidden = decoder.hidden(&ids, &rotary, &mut cache, &mut tape)?;
            decoder.logits(&hidden, &mut tape)
        })?)?;
    }
}

/// Adds the prompts of requests to the cache, each prompt once. Returns the logits after the last
/// token of each request, row by row.
fn read_prompts(
    policy: &PolicyModel,
    decoder: &Decoder,
    requests: &[GenerationRequest],
    cache: &mut Cache,
) -> Result<Vec<f32>, PolicyError> {
    let mut texts: Vec<[&[u32]; 2]> = Vec::new();
    let mut text_of = Vec::with_capacity(requests.len());
    for (index, request) in requests.iter().enumerate() {
        let same_prompt = |previous: &GenerationRequest| {
            previous.prefix.is_empty()
                && request.prefix.is_empty()
                && Arc::ptr_eq(&previous.prompt, &request.prompt)
        };
        if !(index > 0 && same_prompt(&requests[index - 1])) {
            texts.push([&request.prompt, &request.prefix]);
        }
        text_of.push(texts.len() - 1);
    }
    let packed = Packed::new(texts.into_iter(), policy.vocabulary(), policy.device())?;
    let mut attention = PromptAttention::new(policy, &packed);
    let mut tape = Tape::default();
    let (rotary, last) = (
        policy.rotary(&packed.positions)?,
        policy.ids(&packed.last())?,
    );
    let logits = numbers(&on_thread_pool(|| {
        let hidden = decoder.hidden(&packed.ids, &rotary, &mut attention, &mut tape)?;
        decoder.logits(&rows(&hidden, &last, &mut tape)?, &mut tape)
    })?)?;
    cache.admit(&attention.into_keys_and_values(), &packed.starts, &text_of)?;
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

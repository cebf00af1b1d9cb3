//! Batches of token sequences, concatenated without padding.

use std::sync::Arc;

use candle_core::{Device, Tensor};

use crate::PolicyError;
use crate::ops::{Masks, Span};

/// A prompt and a completion as token ids.
#[derive(Debug, Clone, Copy)]
pub struct Text<'a> {
    /// The prompt; at least one token.
    pub prompt: &'a [u32],
    /// The completion, whose tokens are scored.
    pub completion: &'a [u32],
}

/// The concatenated tokens of several texts.
#[derive(Debug, Clone)]
pub(crate) struct Packed {
    pub(crate) ids: Tensor,
    pub(crate) positions: Vec<u32>,
    /// Index of the first token of each text, then the total number of tokens.
    pub(crate) starts: Arc<[usize]>,
    masks: Masks,
}

impl Packed {
    pub(crate) fn new<'a>(
        texts: impl Iterator<Item = [&'a [u32]; 2]>,
        vocabulary: usize,
        device: &Device,
    ) -> Result<Self, PolicyError> {
        let (mut ids, mut positions, mut starts): (Vec<u32>, _, _) =
            (Vec::new(), Vec::new(), vec![0]);
        for [prompt, completion] in texts {
            if prompt.is_empty() {
                let index = starts.len() - 1;
                return Err(PolicyError::new(format!(
                    "the prompt of text {index} is empty; it must have at least one token"
                )));
            }
            positions.extend((0..prompt.len() + completion.len()).map(to_u32));
            ids.extend(prompt.iter().chain(completion));
            starts.push(ids.len());
        }
        if let Some(id) = ids.iter().find(|id| **id as usize >= vocabulary) {
            return Err(PolicyError::new(format!(
                "token {id} is not in the vocabulary of {vocabulary} tokens"
            )));
        }
        let tokens = ids.len();
        Ok(Self {
            ids: Tensor::from_vec(ids, tokens, device)?,
            positions,
            starts: starts.into(),
            masks: Masks::default(),
        })
    }

    /// Index of the last token of each text.
    pub(crate) fn last(&self) -> Vec<u32> {
        self.starts[1..].iter().map(|end| to_u32(end - 1)).collect()
    }

    pub(crate) fn span(&self, window: Option<usize>) -> Span {
        Span {
            starts: Arc::clone(&self.starts),
            window,
            masks: self.masks.clone(),
        }
    }
}

/// A batch of texts. The tokens of completions are scored; prompts are only context.
#[derive(Debug, Clone)]
pub struct TokenBatch {
    pub(crate) packed: Packed,
    /// For each scored token, the row of hidden states that predicts it: that of the token before.
    pub(crate) rows: Tensor,
    /// The scored tokens, in the order of the texts.
    pub(crate) scored: Arc<[u32]>,
    lengths: Vec<usize>,
}

impl TokenBatch {
    /// Packs texts for a policy model with a vocabulary of `vocabulary` tokens.
    ///
    /// # Errors
    /// A prompt is empty, the batch has no token to score, or an id is outside the vocabulary.
    pub fn new(
        texts: &[Text<'_>],
        vocabulary: usize,
        device: &Device,
    ) -> Result<Self, PolicyError> {
        let packed = Packed::new(
            texts.iter().map(|text| [text.prompt, text.completion]),
            vocabulary,
            device,
        )?;
        let (mut rows, mut scored) = (Vec::new(), Vec::new());
        for (text, ends) in texts.iter().zip(packed.starts.windows(2)) {
            rows.extend((ends[0] + text.prompt.len()..ends[1]).map(|token| to_u32(token - 1)));
            scored.extend_from_slice(text.completion);
        }
        if scored.is_empty() {
            return Err(PolicyError::new(
                "the batch has no completion tokens to score",
            ));
        }
        let count = rows.len();
        Ok(Self {
            packed,
            rows: Tensor::from_vec(rows, count, device)?,
            scored: scored.into(),
            lengths: texts.iter().map(|text| text.completion.len()).collect(),
        })
    }

    /// Number of scored tokens of each text.
    #[must_use]
    pub fn lengths(&self) -> &[usize] {
        &self.lengths
    }

    /// Total number of tokens, including prompts.
    #[must_use]
    pub fn tokens(&self) -> usize {
        self.packed.positions.len()
    }
}

/// Converts an index to the index type of candle.
pub(crate) fn to_u32(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

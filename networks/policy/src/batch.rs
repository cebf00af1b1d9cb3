//! Sequences to be scored, one behind the other without padding.

use std::sync::Arc;

use candle_core::{Device, Tensor};

use crate::PolicyError;
use crate::ops::Span;

/// A prompt and what was written after it, as ids of tokens.
#[derive(Debug, Clone, Copy)]
pub struct Text<'a> {
    /// What was given; at least one token.
    pub prompt: &'a [u32],
    /// What was written, and is scored.
    pub completion: &'a [u32],
}

/// Tokens of several texts, one behind the other.
#[derive(Debug, Clone)]
pub(crate) struct Packed {
    pub(crate) ids: Tensor,
    pub(crate) positions: Vec<u32>,
    /// First token of each text, and the number of all tokens.
    pub(crate) starts: Arc<[usize]>,
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
                let at = starts.len() - 1;
                return Err(PolicyError::new(format!(
                    "text {at} has no prompt; give it at least one token"
                )));
            }
            positions.extend((0..prompt.len() + completion.len()).map(small));
            ids.extend(prompt.iter().chain(completion));
            starts.push(ids.len());
        }
        if let Some(id) = ids.iter().find(|id| **id as usize >= vocabulary) {
            return Err(PolicyError::new(format!(
                "the token {id} is none of the {vocabulary} of the policy"
            )));
        }
        let tokens = ids.len();
        Ok(Self {
            ids: Tensor::from_vec(ids, tokens, device)?,
            positions,
            starts: starts.into(),
        })
    }

    /// The last token of each text.
    pub(crate) fn last(&self) -> Vec<u32> {
        self.starts[1..].iter().map(|end| small(end - 1)).collect()
    }

    pub(crate) fn span(&self, window: Option<usize>) -> Span {
        Span {
            starts: Arc::clone(&self.starts),
            window,
        }
    }
}

/// A batch of texts. Every token of a completion is scored; those of prompts are only read.
#[derive(Debug, Clone)]
pub struct Batch {
    pub(crate) packed: Packed,
    /// Rows of hidden states that say something of a scored token: the one before it.
    pub(crate) rows: Tensor,
    /// The tokens that are scored, in the order of the texts.
    pub(crate) scored: Arc<[u32]>,
    lengths: Vec<usize>,
}

impl Batch {
    /// Packs texts, for a policy of so many tokens.
    ///
    /// # Errors
    /// A text without a prompt, a batch without a scored token, and ids that the vocabulary has
    /// not.
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
            rows.extend((ends[0] + text.prompt.len()..ends[1]).map(|at| small(at - 1)));
            scored.extend_from_slice(text.completion);
        }
        if scored.is_empty() {
            return Err(PolicyError::new(
                "no text of the batch has a token to score",
            ));
        }
        let chosen = rows.len();
        Ok(Self {
            packed,
            rows: Tensor::from_vec(rows, chosen, device)?,
            scored: scored.into(),
            lengths: texts.iter().map(|text| text.completion.len()).collect(),
        })
    }

    /// Tokens scored of each text.
    #[must_use]
    pub fn lengths(&self) -> &[usize] {
        &self.lengths
    }

    /// Tokens in all, prompts included.
    #[must_use]
    pub fn tokens(&self) -> usize {
        self.packed.positions.len()
    }
}

/// A count as an index of the library's.
pub(crate) fn small(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

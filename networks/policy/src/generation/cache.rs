//! Keys and values of what was read and written, for the completions on their way.

use std::sync::Arc;

use candle_core::{DType, Result, Tensor};

use super::padded::Padded;
use super::rows::Rows;
use crate::PolicyModel;
use crate::batch::Packed;
use crate::decoder::Attend;
use crate::ops::{Heads, Tape, attention};

/// Keys and values of the completions on their way.
pub(super) enum Cache {
    /// On a CPU: each completion has its own, beside those of its prompt.
    Rows(Rows),
    /// Elsewhere: all in one tensor for each layer.
    Padded(Padded),
}

impl Cache {
    pub(super) fn new(policy: &PolicyModel) -> Self {
        if policy.device().is_cpu() && policy.dtype() == DType::F32 {
            Self::Rows(Rows::new(policy.config.windows.clone()))
        } else {
            Self::Padded(Padded::new(&policy.config, policy.device()))
        }
    }

    /// Takes in completions of texts that were read: `kept` has keys and values by layer, `starts`
    /// where each text lies, `text_of` which one a completion goes on with.
    pub(super) fn admit(
        &mut self,
        kept: &[[Tensor; 2]],
        starts: &[usize],
        text_of: &[usize],
    ) -> Result<()> {
        match self {
            Self::Rows(rows) => rows.admit(kept, starts, text_of),
            Self::Padded(padded) => padded.admit(kept, starts, text_of),
        }
    }

    /// Keeps the completions that stay.
    pub(super) fn keep(&mut self, stays: &[bool]) -> Result<()> {
        match self {
            Self::Rows(rows) => rows.keep(stays),
            Self::Padded(padded) => padded.keep(stays)?,
        }
        Ok(())
    }
}

impl Attend for Cache {
    fn attend(
        &mut self,
        layer: usize,
        qkv: [&Tensor; 3],
        heads: Heads,
        _: &mut Tape,
    ) -> Result<Tensor> {
        match self {
            Self::Rows(rows) => rows.attend(layer, qkv, heads),
            Self::Padded(padded) => padded.attend(layer, qkv, heads),
        }
    }
}

/// Attention among the tokens of prompts, whose keys and values are kept.
pub(super) struct Reading<'a> {
    packed: &'a Packed,
    windows: &'a [Option<usize>],
    kept: Vec<[Tensor; 2]>,
}

impl<'a> Reading<'a> {
    pub(super) fn new(policy: &'a PolicyModel, packed: &'a Packed) -> Self {
        Self {
            packed,
            windows: &policy.config.windows,
            kept: Vec::new(),
        }
    }

    /// Keys and values by layer, each `[tokens, kv_heads * head_dim]`.
    pub(super) fn into_kept(self) -> Vec<[Tensor; 2]> {
        self.kept
    }
}

impl Attend for Reading<'_> {
    fn attend(
        &mut self,
        layer: usize,
        qkv: [&Tensor; 3],
        heads: Heads,
        tape: &mut Tape,
    ) -> Result<Tensor> {
        self.kept.push([qkv[1].contiguous()?, qkv[2].contiguous()?]);
        attention(qkv, heads, self.packed.span(self.windows[layer]), tape)
    }
}

/// Texts that completions go on with, each read once and shared.
pub(super) fn shared<T>(texts: impl Iterator<Item = T>, text_of: &[usize]) -> Vec<Arc<T>> {
    let texts: Vec<Arc<T>> = texts.map(Arc::new).collect();
    text_of
        .iter()
        .map(|text| Arc::clone(&texts[*text]))
        .collect()
}

//! The key-value cache of completions that are being generated.

use candle_core::{DType, Result, Tensor};

use super::padded::PaddedCache;
use super::rows::RowCache;
use crate::PolicyModel;
use crate::batch::Packed;
use crate::decoder::Attend;
use crate::ops::{Heads, Tape, attention};

/// Keys and values of the completions that are being generated.
pub(super) enum Cache {
    /// On a CPU: one buffer per completion, and a shared one per prompt.
    Rows(RowCache),
    /// On other devices: one padded tensor per layer.
    Padded(PaddedCache),
}

impl Cache {
    pub(super) fn new(policy: &PolicyModel) -> Self {
        if policy.device().is_cpu() && policy.dtype() == DType::F32 {
            Self::Rows(RowCache::new(policy.config.windows.clone()))
        } else {
            Self::Padded(PaddedCache::new(&policy.config, policy.device()))
        }
    }

    /// Adds completions of processed texts. `keys_and_values` has one pair per layer, `starts` the
    /// offsets of the texts, and `text_of` the index of the text that each completion continues.
    pub(super) fn admit(
        &mut self,
        keys_and_values: &[[Tensor; 2]],
        starts: &[usize],
        text_of: &[usize],
    ) -> Result<()> {
        match self {
            Self::Rows(rows) => rows.admit(keys_and_values, starts, text_of),
            Self::Padded(padded) => padded.admit(keys_and_values, starts, text_of),
        }
    }

    /// Keeps only the completions for which `unfinished` is true.
    pub(super) fn retain(&mut self, unfinished: &[bool]) -> Result<()> {
        match self {
            Self::Rows(rows) => rows.retain(unfinished),
            Self::Padded(padded) => padded.retain(unfinished)?,
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

/// Attention among the tokens of prompts; records their keys and values.
pub(super) struct PromptAttention<'a> {
    packed: &'a Packed,
    windows: &'a [Option<usize>],
    keys_and_values: Vec<[Tensor; 2]>,
}

impl<'a> PromptAttention<'a> {
    pub(super) fn new(policy: &'a PolicyModel, packed: &'a Packed) -> Self {
        Self {
            packed,
            windows: &policy.config.windows,
            keys_and_values: Vec::new(),
        }
    }

    /// Keys and values by layer, each `[tokens, kv_heads * head_dim]`.
    pub(super) fn into_keys_and_values(self) -> Vec<[Tensor; 2]> {
        self.keys_and_values
    }
}

impl Attend for PromptAttention<'_> {
    fn attend(
        &mut self,
        layer: usize,
        qkv: [&Tensor; 3],
        heads: Heads,
        tape: &mut Tape,
    ) -> Result<Tensor> {
        self.keys_and_values
            .push([qkv[1].contiguous()?, qkv[2].contiguous()?]);
        attention(qkv, heads, self.packed.span(self.windows[layer]), tape)
    }
}

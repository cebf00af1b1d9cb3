//! The key-value cache on a CPU. Each completion has its own buffer, and the completions of a
//! prompt share its buffer. Nothing is padded, and nothing is moved when a completion ends.

use std::sync::Arc;

use assay_kernels::{Real, dot, wide};
use candle_core::{Result, Tensor};
use rayon::prelude::*;

use super::share::share_texts;
use crate::ops::{Heads, ReadGuard, scale_of, softmax};

/// Minimum number of completions per thread.
const ROWS: usize = 8;

/// Number of values that are accumulated at a time.
const UNROLL: usize = 4;

/// Keys and values of some tokens, row by row.
type Pair = [Vec<f32>; 2];

pub(super) struct RowCache {
    windows: Vec<Option<usize>>,
    rows: Vec<Row>,
}

/// One completion.
struct Row {
    /// Keys and values of the prompt, by layer.
    prompt: Arc<Vec<Pair>>,
    /// Keys and values of the generated tokens, by layer.
    own: Vec<Pair>,
}

impl RowCache {
    pub(super) fn new(windows: Vec<Option<usize>>) -> Self {
        Self {
            windows,
            rows: Vec::new(),
        }
    }

    pub(super) fn admit(
        &mut self,
        keys_and_values: &[[Tensor; 2]],
        starts: &[usize],
        text_of: &[usize],
    ) -> Result<()> {
        let guards: Vec<[ReadGuard<'_>; 2]> = keys_and_values
            .iter()
            .map(|pair| pair.each_ref().map(ReadGuard::new))
            .collect();
        let slices = guards
            .iter()
            .map(|[k, v]| Ok([k.slice::<f32>()?, v.slice::<f32>()?]))
            .collect::<Result<Vec<_>>>()?;
        let texts = starts.windows(2).map(|ends| {
            let part = |x: &[f32]| {
                let width = x.len() / starts.last().copied().unwrap_or(1).max(1);
                x[ends[0] * width..ends[1] * width].to_vec()
            };
            slices
                .iter()
                .map(|pair| pair.map(part))
                .collect::<Vec<Pair>>()
        });
        let layers = self.windows.len();
        let rows = share_texts(texts, text_of).into_iter().map(|prompt| Row {
            prompt,
            own: vec![Pair::default(); layers],
        });
        self.rows.extend(rows);
        Ok(())
    }

    pub(super) fn retain(&mut self, unfinished: &[bool]) {
        let mut flags = unfinished.iter();
        self.rows.retain(|_| *flags.next().unwrap_or(&false));
    }

    /// Adds a token to each completion and computes its attention.
    pub(super) fn attend(
        &mut self,
        layer: usize,
        qkv: [&Tensor; 3],
        heads: Heads,
    ) -> Result<Tensor> {
        let [qs, ks, vs] = qkv.map(ReadGuard::new);
        let (qs, ks, vs) = (qs.slice::<f32>()?, ks.slice::<f32>()?, vs.slice::<f32>()?);
        let (width, kv_width) = (heads.width(), heads.kv_width());
        let mut out = vec![0f32; qs.len()];
        let attention = CachedAttention {
            heads,
            offsets: (0..heads.heads).map(|head| heads.keys_of(head)).collect(),
            scale: Real::narrow(scale_of(heads.head_dim)),
            window: self.windows[layer],
        };
        let tokens = ks.par_chunks(kv_width).zip(vs.par_chunks(kv_width));
        let rows = self
            .rows
            .par_iter_mut()
            .zip(out.par_chunks_mut(width))
            .zip(qs.par_chunks(width));
        rows.zip(tokens).with_min_len(ROWS).for_each_init(
            Vec::new,
            |weights, (((row, out), q), (k, v))| {
                let own = &mut row.own[layer];
                own[0].extend_from_slice(k);
                own[1].extend_from_slice(v);
                wide(
                    #[inline(always)]
                    || attention.attend(&row.prompt[layer], own, q, weights, out),
                );
            },
        );
        Tensor::from_vec(out, qkv[0].shape(), qkv[0].device())
    }
}

/// Attention of one new token over the cached tokens.
struct CachedAttention {
    heads: Heads,
    /// For each query head, the offset of its keys within the keys of a token.
    offsets: Vec<usize>,
    scale: f32,
    window: Option<usize>,
}

impl CachedAttention {
    /// Attends to the tokens of the prompt and of the completion. Tokens are read one after another
    /// for all heads, in the order of memory.
    #[inline(always)]
    fn attend(
        &self,
        prompt: &Pair,
        own: &Pair,
        q: &[f32],
        weights: &mut Vec<f32>,
        out: &mut [f32],
    ) {
        let (head_dim, kv_width) = (self.heads.head_dim, self.heads.kv_width());
        let tokens = (prompt[0].len() + own[0].len()) / kv_width;
        let hidden = self
            .window
            .map_or(0, |window| tokens.saturating_sub(window));
        let seen = tokens - hidden;
        // The hidden tokens are first those of the prompt.
        let prompt_start = (hidden * kv_width).min(prompt[0].len());
        let own_start = (hidden * kv_width).saturating_sub(prompt[0].len());
        let parts = |which: usize| [&prompt[which][prompt_start..], &own[which][own_start..]];
        // Weights of the first head, then of the second, and so on.
        weights.resize(self.heads.heads * seen, 0.0);
        let mut token = 0;
        for part in parts(0) {
            for key in part.chunks_exact(kv_width) {
                for (head, offset) in self.offsets.iter().enumerate() {
                    let q = &q[head * head_dim..][..head_dim];
                    weights[head * seen + token] = dot(q, &key[*offset..][..head_dim]) * self.scale;
                }
                token += 1;
            }
        }
        for weights in weights.chunks_exact_mut(seen.max(1)) {
            softmax(weights);
        }
        let mut token = 0;
        for part in parts(1) {
            let blocks = part.chunks_exact(UNROLL * kv_width);
            let rest = blocks.remainder();
            for values in blocks {
                for (head, offset) in self.offsets.iter().enumerate() {
                    let out = &mut out[head * head_dim..][..head_dim];
                    let value = |which: usize| &values[which * kv_width + offset..][..head_dim];
                    let (a, b, c, d) = (value(0), value(1), value(2), value(3));
                    let weights = &weights[head * seen + token..][..UNROLL];
                    for ((((out, a), b), c), d) in out.iter_mut().zip(a).zip(b).zip(c).zip(d) {
                        *out = *out
                            + weights[0] * *a
                            + weights[1] * *b
                            + weights[2] * *c
                            + weights[3] * *d;
                    }
                }
                token += UNROLL;
            }
            for value in rest.chunks_exact(kv_width) {
                for (head, offset) in self.offsets.iter().enumerate() {
                    let (out, weight) = (
                        &mut out[head * head_dim..][..head_dim],
                        weights[head * seen + token],
                    );
                    for (out, value) in out.iter_mut().zip(&value[*offset..][..head_dim]) {
                        *out += weight * *value;
                    }
                }
                token += 1;
            }
        }
    }
}

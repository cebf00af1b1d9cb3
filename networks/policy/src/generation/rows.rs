//! Keys and values on a CPU. Each completion has its own rows; those of the prompt are there once
//! for all its completions. Nothing is padded and nothing is moved when a completion ends.

use std::sync::Arc;

use assay_kernels::{Real, dot, wide};
use candle_core::{Result, Tensor};
use rayon::prelude::*;

use super::cache::shared;
use crate::ops::{Heads, Held, scale_of, softmax};

/// Completions one worker takes at a time.
const ROWS: usize = 8;

/// Values that are added up at a time.
const ABREAST: usize = 4;

/// Keys and values of some tokens, row by row.
type Pair = [Vec<f32>; 2];

pub(super) struct Rows {
    windows: Vec<Option<usize>>,
    rows: Vec<Row>,
}

/// One completion.
struct Row {
    /// What it goes on with, by layer.
    prompt: Arc<Vec<Pair>>,
    /// What was written, by layer.
    own: Vec<Pair>,
}

impl Rows {
    pub(super) fn new(windows: Vec<Option<usize>>) -> Self {
        Self {
            windows,
            rows: Vec::new(),
        }
    }

    pub(super) fn admit(
        &mut self,
        kept: &[[Tensor; 2]],
        starts: &[usize],
        text_of: &[usize],
    ) -> Result<()> {
        let held: Vec<[Held<'_>; 2]> = kept
            .iter()
            .map(|pair| pair.each_ref().map(Held::new))
            .collect();
        let slices = held
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
        let rows = shared(texts, text_of).into_iter().map(|prompt| Row {
            prompt,
            own: vec![Pair::default(); layers],
        });
        self.rows.extend(rows);
        Ok(())
    }

    pub(super) fn keep(&mut self, stays: &[bool]) {
        let mut stays = stays.iter();
        self.rows.retain(|_| *stays.next().unwrap_or(&false));
    }

    /// Adds a token to each completion and attends to all before it.
    pub(super) fn attend(
        &mut self,
        layer: usize,
        qkv: [&Tensor; 3],
        heads: Heads,
    ) -> Result<Tensor> {
        let [qs, ks, vs] = qkv.map(Held::new);
        let (qs, ks, vs) = (qs.slice::<f32>()?, ks.slice::<f32>()?, vs.slice::<f32>()?);
        let (width, kv_width) = (heads.width(), heads.kv_width());
        let mut out = vec![0f32; qs.len()];
        let look = Look {
            heads,
            places: (0..heads.heads).map(|head| heads.keys_of(head)).collect(),
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
            |shares, (((row, out), q), (k, v))| {
                let own = &mut row.own[layer];
                own[0].extend_from_slice(k);
                own[1].extend_from_slice(v);
                wide(
                    #[inline(always)]
                    || look.back(&row.prompt[layer], own, q, shares, out),
                );
            },
        );
        Tensor::from_vec(out, qkv[0].shape(), qkv[0].device())
    }
}

/// How a token looks at those before it.
struct Look {
    heads: Heads,
    /// Where the keys of each head of queries lie within those of a token.
    places: Vec<usize>,
    scale: f32,
    window: Option<usize>,
}

impl Look {
    /// One token over the tokens of its prompt and its own. Token after token is read for all
    /// heads, as they lie in memory.
    #[inline(always)]
    fn back(&self, prompt: &Pair, own: &Pair, q: &[f32], shares: &mut Vec<f32>, out: &mut [f32]) {
        let (head_dim, kv_width) = (self.heads.head_dim, self.heads.kv_width());
        let tokens = (prompt[0].len() + own[0].len()) / kv_width;
        let hidden = self
            .window
            .map_or(0, |window| tokens.saturating_sub(window));
        let seen = tokens - hidden;
        // What is hidden is hidden of the prompt first.
        let of_prompt = (hidden * kv_width).min(prompt[0].len());
        let of_own = (hidden * kv_width).saturating_sub(prompt[0].len());
        let parts = |which: usize| [&prompt[which][of_prompt..], &own[which][of_own..]];
        // Head by head.
        shares.resize(self.heads.heads * seen, 0.0);
        let mut token = 0;
        for part in parts(0) {
            for key in part.chunks_exact(kv_width) {
                for (head, place) in self.places.iter().enumerate() {
                    let q = &q[head * head_dim..][..head_dim];
                    shares[head * seen + token] = dot(q, &key[*place..][..head_dim]) * self.scale;
                }
                token += 1;
            }
        }
        for shares in shares.chunks_exact_mut(seen.max(1)) {
            softmax(shares);
        }
        let mut token = 0;
        for part in parts(1) {
            let abreast = part.chunks_exact(ABREAST * kv_width);
            let rest = abreast.remainder();
            for values in abreast {
                for (head, place) in self.places.iter().enumerate() {
                    let out = &mut out[head * head_dim..][..head_dim];
                    let value = |which: usize| &values[which * kv_width + place..][..head_dim];
                    let (a, b, c, d) = (value(0), value(1), value(2), value(3));
                    let shares = &shares[head * seen + token..][..ABREAST];
                    for ((((out, a), b), c), d) in out.iter_mut().zip(a).zip(b).zip(c).zip(d) {
                        *out = *out
                            + shares[0] * *a
                            + shares[1] * *b
                            + shares[2] * *c
                            + shares[3] * *d;
                    }
                }
                token += ABREAST;
            }
            for value in rest.chunks_exact(kv_width) {
                for (head, place) in self.places.iter().enumerate() {
                    let (out, share) = (
                        &mut out[head * head_dim..][..head_dim],
                        shares[head * seen + token],
                    );
                    for (out, value) in out.iter_mut().zip(&value[*place..][..head_dim]) {
                        *out += share * *value;
                    }
                }
                token += 1;
            }
        }
    }
}

//! Keys and values on a CPU. Each completion has its own rows; those of the prompt are there once for all its completions. Nothing
//! is padded and nothing is moved when a completion ends.

use std::sync::Arc;

use assay_kernels::dot;
use assay_weights::config::DecoderConfig;
use candle_core::{Result, Tensor};
use rayon::prelude::*;

use super::cache::shared;
use crate::ops::{Held, scale_of, softmax};

/// Keys and values of some tokens, row by row.
type Pair = [Vec<f32>; 2];

pub(super) struct Rows {
    heads: usize,
    kv_heads: usize,
    head_dim: usize,
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
    pub(super) fn new(config: &DecoderConfig) -> Self {
        let (heads, kv_heads, head_dim) = (config.heads, config.kv_heads, config.head_dim);
        Self { heads, kv_heads, head_dim, windows: config.windows.clone(), rows: Vec::new() }
    }

    pub(super) fn admit(&mut self, kept: &[[Tensor; 2]], starts: &[usize], text_of: &[usize]) -> Result<()> {
        let width = self.kv_heads * self.head_dim;
        let held: Vec<[Held<'_>; 2]> = kept.iter().map(|pair| pair.each_ref().map(Held::new)).collect();
        let slices =
            held.iter().map(|[k, v]| Ok([k.slice::<f32>()?, v.slice::<f32>()?])).collect::<Result<Vec<_>>>()?;
        let texts = starts.windows(2).map(|ends| {
            slices.iter().map(|pair| pair.map(|x| x[ends[0] * width..ends[1] * width].to_vec())).collect::<Vec<Pair>>()
        });
        let layers = self.windows.len();
        let rows = shared(texts, text_of).into_iter().map(|prompt| Row { prompt, own: vec![Pair::default(); layers] });
        self.rows.extend(rows);
        Ok(())
    }

    pub(super) fn keep(&mut self, stays: &[bool]) {
        let mut stays = stays.iter();
        self.rows.retain(|_| *stays.next().unwrap_or(&false));
    }

    /// Adds a token to each completion and attends to all before it.
    pub(super) fn attend(&mut self, layer: usize, q: &Tensor, k: &Tensor, v: &Tensor) -> Result<Tensor> {
        let (q, k, v) = (q.contiguous()?, k.contiguous()?, v.contiguous()?);
        let (qs, ks, vs) = (Held::new(&q), Held::new(&k), Held::new(&v));
        let (qs, ks, vs) = (qs.slice::<f32>()?, ks.slice::<f32>()?, vs.slice::<f32>()?);
        let (width, kv_width) = (self.heads * self.head_dim, self.kv_heads * self.head_dim);
        let mut out = vec![0f32; qs.len()];
        let heads = Heads {
            group: self.heads / self.kv_heads,
            head_dim: self.head_dim,
            kv_width,
            scale: assay_kernels::Real::narrow(scale_of(self.head_dim)),
            window: self.windows[layer],
        };
        let tokens = ks.par_chunks(kv_width).zip(vs.par_chunks(kv_width));
        let rows = self.rows.par_iter_mut().zip(out.par_chunks_mut(width)).zip(qs.par_chunks(width));
        rows.zip(tokens).for_each_init(Vec::new, |shares, (((row, out), q), (k, v))| {
            let own = &mut row.own[layer];
            own[0].extend_from_slice(k);
            own[1].extend_from_slice(v);
            heads.attend(&row.prompt[layer], own, q, shares, out);
        });
        Tensor::from_vec(out, q.shape(), q.device())
    }
}

struct Heads {
    group: usize,
    head_dim: usize,
    kv_width: usize,
    scale: f32,
    window: Option<usize>,
}

impl Heads {
    /// One token over the tokens of its prompt and its own.
    fn attend(&self, prompt: &Pair, own: &Pair, q: &[f32], shares: &mut Vec<f32>, out: &mut [f32]) {
        let tokens = (prompt[0].len() + own[0].len()) / self.kv_width;
        let hidden = self.window.map_or(0, |window| tokens.saturating_sub(window));
        let heads = q.chunks_exact(self.head_dim).zip(out.chunks_exact_mut(self.head_dim)).enumerate();
        for (head, (q, out)) in heads {
            let offset = head / self.group * self.head_dim;
            let rows = |which: usize| {
                let both = prompt[which].chunks_exact(self.kv_width).chain(own[which].chunks_exact(self.kv_width));
                both.skip(hidden).map(move |row| &row[offset..offset + self.head_dim])
            };
            shares.clear();
            shares.extend(rows(0).map(|key| dot(q, key) * self.scale));
            softmax(shares);
            for (share, value) in shares.iter().zip(rows(1)) {
                out.iter_mut().zip(value).for_each(|(out, value)| *out += share * value);
            }
        }
    }
}

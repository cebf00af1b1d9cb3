//! Causal attention within each sequence of a packed batch (arXiv 1706.03762), with grouped queries
//! (arXiv 2305.13245) and an optional sliding window.
//!
//! Sequences are concatenated without padding. The backward pass recomputes the attention weights
//! instead of storing them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use assay_kernels::{Product, View, dot, largest, multiply, sum, wide};
use candle_core::{D, DType, Device, Result, Tensor};
use rayon::prelude::*;

use super::fused::Number;
use super::tape::{Backward, FusedOp, Tape};

/// Number of query tokens whose scores are in memory at a time.
const TILE: usize = 128;

/// The sequences of a batch, and how many tokens each token attends to.
#[derive(Debug, Clone)]
pub(crate) struct Span {
    /// Index of the first token of each sequence, then the total number of tokens.
    pub(crate) starts: Arc<[usize]>,
    /// Number of tokens a token attends to, including itself; `None` for all previous tokens.
    pub(crate) window: Option<usize>,
    /// The masks of the batch, shared by all layers; used only by composed operations.
    pub(crate) masks: Masks,
}

/// Causal masks on a device, one for each length and window.
#[derive(Debug, Clone, Default)]
pub(crate) struct Masks(Arc<Mutex<HashMap<MaskKey, Tensor>>>);

/// Length of a sequence and window.
type MaskKey = (usize, Option<usize>);

impl Masks {
    /// A matrix `[length, length]` that is 0 where the token of the row attends to that of the
    /// column, and negative infinity elsewhere.
    fn get(&self, key: MaskKey, dtype: DType, device: &Device) -> Result<Tensor> {
        let mut masks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(mask) = masks.get(&key) {
            return Ok(mask.clone());
        }
        let (length, window) = key;
        let shape = (length, length);
        // Lengths are below 2^24, so f32 represents them exactly.
        let tokens = Tensor::arange(0f32, length as f32, device)?;
        let distance = tokens
            .reshape((length, 1))?
            .broadcast_sub(&tokens.reshape((1, length))?)?;
        let mut visible = distance.ge(0.0)?;
        if let Some(window) = window {
            visible = (visible * distance.lt(window as f64)?)?;
        }
        let hidden = Tensor::full(f32::NEG_INFINITY, shape, device)?.to_dtype(dtype)?;
        let mask = visible.where_cond(&hidden.zeros_like()?, &hidden)?;
        masks.insert(key, mask.clone());
        Ok(mask)
    }
}

/// Numbers and size of attention heads.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Heads {
    /// Number of query heads.
    pub(crate) heads: usize,
    /// Number of key and value heads; a divisor of the number of query heads.
    pub(crate) kv_heads: usize,
    /// Size of a head.
    pub(crate) head_dim: usize,
}

/// Attention of `q`, `[tokens, heads * head_dim]`, over `k` and `v`, both `[tokens, kv_heads *
/// head_dim]`. The result has the shape of `q`.
pub(crate) fn attention(
    [q, k, v]: [&Tensor; 3],
    heads: Heads,
    span: Span,
    tape: &mut Tape,
) -> Result<Tensor> {
    if tape.fuses(q) {
        tape.run(Attention { heads, span }, &[q, k, v])
    } else {
        composed([q, k, v], heads, &span)
    }
}

/// Scale of attention scores: 1 / sqrt(head_dim).
pub(crate) fn scale_of(head_dim: usize) -> f64 {
    1.0 / (head_dim as f64).sqrt()
}

/// The same, composed of operations that candle differentiates, one sequence after another.
pub(super) fn composed([q, k, v]: [&Tensor; 3], heads: Heads, span: &Span) -> Result<Tensor> {
    let Heads {
        heads,
        kv_heads,
        head_dim,
    } = heads;
    let (group, scale) = (heads / kv_heads, scale_of(head_dim));
    let tokens = q.dim(0)?;
    let (q, k, v) = (
        q.reshape((tokens, heads, head_dim))?,
        k.reshape((tokens, kv_heads, head_dim))?,
        v.reshape((tokens, kv_heads, head_dim))?,
    );
    let sequences = span
        .starts
        .windows(2)
        .filter(|ends| ends[1] > ends[0])
        .map(|ends| {
            let len = ends[1] - ends[0];
            let part = |x: &Tensor| x.narrow(0, ends[0], len)?.transpose(0, 1)?.contiguous();
            // The query heads of a key head are stacked.
            let q = part(&q)?.reshape((kv_heads, group * len, head_dim))?;
            let scores =
                (q.matmul(&part(&k)?.t()?.contiguous()?)? * scale)?.reshape((heads, len, len))?;
            let exact = match q.dtype() {
                DType::F64 => DType::F64,
                _ => DType::F32,
            };
            let mask = span.masks.get((len, span.window), exact, q.device())?;
            let scores = scores.to_dtype(exact)?.broadcast_add(&mask)?;
            let weights = candle_nn::ops::softmax(&scores, D::Minus1)?.to_dtype(q.dtype())?;
            let out = weights
                .reshape((kv_heads, group * len, len))?
                .matmul(&part(&v)?)?;
            out.reshape((heads, len, head_dim))?.transpose(0, 1)
        });
    Tensor::cat(&sequences.collect::<Result<Vec<_>>>()?, 0)?.reshape((tokens, heads * head_dim))
}

struct Attention {
    heads: Heads,
    span: Span,
}

impl Heads {
    pub(crate) fn width(self) -> usize {
        self.heads * self.head_dim
    }

    pub(crate) fn kv_width(self) -> usize {
        self.kv_heads * self.head_dim
    }

    /// Offset of the keys of a query head.
    pub(crate) fn keys_of(self, head: usize) -> usize {
        head / (self.heads / self.kv_heads) * self.head_dim
    }

    fn scale<T: Number>(self) -> T {
        T::narrow(scale_of(self.head_dim))
    }
}

/// Rows `from..to` of a sequence and the columns that any of them attends to.
#[derive(Clone, Copy)]
struct Tile {
    from: usize,
    to: usize,
    first: usize,
}

impl Tile {
    fn rows(self) -> usize {
        self.to - self.from
    }

    fn columns(self) -> usize {
        self.to - self.first
    }
}

impl Span {
    fn tiles(&self, len: usize) -> impl Iterator<Item = Tile> {
        let window = self.window;
        (0..len).step_by(TILE).map(move |from| Tile {
            from,
            to: (from + TILE).min(len),
            first: window.map_or(0, |window| (from + 1).saturating_sub(window)),
        })
    }

    /// Splits rows of width `width` by sequence.
    fn split<'a, T>(&self, mut rows: &'a mut [T], width: usize) -> Vec<&'a mut [T]> {
        let mut parts = Vec::with_capacity(self.starts.len());
        for ends in self.starts.windows(2) {
            let (part, rest) = rows.split_at_mut((ends[1] - ends[0]) * width);
            parts.push(part);
            rows = rest;
        }
        parts
    }

    /// Attention weights of a tile for one head of a sequence, row by row.
    fn weights<T: Number>(
        &self,
        tile: Tile,
        heads: Heads,
        head: usize,
        [q, k]: [&[T]; 2],
        out: &mut Vec<T>,
    ) {
        let columns = tile.columns();
        out.resize(tile.rows() * columns, T::ZERO);
        let queries =
            View::rows(heads.width()).at(tile.from * heads.width() + head * heads.head_dim);
        let keys =
            View::rows(heads.kv_width()).at(tile.first * heads.kv_width() + heads.keys_of(head));
        multiply(
            (tile.rows(), columns, heads.head_dim),
            Product::plain().with_scale(heads.scale()),
            (q, queries),
            (k, keys.transposed()),
            (out, View::rows(columns)),
        );
        wide(
            #[inline(always)]
            || {
                for (row, scores) in out.chunks_exact_mut(columns).enumerate() {
                    let token = tile.from + row;
                    let start = self
                        .window
                        .map_or(0, |window| (token + 1).saturating_sub(window))
                        - tile.first;
                    let end = token + 1 - tile.first;
                    scores[..start].fill(T::ZERO);
                    scores[end..].fill(T::ZERO);
                    softmax(&mut scores[start..end]);
                }
            },
        );
    }
}

/// Replaces numbers by their softmax.
#[inline(always)]
pub(crate) fn softmax<T: Number>(numbers: &mut [T]) {
    let most = largest(numbers);
    numbers
        .iter_mut()
        .for_each(|number| *number = (*number - most).exponential());
    let scale = T::ONE / sum(numbers);
    numbers.iter_mut().for_each(|number| *number *= scale);
}

/// `dS = P (dP - sum(P dP))`, row by row, in place of `dP`.
#[inline(always)]
fn through_softmax<T: Number>(weights: &[T], dweights: &mut [T], columns: usize) {
    for (weights, dweights) in weights
        .chunks_exact(columns)
        .zip(dweights.chunks_exact_mut(columns))
    {
        let mean = dot(weights, dweights);
        dweights
            .iter_mut()
            .zip(weights)
            .for_each(|(d, weight)| *d = *weight * (*d - mean));
    }
}

impl<T: Number> FusedOp<T> for Attention {
    fn forward(&self, inputs: &[&[T]]) -> Result<(Vec<T>, usize)> {
        let (heads, [q, k, v]) = (self.heads, [inputs[0], inputs[1], inputs[2]]);
        let (width, kv_width) = (heads.width(), heads.kv_width());
        let mut out = vec![T::ZERO; q.len()];
        let parts = self
            .span
            .split(&mut out, width)
            .into_par_iter()
            .zip(self.span.starts.par_windows(2));
        parts.for_each_init(Vec::new, |weights, (out, ends)| {
            let (start, end) = (ends[0], ends[1]);
            let q = &q[start * width..end * width];
            let [k, v] = [k, v].map(|x| &x[start * kv_width..end * kv_width]);
            for tile in self.span.tiles(end - start) {
                for head in 0..heads.heads {
                    self.span.weights(tile, heads, head, [q, k], weights);
                    let values =
                        View::rows(kv_width).at(tile.first * kv_width + heads.keys_of(head));
                    let view = View::rows(width).at(tile.from * width + head * heads.head_dim);
                    let size = (tile.rows(), heads.head_dim, tile.columns());
                    multiply(
                        size,
                        Product::plain(),
                        (weights, View::rows(tile.columns())),
                        (v, values),
                        (out, view),
                    );
                }
            }
        });
        Ok((out, width))
    }

    /// With attention weights `P` and `dP = dO V^T`: `dV = P^T dO`, `dS = P (dP - sum(P dP))`,
    /// `dQ = dS K` and `dK = dS^T Q`, the last two times the scale.
    fn backward(&self, gradient: Vec<T>, backward: &mut Backward<'_, T>) -> Result<()> {
        let (heads, [q, k, v]) = (
            self.heads,
            [backward.inputs[0], backward.inputs[1], backward.inputs[2]],
        );
        let (width, kv_width) = (heads.width(), heads.kv_width());
        let [mut dq, mut dk, mut dv] = [q, k, v].map(|x| vec![T::ZERO; x.len()]);
        let outs = self
            .span
            .split(&mut dq, width)
            .into_par_iter()
            .zip(self.span.split(&mut dk, kv_width));
        let outs = outs
            .zip(self.span.split(&mut dv, kv_width))
            .zip(self.span.starts.par_windows(2));
        let buffers = || (Vec::new(), Vec::new());
        outs.for_each_init(buffers, |(weights, dweights), (((dq, dk), dv), ends)| {
            let (start, end) = (ends[0], ends[1]);
            let [q, gradient] = [q, gradient.as_slice()].map(|x| &x[start * width..end * width]);
            let [k, v] = [k, v].map(|x| &x[start * kv_width..end * kv_width]);
            for tile in self.span.tiles(end - start) {
                let (rows, columns) = (tile.rows(), tile.columns());
                let plain = View::rows(columns);
                for head in 0..heads.heads {
                    let own = View::rows(width).at(tile.from * width + head * heads.head_dim);
                    let shared =
                        View::rows(kv_width).at(tile.first * kv_width + heads.keys_of(head));
                    self.span.weights(tile, heads, head, [q, k], weights);
                    dweights.resize(rows * columns, T::ZERO);
                    let by_columns = (columns, heads.head_dim, rows);
                    let into = (gradient, own);
                    multiply(
                        by_columns,
                        Product::plain().accumulate(),
                        (weights, plain.transposed()),
                        into,
                        (&mut *dv, shared),
                    );
                    let size = (rows, columns, heads.head_dim);
                    multiply(
                        size,
                        Product::plain(),
                        into,
                        (v, shared.transposed()),
                        (&mut *dweights, plain),
                    );
                    wide(
                        #[inline(always)]
                        || through_softmax(weights, dweights, columns),
                    );
                    let scaled = Product::plain().with_scale(heads.scale());
                    let by_rows = (rows, heads.head_dim, columns);
                    multiply(
                        by_rows,
                        scaled,
                        (dweights, plain),
                        (k, shared),
                        (&mut *dq, own),
                    );
                    multiply(
                        by_columns,
                        scaled.accumulate(),
                        (dweights, plain.transposed()),
                        (q, own),
                        (&mut *dk, shared),
                    );
                }
            }
        });
        for (input, gradient) in [dq, dk, dv].into_iter().enumerate() {
            backward.add(input, gradient)?;
        }
        Ok(())
    }
}

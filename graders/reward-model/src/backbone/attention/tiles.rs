//! Attention on a CPU. A tile is a range of tokens for one head; tiles are distributed over all
//! cores.
//!
//! A tile depends only on its sequence, so its results are bit-identical in any batch.

use std::sync::Arc;

use assay_kernels::{Product, View, exponentials, largest, multiply, sum};
use candle_core::{CpuStorage, CustomOp3, Layout, Result, Shape};
use rayon::prelude::*;

use super::AttentionSpan;

/// Tokens per tile. The attention scores of a tile over 2,000 tokens fit in the second-level cache.
const TILE: usize = 128;

/// Attention of one batch. Inputs as in [`super::attention`], contiguous.
pub(super) struct Tiles {
    pub(super) starts: Arc<[usize]>,
    pub(super) span: AttentionSpan,
    pub(super) scale: f32,
}

/// A tile: tokens `from..to` of the sequence `start..end`, one head.
struct Tile {
    start: usize,
    end: usize,
    from: usize,
    to: usize,
    head: usize,
}

impl CustomOp3 for Tiles {
    fn name(&self) -> &'static str {
        "attention-tiles"
    }

    fn cpu_fwd(
        &self,
        q: &CpuStorage,
        q_layout: &Layout,
        k: &CpuStorage,
        k_layout: &Layout,
        v: &CpuStorage,
        v_layout: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        let (tokens, heads, head_dim) = q_layout.shape().dims3()?;
        let (_, kv_heads, _) = k_layout.shape().dims3()?;
        let (q, k, v) = (
            values(q, q_layout)?,
            values(k, k_layout)?,
            values(v, v_layout)?,
        );
        let width = heads * head_dim;

        // The tiles of all heads of a range of tokens write one contiguous part of the result.
        let mut token_ranges = Vec::new();
        for sequence in self.starts.windows(2) {
            let (start, end) = (sequence[0], sequence[1]);
            token_ranges.extend(
                (0..end - start)
                    .step_by(TILE)
                    .map(|from| (start, end, from, (from + TILE).min(end - start))),
            );
        }
        let mut out = vec![0f32; tokens * width];
        let mut rest = out.as_mut_slice();
        let mut jobs = Vec::with_capacity(token_ranges.len());
        for (start, end, from, to) in token_ranges {
            let (part, others) = rest.split_at_mut((to - from) * width);
            rest = others;
            jobs.push((start, end, from, to, part));
        }
        jobs.into_par_iter()
            .for_each_init(Vec::new, |scores, (start, end, from, to, out)| {
                for head in 0..heads {
                    let tile = Tile {
                        start,
                        end,
                        from,
                        to,
                        head,
                    };
                    let shape = [heads, kv_heads, head_dim];
                    self.tile(&tile, shape, [q, k, v], scores, out);
                }
            });
        Ok((CpuStorage::F32(out), Shape::from((tokens, heads, head_dim))))
    }
}

impl Tiles {
    fn tile(
        &self,
        tile: &Tile,
        [heads, kv_heads, head_dim]: [usize; 3],
        [q, k, v]: [&[f32]; 3],
        scores: &mut Vec<f32>,
        out: &mut [f32],
    ) {
        let len = tile.end - tile.start;
        let rows = tile.to - tile.from;
        let attended = self.span.range_of_rows(tile.from, tile.to, len);
        let columns = attended.len();
        let (width, kv_width) = (heads * head_dim, kv_heads * head_dim);
        let kv_offset =
            (tile.start + attended.start) * kv_width + tile.head / (heads / kv_heads) * head_dim;
        scores.resize(rows * columns, 0.0);

        let queries = View {
            offset: (tile.start + tile.from) * width + tile.head * head_dim,
            row_stride: width,
            column_stride: 1,
        };
        let keys = View {
            offset: kv_offset,
            row_stride: 1,
            column_stride: kv_width,
        };
        let values = View {
            offset: kv_offset,
            row_stride: kv_width,
            column_stride: 1,
        };
        let scores_view = View {
            offset: 0,
            row_stride: columns,
            column_stride: 1,
        };
        multiply(
            (rows, columns, head_dim),
            Product::plain().with_scale(self.scale),
            (q, queries),
            (k, keys),
            (scores, scores_view),
        );
        for (row, scores) in scores.chunks_exact_mut(columns).enumerate() {
            let row_range = self.span.range(tile.from + row, len);
            softmax(
                scores,
                row_range.start - attended.start..row_range.end - attended.start,
            );
        }
        let output_view = View {
            offset: tile.head * head_dim,
            row_stride: width,
            column_stride: 1,
        };
        multiply(
            (rows, head_dim, columns),
            Product::plain(),
            (scores, scores_view),
            (v, values),
            (out, output_view),
        );
    }
}

/// Softmax over the numbers in the range `inside`. Numbers outside become 0.
fn softmax(numbers: &mut [f32], inside: std::ops::Range<usize>) {
    numbers[..inside.start].fill(0.0);
    numbers[inside.end..].fill(0.0);
    let numbers = &mut numbers[inside];
    let maximum = largest(numbers);
    numbers.iter_mut().for_each(|number| *number -= maximum);
    exponentials(numbers);
    let inverse_sum = 1.0 / sum(numbers);
    numbers.iter_mut().for_each(|number| *number *= inverse_sum);
}

/// Values of a contiguous tensor.
fn values<'a>(storage: &'a CpuStorage, layout: &Layout) -> Result<&'a [f32]> {
    let values = storage.as_slice::<f32>()?;
    match layout.contiguous_offsets() {
        Some((start, end)) => Ok(&values[start..end]),
        None => candle_core::bail!("attention needs contiguous tensors"),
    }
}

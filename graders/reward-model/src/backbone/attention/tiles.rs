//! Attention on a CPU. Tiles are distributed over all cores.
//!
//! A tile depends only on its sequence, so its results are bit-identical in any batch.

use std::ops::Range;
use std::sync::Arc;

use assay_kernels::{Product, View, exponentials, largest, multiply, sum};
use candle_core::{CpuStorage, CustomOp3, Layout, Result, Shape};
use rayon::prelude::*;

use super::AttentionSpan;
use crate::backbone::packed_sequence::PackedSequence;
use crate::sequence::TILE;

/// Attention of one batch. Inputs as in [`super::attention`], contiguous.
pub(super) struct Tiles {
    pub(super) sequences: Arc<[PackedSequence]>,
    pub(super) span: AttentionSpan,
    pub(super) scale: f32,
}

/// Queries, keys and values of a batch.
struct Inputs<'a> {
    q: &'a [f32],
    k: &'a [f32],
    v: &'a [f32],
    heads: usize,
    kv_heads: usize,
    head_dim: usize,
}

/// Memory of one thread.
#[derive(Default)]
struct Scratch {
    scores: Vec<f32>,
    keys: Vec<f32>,
    values: Vec<f32>,
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
        let (rows, heads, head_dim) = q_layout.shape().dims3()?;
        let (_, kv_heads, _) = k_layout.shape().dims3()?;
        let inputs = Inputs {
            q: values(q, q_layout)?,
            k: values(k, k_layout)?,
            v: values(v, v_layout)?,
            heads,
            kv_heads,
            head_dim,
        };
        // The heads of a tile write one contiguous part of the result.
        let mut out = vec![0f32; rows * heads * head_dim];
        let mut rest = out.as_mut_slice();
        let mut jobs = Vec::with_capacity(rows.div_ceil(TILE));
        for sequence in self.sequences.iter() {
            for from in (sequence.shared..sequence.len).step_by(TILE) {
                let tile = from..(from + TILE).min(sequence.len);
                let (part, others) = rest.split_at_mut(tile.len() * heads * head_dim);
                rest = others;
                jobs.push((sequence, tile, part));
            }
        }
        jobs.into_par_iter()
            .for_each_init(Scratch::default, |scratch, (sequence, tile, out)| {
                for kv_head in 0..kv_heads {
                    self.tile(sequence, &tile, kv_head, &inputs, scratch, out);
                }
            });
        Ok((CpuStorage::F32(out), Shape::from((rows, heads, head_dim))))
    }
}

impl Tiles {
    /// Computes the heads of a tile that use the keys and values of one head.
    fn tile(
        &self,
        sequence: &PackedSequence,
        tile: &Range<usize>,
        kv_head: usize,
        inputs: &Inputs<'_>,
        scratch: &mut Scratch,
        out: &mut [f32],
    ) {
        let Inputs {
            q,
            k,
            v,
            heads,
            kv_heads,
            head_dim,
        } = *inputs;
        let Scratch {
            scores,
            keys,
            values,
        } = scratch;
        let attended = self.span.range_of_rows(tile.start, tile.end, sequence.len);
        let (rows, columns) = (tile.len(), attended.len());
        let (width, kv_width) = (heads * head_dim, kv_heads * head_dim);
        scores.resize(rows * columns, 0.0);

        // Keys and values of shared rows are not contiguous, and are copied.
        let mut attended_rows = sequence.rows(attended.clone());
        let contiguous = attended_rows.next().filter(|first| first.len() == columns);
        let (k, v, kv_offset, kv_stride) = if let Some(range) = contiguous {
            let offset = range.start * kv_width + kv_head * head_dim;
            (k, v, offset, kv_width)
        } else {
            for (from, to) in [(k, &mut *keys), (v, &mut *values)] {
                to.clear();
                for row in sequence.rows(attended.clone()).flatten() {
                    let start = row * kv_width + kv_head * head_dim;
                    to.extend_from_slice(&from[start..start + head_dim]);
                }
            }
            (keys.as_slice(), values.as_slice(), 0, head_dim)
        };
        let keys = View {
            offset: kv_offset,
            row_stride: 1,
            column_stride: kv_stride,
        };
        let values = View {
            offset: kv_offset,
            row_stride: kv_stride,
            column_stride: 1,
        };
        let scores_view = View {
            offset: 0,
            row_stride: columns,
            column_stride: 1,
        };
        let first_row = sequence.own.start + tile.start - sequence.shared;
        let group = heads / kv_heads;
        for head in kv_head * group..(kv_head + 1) * group {
            let queries = View {
                offset: first_row * width + head * head_dim,
                row_stride: width,
                column_stride: 1,
            };
            multiply(
                (rows, columns, head_dim),
                Product::plain().with_scale(self.scale),
                (q, queries),
                (k, keys),
                (scores, scores_view),
            );
            for (at, scores) in tile.clone().zip(scores.chunks_exact_mut(columns)) {
                let range = self.span.range(at, sequence.len);
                softmax(
                    scores,
                    range.start - attended.start..range.end - attended.start,
                );
            }
            let output_view = View {
                offset: head * head_dim,
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
}

/// Softmax over the numbers in the range `inside`. Numbers outside become 0.
fn softmax(numbers: &mut [f32], inside: Range<usize>) {
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

//! Rotary position embeddings (RoPE, arXiv 2104.09864) in the layout of Hugging Face weights:
//! dimension `i` is rotated with `i + head_dim / 2`.

use assay_kernels::wide;
use candle_core::{D, DType, Device, Result, Tensor};
use rayon::prelude::*;

use super::fused::{Number, ReadGuard};
use super::parallel::rows_per_chunk;
use super::tape::{Backward, FusedOp, Tape};

/// Cosines and sines of the positions of some tokens, each `[tokens, head_dim / 2]`.
#[derive(Debug, Clone)]
pub(crate) struct RotaryTable {
    cos: Tensor,
    sin: Tensor,
}

impl RotaryTable {
    /// The table for tokens at the given positions. `frequencies` has the radians per position for
    /// each pair of dimensions.
    pub(crate) fn new(
        positions: &[u32],
        frequencies: &[f32],
        dtype: DType,
        device: &Device,
    ) -> Result<Self> {
        // Positions are in f32, as in `transformers`.
        let angles: Vec<f32> = positions
            .iter()
            .flat_map(|position| {
                frequencies
                    .iter()
                    .map(move |frequency| *position as f32 * frequency)
            })
            .collect();
        let angles = Tensor::from_vec(angles, (positions.len(), frequencies.len()), &Device::Cpu)?;
        let convert = |table: Tensor| table.to_dtype(dtype)?.to_device(device);
        Ok(Self {
            cos: convert(angles.cos()?)?,
            sin: convert(angles.sin()?)?,
        })
    }
}

/// Rotates each head of each row of `x`, `[tokens, heads * head_dim]`.
pub(crate) fn rotate(
    x: &Tensor,
    table: &RotaryTable,
    head_dim: usize,
    tape: &mut Tape,
) -> Result<Tensor> {
    let (tokens, width) = x.dims2()?;
    if tape.fuses(x) {
        return tape.run(
            Rotate {
                table: table.clone(),
                width,
                head_dim,
            },
            &[x],
        );
    }
    let heads = x.reshape((tokens, width / head_dim, head_dim))?;
    let half = head_dim / 2;
    let (one, other) = (
        heads.narrow(D::Minus1, 0, half)?,
        heads.narrow(D::Minus1, half, half)?,
    );
    let (cos, sin) = (table.cos.unsqueeze(1)?, table.sin.unsqueeze(1)?);
    let first = (one.broadcast_mul(&cos)? - other.broadcast_mul(&sin)?)?;
    let second = (other.broadcast_mul(&cos)? + one.broadcast_mul(&sin)?)?;
    Tensor::cat(&[first, second], D::Minus1)?.reshape((tokens, width))
}

struct Rotate {
    table: RotaryTable,
    width: usize,
    head_dim: usize,
}

/// Rotates the heads of tokens by the angles of each token; `direction` is 1, or -1 to invert.
#[inline(always)]
fn rotated<T: Number>(
    x: &[T],
    [cos, sin]: [&[T]; 2],
    [width, head_dim]: [usize; 2],
    direction: T,
    out: &mut [T],
) {
    let half = head_dim / 2;
    let rows = out.chunks_exact_mut(width).zip(x.chunks_exact(width));
    for ((out, x), (cos, sin)) in rows.zip(cos.chunks_exact(half).zip(sin.chunks_exact(half))) {
        for (out, x) in out.chunks_exact_mut(head_dim).zip(x.chunks_exact(head_dim)) {
            let ((first, second), (one, other)) = (out.split_at_mut(half), x.split_at(half));
            let outs = first.iter_mut().zip(second);
            for (((first, second), (one, other)), (cos, sin)) in
                outs.zip(one.iter().zip(other)).zip(cos.iter().zip(sin))
            {
                let sin = direction * *sin;
                *first = *one * *cos - *other * sin;
                *second = *other * *cos + *one * sin;
            }
        }
    }
}

impl Rotate {
    fn pass<T: Number>(&self, x: &[T], direction: T) -> Result<Vec<T>> {
        let (cos, sin) = (
            ReadGuard::new(&self.table.cos),
            ReadGuard::new(&self.table.sin),
        );
        let (cos, sin) = (cos.slice::<T>()?, sin.slice::<T>()?);
        let (width, half, rows) = (self.width, self.head_dim / 2, rows_per_chunk(self.width));
        let mut out = vec![T::ZERO; x.len()];
        let pieces = out
            .par_chunks_mut(rows * width)
            .zip(x.par_chunks(rows * width));
        let angles = cos.par_chunks(rows * half).zip(sin.par_chunks(rows * half));
        pieces.zip(angles).for_each(|((out, x), (cos, sin))| {
            wide(
                #[inline(always)]
                || rotated(x, [cos, sin], [width, self.head_dim], direction, out),
            );
        });
        Ok(out)
    }
}

impl<T: Number> FusedOp<T> for Rotate {
    fn forward(&self, inputs: &[&[T]]) -> Result<(Vec<T>, usize)> {
        Ok((self.pass(inputs[0], T::ONE)?, self.width))
    }

    fn backward(&self, gradient: Vec<T>, backward: &mut Backward<'_, T>) -> Result<()> {
        backward.add(0, self.pass(&gradient, -T::ONE)?)
    }
}

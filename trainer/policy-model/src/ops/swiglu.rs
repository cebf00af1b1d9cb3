//! The gated activation of the feed-forward layer (SwiGLU, arXiv 2002.05202).

use assay_kernels::wide;
use candle_core::{Result, Tensor};
use rayon::prelude::*;

use super::fused::Number;
use super::parallel::CHUNK;
use super::tape::{Backward, FusedOp, Tape};

/// `gate * sigmoid(gate) * up`, for two matrices of the same shape.
pub(crate) fn swiglu(gate: &Tensor, up: &Tensor, tape: &mut Tape) -> Result<Tensor> {
    if tape.fuses(gate) {
        return tape.run(
            SwiGlu {
                width: gate.dim(1)?,
            },
            &[gate, up],
        );
    }
    gate.silu()? * up
}

struct SwiGlu {
    width: usize,
}

/// The logistic function.
#[inline(always)]
fn sigmoid<T: Number>(x: T) -> T {
    T::ONE / (T::ONE + (-x).exponential())
}

#[inline(always)]
fn gated<T: Number>(gate: &[T], up: &[T], out: &mut [T]) {
    for ((out, gate), up) in out.iter_mut().zip(gate).zip(up) {
        *out = sigmoid(*gate) * *gate * *up;
    }
}

/// The gradients. With `s = sigmoid(gate)`: `dgate = dy * up * s * (1 + gate * (1 - s))` and
/// `dup = dy * gate * s`.
#[inline(always)]
fn differentiated<T: Number>([gate, up, gradient]: [&[T]; 3], dgate: &mut [T], dup: &mut [T]) {
    let ins = gate.iter().zip(up).zip(gradient);
    for (((gate, up), gradient), (dgate, dup)) in ins.zip(dgate.iter_mut().zip(dup)) {
        let s = sigmoid(*gate);
        *dup = *gradient * *gate * s;
        *dgate = *gradient * *up * s * (T::ONE + *gate * (T::ONE - s));
    }
}

impl<T: Number> FusedOp<T> for SwiGlu {
    fn forward(&self, inputs: &[&[T]]) -> Result<(Vec<T>, usize)> {
        let (gate, up) = (inputs[0], inputs[1]);
        let mut out = vec![T::ZERO; gate.len()];
        let pieces = out
            .par_chunks_mut(CHUNK)
            .zip(gate.par_chunks(CHUNK))
            .zip(up.par_chunks(CHUNK));
        pieces.for_each(|((out, gate), up)| {
            wide(
                #[inline(always)]
                || gated(gate, up, out),
            );
        });
        Ok((out, self.width))
    }

    fn backward(&self, gradient: Vec<T>, backward: &mut Backward<'_, T>) -> Result<()> {
        let (gate, up) = (backward.inputs[0], backward.inputs[1]);
        let (mut dgate, mut dup) = (vec![T::ZERO; gate.len()], vec![T::ZERO; up.len()]);
        let outs = dgate.par_chunks_mut(CHUNK).zip(dup.par_chunks_mut(CHUNK));
        let ins = gate
            .par_chunks(CHUNK)
            .zip(up.par_chunks(CHUNK))
            .zip(gradient.par_chunks(CHUNK));
        outs.zip(ins)
            .for_each(|((dgate, dup), ((gate, up), gradient))| {
                wide(
                    #[inline(always)]
                    || differentiated([gate, up, gradient], dgate, dup),
                );
            });
        backward.add(0, dgate)?;
        backward.add(1, dup)
    }
}

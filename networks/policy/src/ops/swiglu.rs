//! The gated activation of the feed-forward part (SwiGLU, arXiv 2002.05202).

use candle_core::{CpuStorage, CustomOp2, Layout, Result, Shape, Tensor};
use rayon::prelude::*;

use super::norm::x_type;
use super::numbers::{Held, Number, by_type, is_fused, slice, tensor};

/// Numbers one thread takes at a time.
const CHUNK: usize = 8_192;

/// `gate * sigmoid(gate) * up`, for two tensors of one shape.
pub(crate) fn swiglu(gate: &Tensor, up: &Tensor) -> Result<Tensor> {
    if is_fused(gate) {
        return gate.contiguous()?.apply_op2(&up.contiguous()?, SwiGlu);
    }
    gate.silu()? * up
}

struct SwiGlu;

/// The logistic function of each number.
fn sigmoids<T: Number>(numbers: &[T], out: &mut [T]) {
    out.iter_mut().zip(numbers).for_each(|(out, x)| *out = -*x);
    T::exponentials(out);
    out.iter_mut().for_each(|out| *out = T::ONE / (T::ONE + *out));
}

fn forward<T: Number>(gate: &[T], up: &[T]) -> Vec<T> {
    let mut out = vec![T::ZERO; gate.len()];
    let chunks = out.par_chunks_mut(CHUNK).zip(gate.par_chunks(CHUNK)).zip(up.par_chunks(CHUNK));
    chunks.for_each(|((out, gate), up)| {
        sigmoids(gate, out);
        for ((out, gate), up) in out.iter_mut().zip(gate).zip(up) {
            *out = *out * *gate * *up;
        }
    });
    out
}

/// With `s = sigmoid(gate)`: `dgate = dy * up * s * (1 + gate * (1 - s))` and `dup = dy * gate * s`.
fn backward<T: Number>(gate: &[T], up: &[T], grad: &[T]) -> (Vec<T>, Vec<T>) {
    let (mut dgate, mut dup) = (vec![T::ZERO; gate.len()], vec![T::ZERO; up.len()]);
    let outs = dgate.par_chunks_mut(CHUNK).zip(dup.par_chunks_mut(CHUNK));
    let ins = gate.par_chunks(CHUNK).zip(up.par_chunks(CHUNK)).zip(grad.par_chunks(CHUNK));
    outs.zip(ins).for_each(|((dgate, dup), ((gate, up), grad))| {
        sigmoids(gate, dgate);
        for at in 0..gate.len() {
            let s = dgate[at];
            dup[at] = grad[at] * gate[at] * s;
            dgate[at] = grad[at] * up[at] * s * (T::ONE + gate[at] * (T::ONE - s));
        }
    });
    (dgate, dup)
}

impl CustomOp2 for SwiGlu {
    fn name(&self) -> &'static str {
        "swiglu"
    }

    fn cpu_fwd(&self, gate: &CpuStorage, gl: &Layout, up: &CpuStorage, ul: &Layout) -> Result<(CpuStorage, Shape)> {
        by_type!(x_type(gate), T => {
            let out = forward::<T>(slice(gate, gl)?, slice(up, ul)?);
            Ok((<T as candle_core::WithDType>::to_cpu_storage_owned(out), gl.shape().clone()))
        })
    }

    fn bwd(&self, gate: &Tensor, up: &Tensor, _: &Tensor, grad: &Tensor) -> Result<(Option<Tensor>, Option<Tensor>)> {
        let grad = grad.contiguous()?;
        by_type!(gate.dtype(), T => {
            let (gates, ups, grads) = (Held::new(gate), Held::new(up), Held::new(&grad));
            let (dgate, dup) = backward::<T>(gates.slice()?, ups.slice()?, grads.slice()?);
            Ok((Some(tensor(dgate, gate)?), Some(tensor(dup, up)?)))
        })
    }
}

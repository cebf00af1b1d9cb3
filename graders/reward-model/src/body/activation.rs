//! Gated activations.

use candle_core::{CpuStorage, CustomOp1, DType, Layout, Result, Shape, Tensor};
use candle_nn::ops;
use rayon::prelude::*;

use super::attention::exponentials;

/// `silu(gate) * up` for `[rows, 2 * inner]` that holds `gate` and `up` side by side.
pub(crate) fn swiglu(x: &Tensor) -> Result<Tensor> {
    if x.device().is_cpu() && x.dtype() == DType::F32 {
        return x.contiguous()?.apply_op1_no_bwd(&SwiGlu);
    }
    let halves = x.chunk(2, candle_core::D::Minus1)?;
    ops::silu(&halves[0].contiguous()?)? * halves[1].contiguous()?
}

/// [`swiglu`] on a CPU.
struct SwiGlu;

impl CustomOp1 for SwiGlu {
    fn name(&self) -> &'static str {
        "swiglu-rows"
    }

    fn cpu_fwd(&self, storage: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        let (rows, double) = layout.shape().dims2()?;
        let inner = double / 2;
        let Some((start, end)) = layout.contiguous_offsets() else {
            candle_core::bail!("activations read contiguous tensors")
        };
        let values = &storage.as_slice::<f32>()?[start..end];
        let mut out = vec![0f32; rows * inner];
        out.par_chunks_mut(inner).zip(values.par_chunks(double)).for_each(|(out, row)| {
            let (gate, up) = row.split_at(inner);
            out.iter_mut().zip(gate).for_each(|(out, gate)| *out = -gate);
            exponentials(out);
            for ((out, gate), up) in out.iter_mut().zip(gate).zip(up) {
                *out = gate / (1.0 + *out) * up;
            }
        });
        Ok((CpuStorage::F32(out), Shape::from((rows, inner))))
    }
}

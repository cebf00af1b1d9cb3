//! Activation functions of feed-forward layers. On a CPU, rows are distributed over all cores.

use assay_kernels::exponentials;
use candle_core::{CpuStorage, CustomOp1, DType, Layout, Result, Shape, Tensor};
use candle_nn::ops;
use rayon::prelude::*;

use super::linear::Linear;
use crate::ProductRows;

/// `silu(gate) * up`, `[rows, inner]`. `gate_up` maps `x` to `gate` followed by `up`.
pub(crate) fn swiglu(gate_up: &Linear, x: &Tensor, tile: ProductRows) -> Result<Tensor> {
    gated(gate_up, x, tile, silu, ops::silu)
}

/// `gelu(gate) * up`, `[rows, inner]`. `gate_up` maps `x` to `gate` followed by `up`.
pub(crate) fn geglu(gate_up: &Linear, x: &Tensor, tile: ProductRows) -> Result<Tensor> {
    gated(gate_up, x, tile, gelu_of, Tensor::gelu_erf)
}

/// `activation(gate) * up`. `of_row` computes the activation of a row.
fn gated(
    gate_up: &Linear,
    x: &Tensor,
    tile: ProductRows,
    of_row: fn(&[f32], &mut [f32]),
    activation: fn(&Tensor) -> Result<Tensor>,
) -> Result<Tensor> {
    if is_supported(x) {
        let function = Activation {
            function: of_row,
            gated: true,
        };
        return gate_up.forward(x, tile)?.apply_op1_no_bwd(&function);
    }
    let inner = gate_up.outputs()? / 2;
    let [gate, up] = gate_up.parts(x, [inner; 2], tile)?;
    activation(&gate)? * up
}

/// `x * (1 + erf(x / sqrt(2))) / 2` for `[rows, inner]`.
pub(crate) fn gelu(x: &Tensor) -> Result<Tensor> {
    if is_supported(x) {
        return x.contiguous()?.apply_op1_no_bwd(&Activation {
            function: gelu_of,
            gated: false,
        });
    }
    x.gelu_erf()
}

/// Returns whether [`Activation`] supports the tensor.
fn is_supported(x: &Tensor) -> bool {
    x.device().is_cpu() && x.dtype() == DType::F32
}

/// An activation on a CPU, applied row by row.
struct Activation {
    /// Writes the function values of a row.
    function: fn(&[f32], &mut [f32]),
    /// Multiplies the second half of a row with the function values of the first half.
    gated: bool,
}

impl CustomOp1 for Activation {
    fn name(&self) -> &'static str {
        "activation-rows"
    }

    fn cpu_fwd(&self, storage: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        let (rows, width) = layout.shape().dims2()?;
        let inner = if self.gated { width / 2 } else { width };
        let Some((start, end)) = layout.contiguous_offsets() else {
            candle_core::bail!("activations need contiguous tensors")
        };
        let values = &storage.as_slice::<f32>()?[start..end];
        let mut out = vec![0f32; rows * inner];
        out.par_chunks_mut(inner)
            .zip(values.par_chunks(width))
            .for_each(|(out, row)| {
                let (gate, up) = row.split_at(inner);
                (self.function)(gate, out);
                out.iter_mut().zip(up).for_each(|(out, up)| *out *= up);
            });
        Ok((CpuStorage::F32(out), Shape::from((rows, inner))))
    }
}

fn silu(numbers: &[f32], out: &mut [f32]) {
    out.iter_mut().zip(numbers).for_each(|(out, x)| *out = -x);
    exponentials(out);
    out.iter_mut()
        .zip(numbers)
        .for_each(|(out, x)| *out = x / (1.0 + *out));
}

/// Uses the approximation 7.1.26 of the error function by Abramowitz and Stegun, with an absolute
/// error of at most 1.5e-7.
fn gelu_of(numbers: &[f32], out: &mut [f32]) {
    out.iter_mut()
        .zip(numbers)
        .for_each(|(out, x)| *out = -0.5 * x * x);
    exponentials(out);
    for (out, x) in out.iter_mut().zip(numbers) {
        let t = 1.0 / (1.0 + 0.327_591_1 * std::f32::consts::FRAC_1_SQRT_2 * x.abs());
        let series = 1.061_405_4 * t - 1.453_152_1;
        let series = series * t + 1.421_413_8;
        let series = series * t - 0.284_496_72;
        let series = series * t + 0.254_829_6;
        let erf = (1.0 - series * t * *out).copysign(*x);
        *out = 0.5 * x * (1.0 + erf);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_agrees(function: fn(&[f32], &mut [f32]), expected: fn(f64) -> f64) {
        let numbers: Vec<f32> = (-12_000..=12_000)
            .map(|n| n as f32 / 1_000.0)
            .chain([-1e4, 1e4])
            .collect();
        let mut found = vec![0.0; numbers.len()];
        function(&numbers, &mut found);
        for (x, found) in numbers.iter().zip(found) {
            let expected = expected(f64::from(*x));
            let difference = (f64::from(found) - expected).abs();
            assert!(
                difference < 5e-7 * f64::from(x.abs()).max(1.0),
                "{x}: {found}, expected {expected}"
            );
        }
    }

    #[test]
    fn silu_agrees_with_its_definition() {
        assert_agrees(silu, |x| x / (1.0 + (-x).exp()));
    }

    #[test]
    fn gelu_agrees_with_its_definition() {
        assert_agrees(gelu_of, |x| {
            0.5 * x * (1.0 + candle_core::cpu::erf::erf_f64(x / std::f64::consts::SQRT_2))
        });
    }
}

//! The AdamW update of one parameter: one pass over memory on the CPU, and composed of candle
//! operations on other devices.

use candle_core::{Result, Tensor, Var};
use rayon::prelude::*;

use crate::in_place::{Piece, replace, write, write_from};

/// Numbers per parallel chunk: four arrays of this length fit the level 2 cache. The value is fixed
/// because sums depend on it.
pub(super) const CHUNK: usize = 16 * 1024;

/// Factors of a step that are equal for all weights of a parameter.
#[derive(Debug, Clone, Copy)]
pub(super) struct Factors {
    /// Factor of gradients for clipping.
    pub(super) clip: f64,
    /// Factor of weights for decay: 1 - ηλ.
    pub(super) keep: f64,
    /// β₁ and β₂.
    pub(super) betas: [f64; 2],
    /// η / (1 - β₁ᵗ).
    pub(super) size: f64,
    /// √(1 - β₂ᵗ).
    pub(super) root: f64,
    /// ε.
    pub(super) eps: f64,
}

/// Updates the moments `m` and `v` and then the weight `w` by its gradient `g` (Kingma and Ba 2015,
/// arXiv 1412.6980, algorithm 1; with the decay of Loshchilov and Hutter 2019, arXiv 1711.05101,
/// algorithm 2, scaled only by the learning rate as in PyTorch):
///
/// `m ← β₁m + (1-β₁)g`, `v ← β₂v + (1-β₂)g²`, `w ← (1-ηλ)w - η/(1-β₁ᵗ) · m / (√v/√(1-β₂ᵗ) + ε)`.
///
/// All four are contiguous `f32` tensors with the same shape and device. Weights and moments are
/// written in place.
pub(super) fn update(
    weight: &Var,
    gradient: &Tensor,
    moments: &[Tensor; 2],
    factors: Factors,
    composed: bool,
) -> Result<()> {
    let weight = weight.as_detached_tensor();
    if gradient.device().is_cpu() && !composed {
        in_one_pass(&weight, gradient, moments, factors)
    } else {
        in_pieces(&weight, gradient, moments, factors)
    }
}

/// Composed of candle operations on one piece after another, so that temporary tensors are small.
fn in_pieces(
    weight: &Tensor,
    gradient: &Tensor,
    [first, second]: &[Tensor; 2],
    factors: Factors,
) -> Result<()> {
    let Factors {
        clip,
        keep,
        betas: [beta1, beta2],
        size,
        root,
        eps,
    } = factors;
    let clipped = |piece: &Piece| piece.of(gradient)? * clip;
    replace(first, |piece| {
        (piece.of(first)? * beta1)? + (clipped(piece)? * (1.0 - beta1))?
    })?;
    replace(second, |piece| {
        (piece.of(second)? * beta2)? + (clipped(piece)?.sqr()? * (1.0 - beta2))?
    })?;
    replace(weight, |piece| {
        let root = ((piece.of(second)?.sqrt()? / root)? + eps)?;
        let step = ((piece.of(first)? * size)? / root)?;
        (piece.of(weight)? * keep)? - step
    })
}

/// Three tensors change in the same pass, but an in-place operation of candle gives access to one
/// tensor only, so the operations are nested.
fn in_one_pass(
    weight: &Tensor,
    gradient: &Tensor,
    [first, second]: &[Tensor; 2],
    factors: Factors,
) -> Result<()> {
    let factors = FactorsF32::from(factors);
    write(first, |first| {
        write(second, |second| {
            write_from(weight, gradient, |weights, gradients| {
                in_parallel(weights, gradients, first, second, factors);
            })
        })
    })
}

/// [`Factors`] in `f32`, rounded only after the subtraction from 1.
#[derive(Clone, Copy)]
struct FactorsF32 {
    clip: f32,
    keep: f32,
    forget: [f32; 2],
    beta2: f32,
    size: f32,
    root: f32,
    eps: f32,
}

impl From<Factors> for FactorsF32 {
    fn from(wide: Factors) -> Self {
        // All values are within the range of f32, the precision of weights.
        Self {
            clip: wide.clip as f32,
            keep: wide.keep as f32,
            forget: wide.betas.map(|beta| (1.0 - beta) as f32),
            beta2: wide.betas[1] as f32,
            size: wide.size as f32,
            root: wide.root.recip() as f32,
            eps: wide.eps as f32,
        }
    }
}

/// Updates chunks in parallel. The numbers are independent, so the result does not depend on the
/// threads.
fn in_parallel(
    weights: &mut [f32],
    gradients: &[f32],
    first: &mut [f32],
    second: &mut [f32],
    factors: FactorsF32,
) {
    if weights.len() <= CHUNK {
        return chunk(weights, gradients, first, second, factors);
    }
    let moments = first
        .par_chunks_mut(CHUNK)
        .zip(second.par_chunks_mut(CHUNK));
    let all = weights
        .par_chunks_mut(CHUNK)
        .zip(gradients.par_chunks(CHUNK))
        .zip(moments);
    all.for_each(|((weights, gradients), (first, second))| {
        chunk(weights, gradients, first, second, factors);
    });
}

fn chunk(
    weights: &mut [f32],
    gradients: &[f32],
    first: &mut [f32],
    second: &mut [f32],
    factors: FactorsF32,
) {
    let FactorsF32 {
        clip,
        keep,
        forget: [forget1, forget2],
        beta2,
        size,
        root,
        eps,
    } = factors;
    for (((weight, gradient), first), second) in
        weights.iter_mut().zip(gradients).zip(first).zip(second)
    {
        let gradient = gradient * clip;
        *first += (gradient - *first) * forget1;
        *second = *second * beta2 + gradient * gradient * forget2;
        *weight = *weight * keep - size * *first / (second.sqrt() * root + eps);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_base::Random;
    use candle_core::{DType, Device};

    fn random(shape: (usize, usize), stream: u64) -> Tensor {
        let mut random = Random::stream(&[stream]);
        let values: Vec<f32> = (0..shape.0 * shape.1)
            .map(|_| random.normal() as f32)
            .collect();
        Tensor::from_vec(values, shape, &Device::Cpu).unwrap()
    }

    #[test]
    fn fused_update_equals_composed_update() {
        let shape = (3, CHUNK / 2);
        let weights = [0, 1].map(|_| Var::from_tensor(&random(shape, 1)).unwrap());
        let moments =
            [0, 1].map(|_| [0, 1].map(|_| Tensor::zeros(shape, DType::F32, &Device::Cpu).unwrap()));
        for step in 1..=3 {
            let gradient = random(shape, 10 + step);
            let step = step as i32;
            let factors = Factors {
                clip: 0.5,
                keep: 0.99,
                betas: [0.9, 0.95],
                size: 0.1 / (1.0 - 0.9f64.powi(step)),
                root: (1.0 - 0.95f64.powi(step)).sqrt(),
                eps: 1e-8,
            };
            for (composed, weight) in weights.iter().enumerate() {
                let moments = &moments[composed];
                update(weight, &gradient, moments, factors, composed == 1).unwrap();
            }
        }
        let max_difference = |one: &Tensor, other: &Tensor| {
            (one - other)
                .unwrap()
                .abs()
                .unwrap()
                .flatten_all()
                .unwrap()
                .max(0)
                .unwrap()
                .to_scalar::<f32>()
                .unwrap()
        };
        assert!(max_difference(&weights[0], &weights[1]) < 2e-6);
        assert!(
            max_difference(&moments[0][0], &moments[1][0]) < 1e-6
                && max_difference(&moments[0][1], &moments[1][1]) < 1e-6
        );
    }

    #[test]
    fn rejects_gradients_that_share_storage_with_weights() {
        let weight = Var::from_tensor(&random((2, 2), 1)).unwrap();
        let moments = [0, 1].map(|_| Tensor::zeros((2, 2), DType::F32, &Device::Cpu).unwrap());
        let factors = Factors {
            clip: 1.0,
            keep: 1.0,
            betas: [0.9, 0.99],
            size: 0.1,
            root: 1.0,
            eps: 1e-8,
        };
        let shared = weight.as_detached_tensor();
        assert!(update(&weight, &shared, &moments, factors, false).is_err());
    }
}

//! Norms of hidden states: of tensors in a backbone, and of single rows after it.

use assay_weights::{LoadError, Weights};
use candle_core::{Result, Tensor};
use candle_nn::ops;

/// A norm in a backbone.
pub(crate) enum Norm {
    /// RMS norm: divides by the root of the mean square.
    Rms { weight: Tensor, eps: f32 },
    /// Layer norm: normalises to mean 0 and variance 1.
    Layer {
        weight: Tensor,
        bias: Tensor,
        eps: f32,
    },
    /// No norm.
    Identity,
}

impl Norm {
    pub(crate) fn rms(
        weights: &Weights,
        name: &str,
        size: usize,
        eps: f64,
    ) -> std::result::Result<Self, LoadError> {
        Ok(Self::Rms {
            weight: weights.tensor(&format!("{name}.weight"), &[size])?,
            eps: narrow(eps),
        })
    }

    pub(crate) fn layer(
        weights: &Weights,
        name: &str,
        size: usize,
        eps: f64,
        bias: bool,
    ) -> std::result::Result<Self, LoadError> {
        let weight = weights.tensor(&format!("{name}.weight"), &[size])?;
        let bias = if bias {
            weights.tensor(&format!("{name}.bias"), &[size])?
        } else {
            weight.zeros_like()?
        };
        Ok(Self::Layer {
            weight,
            bias,
            eps: narrow(eps),
        })
    }

    pub(crate) fn forward(&self, x: &Tensor) -> Result<Tensor> {
        match self {
            Self::Rms { weight, eps } => ops::rms_norm(x, weight, *eps),
            Self::Layer { weight, bias, eps } => ops::layer_norm(x, weight, bias, *eps),
            Self::Identity => Ok(x.clone()),
        }
    }
}

/// A norm of single rows in `f32`, with sums in `f64`.
pub(crate) enum RowNorm {
    Rms {
        weight: Vec<f32>,
        eps: f64,
    },
    Layer {
        weight: Vec<f32>,
        bias: Vec<f32>,
        eps: f64,
    },
}

impl RowNorm {
    pub(crate) fn rms(
        weights: &Weights,
        name: &str,
        size: usize,
        eps: f64,
    ) -> std::result::Result<Self, LoadError> {
        Ok(Self::Rms {
            weight: weights.values(&format!("{name}.weight"), &[size])?,
            eps,
        })
    }

    pub(crate) fn layer(
        weights: &Weights,
        name: &str,
        size: usize,
        eps: f64,
        bias: bool,
    ) -> std::result::Result<Self, LoadError> {
        let weight = weights.values(&format!("{name}.weight"), &[size])?;
        let bias = if bias {
            weights.values(&format!("{name}.bias"), &[size])?
        } else {
            vec![0.0; size]
        };
        Ok(Self::Layer { weight, bias, eps })
    }

    pub(crate) fn apply(&self, row: &mut [f32]) {
        // Rows are f32 and short.
        let mean = |values: &mut dyn Iterator<Item = f64>, count: usize| {
            values.sum::<f64>() / count.max(1) as f64
        };
        let size = row.len();
        match self {
            Self::Rms { weight, eps } => {
                let square = mean(&mut row.iter().map(|x| f64::from(*x) * f64::from(*x)), size);
                let scale = 1.0 / (square + eps).sqrt();
                row.iter_mut()
                    .zip(weight)
                    .for_each(|(x, weight)| *x = (f64::from(*x) * scale) as f32 * weight);
            }
            Self::Layer { weight, bias, eps } => {
                let middle = mean(&mut row.iter().map(|x| f64::from(*x)), size);
                let square = mean(
                    &mut row.iter().map(|x| (f64::from(*x) - middle).powi(2)),
                    size,
                );
                let scale = 1.0 / (square + eps).sqrt();
                for ((x, weight), bias) in row.iter_mut().zip(weight).zip(bias) {
                    *x = ((f64::from(*x) - middle) * scale) as f32 * weight + bias;
                }
            }
        }
    }
}

fn narrow(eps: f64) -> f32 {
    // Other implementations compute it in f32.
    eps as f32
}

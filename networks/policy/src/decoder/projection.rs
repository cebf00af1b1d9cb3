//! A product with a weight, its bias, and what LoRA adds to it (arXiv 2106.09685).

use candle_core::{Result, Tensor};

use crate::ops::{Tape, add, add_bias, linear};

/// What is learned beside a weight that stays: `scale * x * a^T * b^T`.
#[derive(Debug, Clone)]
pub(crate) struct Adapter {
    /// `[rank, in]`.
    pub(crate) a: Tensor,
    /// `[out, rank]`.
    pub(crate) b: Tensor,
    /// `alpha / rank`.
    pub(crate) scale: f64,
}

/// A weight of `[out, in]` with what belongs to it.
#[derive(Debug, Clone)]
pub(crate) struct Projection {
    pub(crate) weight: Tensor,
    pub(crate) bias: Option<Tensor>,
    pub(crate) adapter: Option<Adapter>,
}

impl Projection {
    pub(crate) fn new(
        name: &str,
        bias: bool,
        tensor: &dyn Fn(&str) -> Result<Tensor>,
        adapter: &dyn Fn(&str) -> Result<Option<Adapter>>,
    ) -> Result<Self> {
        Ok(Self {
            weight: tensor(&format!("{name}.weight"))?,
            bias: bias.then(|| tensor(&format!("{name}.bias"))).transpose()?,
            adapter: adapter(name)?,
        })
    }

    /// `[rows, in]` to `[rows, out]`.
    pub(crate) fn forward(&self, x: &Tensor, tape: &mut Tape) -> Result<Tensor> {
        let mut out = linear(x, &self.weight, tape)?;
        if let Some(bias) = &self.bias {
            out = add_bias(&out, bias, tape)?;
        }
        match &self.adapter {
            Some(Adapter { a, b, scale }) => add(&out, &linear(&linear(x, a, tape)?, b, tape)?, *scale, tape),
            None => Ok(out),
        }
    }
}

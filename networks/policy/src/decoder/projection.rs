//! A product with a weight, its bias, and what LoRA adds to it (arXiv 2106.09685).

use candle_core::{Result, Tensor};

use crate::ops::{Tape, Weight, add, add_bias};

/// What is learned beside a weight that stays: `scale * x * a^T * b^T`.
#[derive(Debug)]
pub(crate) struct Adapter {
    /// `[rank, in]`.
    pub(crate) a: Weight,
    /// `[out, rank]`.
    pub(crate) b: Weight,
    /// `alpha / rank`.
    pub(crate) scale: f64,
}

impl Adapter {
    fn laid_out(self) -> Result<Self> {
        Ok(Self {
            a: self.a.laid_out()?,
            b: self.b.laid_out()?,
            ..self
        })
    }
}

/// A weight of `[out, in]` with what belongs to it.
#[derive(Debug)]
pub(crate) struct Projection {
    pub(crate) weight: Weight,
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
            weight: Weight::Plain(tensor(&format!("{name}.weight"))?),
            bias: bias.then(|| tensor(&format!("{name}.bias"))).transpose()?,
            adapter: adapter(name)?,
        })
    }

    /// Its weights laid out for many products.
    pub(crate) fn laid_out(self) -> Result<Self> {
        let adapter = self.adapter.map(Adapter::laid_out).transpose()?;
        Ok(Self {
            weight: self.weight.laid_out()?,
            adapter,
            ..self
        })
    }

    /// `[rows, in]` to `[rows, out]`.
    pub(crate) fn forward(&self, x: &Tensor, tape: &mut Tape) -> Result<Tensor> {
        let mut out = self.weight.of(x, tape)?;
        if let Some(bias) = &self.bias {
            out = add_bias(&out, bias, tape)?;
        }
        match &self.adapter {
            Some(Adapter { a, b, scale }) => add(&out, &b.of(&a.of(x, tape)?, tape)?, *scale, tape),
            None => Ok(out),
        }
    }
}

//! A linear projection with an optional bias and LoRA adapter (arXiv 2106.09685).

use candle_core::{Result, Tensor};

use crate::ops::{Tape, Weight, add, add_bias};

/// A LoRA adapter, which adds `scale * x * a^T * b^T`.
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
    fn pack_weights(self) -> Result<Self> {
        Ok(Self {
            a: self.a.pack()?,
            b: self.b.pack()?,
            ..self
        })
    }
}

/// A weight of shape `[out, in]` with its bias and adapter.
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
            weight: Weight::Tensor(tensor(&format!("{name}.weight"))?),
            bias: bias.then(|| tensor(&format!("{name}.bias"))).transpose()?,
            adapter: adapter(name)?,
        })
    }

    /// Whether a parameter is trained.
    pub(crate) fn learns(&self) -> bool {
        self.weight.learns()
            || self.bias.as_ref().is_some_and(Tensor::is_variable)
            || self
                .adapter
                .as_ref()
                .is_some_and(|adapter| adapter.a.learns() || adapter.b.learns())
    }

    /// Packs the weights for fast products without gradients.
    pub(crate) fn pack_weights(self) -> Result<Self> {
        let adapter = self.adapter.map(Adapter::pack_weights).transpose()?;
        Ok(Self {
            weight: self.weight.pack()?,
            adapter,
            ..self
        })
    }

    /// Maps `[rows, in]` to `[rows, out]`.
    pub(crate) fn forward(&self, x: &Tensor, tape: &mut Tape) -> Result<Tensor> {
        let mut out = self.weight.apply(x, tape)?;
        if let Some(bias) = &self.bias {
            out = add_bias(&out, bias, tape)?;
        }
        match &self.adapter {
            Some(Adapter { a, b, scale }) => {
                let added = b.apply(&a.apply(x, tape)?, tape)?;
                add(&out, &added, *scale, tape)
            }
            None => Ok(out),
        }
    }
}

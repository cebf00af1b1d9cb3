//! A decoder layer: attention, then the feed-forward part, each with a preceding norm and a
//! residual connection.

use assay_weights::config::DecoderConfig;
use candle_core::{Result, Tensor};

use super::projection::{Adapter, Projection};
use crate::ops::{Heads, RotaryTable, Tape, add, rms_norm, rotate, swiglu};

pub(crate) struct Layer {
    before_attention: Tensor,
    q: Projection,
    k: Projection,
    v: Projection,
    /// Norms of queries and keys.
    qk_norm: Option<[Tensor; 2]>,
    output: Projection,
    before_mlp: Tensor,
    gate: Projection,
    up: Projection,
    down: Projection,
    heads: Heads,
    eps: f64,
}

/// Computes attention from queries, keys and values.
type Attention<'a> = &'a mut dyn FnMut([&Tensor; 3], Heads, &mut Tape) -> Result<Tensor>;

impl Layer {
    pub(crate) fn new(
        config: &DecoderConfig,
        prefix: &str,
        tensor: &dyn Fn(&str) -> Result<Tensor>,
        adapter: &dyn Fn(&str) -> Result<Option<Adapter>>,
    ) -> Result<Self> {
        let part = |name: &str, bias: bool| {
            Projection::new(&format!("{prefix}.{name}"), bias, tensor, adapter)
        };
        let norm = |name: &str| tensor(&format!("{prefix}.{name}.weight"));
        let qk_norm = if config.qk_norm {
            Some([norm("self_attn.q_norm")?, norm("self_attn.k_norm")?])
        } else {
            None
        };
        Ok(Self {
            before_attention: norm("input_layernorm")?,
            q: part("self_attn.q_proj", config.qkv_bias)?,
            k: part("self_attn.k_proj", config.qkv_bias)?,
            v: part("self_attn.v_proj", config.qkv_bias)?,
            qk_norm,
            output: part("self_attn.o_proj", config.output_bias)?,
            before_mlp: norm("post_attention_layernorm")?,
            gate: part("mlp.gate_proj", config.mlp_bias)?,
            up: part("mlp.up_proj", config.mlp_bias)?,
            down: part("mlp.down_proj", config.mlp_bias)?,
            heads: Heads {
                heads: config.heads,
                kv_heads: config.kv_heads,
                head_dim: config.head_dim,
            },
            eps: config.eps,
        })
    }

    /// Whether a parameter is trained.
    pub(crate) fn learns(&self) -> bool {
        let norms = [&self.before_attention, &self.before_mlp];
        let projections = [
            &self.q,
            &self.k,
            &self.v,
            &self.output,
            &self.gate,
            &self.up,
            &self.down,
        ];
        norms
            .into_iter()
            .chain(self.qk_norm.iter().flatten())
            .any(Tensor::is_variable)
            || projections.into_iter().any(Projection::learns)
    }

    /// Packs the weights for fast products without gradients.
    pub(crate) fn pack_weights(self) -> Result<Self> {
        Ok(Self {
            q: self.q.pack_weights()?,
            k: self.k.pack_weights()?,
            v: self.v.pack_weights()?,
            output: self.output.pack_weights()?,
            gate: self.gate.pack_weights()?,
            up: self.up.pack_weights()?,
            down: self.down.pack_weights()?,
            ..self
        })
    }

    /// Maps `[tokens, hidden]` to the same shape.
    pub(crate) fn forward(
        &self,
        x: &Tensor,
        rotary: &RotaryTable,
        attention: Attention<'_>,
        tape: &mut Tape,
    ) -> Result<Tensor> {
        let normed = rms_norm(x, &self.before_attention, self.eps, tape)?;
        let x = add(
            x,
            &self.attended(&normed, rotary, attention, tape)?,
            1.0,
            tape,
        )?;
        let normed = rms_norm(&x, &self.before_mlp, self.eps, tape)?;
        let inner = swiglu(
            &self.gate.forward(&normed, tape)?,
            &self.up.forward(&normed, tape)?,
            tape,
        )?;
        add(&x, &self.down.forward(&inner, tape)?, 1.0, tape)
    }

    fn attended(
        &self,
        x: &Tensor,
        rotary: &RotaryTable,
        attention: Attention<'_>,
        tape: &mut Tape,
    ) -> Result<Tensor> {
        let [q, k, v] = [&self.q, &self.k, &self.v].map(|projection| projection.forward(x, tape));
        let (mut q, mut k, v) = (q?, k?, v?);
        if let Some([q_norm, k_norm]) = &self.qk_norm {
            (q, k) = (
                rms_norm(&q, q_norm, self.eps, tape)?,
                rms_norm(&k, k_norm, self.eps, tape)?,
            );
        }
        let head_dim = self.heads.head_dim;
        let (q, k) = (
            rotate(&q, rotary, head_dim, tape)?,
            rotate(&k, rotary, head_dim, tape)?,
        );
        let out = attention([&q, &k, &v], self.heads, tape)?;
        self.output.forward(&out, tape)
    }
}

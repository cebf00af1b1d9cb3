//! The memory of training and generation, computed from shapes before anything is allocated.
//!
//! The numbers count tensors: what the backward pass of a layer keeps, what lives while the largest
//! gradient is computed, and what lives from step to step. Allocators, the CUDA context and the
//! process itself come on top.

use assay_weights::config::DecoderConfig;
use assay_weights::synthetic;
use candle_core::{DType, Device};
use serde_json::Value;

use crate::in_place::PIECE;
use crate::ops::{HEAD_ROWS, default_rows, is_fused};
use crate::{Computation, LoraSettings, PolicyError};

/// A reference policy beside the trained one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reference {
    /// None, or the base of the adapters, which is in memory anyway.
    Shared,
    /// A second model.
    Copy,
}

/// What is trained, how, and on how many tokens at a time.
#[derive(Debug, Clone)]
pub struct Workload {
    /// Adapters, if only they are trained.
    pub lora: Option<LoraSettings>,
    /// How gradients are computed.
    pub computation: Computation,
    /// Type of the weights.
    pub dtype: DType,
    /// The reference.
    pub reference: Reference,
    /// Tokens of a micro-batch, including prompts.
    pub tokens: usize,
    /// Scored tokens of a micro-batch; at most `tokens`.
    pub scored: usize,
    /// Tokens of the longest text.
    pub longest: usize,
    /// Completions that are generated at a time; 0 for none.
    pub rows: usize,
    /// Whether a snapshot generates while the policy is trained.
    pub generates_ahead: bool,
}

/// Bytes by purpose.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MemoryPlan {
    /// Weights of the policy, with its adapters.
    pub weights: u64,
    /// `f32` copies of trained 16-bit weights.
    pub masters: u64,
    /// Both moments of the optimiser.
    pub moments: u64,
    /// Sums of gradients.
    pub gradients: u64,
    /// Weights of the reference.
    pub reference: u64,
    /// What the layers of a micro-batch keep for the backward pass.
    pub activations: u64,
    /// What lives while one layer is differentiated, in addition.
    pub layer: u64,
    /// Logits and their gradients at the head.
    pub logits: u64,
    /// Temporary tensors of the optimiser.
    pub update: u64,
    /// Weights in the layout for generation, or those of a snapshot.
    pub generator: u64,
    /// Keys, values and logits of the completions that are generated at a time.
    pub cache: u64,
    /// Numbers of the largest tensor.
    pub largest: u64,
    /// Whether both phases overlap.
    overlaps: bool,
}

impl MemoryPlan {
    /// The plan of a workload for the model with this `config.json` on a device.
    ///
    /// # Errors
    /// The configuration is not one of a supported decoder.
    pub fn new(json: &Value, workload: &Workload, device: &Device) -> Result<Self, PolicyError> {
        let config = DecoderConfig::read(json)?;
        let tensors = synthetic::tensors(json)?;
        let shapes = || tensors.iter().map(|(name, shape)| (name.as_str(), shape));
        let size = |shape: &[usize]| shape.iter().map(|size| *size as u64).product::<u64>();
        let base: u64 = shapes().map(|(_, shape)| size(shape)).sum();
        let matrices: u64 = shapes()
            .filter(|(name, shape)| shape.len() == 2 && !name.contains("embed"))
            .map(|(_, shape)| size(shape))
            .sum();
        let number = workload.dtype.size_in_bytes() as u64;
        let adapters = workload.lora.as_ref().map(|lora| {
            shapes()
                .filter_map(|(name, shape)| lora.size(name, shape))
                .sum::<u64>()
        });
        let largest = match &workload.lora {
            Some(lora) => {
                let widest = shapes().flat_map(|(_, shape)| shape).max();
                lora.rank as u64 * widest.copied().unwrap_or_default() as u64
            }
            None => shapes()
                .map(|(_, shape)| size(shape))
                .max()
                .unwrap_or_default(),
        };
        let trained = adapters.unwrap_or(base);
        let exact = exact(workload.dtype);
        let composed = workload.computation.composed || !is_fused(device, workload.dtype);
        let layer = Layer {
            config: &config,
            lora: workload.lora.as_ref(),
            number,
            exact,
            longest: workload.longest as u64,
            composed,
        };
        let (kept, extra) = if composed {
            layer.composed_bytes()
        } else {
            layer.fused_bytes()
        };
        let tokens = workload.tokens as u64;
        let (layers, hidden) = (config.layers() as u64, config.hidden as u64);
        let state = tokens * hidden * number;
        let (activations, again) = if workload.computation.recompute {
            ((layers + 1) * state, tokens * kept)
        } else {
            (layers * tokens * kept + 2 * state, 0)
        };
        let embedding = (config.vocabulary * config.hidden) as u64;
        // Candle returns a gradient of each weight of a layer, also of frozen ones, and two tensors
        // of the size of the embedding for its gradient.
        let whole_gradients = match (composed, adapters) {
            (false, _) => 0,
            (true, None) => ((base - embedding) / layers).max(2 * embedding) * number,
            (true, Some(adapters)) => (base - embedding + adapters) / layers * number,
        };
        let masks = if composed {
            workload.longest.pow(2) as u64 * exact
        } else {
            0
        };
        let update = if device.is_cpu() && !workload.computation.composed {
            0
        } else {
            4 * 4 * largest.min(PIECE as u64)
        };
        let packed = if device.is_cpu() && workload.dtype == DType::F32 {
            let head = if config.tied { embedding } else { 0 };
            4 * (matrices + head)
        } else {
            0
        };
        let snapshot = if workload.generates_ahead {
            (adapters.unwrap_or(base)) * number
        } else {
            0
        };
        let rows = workload.rows as u64;
        let kv = (2 * config.kv_heads * config.head_dim) as u64 * layers * number;
        let is_first = |dtype: DType| matches!(dtype, DType::F32 | DType::F64);
        Ok(Self {
            weights: (base + adapters.unwrap_or(0)) * number,
            masters: if is_first(workload.dtype) {
                0
            } else {
                4 * trained
            },
            moments: 8 * trained,
            gradients: exact * trained,
            reference: match workload.reference {
                Reference::Shared => 0,
                Reference::Copy => base * number,
            },
            activations,
            layer: again + tokens * extra + whole_gradients + masks,
            logits: logits(&config, workload, composed, device),
            update,
            generator: if rows == 0 { 0 } else { packed + snapshot },
            // A vector that grows may have room for twice its numbers.
            cache: rows * (2 * kv * workload.longest as u64 + 8 * config.vocabulary as u64),
            largest: largest_tensor(&config, workload, composed, device),
            overlaps: workload.generates_ahead,
        })
    }

    /// Whether operations on the device support tensors of this size: those of a GPU count numbers
    /// in 32 bits, and would leave out the rest without an error.
    #[must_use]
    pub fn is_computable(&self, device: &Device) -> bool {
        device.is_cpu() || self.largest <= u64::from(u32::MAX)
    }

    /// Bytes that live as long as the run.
    #[must_use]
    pub fn state(&self) -> u64 {
        self.weights + self.masters + self.moments + self.gradients + self.reference
    }

    /// Bytes at the peak of an update.
    #[must_use]
    pub fn training(&self) -> u64 {
        let backward = self.activations + self.layer.max(self.logits);
        self.state() + backward.max(self.update)
    }

    /// Bytes at the peak of generation.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.state() + self.generator + self.cache
    }

    /// Bytes at the peak of a run.
    #[must_use]
    pub fn peak(&self) -> u64 {
        if self.overlaps {
            self.training() + self.generator + self.cache
        } else {
            self.training().max(self.generation())
        }
    }
}

/// Bytes of the type in which probabilities and gradients are summed.
fn exact(dtype: DType) -> u64 {
    if dtype == DType::F64 { 8 } else { 4 }
}

/// Numbers of the logits of a chunk.
fn chunk(config: &DecoderConfig, workload: &Workload, device: &Device) -> u64 {
    let rows = workload.computation.vocabulary_rows;
    let rows = rows
        .unwrap_or_else(|| default_rows(config.vocabulary, device.is_cpu()))
        .clamp(1, workload.scored.max(1)) as u64;
    rows * config.vocabulary as u64
}

/// Numbers of the largest tensor: an embedding, logits, the feed-forward layer, or scores of
/// attention, which composed operations compute for a whole text.
fn largest_tensor(
    config: &DecoderConfig,
    workload: &Workload,
    composed: bool,
    device: &Device,
) -> u64 {
    let width = config.inner.max(config.heads * config.head_dim);
    let scores = if composed {
        config.heads as u64 * (workload.longest as u64).pow(2)
    } else {
        0
    };
    [
        (config.vocabulary * config.hidden) as u64,
        chunk(config, workload, device),
        workload.tokens as u64 * width as u64,
        scores,
    ]
    .into_iter()
    .max()
    .unwrap_or_default()
}

/// Bytes of hidden states of scored tokens, of logits and of their gradients.
fn logits(config: &DecoderConfig, workload: &Workload, composed: bool, device: &Device) -> u64 {
    let chunk = chunk(config, workload, device);
    let states = workload.scored as u64 * config.hidden as u64;
    let number = workload.dtype.size_in_bytes() as u64;
    // Composed: the logits, probabilities and a product, and rows of the gradient of the head and
    // their new sums.
    let (buffers, head) = match (composed, &workload.lora) {
        (false, _) => (1, 0),
        (true, Some(_)) => (3, 0),
        (true, None) => (3, 2 * config.vocabulary.min(HEAD_ROWS) as u64),
    };
    let head = head * config.hidden as u64 * exact(workload.dtype);
    buffers * chunk * exact(workload.dtype) + head + 3 * states * number
}

/// The numbers of a layer for each token.
struct Layer<'a> {
    config: &'a DecoderConfig,
    lora: Option<&'a LoraSettings>,
    /// Bytes of a number, and of one in the type of sums.
    number: u64,
    exact: u64,
    longest: u64,
    composed: bool,
}

impl Layer<'_> {
    /// Width of hidden states, queries, keys, and the inner layer.
    fn widths(&self) -> [u64; 4] {
        let config = self.config;
        [
            config.hidden,
            config.heads * config.head_dim,
            config.kv_heads * config.head_dim,
            config.inner,
        ]
        .map(|width| width as u64)
    }

    /// Results of a projection to `out` numbers.
    fn projection(&self, name: &str, out: u64, bias: bool) -> u64 {
        let adapter = match self.lora {
            // The two products, composed also the scaled one, and the sum.
            Some(lora) if lora.is_target(name) => {
                lora.rank as u64 + (2 + u64::from(self.composed)) * out
            }
            _ => 0,
        };
        out * (1 + u64::from(bias)) + adapter
    }

    /// Results of all projections.
    fn projections(&self) -> u64 {
        let ([hidden, q, k, inner], config) = (self.widths(), self.config);
        [
            ("q_proj", q, config.qkv_bias),
            ("k_proj", k, config.qkv_bias),
            ("v_proj", k, config.qkv_bias),
            ("o_proj", hidden, config.output_bias),
            ("gate_proj", inner, config.mlp_bias),
            ("up_proj", inner, config.mlp_bias),
            ("down_proj", hidden, config.mlp_bias),
        ]
        .into_iter()
        .map(|(name, out, bias)| self.projection(name, out, bias))
        .sum()
    }

    /// Bytes a token that fused operations keep, and that live in addition at the peak of the
    /// backward pass: the gradients of the feed-forward layer.
    fn fused_bytes(&self) -> (u64, u64) {
        let [hidden, q, k, inner] = self.widths();
        let norms = if self.config.qk_norm { q + k } else { 0 };
        let kept = self.projections() + 4 * hidden + norms + (q + k) + q + inner;
        (kept * self.number, (3 * inner + hidden) * self.number)
    }

    /// The same for composed operations, with dense scores of attention.
    fn composed_bytes(&self) -> (u64, u64) {
        let [hidden, q, k, inner] = self.widths();
        let scores = self.config.heads as u64 * self.longest;
        let converts = self.number != self.exact;
        let norm = |width: u64| {
            let copies = if converts {
                self.exact + self.number
            } else {
                0
            };
            width * (copies + 2 * self.exact + self.number)
        };
        let norms = 2 * norm(hidden) + if self.config.qk_norm { norm(q + k) } else { 0 };
        let plain = self.projections()
            // Rotation, queries and keys by head, attention, two sums, the feed-forward layer.
            + 4 * (q + k) + (q + 3 * k) + 2 * q + 4 * hidden + 2 * inner;
        let copies = if converts {
            self.exact + self.number
        } else {
            0
        };
        let attention = scores * (2 * self.number + 4 * self.exact + copies);
        let kept = norms + plain * self.number + attention;
        // Candle also computes gradients of constants: of rotations, masks and norms.
        let constants = 2 * (q + k) + scores + 2 * hidden + (q + k);
        let extra = (3 * scores + constants) * self.exact + 4 * inner * self.number;
        (kept, extra)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// The shape of Qwen3-0.6B.
    fn shape() -> Value {
        json!({
            "model_type": "qwen3", "architectures": ["Qwen3ForCausalLM"],
            "vocab_size": 151_936, "hidden_size": 1_024,
            "intermediate_size": 3_072, "num_hidden_layers": 28, "num_attention_heads": 16,
            "num_key_value_heads": 8, "head_dim": 128, "tie_word_embeddings": true,
            "max_position_embeddings": 40_960,
        })
    }

    fn plan(change: impl FnOnce(&mut Workload)) -> MemoryPlan {
        let mut workload = Workload {
            lora: None,
            computation: Computation {
                recompute: true,
                ..Computation::default()
            },
            dtype: DType::F32,
            reference: Reference::Shared,
            tokens: 16_384,
            scored: 16_384,
            longest: 2_048,
            rows: 0,
            generates_ahead: false,
        };
        change(&mut workload);
        MemoryPlan::new(&shape(), &workload, &Device::Cpu).unwrap()
    }

    #[test]
    fn plans_what_lives_as_long_as_the_run() {
        let parameters = 596_049_920;
        let full = plan(|_| {});
        assert_eq!(full.weights, 4 * parameters);
        assert_eq!((full.moments, full.masters), (8 * parameters, 0));
        assert_eq!((full.gradients, full.reference), (4 * parameters, 0));
        let half = plan(|workload| workload.dtype = DType::BF16);
        assert_eq!(
            (half.weights, half.masters),
            (2 * parameters, 4 * parameters)
        );
        let copied = plan(|workload| workload.reference = Reference::Copy);
        assert_eq!(copied.state() - full.state(), 4 * parameters);
        let lora = LoraSettings {
            rank: 32,
            ..LoraSettings::default()
        };
        let lora = plan(|workload| {
            workload.lora = Some(lora);
            workload.dtype = DType::BF16;
        });
        // 28 layers of 32 * (3072 + 2 * 2048 + 3072 + 3 * 4096) factors.
        let factors = 28 * 32 * (3_072 + 2 * 2_048 + 3_072 + 3 * 4_096);
        assert_eq!(lora.weights, 2 * (parameters + factors));
        assert_eq!(lora.moments, 8 * factors);
    }

    #[test]
    fn memory_grows_with_tokens_and_shrinks_with_recomputation() {
        let recomputed = plan(|_| {});
        let kept = plan(|workload| workload.computation.recompute = false);
        assert!(recomputed.training() < kept.training() / 2);
        let fewer = plan(|workload| workload.tokens = 4_096);
        assert!(fewer.training() < recomputed.training());
        // 16,384 tokens with recomputation.
        let gib = recomputed.training() as f64 / f64::from(1 << 30);
        assert!(gib > 9.0 && gib < 16.0, "{gib}");
        let ahead = plan(|workload| {
            workload.rows = 8;
            workload.generates_ahead = true;
        });
        assert!(ahead.peak() > ahead.training() + ahead.cache);
    }

    #[test]
    fn scores_of_long_texts_exceed_a_gpu() {
        let composed = |longest: usize| {
            plan(|workload| {
                workload.longest = longest;
                workload.computation.composed = true;
            })
        };
        assert_eq!(composed(20_000).largest, 16 * 20_000 * 20_000);
        assert_eq!(composed(100).largest, 151_936 * 1_024);
        assert!(composed(20_000).is_computable(&Device::Cpu));
    }
}

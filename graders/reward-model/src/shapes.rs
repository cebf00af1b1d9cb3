//! Sizes of well-known models, to time a machine without anyone's weights.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::LoadError;
use crate::config::bert::BertConfig;
use crate::config::decoder::DecoderConfig;
use crate::family::BodyConfig;

/// Names of the shapes there are.
pub const NAMES: &[&str] =
    &["0.1b", "minilm", "qwen3-0.6b", "qwen3-1.7b", "qwen3-4b", "qwen3-8b", "qwen2.5-1.5b", "llama3-8b"];

/// The configuration of a shape.
pub(crate) fn config(name: &str) -> Result<Value, LoadError> {
    let decoder = |family: &str, sizes: [usize; 7], theta: f64| {
        let [hidden, inner, layers, heads, kv_heads, head_dim, vocabulary] = sizes;
        json!({
            "architectures": [format!("{}ForSequenceClassification", match family { "llama" => "Llama", "qwen2" => "Qwen2", _ => "Qwen3" })],
            "model_type": family, "hidden_size": hidden, "intermediate_size": inner, "num_hidden_layers": layers,
            "num_attention_heads": heads, "num_key_value_heads": kv_heads, "head_dim": head_dim, "vocab_size": vocabulary,
            "max_position_embeddings": 16_384, "rope_theta": theta, "rms_norm_eps": 1e-6, "num_labels": 1,
        })
    };
    Ok(match name {
        "0.1b" => decoder("llama", [768, 2_048, 12, 12, 4, 64, 32_000], 1e4),
        "qwen3-0.6b" => decoder("qwen3", [1_024, 3_072, 28, 16, 8, 128, 151_936], 1e6),
        "qwen3-1.7b" => decoder("qwen3", [2_048, 6_144, 28, 16, 8, 128, 151_936], 1e6),
        "qwen3-4b" => decoder("qwen3", [2_560, 9_728, 36, 32, 8, 128, 151_936], 1e6),
        "qwen3-8b" => decoder("qwen3", [4_096, 12_288, 36, 32, 8, 128, 151_936], 1e6),
        "qwen2.5-1.5b" => decoder("qwen2", [1_536, 8_960, 28, 12, 2, 128, 151_936], 1e6),
        "llama3-8b" => decoder("llama", [4_096, 14_336, 32, 32, 8, 128, 128_256], 5e5),
        "minilm" => json!({
            "architectures": ["BertModel"], "model_type": "bert", "hidden_size": 384, "intermediate_size": 1_536,
            "num_hidden_layers": 6, "num_attention_heads": 12, "vocab_size": 30_522, "max_position_embeddings": 2_048,
        }),
        other => {
            let known = NAMES.join(", ");
            return Err(LoadError::new(format!("no shape is called `{other}`; there are {known}")));
        }
    })
}

/// Names and sizes of the tensors a configuration asks for, with a head of one number for decoders and none for encoders.
pub(crate) fn tensors(config: &Value) -> Result<BTreeMap<String, Vec<usize>>, LoadError> {
    match BodyConfig::read(config)? {
        BodyConfig::Decoder(config) => Ok(decoder(&config)),
        BodyConfig::Bert(config) => Ok(bert(&config)),
        BodyConfig::ModernBert(_) => Err(LoadError::new("no shape is a ModernBERT")),
    }
}

fn decoder(config: &DecoderConfig) -> BTreeMap<String, Vec<usize>> {
    let (hidden, inner) = (config.hidden, config.inner);
    let (wide, narrow) = (config.heads * config.head_dim, config.kv_heads * config.head_dim);
    let mut tensors = BTreeMap::from([
        ("model.embed_tokens.weight".to_owned(), vec![config.vocabulary, hidden]),
        ("model.norm.weight".to_owned(), vec![hidden]),
        ("score.weight".to_owned(), vec![1, hidden]),
    ]);
    for layer in 0..config.layers() {
        let mut add = |name: &str, shape: Vec<usize>| tensors.insert(format!("model.layers.{layer}.{name}"), shape);
        for (part, out) in [("q", wide), ("k", narrow), ("v", narrow)] {
            add(&format!("self_attn.{part}_proj.weight"), vec![out, hidden]);
            if config.qkv_bias {
                add(&format!("self_attn.{part}_proj.bias"), vec![out]);
            }
            if config.qk_norm && part != "v" {
                add(&format!("self_attn.{part}_norm.weight"), vec![config.head_dim]);
            }
        }
        add("self_attn.o_proj.weight", vec![hidden, wide]);
        add("mlp.gate_proj.weight", vec![inner, hidden]);
        add("mlp.up_proj.weight", vec![inner, hidden]);
        add("mlp.down_proj.weight", vec![hidden, inner]);
        add("input_layernorm.weight", vec![hidden]);
        add("post_attention_layernorm.weight", vec![hidden]);
    }
    tensors
}

fn bert(config: &BertConfig) -> BTreeMap<String, Vec<usize>> {
    let (hidden, inner) = (config.hidden, config.inner);
    let mut tensors = BTreeMap::new();
    let mut table = |name: &str, rows: usize| tensors.insert(format!("embeddings.{name}.weight"), vec![rows, hidden]);
    table("word_embeddings", config.vocabulary);
    table("position_embeddings", config.max_positions);
    table("token_type_embeddings", config.types);
    let mut dense = |name: String, out: usize, inner: usize| {
        tensors.insert(format!("{name}.weight"), vec![out, inner]);
        tensors.insert(format!("{name}.bias"), vec![out]);
    };
    for layer in 0..config.layers {
        let of = |part: &str| format!("encoder.layer.{layer}.{part}");
        for part in ["query", "key", "value"] {
            dense(of(&format!("attention.self.{part}")), hidden, hidden);
        }
        dense(of("attention.output.dense"), hidden, hidden);
        dense(of("intermediate.dense"), inner, hidden);
        dense(of("output.dense"), hidden, inner);
    }
    let norms = (0..config.layers)
        .flat_map(|layer| ["attention.output", "output"].map(|part| format!("encoder.layer.{layer}.{part}.LayerNorm")));
    for name in norms.chain(std::iter::once("embeddings.LayerNorm".to_owned())) {
        for part in ["weight", "bias"] {
            tensors.insert(format!("{name}.{part}"), vec![hidden]);
        }
    }
    tensors
}

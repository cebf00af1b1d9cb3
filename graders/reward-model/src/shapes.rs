//! Sizes of well-known models, for benchmarks with synthetic weights.

use assay_weights::LoadError;
use serde_json::{Value, json};

/// Names of the available shapes.
pub const NAMES: &[&str] = &[
    "0.1b",
    "minilm",
    "qwen3-0.6b",
    "qwen3-1.7b",
    "qwen3-4b",
    "qwen3-8b",
    "qwen2.5-1.5b",
    "llama3-8b",
];

/// Configuration of a shape.
pub(crate) fn config(name: &str) -> Result<Value, LoadError> {
    let decoder = |family: &str, sizes: [usize; 7], theta: f64| {
        let [hidden, inner, layers, heads, kv_heads, head_dim, vocabulary] = sizes;
        let class = match family {
            "llama" => "Llama",
            "qwen2" => "Qwen2",
            _ => "Qwen3",
        };
        json!({
            "architectures": [format!("{class}ForSequenceClassification")],
            "model_type": family,
            "hidden_size": hidden,
            "intermediate_size": inner,
            "num_hidden_layers": layers,
            "num_attention_heads": heads,
            "num_key_value_heads": kv_heads,
            "head_dim": head_dim,
            "vocab_size": vocabulary,
            "max_position_embeddings": 16_384,
            "rope_theta": theta,
            "rms_norm_eps": 1e-6,
            "num_labels": 1,
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
            "architectures": ["BertModel"],
            "model_type": "bert",
            "hidden_size": 384,
            "intermediate_size": 1_536,
            "num_hidden_layers": 6,
            "num_attention_heads": 12,
            "vocab_size": 30_522,
            "max_position_embeddings": 2_048,
        }),
        other => {
            let known = NAMES.join(", ");
            return Err(LoadError::new(format!(
                "unknown shape `{other}`: use one of {known}"
            )));
        }
    })
}

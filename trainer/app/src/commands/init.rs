//! `assay-trainer init`: creates a policy model with random weights.

use std::collections::BTreeSet;

use assay_policy_model::{PolicyModel, PolicyModelOptions};
use assay_problems::CharacterTokenizer;
use assay_trainer::config::Config;
use assay_weights::save;
use candle_core::Device;
use serde_json::{Value, json};

use super::process::{CommandOutcome, require_empty};
use crate::arguments::{Family, Init, Shape};

/// Context length of new policy models in tokens.
const POSITIONS: usize = 512;

pub(crate) fn run(init: &Init) -> anyhow::Result<CommandOutcome> {
    require_empty(&init.output)?;
    let alphabet = match &init.config {
        Some(path) => {
            let config = Config::read(path, &[])?;
            let problems = config.data.problems.as_ref();
            problems.map_or_else(printable, assay_problems::Mixture::alphabet)
        }
        None => printable(),
    };
    let tokenizer = CharacterTokenizer::new(alphabet);
    let config = shape(init.shape, init.family, tokenizer.count());
    let policy = PolicyModel::draw(
        config,
        &Device::Cpu,
        &PolicyModelOptions {
            seed: init.seed,
            ..PolicyModelOptions::default()
        },
    )?;
    policy.save(&init.output)?;
    save::bytes(
        &init.output.join("tokenizer.json"),
        tokenizer.tokenizer().as_bytes(),
    )?;
    save::bytes(
        &init.output.join("tokenizer_config.json"),
        tokenizer.config(POSITIONS).as_bytes(),
    )?;
    Ok(CommandOutcome::Done)
}

/// Printable ASCII, tabs and newlines.
fn printable() -> BTreeSet<char> {
    (' '..='~').chain(['\t', '\n']).collect()
}

fn shape(shape: Shape, family: Family, tokens: usize) -> Value {
    let [vocabulary, hidden, inner, layers, heads, kv_heads, head_dim] = match shape {
        Shape::Tiny => [0, 64, 192, 2, 4, 2, 16],
        Shape::Small => [512, 128, 384, 4, 4, 2, 32],
        Shape::Medium => [4_096, 320, 960, 7, 8, 4, 40],
    };
    let (kind, architecture) = match family {
        Family::Qwen3 => ("qwen3", "Qwen3ForCausalLM"),
        Family::Qwen2 => ("qwen2", "Qwen2ForCausalLM"),
        Family::Llama => ("llama", "LlamaForCausalLM"),
    };
    json!({
        "architectures": [architecture], "model_type": kind,
        "vocab_size": vocabulary.max(tokens), "hidden_size": hidden, "intermediate_size": inner,
        "num_hidden_layers": layers, "num_attention_heads": heads,
        "num_key_value_heads": kv_heads, "head_dim": head_dim, "hidden_act": "silu",
        "max_position_embeddings": POSITIONS, "rope_theta": 10_000.0, "rms_norm_eps": 1e-6,
        "tie_word_embeddings": true, "attention_bias": false, "pad_token_id": 0,
        "eos_token_id": 1, "torch_dtype": "float32",
    })
}

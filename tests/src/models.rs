//! Small reward models with weights out of nothing: one of each kind, with the tokenizers that
//! references were made with.

use std::fs;
use std::path::{Path, PathBuf};

use assay_node::config::RewardModels;
use assay_reward_model::FILE;
use assay_weights::synthetic;
use serde_json::{Value, json};

/// Names of the models, each of another kind.
pub const NAMES: &[&str] = &[
    "scalar", "affine", "steps", "verifier", "compares", "embeds", "pairs",
];

/// Writes the models into a folder, and returns the settings with which a node loads them.
///
/// # Errors
/// When the files cannot be written.
pub fn write(folder: &Path) -> anyhow::Result<RewardModels> {
    let mut config = RewardModels {
        folder: folder.to_owned(),
        default: "scalar".to_owned(),
        ..RewardModels::default()
    };
    for name in NAMES {
        let (tokenizer, model, options) = model(name);
        let place = folder.join(name);
        synthetic::write(&place, &model)?;
        for file in fs::read_dir(tokenizers().join(tokenizer))? {
            let file = file?;
            fs::copy(file.path(), place.join(file.file_name()))?;
        }
        fs::write(place.join(FILE), options.to_string())?;
        let source = [("source".to_owned(), (*name).into())];
        config
            .load
            .insert((*name).to_owned(), source.into_iter().collect());
    }
    Ok(config)
}

fn tokenizers() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../graders/reward-model/tests/reference/tokenizers")
}

/// The tokenizer, configuration and options of a model.
fn model(name: &str) -> (&'static str, Value, Value) {
    let decoder = |architecture: &str, labels: usize| {
        json!({
            "architectures": [architecture], "model_type": "qwen2", "hidden_size": 64, "intermediate_size": 96,
            "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 700,
            "max_position_embeddings": 512, "num_labels": labels, "rms_norm_eps": 1e-6,
        })
    };
    let encoder = |architecture: &str| {
        json!({
            "architectures": [architecture], "model_type": "bert", "hidden_size": 64, "intermediate_size": 96,
            "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 700, "max_position_embeddings": 256, "num_labels": 1,
        })
    };
    let scores = || decoder("Qwen2ForSequenceClassification", 1);
    match name {
        "affine" => (
            "qwen2",
            scores(),
            json!({"normalise": "affine", "mean": 1.0, "std": 2.0}),
        ),
        "steps" => ("qwen2", decoder("Qwen2ForProcessRewardModel", 2), json!({})),
        "verifier" => {
            let question = "{{ prompt }} Is {{ completion }} the same as {{ reference }}?";
            let options =
                json!({"labels": ["A", "B", "C"], "positive": ["A"], "question": question});
            ("qwen2", decoder("Qwen2ForCausalLM", 1), options)
        }
        "compares" => ("qwen2", scores(), json!({"template": "verify_rm"})),
        "embeds" => ("bert", encoder("BertModel"), json!({})),
        "pairs" => ("bert", encoder("BertForSequenceClassification"), json!({})),
        _ => ("qwen2", scores(), json!({})),
    }
}

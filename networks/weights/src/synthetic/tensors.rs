//! Names and shapes of the tensors that a configuration requires.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::LoadError;
use crate::config::{BackboneConfig, BertConfig, DecoderConfig, Fields};

/// Shapes of tensors by name.
type Sizes = BTreeMap<String, Vec<usize>>;

/// Names and shapes of the tensors of a backbone and of the head that `architectures` names.
///
/// # Errors
/// The configuration does not describe a decoder or a BERT.
pub fn tensors(config: &Value) -> Result<BTreeMap<String, Vec<usize>>, LoadError> {
    let fields = Fields(config);
    let architecture = fields
        .texts("architectures")
        .and_then(|names| names.first().copied())
        .unwrap_or_default();
    let labels = fields.labels().len();
    match BackboneConfig::read(config)? {
        BackboneConfig::Decoder(config) => {
            let mut tensors = decoder(&config);
            tensors.extend(decoder_head(&config, architecture, labels));
            Ok(tensors)
        }
        BackboneConfig::Bert(config) => {
            let classifies = architecture.ends_with("ForSequenceClassification");
            let prefix = if classifies { "bert." } else { "" };
            let mut tensors: Sizes = bert(&config)
                .into_iter()
                .map(|(name, size)| (format!("{prefix}{name}"), size))
                .collect();
            if classifies {
                dense(
                    &mut tensors,
                    "bert.pooler.dense",
                    config.hidden,
                    config.hidden,
                );
                dense(&mut tensors, "classifier", labels, config.hidden);
            }
            Ok(tensors)
        }
        BackboneConfig::ModernBert(_) => Err(LoadError::new(
            "synthetic weights are only available for decoders and BERT",
        )),
    }
}

fn dense(tensors: &mut Sizes, name: &str, out: usize, inner: usize) {
    tensors.insert(format!("{name}.weight"), vec![out, inner]);
    tensors.insert(format!("{name}.bias"), vec![out]);
}

fn decoder(config: &DecoderConfig) -> Sizes {
    let (hidden, inner) = (config.hidden, config.inner);
    let (wide, narrow) = (
        config.heads * config.head_dim,
        config.kv_heads * config.head_dim,
    );
    let mut tensors = Sizes::from([
        (
            "model.embed_tokens.weight".to_owned(),
            vec![config.vocabulary, hidden],
        ),
        ("model.norm.weight".to_owned(), vec![hidden]),
    ]);
    for layer in 0..config.layers() {
        let mut add = |name: &str, size: Vec<usize>| {
            tensors.insert(format!("model.layers.{layer}.{name}"), size)
        };
        for (part, out) in [("q", wide), ("k", narrow), ("v", narrow)] {
            add(&format!("self_attn.{part}_proj.weight"), vec![out, hidden]);
            if config.qkv_bias {
                add(&format!("self_attn.{part}_proj.bias"), vec![out]);
            }
            if config.qk_norm && part != "v" {
                add(
                    &format!("self_attn.{part}_norm.weight"),
                    vec![config.head_dim],
                );
            }
        }
        add("self_attn.o_proj.weight", vec![hidden, wide]);
        add("mlp.gate_proj.weight", vec![inner, hidden]);
        add("mlp.up_proj.weight", vec![inner, hidden]);
        add("mlp.down_proj.weight", vec![hidden, inner]);
        add("input_layernorm.weight", vec![hidden]);
        add("post_attention_layernorm.weight", vec![hidden]);
        if config.output_bias {
            add("self_attn.o_proj.bias", vec![hidden]);
        }
        if config.mlp_bias {
            add("mlp.gate_proj.bias", vec![inner]);
            add("mlp.up_proj.bias", vec![inner]);
            add("mlp.down_proj.bias", vec![hidden]);
        }
    }
    tensors
}

fn decoder_head(config: &DecoderConfig, architecture: &str, labels: usize) -> Sizes {
    let hidden = config.hidden;
    let mut head = Sizes::new();
    let kind = architecture
        .find("For")
        .map_or("", |at| &architecture[at..]);
    match kind {
        "ForCausalLM" if !config.tied => {
            head.insert("lm_head.weight".to_owned(), vec![config.vocabulary, hidden]);
        }
        "ForCausalLM" => {}
        "ForTokenClassification" => dense(&mut head, "score", labels, hidden),
        "ForRewardModel" | "ForProcessRewardModel" => {
            dense(&mut head, "score.0", hidden, hidden);
            dense(
                &mut head,
                "score.2",
                if kind == "ForRewardModel" { 1 } else { labels },
                hidden,
            );
        }
        _ => {
            head.insert("score.weight".to_owned(), vec![labels, hidden]);
        }
    }
    head
}

fn bert(config: &BertConfig) -> Sizes {
    let (hidden, inner) = (config.hidden, config.inner);
    let mut tensors = Sizes::new();
    let tables = [
        ("word", config.vocabulary),
        ("position", config.max_positions),
        ("token_type", config.types),
    ];
    for (table, rows) in tables {
        tensors.insert(
            format!("embeddings.{table}_embeddings.weight"),
            vec![rows, hidden],
        );
    }
    for layer in 0..config.layers {
        let tensor_name = |part: &str| format!("encoder.layer.{layer}.{part}");
        for part in ["query", "key", "value"] {
            dense(
                &mut tensors,
                &tensor_name(&format!("attention.self.{part}")),
                hidden,
                hidden,
            );
        }
        dense(
            &mut tensors,
            &tensor_name("attention.output.dense"),
            hidden,
            hidden,
        );
        dense(
            &mut tensors,
            &tensor_name("intermediate.dense"),
            inner,
            hidden,
        );
        dense(&mut tensors, &tensor_name("output.dense"), hidden, inner);
    }
    let norms = (0..config.layers).flat_map(|layer| {
        ["attention.output", "output"].map(|part| format!("encoder.layer.{layer}.{part}.LayerNorm"))
    });
    for name in norms.chain(["embeddings.LayerNorm".to_owned()]) {
        for part in ["weight", "bias"] {
            tensors.insert(format!("{name}.{part}"), vec![hidden]);
        }
    }
    tensors
}

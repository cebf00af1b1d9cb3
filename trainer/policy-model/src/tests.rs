//! Tests of whole policy models: gradients of every trained parameter, and saving and loading.

use candle_core::{DType, Device, Tensor};
use serde_json::{Value, json};

use crate::{Graph, LoraSettings, PolicyModel, PolicyModelOptions, Scored, Text, TokenBatch};

/// The configuration of a small model of each family.
pub(crate) fn families() -> Vec<Value> {
    let config = |family: &str, more: Value| {
        let mut config = json!({
            "model_type": family, "architectures": ["ForCausalLM"], "vocab_size": 11,
            "hidden_size": 8, "intermediate_size": 10, "num_hidden_layers": 2,
            "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 4,
            "max_position_embeddings": 64, "tie_word_embeddings": true,
        });
        config
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        config
    };
    vec![
        config("qwen3", json!({})),
        config("qwen2", json!({"head_dim": 2})),
        config(
            "llama",
            json!({"tie_word_embeddings": false, "attention_bias": true, "mlp_bias": true}),
        ),
        config("mistral", json!({"sliding_window": 3})),
    ]
}

fn batch(device: &Device) -> TokenBatch {
    let texts = [
        Text {
            prompt: &[1, 2, 3],
            completion: &[4, 5, 6, 10],
        },
        Text {
            prompt: &[7],
            completion: &[],
        },
        Text {
            prompt: &[8, 8],
            completion: &[0],
        },
    ];
    TokenBatch::new(&texts, 11, device).unwrap()
}

/// A loss that depends on every log-probability and entropy, and its graph.
fn with_graph(policy: &PolicyModel) -> (Tensor, Graph) {
    let Scored {
        log_probs,
        entropies,
        graph,
    } = policy.score(&batch(policy.device()), 0.8).unwrap();
    let entropies = (entropies * 0.3).unwrap();
    (
        (log_probs.sqr().unwrap() + entropies)
            .unwrap()
            .sum_all()
            .unwrap(),
        graph,
    )
}

fn loss(policy: &PolicyModel) -> Tensor {
    with_graph(policy).0
}

/// Compares the gradients of all trained parameters with finite differences.
fn assert_gradients(policy: &PolicyModel) {
    let (start, graph) = with_graph(policy);
    let gradients = graph.backward(&start).unwrap();
    for (name, var) in policy.parameters() {
        let gradient = gradients
            .get(var)
            .unwrap_or_else(|| panic!("`{name}` has no gradient"));
        let gradient = gradient.flatten_all().unwrap().to_vec1::<f64>().unwrap();
        let numbers = var
            .as_tensor()
            .flatten_all()
            .unwrap()
            .to_vec1::<f64>()
            .unwrap();
        let set = |numbers: Vec<f64>| {
            var.set(&Tensor::from_vec(numbers, var.shape(), &Device::Cpu).unwrap())
                .unwrap();
        };
        for (index, slope) in gradient.iter().enumerate() {
            let shifted = |by: f64| {
                let mut numbers = numbers.clone();
                numbers[index] += by;
                set(numbers);
                loss(policy).to_scalar::<f64>().unwrap()
            };
            let expected = (shifted(1e-5) - shifted(-1e-5)) / 2e-5;
            assert!(
                (slope - expected).abs() < 1e-6 * expected.abs().max(1.0),
                "`{name}`[{index}]: {slope} is not {expected}"
            );
        }
        set(numbers);
    }
}

#[test]
fn differentiates_every_parameter_of_every_family() {
    for config in families() {
        assert_gradients(
            &PolicyModel::draw(
                config,
                &Device::Cpu,
                &PolicyModelOptions {
                    seed: 3,
                    ..PolicyModelOptions::default()
                },
            )
            .unwrap()
            .widened(),
        );
    }
}

#[test]
fn trains_only_adapters_with_lora() {
    let lora = LoraSettings {
        rank: 2,
        alpha: 3.0,
        ..LoraSettings::default()
    };
    let options = PolicyModelOptions {
        lora: Some(lora),
        seed: 3,
    };
    let policy = PolicyModel::draw(families().remove(0), &Device::Cpu, &options)
        .unwrap()
        .widened();
    assert_eq!(policy.parameters().len(), 2 * 7 * 2);
    // The second factors are initially 0, and therefore the gradients of the first.
    for (name, var) in policy.parameters() {
        if name.contains("lora_B") {
            var.set(&(var.ones_like().unwrap() * 0.1).unwrap()).unwrap();
        }
    }
    assert_gradients(&policy);
}

#[test]
fn save_and_open_round_trip_bit_for_bit() {
    let folder = tempfile::tempdir().unwrap();
    for (index, config) in families().into_iter().enumerate() {
        let policy = PolicyModel::draw(
            config,
            &Device::Cpu,
            &PolicyModelOptions {
                seed: 5,
                ..PolicyModelOptions::default()
            },
        )
        .unwrap();
        let directory = folder.path().join(index.to_string());
        policy.save(&directory).unwrap();
        let reopened = PolicyModel::open(
            &directory,
            &Device::Cpu,
            DType::F32,
            &PolicyModelOptions::default(),
        )
        .unwrap();
        let bits = |policy: &PolicyModel| loss(policy).to_scalar::<f32>().unwrap().to_bits();
        assert_eq!(bits(&policy), bits(&reopened));
        assert_eq!(policy.size(), reopened.size());
    }
}

#[test]
fn merged_adapters_yield_the_same_scores() {
    let options = PolicyModelOptions {
        lora: Some(LoraSettings {
            rank: 3,
            ..LoraSettings::default()
        }),
        seed: 1,
    };
    let policy = PolicyModel::draw(families().remove(2), &Device::Cpu, &options).unwrap();
    let plain = loss(&policy).to_scalar::<f32>().unwrap();
    for var in policy.parameters().values() {
        var.set(&(var.as_detached_tensor() + 0.05).unwrap())
            .unwrap();
    }
    let learned = loss(&policy).to_scalar::<f32>().unwrap();
    assert!((learned - plain).abs() > 1e-2);
    let folder = tempfile::tempdir().unwrap();
    policy.save(folder.path()).unwrap();
    let merged = PolicyModel::open(
        folder.path(),
        &Device::Cpu,
        DType::F32,
        &PolicyModelOptions::default(),
    )
    .unwrap();
    assert!((learned - loss(&merged).to_scalar::<f32>().unwrap()).abs() < 1e-3);
    policy.save_adapters(folder.path()).unwrap();
    assert!(folder.path().join("adapter_model.safetensors").is_file());
}

#[test]
fn snapshot_is_independent_of_updates() {
    let policy = PolicyModel::draw(
        families().remove(0),
        &Device::Cpu,
        &PolicyModelOptions::default(),
    )
    .unwrap();
    let before = loss(&policy).to_scalar::<f32>().unwrap();
    let snapshot = policy.snapshot().unwrap();
    for var in policy.parameters().values() {
        var.set(&(var.as_detached_tensor() * 1.5).unwrap()).unwrap();
    }
    assert_eq!(
        before.to_bits(),
        loss(&snapshot).to_scalar::<f32>().unwrap().to_bits()
    );
    assert_ne!(
        before.to_bits(),
        loss(&policy).to_scalar::<f32>().unwrap().to_bits()
    );
}

#[test]
fn rejects_texts_that_cannot_be_scored() {
    let device = Device::Cpu;
    let error = |texts: &[Text<'_>]| TokenBatch::new(texts, 11, &device).unwrap_err().to_string();
    assert!(
        error(&[Text {
            prompt: &[],
            completion: &[1]
        }])
        .contains("the prompt of text 0 is empty")
    );
    assert!(
        error(&[Text {
            prompt: &[11],
            completion: &[1]
        }])
        .contains("token 11 is not in the vocabulary")
    );
    assert!(
        error(&[Text {
            prompt: &[1],
            completion: &[]
        }])
        .contains("to score")
    );
}

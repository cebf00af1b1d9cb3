//! A policy as a whole: every number it learns has the gradient it should, and what is saved comes
//! back.

use candle_core::{DType, Device, Tensor};
use serde_json::{Value, json};

use crate::{Batch, Graph, LoraSettings, PolicyModel, PolicyModelOptions, Scored, Text};

/// A small policy of each family.
pub(crate) fn families() -> Vec<Value> {
    let config = |family: &str, more: Value| {
        let mut config = json!({
            "model_type": family, "architectures": ["ForCausalLM"], "vocab_size": 11, "hidden_size": 8, "intermediate_size": 10,
            "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 4,
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

fn batch(device: &Device) -> Batch {
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
    Batch::new(&texts, 11, device).unwrap()
}

/// A number that depends on every log-probability and entropy, and how it came about.
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

fn held(policy: &PolicyModel) {
    let (start, graph) = with_graph(policy);
    let gradients = graph.backward(&start).unwrap();
    for (name, var) in policy.parameters() {
        let found = gradients
            .get(var)
            .unwrap_or_else(|| panic!("`{name}` has no gradient"));
        let found = found.flatten_all().unwrap().to_vec1::<f64>().unwrap();
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
        for (at, found) in found.iter().enumerate() {
            let shifted = |by: f64| {
                let mut numbers = numbers.clone();
                numbers[at] += by;
                set(numbers);
                loss(policy).to_scalar::<f64>().unwrap()
            };
            let expected = (shifted(1e-5) - shifted(-1e-5)) / 2e-5;
            assert!(
                (found - expected).abs() < 1e-6 * expected.abs().max(1.0),
                "`{name}`[{at}]: {found} for {expected}"
            );
        }
        set(numbers);
    }
}

#[test]
fn every_number_of_every_family_has_the_gradient_it_should() {
    for config in families() {
        held(
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
fn adapters_have_the_gradient_they_should_and_nothing_else_learns() {
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
    // The second factors start at 0, and with them the gradients of the first.
    for (name, var) in policy.parameters() {
        if name.contains("lora_B") {
            var.set(&(var.ones_like().unwrap() * 0.1).unwrap()).unwrap();
        }
    }
    held(&policy);
}

#[test]
fn what_is_saved_comes_back_to_the_bit() {
    let folder = tempfile::tempdir().unwrap();
    for (at, config) in families().into_iter().enumerate() {
        let policy = PolicyModel::draw(
            config,
            &Device::Cpu,
            &PolicyModelOptions {
                seed: 5,
                ..PolicyModelOptions::default()
            },
        )
        .unwrap();
        let place = folder.path().join(at.to_string());
        policy.save(&place).unwrap();
        let again = PolicyModel::open(
            &place,
            &Device::Cpu,
            DType::F32,
            &PolicyModelOptions::default(),
        )
        .unwrap();
        let bits = |policy: &PolicyModel| loss(policy).to_scalar::<f32>().unwrap().to_bits();
        assert_eq!(bits(&policy), bits(&again));
        assert_eq!(policy.size(), again.size());
    }
}

#[test]
fn merged_adapters_score_as_they_did_beside_the_weights() {
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
fn a_snapshot_stays_while_the_policy_learns() {
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
fn what_cannot_be_scored_is_refused() {
    let device = Device::Cpu;
    let refused = |texts: &[Text<'_>]| Batch::new(texts, 11, &device).unwrap_err().to_string();
    assert!(
        refused(&[Text {
            prompt: &[],
            completion: &[1]
        }])
        .contains("no prompt")
    );
    assert!(
        refused(&[Text {
            prompt: &[11],
            completion: &[1]
        }])
        .contains("the token 11")
    );
    assert!(
        refused(&[Text {
            prompt: &[1],
            completion: &[]
        }])
        .contains("to score")
    );
}

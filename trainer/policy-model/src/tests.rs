//! Tests of whole policy models: gradients of every trained parameter, and saving and loading.

use candle_core::{DType, Device, Tensor};
use serde_json::{Value, json};

use crate::optimiser::{AdamW, AdamWSettings};
use crate::{
    Computation, Entropies, Gradients, Graph, LoraSettings, PolicyModel, PolicyModelOptions,
    Scored, Text, TokenBatch,
};

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
    } = policy
        .score(&batch(policy.device()), 0.8, Entropies::Differentiated)
        .unwrap();
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

/// The gradients of the loss.
fn gradients(policy: &PolicyModel) -> Gradients {
    let (loss, graph) = with_graph(policy);
    let mut gradients = Gradients::new(policy.parameters()).unwrap();
    graph.backward(&loss, &mut gradients).unwrap();
    gradients
}

/// Compares the gradients of all trained parameters with finite differences.
fn assert_gradients(policy: &PolicyModel) {
    let gradients = gradients(policy);
    for (name, var) in policy.parameters() {
        let gradient = &gradients.tensors()[name];
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
    for (config, composed) in families().into_iter().flat_map(|config| {
        let both = [false, true];
        both.map(|composed| (config.clone(), composed))
    }) {
        let options = PolicyModelOptions {
            seed: 3,
            computation: Computation {
                composed,
                ..Computation::default()
            },
            ..PolicyModelOptions::default()
        };
        let policy = PolicyModel::draw(config, &Device::Cpu, &options).unwrap();
        assert_gradients(&policy.widened());
    }
}

#[test]
fn recomputed_gradients_are_equal() {
    let lora = LoraSettings {
        rank: 2,
        ..LoraSettings::default()
    };
    for (config, lora) in families()
        .into_iter()
        .zip([None, Some(lora)].into_iter().cycle())
    {
        for composed in [false, true] {
            let of = |recompute: bool| {
                let options = PolicyModelOptions {
                    seed: 3,
                    lora: lora.clone(),
                    computation: Computation {
                        recompute,
                        composed,
                        ..Computation::default()
                    },
                };
                let policy = PolicyModel::draw(config.clone(), &Device::Cpu, &options).unwrap();
                for (name, var) in policy.parameters() {
                    if name.contains("lora_B") {
                        var.set(&(var.ones_like().unwrap() * 0.1).unwrap()).unwrap();
                    }
                }
                let bits = |tensor: &Tensor| -> Vec<u32> {
                    let numbers = tensor.flatten_all().unwrap().to_vec1::<f32>().unwrap();
                    assert!(numbers.iter().any(|number| *number != 0.0));
                    numbers.into_iter().map(f32::to_bits).collect()
                };
                let gradients = gradients(&policy);
                gradients.tensors().values().map(bits).collect::<Vec<_>>()
            };
            assert_eq!(of(true), of(false));
        }
    }
}

/// A gradient that is added to is the sum of two.
#[test]
fn gradients_add_up_until_cleared() {
    let policy = PolicyModel::draw(
        families().remove(0),
        &Device::Cpu,
        &PolicyModelOptions::default(),
    )
    .unwrap();
    let mut gradients = Gradients::new(policy.parameters()).unwrap();
    let mut norms = Vec::new();
    for _ in 0..2 {
        let (loss, graph) = with_graph(&policy);
        graph.backward(&loss, &mut gradients).unwrap();
        let norm = gradients.tensors()["model.norm.weight"].sqr().unwrap();
        norms.push(norm.sum_all().unwrap().to_scalar::<f32>().unwrap().sqrt());
    }
    assert!(
        (norms[1] - 2.0 * norms[0]).abs() < 1e-4 * norms[0],
        "{norms:?}"
    );
    gradients.clear().unwrap();
    for sum in gradients.tensors().values() {
        let most = sum.abs().unwrap().max_all().unwrap();
        assert_eq!(most.to_scalar::<f32>().unwrap(), 0.0);
    }
}

/// The entropies of a loss that does not differentiate them have no effect on gradients.
#[test]
fn measured_entropies_have_no_gradient() {
    let policy = PolicyModel::draw(
        families().remove(0),
        &Device::Cpu,
        &PolicyModelOptions::default(),
    )
    .unwrap();
    let norm = |factor: f64| {
        let scored = policy
            .score(&batch(policy.device()), 1.0, Entropies::Measured)
            .unwrap();
        let loss = (scored.log_probs + (scored.entropies * factor).unwrap()).unwrap();
        let mut gradients = Gradients::new(policy.parameters()).unwrap();
        let loss = loss.sum_all().unwrap();
        scored.graph.backward(&loss, &mut gradients).unwrap();
        let sum = gradients.tensors()["model.norm.weight"].sqr().unwrap();
        sum.sum_all().unwrap().to_scalar::<f32>().unwrap()
    };
    assert_eq!(norm(0.0), norm(10.0));
}

#[test]
fn reports_parameters_without_a_gradient() {
    let policy = PolicyModel::draw(
        families().remove(0),
        &Device::Cpu,
        &PolicyModelOptions::default(),
    )
    .unwrap();
    let mut gradients = Gradients::new(policy.parameters()).unwrap();
    let (_, graph) = with_graph(&policy);
    let constant = Tensor::zeros((), DType::F32, &Device::Cpu).unwrap();
    let error = graph.backward(&constant, &mut gradients).unwrap_err();
    assert!(error.to_string().contains("has no gradient"), "{error}");
}

/// Address of the numbers of a tensor.
fn address(tensor: &Tensor) -> usize {
    let (storage, _) = tensor.storage_and_layout();
    match &*storage {
        candle_core::Storage::Cpu(storage) => storage.as_slice::<f32>().unwrap().as_ptr() as usize,
        _ => unreachable!("the tests run on a CPU"),
    }
}

#[test]
fn moments_never_move() {
    for (composed, dtype) in [(false, DType::F32), (true, DType::F32), (true, DType::BF16)] {
        let options = PolicyModelOptions {
            computation: Computation {
                composed,
                ..Computation::default()
            },
            ..PolicyModelOptions::default()
        };
        let folder = tempfile::tempdir().unwrap();
        PolicyModel::draw(families().remove(0), &Device::Cpu, &options)
            .unwrap()
            .save(folder.path())
            .unwrap();
        let policy = PolicyModel::open(folder.path(), &Device::Cpu, dtype, &options).unwrap();
        let mut gradients = Gradients::new(policy.parameters()).unwrap();
        let mut optimiser = AdamW::new(AdamWSettings::default(), policy.parameters()).unwrap();
        if composed {
            optimiser = optimiser.composed();
        }
        let addresses = |optimiser: &AdamW, gradients: &Gradients| -> Vec<usize> {
            let weights = policy.parameters().values();
            let weights = weights.filter(|weight| weight.dtype() == DType::F32);
            let kept = optimiser.tensors().map(|(_, tensor)| address(&tensor));
            kept.chain(gradients.tensors().values().map(address))
                .chain(weights.map(|weight| address(weight)))
                .collect()
        };
        let before = addresses(&optimiser, &gradients);
        assert_eq!(before.len(), 4 * policy.parameters().len());
        let first = loss(&policy).to_scalar::<f32>().unwrap();
        for _ in 0..3 {
            gradients.clear().unwrap();
            for _ in 0..2 {
                let (loss, graph) = with_graph(&policy);
                graph.backward(&loss, &mut gradients).unwrap();
            }
            let summary = optimiser.step(gradients.tensors(), 1e-2).unwrap();
            assert!(summary.applied);
        }
        optimiser.restore(&optimiser.state().unwrap()).unwrap();
        assert_eq!(addresses(&optimiser, &gradients), before);
        assert_ne!(loss(&policy).to_scalar::<f32>().unwrap(), first);
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
        ..PolicyModelOptions::default()
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
        ..PolicyModelOptions::default()
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
    let adapters = folder.path().join("adapter");
    policy.save_adapters(&adapters).unwrap();
    assert!(adapters.join(crate::ADAPTERS).is_file());
    // The base is the model before training, and the adapters make it the trained one.
    let base = policy.base().unwrap().unwrap();
    assert_eq!(
        loss(&base).to_scalar::<f32>().unwrap().to_bits(),
        plain.to_bits()
    );
    let read = candle_core::safetensors::load(adapters.join(crate::ADAPTERS), &Device::Cpu);
    let again = policy
        .with_adapters(&read.unwrap().into_iter().collect())
        .unwrap();
    assert_eq!(
        loss(&again).to_scalar::<f32>().unwrap().to_bits(),
        loss(&policy).to_scalar::<f32>().unwrap().to_bits()
    );
    assert!(policy.with_adapters(&policy.tensors().unwrap()).is_err());
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

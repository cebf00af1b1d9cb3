//! Compares networks with reference values of `transformers` (`tests/reference/`), and with
//! themselves in different batches.

use std::collections::BTreeMap;

use assay_weights::synthetic;
use serde::Deserialize;

use super::*;

#[derive(Deserialize)]
struct Reference {
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    name: String,
    config: Value,
    options: ModelOptions,
    #[serde(default)]
    tokens: BTreeMap<String, u32>,
    tensors: BTreeMap<String, Vec<usize>>,
    sequences: Vec<Vec<u32>>,
    #[serde(default)]
    second: Vec<Option<usize>>,
    rows: Vec<Value>,
    expected: Vec<BTreeMap<String, Value>>,
}

impl Case {
    fn sequences(&self) -> Vec<Sequence> {
        let of = |(at, (ids, rows)): (usize, (&Vec<u32>, &Value))| Sequence {
            second: self.second.get(at).copied().flatten().unwrap_or(ids.len()),
            ids: ids.clone(),
            rows: serde_json::from_value(rows.clone()).map_or(Rows::Mean, Rows::At),
            truncated_tokens: 0,
        };
        self.sequences
            .iter()
            .zip(&self.rows)
            .enumerate()
            .map(of)
            .collect()
    }

    fn network(&self, device: &Device) -> std::result::Result<Network, LoadError> {
        self.network_in(device, DType::F32)
    }

    fn network_in(&self, device: &Device, dtype: DType) -> std::result::Result<Network, LoadError> {
        let folder = tempfile::tempdir().unwrap();
        synthetic::write_tensors(folder.path(), &self.config, &self.tensors)?;
        if self.name.ends_with("embedding") {
            std::fs::write(
                folder.path().join("modules.json"),
                r#"[{"type": "sentence_transformers.models.Normalize"}]"#,
            )
            .unwrap();
        }
        let directory = Directory::open(folder.path())?;
        let weights = directory.weights(device, dtype)?;
        let outline = Outline::detect(&directory, &weights, &self.options)?;
        let labels: Vec<u32> = self
            .options
            .labels
            .iter()
            .map(|label| self.tokens[label])
            .collect();
        Network::read(outline, &weights, &self.options, &labels)
    }
}

/// The CPU, and in a build with CUDA the first GPU, which the machine must have.
fn devices() -> Vec<Device> {
    let gpu = cfg!(feature = "cuda").then(|| assay_weights::open_gpu(0).unwrap());
    std::iter::once(Device::Cpu).chain(gpu).collect()
}

fn cases() -> Vec<Case> {
    let text = include_str!("../../tests/reference/cases.json");
    serde_json::from_str::<Reference>(text).unwrap().cases
}

/// Name of the output kind in the reference file, and all its numbers.
fn numbers(readout: &ModelOutput) -> (&'static str, Vec<f32>) {
    match readout {
        ModelOutput::Scalar(x) => ("scalar", vec![*x]),
        ModelOutput::Classes(x) => ("classes", x.clone()),
        ModelOutput::Labels(x) => ("labels", x.clone()),
        ModelOutput::Steps(x) => ("steps", x.clone()),
        ModelOutput::Embedding(x) => ("embedding", x.clone()),
    }
}

fn bits(readout: &ModelOutput) -> Vec<u32> {
    numbers(readout).1.into_iter().map(f32::to_bits).collect()
}

#[test]
fn outputs_agree_with_the_reference() {
    assert!(cases().len() >= 40);
    for device in devices() {
        let bound = if device.is_cpu() { 1e-5 } else { 1e-4 };
        let worst = cases()
            .iter()
            .map(|case| off_reference(case, &device))
            .fold(0.0, f64::max);
        assert!(worst > 0.0, "nothing was compared");
        assert!(worst < bound, "{worst} on {device:?}");
    }
}

/// Largest difference between the outputs of a case and the reference, absolute up to 1 and
/// relative above.
fn off_reference(case: &Case, device: &Device) -> f64 {
    let network = case
        .network(device)
        .unwrap_or_else(|error| panic!("{}: {error}", case.name));
    let sequences = case.sequences();
    let readouts = network.run(&sequences.iter().collect::<Vec<_>>()).unwrap();
    let mut worst = 0f64;
    for ((readout, expected), ids) in readouts.iter().zip(&case.expected).zip(&case.sequences) {
        let (word, found) = numbers(readout);
        let expected = match &expected[word] {
            Value::Array(numbers) => numbers
                .iter()
                .map(|number| number.as_f64().unwrap())
                .collect(),
            number => vec![number.as_f64().unwrap()],
        };
        assert_eq!(found.len(), expected.len(), "{}", case.name);
        for (found, expected) in found.iter().zip(expected) {
            let off = (f64::from(*found) - expected).abs() / expected.abs().max(1.0);
            assert!(
                off < 1e-4,
                "{}, {} tokens: {found}, expected {expected} on {device:?}",
                case.name,
                ids.len()
            );
            worst = worst.max(off);
        }
    }
    worst
}

#[test]
fn outputs_are_bit_identical_in_any_batch_and_order() {
    for (device, case) in devices()
        .iter()
        .flat_map(|device| cases().into_iter().map(move |case| (device, case)))
    {
        let network = case.network(device).unwrap();
        let sequences = case.sequences();
        let alone: Vec<_> = sequences
            .iter()
            .map(|sequence| bits(&network.run(&[sequence]).unwrap()[0]))
            .collect();
        let order: Vec<usize> = (0..sequences.len())
            .rev()
            .chain(0..sequences.len())
            .collect();
        let batch: Vec<_> = order.iter().map(|at| &sequences[*at]).collect();
        for (at, readout) in order.iter().zip(network.run(&batch).unwrap()) {
            let tokens = case.sequences[*at].len();
            assert_eq!(
                bits(&readout),
                alone[*at],
                "{}: {tokens} tokens on {device:?}",
                case.name
            );
        }
    }
}

/// Sequences of one prompt, with completions of several lengths.
fn group(vocabulary: usize, prompt: usize) -> Vec<Sequence> {
    let id = |seed: usize, at: usize| u32::try_from((seed * 31 + at * 7) % vocabulary).unwrap();
    let completions = [1, 20, 130, 128 - prompt % 128, 64];
    completions
        .iter()
        .enumerate()
        .map(|(seed, tokens)| {
            let prompt = (0..prompt).map(|at| id(0, at));
            Sequence::whole(
                prompt
                    .chain((0..*tokens).map(|at| id(seed + 1, at)))
                    .collect(),
            )
        })
        .collect()
}

#[test]
fn outputs_are_bit_identical_with_and_without_shared_tokens() {
    let mut compared = 0;
    for (device, dtype) in devices()
        .iter()
        .flat_map(|device| [DType::F32, DType::BF16].map(|dtype| (device, dtype)))
    {
        for case in cases() {
            let network = case.network_in(device, dtype).unwrap();
            if !network.shares_prefixes() || case.options.step_token.is_some() {
                continue;
            }
            let sequences = group(network.vocabulary, 300);
            let batch: Vec<&Sequence> = sequences.iter().collect();
            let packed = Packed::new(&batch, true, device, GpuOptions::default()).unwrap();
            assert_eq!(
                packed.rows() + 256 * (batch.len() - 1),
                sequences.iter().map(Sequence::len).sum::<usize>()
            );
            for (sequence, together) in batch.iter().zip(network.run(&batch).unwrap()) {
                let alone = network.run(&[sequence]).unwrap();
                assert_eq!(
                    bits(&together),
                    bits(&alone[0]),
                    "{} in {dtype:?} on {device:?}: {} tokens",
                    case.name,
                    sequence.len()
                );
                compared += 1;
            }
        }
    }
    assert!(compared >= 100, "{compared}");
}

#[test]
fn rejects_missing_and_unused_heads() {
    let mut case = cases()
        .into_iter()
        .find(|case| case.name == "llama")
        .unwrap();
    let head = case.tensors.remove("score.weight").unwrap();
    let missing = case.network(&Device::Cpu).err().unwrap().to_string();
    assert!(
        missing.contains("the files have no tensor of a head"),
        "{missing}"
    );

    case.tensors.insert("score.weight".to_owned(), head.clone());
    case.tensors.insert("v_head.weight".to_owned(), head);
    let left = case.network(&Device::Cpu).err().unwrap().to_string();
    assert!(left.contains("`v_head.weight`"), "{left}");
}

#[test]
fn reads_heads_and_backbones_under_the_names_of_trainers() {
    let llama = || {
        cases()
            .into_iter()
            .find(|case| case.name == "llama")
            .unwrap()
    };
    let outputs = |case: &Case| {
        let sequences = case.sequences();
        let network = case.network(&Device::Cpu).unwrap();
        network.run(&sequences.iter().collect::<Vec<_>>()).unwrap()
    };
    // The values of generated tensors depend on their names, so options declare the same names.
    for head in ["value_head", "v_head", "v_head.summary"] {
        let mut case = llama();
        let shape = case.tensors.remove("score.weight").unwrap();
        let name = format!("{head}.weight");
        case.tensors.insert(name.clone(), shape);
        case.tensors.insert("lm_head.weight".to_owned(), vec![1, 1]);
        let found = outputs(&case);
        case.options.tensors.insert("score.weight".to_owned(), name);
        assert_eq!(found, outputs(&case), "{head}");
    }

    let mut case = llama();
    let shape = case.tensors.remove("score.weight").unwrap();
    case.tensors.insert("reward.weight".to_owned(), shape);
    assert!(case.network(&Device::Cpu).is_err());
    case.config["value_head_prefix"] = "reward".into();
    outputs(&case);

    let mut case = llama();
    case.tensors = case
        .tensors
        .into_iter()
        .map(|(name, shape)| (name.replacen("model.", "rwtransformer.", 1), shape))
        .collect();
    outputs(&case);
}

#[test]
fn rejects_ids_beyond_the_vocabulary() {
    let case = cases()
        .into_iter()
        .find(|case| case.name == "qwen2")
        .unwrap();
    assert!(
        case.network(&Device::Cpu)
            .unwrap()
            .run(&[&Sequence::whole(vec![1, u32::MAX])])
            .is_err()
    );
}

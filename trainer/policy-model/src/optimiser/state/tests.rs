use assay_base::Random;
use candle_core::{DType, Device, Tensor, Var};

use super::*;
use crate::optimiser::AdamWSettings;

const SHAPES: [(&str, &[usize], DType); 4] = [
    ("embed_tokens.weight", &[40, 16], DType::F32),
    ("layers.0.mlp.weight", &[200, 180], DType::F32),
    ("layers.0.norm.weight", &[16], DType::F32),
    ("lora_a.weight", &[8, 16], DType::BF16),
];

fn random(shape: &[usize], dtype: DType, stream: &[u64]) -> Tensor {
    let mut random = Random::stream(stream);
    let values: Vec<f32> = (0..shape.iter().product())
        .map(|_| random.normal() as f32)
        .collect();
    Tensor::from_vec(values, shape, &Device::Cpu)
        .unwrap()
        .to_dtype(dtype)
        .unwrap()
}

fn random_tensors(stream: u64) -> BTreeMap<String, Tensor> {
    let tensor = |(index, (name, shape, dtype)): (usize, (&str, &[usize], DType))| {
        let tensor = random(shape, dtype, &[stream, index as u64]);
        (name.to_owned(), tensor)
    };
    SHAPES.into_iter().enumerate().map(tensor).collect()
}

fn variables(tensors: &BTreeMap<String, Tensor>) -> BTreeMap<String, Var> {
    tensors
        .iter()
        .map(|(name, tensor)| (name.clone(), Var::from_tensor(tensor).unwrap()))
        .collect()
}

fn adamw(parameters: &BTreeMap<String, Var>) -> AdamW {
    AdamW::new(AdamWSettings::default(), parameters).unwrap()
}

fn train(adamw: &mut AdamW, steps: std::ops::Range<u64>) {
    for step in steps {
        adamw
            .step(&random_tensors(100 + step), 0.01 / (step + 1) as f64)
            .unwrap();
    }
}

/// The bits of all numbers, by name.
fn bits<'a>(
    tensors: impl IntoIterator<Item = (&'a String, &'a Tensor)>,
) -> Vec<(String, Vec<u32>)> {
    let one = |(name, tensor): (&String, &Tensor)| {
        let values = tensor
            .to_dtype(DType::F32)
            .unwrap()
            .flatten_all()
            .unwrap()
            .to_vec1::<f32>()
            .unwrap();
        (name.clone(), values.into_iter().map(f32::to_bits).collect())
    };
    tensors.into_iter().map(one).collect()
}

fn through_bytes(tensors: &BTreeMap<String, Tensor>) -> BTreeMap<String, Tensor> {
    let bytes = safetensors::serialize(tensors, None).unwrap();
    candle_core::safetensors::load_buffer(&bytes, &Device::Cpu)
        .unwrap()
        .into_iter()
        .collect()
}

#[test]
fn restored_optimiser_continues_bit_for_bit() {
    let parameters = variables(&random_tensors(1));
    let mut whole = adamw(&parameters);
    train(&mut whole, 0..5);
    let weights = parameters
        .iter()
        .map(|(name, variable)| (name.clone(), variable.copy().unwrap().detach()))
        .collect();
    let saved = (
        through_bytes(&weights),
        through_bytes(&whole.state().unwrap()),
    );
    train(&mut whole, 5..10);

    let again = variables(&saved.0);
    let mut rest = adamw(&again);
    rest.restore(&saved.1).unwrap();
    assert_eq!((rest.steps(), rest.skipped_steps()), (5, 0));
    train(&mut rest, 5..10);

    let tensors = |parameters: &BTreeMap<String, Var>| {
        bits(
            parameters
                .iter()
                .map(|(name, variable)| (name, variable.as_tensor())),
        )
    };
    assert_eq!(tensors(&parameters), tensors(&again));
    assert_eq!(bits(&whole.state().unwrap()), bits(&rest.state().unwrap()));

    // Without the state the result differs.
    let fresh = variables(&saved.0);
    train(&mut adamw(&fresh), 5..10);
    assert_ne!(tensors(&parameters), tensors(&fresh));
}

#[test]
fn result_does_not_depend_on_number_of_threads() {
    let run = |threads| {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        pool.install(|| {
            let mut adamw = adamw(&variables(&random_tensors(1)));
            train(&mut adamw, 0..3);
            bits(&adamw.state().unwrap())
        })
    };
    assert_eq!(run(1), run(3));
}

#[test]
fn state_and_restored_optimiser_do_not_share_storage() {
    let mut first = adamw(&variables(&random_tensors(1)));
    train(&mut first, 0..2);
    let state = first.state().unwrap();
    let before = bits(&state);
    let mut second = adamw(&variables(&random_tensors(1)));
    second.restore(&state).unwrap();
    train(&mut first, 2..3);
    train(&mut second, 2..4);
    assert_eq!(before, bits(&state));
}

#[test]
fn restores_16_bit_parameters_from_master_weights() {
    let parameters = variables(&random_tensors(1));
    let mut first = adamw(&parameters);
    train(&mut first, 0..3);
    let other = variables(&random_tensors(2));
    adamw(&other).restore(&first.state().unwrap()).unwrap();
    let name = "lora_a.weight".to_owned();
    assert_eq!(
        bits([(&name, parameters[&name].as_tensor())]),
        bits([(&name, other[&name].as_tensor())])
    );
}

#[test]
fn rejects_mismatched_states_without_changes() {
    let mut adamw = adamw(&variables(&random_tensors(1)));
    train(&mut adamw, 0..2);
    let state = adamw.state().unwrap();
    let before = bits(&state);
    let mut assert_rejected = |name: &str, tensor: Option<Tensor>, message: &str| {
        let mut wrong = state.clone();
        wrong.remove(name);
        wrong.extend(tensor.map(|tensor| (name.to_owned(), tensor)));
        let error = adamw.restore(&wrong).unwrap_err().to_string();
        assert!(error.contains(name) && error.contains(message), "{error}");
        assert_eq!(before, bits(&adamw.state().unwrap()));
    };
    let zeros = |shape: &[usize], dtype| Some(Tensor::zeros(shape, dtype, &Device::Cpu).unwrap());
    assert_rejected("step", None, "the state lacks `step`");
    assert_rejected("step", zeros(&[2], DType::I64), "must be one i64");
    assert_rejected(
        "refused",
        Some(Tensor::new(-1i64, &Device::Cpu).unwrap()),
        "at least 0",
    );
    assert_rejected("exp_avg.layers.0.norm.weight", None, "the state lacks");
    assert_rejected(
        "exp_avg_sq.layers.0.norm.weight",
        zeros(&[17], DType::F32),
        "shape [17]",
    );
    assert_rejected(
        "exp_avg.layers.0.norm.weight",
        zeros(&[16], DType::BF16),
        "is bf16",
    );
    assert_rejected("master.lora_a.weight", None, "the state lacks");
    assert_rejected(
        "exp_avg.layers.1.norm.weight",
        zeros(&[16], DType::F32),
        "belongs to no parameter",
    );
}

use candle_core::{DType, Device, Tensor, Var};

use super::*;

type Named = BTreeMap<String, Tensor>;

fn named<const N: usize>(tensors: [(&str, Tensor); N]) -> Named {
    tensors
        .map(|(name, tensor)| (name.to_owned(), tensor))
        .into()
}

fn matrix(values: [f32; 4]) -> Tensor {
    Tensor::from_slice(&values, (2, 2), &Device::Cpu).unwrap()
}

fn vector(values: [f32; 3]) -> Tensor {
    Tensor::new(&values, &Device::Cpu).unwrap()
}

fn variables(tensors: &Named) -> BTreeMap<String, Var> {
    tensors
        .iter()
        .map(|(name, tensor)| (name.clone(), Var::from_tensor(tensor).unwrap()))
        .collect()
}

fn values(tensor: &Tensor) -> Vec<f32> {
    tensor
        .to_dtype(DType::F32)
        .unwrap()
        .flatten_all()
        .unwrap()
        .to_vec1()
        .unwrap()
}

/// A matrix, to which weight decay applies, and a vector, to which it does not.
fn parameters() -> BTreeMap<String, Var> {
    variables(&named([
        ("a.weight", matrix([0.5, -1.25, 2.0, 0.125])),
        ("b.weight", vector([1.0, -0.75, 0.25])),
    ]))
}

fn settings() -> AdamWSettings {
    AdamWSettings {
        betas: [0.9, 0.99],
        eps: 1e-6,
        weight_decay: 0.1,
        max_grad_norm: 2.0,
    }
}

const RATES: [f64; 3] = [0.01, 0.02, 0.005];
const MATRIX: [[f32; 4]; 3] = [
    [0.5, -0.25, 0.125, 0.0],
    [3.0, -4.0, 0.0, 1.5],
    [-0.125, 0.0625, 0.25, -0.5],
];
const VECTOR: [[f32; 3]; 3] = [[0.25, -0.5, 1.0], [2.0, -1.0, 0.5], [0.0, 0.375, -0.75]];

fn gradients(step: usize) -> Named {
    named([
        ("a.weight", matrix(MATRIX[step])),
        ("b.weight", vector(VECTOR[step])),
    ])
}

fn assert_close(got: &[f32], expected: &[f64]) {
    assert_eq!(got.len(), expected.len());
    for (got, expected) in got.iter().zip(expected) {
        assert!(
            (f64::from(*got) - expected).abs() < 3e-7,
            "{got} is not {expected}"
        );
    }
}

#[test]
fn steps_equal_pytorch() {
    // `clip_grad_norm_(parameters, 2.0)`, then `torch.optim.AdamW` with two groups, of torch 2.15,
    // in f32.
    let parameters = parameters();
    let mut adamw = AdamW::new(settings(), &parameters).unwrap();
    for (step, (rate, norm)) in RATES
        .iter()
        .zip([1.280_868_9, 5.700_877_2, 1.017_426_3])
        .enumerate()
    {
        let summary = adamw.step(&gradients(step), *rate).unwrap();
        assert!(
            (summary.grad_norm - norm).abs() < 1e-6
                && summary.applied
                && summary.clipped == (norm > 2.0),
            "{summary:?}"
        );
    }
    assert_close(
        &values(&parameters["a.weight"]),
        &[0.465_771_914, -1.215_554_357, 1.965_603_590, 0.109_837_115],
    );
    assert_close(
        &values(&parameters["b.weight"]),
        &[0.967_936_218, -0.718_922_496, 0.223_641_992],
    );
    let [first, second] = &adamw.parameters["a.weight"].moments;
    assert_close(
        &values(first),
        &[0.122_722_253, -0.140_296_340, 0.035_124_999, -0.002_638_876],
    );
    assert_close(
        &values(second),
        &[0.013_572_649, 0.020_147_003, 0.000_778_141, 0.005_241_537],
    );
}

#[test]
fn steps_equal_published_formulas() {
    // The algorithm in f64, with bias-corrected moments as in the paper.
    let parameters = parameters();
    let mut adamw = AdamW::new(settings(), &parameters).unwrap();
    let mut state: Vec<[f64; 3]> = parameters
        .values()
        .flat_map(|v| values(v))
        .map(|w| [w.into(), 0.0, 0.0])
        .collect();
    for (step, rate) in RATES.into_iter().enumerate() {
        adamw.step(&gradients(step), rate).unwrap();
        let gradients: Vec<f64> = MATRIX[step]
            .into_iter()
            .chain(VECTOR[step])
            .map(f64::from)
            .collect();
        let norm = gradients.iter().map(|g| g * g).sum::<f64>().sqrt();
        let t = step as i32 + 1;
        for (index, ([w, m, v], g)) in state.iter_mut().zip(&gradients).enumerate() {
            let g = if norm > 2.0 {
                g * 2.0 / (norm + 1e-6)
            } else {
                *g
            };
            *m = 0.9 * *m + 0.1 * g;
            *v = 0.99 * *v + 0.01 * g * g;
            let (corrected, square) = (*m / (1.0 - 0.9f64.powi(t)), *v / (1.0 - 0.99f64.powi(t)));
            let decay = if index < 4 { 0.1 } else { 0.0 };
            *w = *w - rate * decay * *w - rate * corrected / (square.sqrt() + 1e-6);
        }
    }
    let weights: Vec<f32> = parameters.values().flat_map(|v| values(v)).collect();
    assert_close(
        &weights,
        &state.iter().map(|[w, ..]| *w).collect::<Vec<_>>(),
    );
}

#[test]
fn does_not_clip_without_max_grad_norm() {
    // The first step of Adam depends only on the gradient's sign, so moments are checked instead.
    let mut adamw = AdamW::new(
        AdamWSettings {
            max_grad_norm: 0.0,
            ..settings()
        },
        &parameters(),
    )
    .unwrap();
    assert!(!adamw.step(&gradients(1), 0.1).unwrap().clipped);
    assert_close(
        &values(&adamw.parameters["a.weight"].moments[0]),
        &[0.3, -0.4, 0.0, 0.15],
    );
}

#[test]
fn zero_learning_rate_updates_only_moments() {
    let parameters = parameters();
    let before: Vec<_> = parameters.values().map(|v| values(v)).collect();
    let mut adamw = AdamW::new(settings(), &parameters).unwrap();
    adamw.step(&gradients(0), 0.0).unwrap();
    assert_eq!(
        before,
        parameters.values().map(|v| values(v)).collect::<Vec<_>>()
    );
    assert_close(
        &values(&adamw.parameters["b.weight"].moments[0]),
        &[0.025, -0.05, 0.1],
    );
}

#[test]
fn skips_and_counts_steps_with_non_finite_gradients() {
    let parameters = parameters();
    let mut adamw = AdamW::new(settings(), &parameters).unwrap();
    adamw.step(&gradients(0), 0.01).unwrap();
    let before = adamw.state().unwrap();
    let weights: Vec<_> = parameters.values().map(|v| values(v)).collect();
    for broken in [f32::NAN, f32::INFINITY, 1e20] {
        let mut gradients = gradients(1);
        gradients.insert("b.weight".into(), vector([0.0, broken, 0.0]));
        assert!(!adamw.step(&gradients, 0.01).unwrap().applied, "{broken}");
    }
    assert_eq!((adamw.steps(), adamw.skipped_steps()), (1, 3));
    assert_eq!(
        weights,
        parameters.values().map(|v| values(v)).collect::<Vec<_>>()
    );
    for (name, tensor) in adamw
        .state()
        .unwrap()
        .iter()
        .filter(|(name, _)| name.starts_with("exp_avg"))
    {
        assert_eq!(values(tensor), values(&before[name]), "{name}");
    }
}

#[test]
fn master_weights_retain_small_updates_of_16_bit_parameters() {
    // The next bf16 below 1 is 1/256 away, the next f16 1/2048: one step of 1e-4 rounds back to 1,
    // so only the master weight changes.
    for dtype in [DType::BF16, DType::F16] {
        let ones = Tensor::ones(3, dtype, &Device::Cpu).unwrap();
        let parameters = variables(&named([("b.weight", ones.clone())]));
        let mut adamw = AdamW::new(settings(), &parameters).unwrap();
        let gradients = named([("b.weight", ones)]);
        adamw.step(&gradients, 1e-4).unwrap();
        assert_eq!(values(&parameters["b.weight"]), [1.0; 3]);
        for _ in 1..100 {
            adamw.step(&gradients, 1e-4).unwrap();
        }
        assert_eq!(parameters["b.weight"].dtype(), dtype);
        assert!(
            values(&parameters["b.weight"])
                .iter()
                .all(|w| (w - 0.99).abs() < 0.003)
        );
        let master = adamw.parameters["b.weight"].master.as_ref().unwrap();
        assert!(values(master).iter().all(|w| (w - 0.99).abs() < 1e-5));
    }
}

#[test]
fn updates_tensors_that_share_storage_with_a_parameter() {
    let parameters = parameters();
    let view = parameters["a.weight"].as_detached_tensor();
    AdamW::new(settings(), &parameters)
        .unwrap()
        .step(&gradients(0), 0.01)
        .unwrap();
    assert_eq!(values(&view), values(&parameters["a.weight"]));
    assert_ne!(values(&view), [0.5, -1.25, 2.0, 0.125]);
}

#[test]
fn accepts_gradients_of_any_memory_layout() {
    let step = |gradient: Tensor| {
        let parameters = parameters();
        let mut all = gradients(0);
        all.insert("a.weight".into(), gradient);
        AdamW::new(settings(), &parameters)
            .unwrap()
            .step(&all, 0.01)
            .unwrap();
        values(&parameters["a.weight"])
    };
    let gradient = matrix([1.0, 2.0, -3.0, 4.0]);
    assert_eq!(
        step(gradient.clone()),
        step(gradient.t().unwrap().contiguous().unwrap().t().unwrap())
    );
}

#[test]
fn rejects_gradients_that_do_not_match_parameters() {
    let mut adamw = AdamW::new(settings(), &parameters()).unwrap();
    let mut assert_rejected = |gradients: &Named, message: &str| {
        let error = adamw.step(gradients, 0.01).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    };
    let mut wrong = gradients(0);
    wrong.insert("c".into(), vector([0.0; 3]));
    assert_rejected(&wrong, "gradient of `c`, which is not a parameter");
    wrong.remove("c");
    wrong.insert("b.weight".into(), matrix([0.0; 4]));
    assert_rejected(&wrong, "gradient of `b.weight` has shape [2, 2]");
    wrong.remove("b.weight");
    assert_rejected(&wrong, "parameter `b.weight` has no gradient");
    for rate in [-0.1, 1.5, f64::NAN] {
        assert!(
            adamw
                .step(&gradients(0), rate)
                .unwrap_err()
                .to_string()
                .contains("learning rate")
        );
    }
    assert_eq!((adamw.steps(), adamw.skipped_steps()), (0, 0));
}

#[test]
fn rejects_invalid_parameters_and_settings() {
    let error = |parameters| AdamW::new(settings(), &parameters).unwrap_err().to_string();
    assert!(error(BTreeMap::new()).contains("no parameters to train"));
    let whole = Tensor::zeros(3, DType::I64, &Device::Cpu).unwrap();
    assert!(error(variables(&named([("ids", whole)]))).contains("`ids` is i64"));
    let bad = AdamWSettings {
        eps: -1.0,
        ..settings()
    };
    assert!(
        AdamW::new(bad, &parameters())
            .unwrap_err()
            .to_string()
            .contains("eps")
    );
}

#[test]
fn reset_optimiser_equals_a_new_one() {
    let parameters = parameters();
    let mut used = AdamW::new(settings(), &parameters).unwrap();
    used.step(&gradients(0), RATES[0]).unwrap();
    used.reset().unwrap();
    let copies: Named = parameters
        .iter()
        .map(|(name, var)| (name.clone(), var.as_detached_tensor().copy().unwrap()))
        .collect();
    let copies = variables(&copies);
    let mut new = AdamW::new(settings(), &copies).unwrap();
    for optimiser in [&mut used, &mut new] {
        optimiser.step(&gradients(1), RATES[1]).unwrap();
        assert_eq!(optimiser.steps(), 1);
    }
    for (name, var) in &parameters {
        assert_eq!(values(var), values(&copies[name]), "{name}");
    }
}

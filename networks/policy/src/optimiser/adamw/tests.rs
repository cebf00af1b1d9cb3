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

/// A matrix, which decays, and a vector, which does not.
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

fn close(is: &[f32], must: &[f64]) {
    assert_eq!(is.len(), must.len());
    for (is, must) in is.iter().zip(must) {
        assert!((f64::from(*is) - must).abs() < 3e-7, "{is} must be {must}");
    }
}

#[test]
fn steps_are_those_of_pytorch() {
    // `clip_grad_norm_(parameters, 2.0)`, then `torch.optim.AdamW` with two groups, of torch 2.15,
    // in f32.
    let parameters = parameters();
    let mut adamw = AdamW::new(settings(), &parameters).unwrap();
    for (step, (rate, norm)) in RATES
        .iter()
        .zip([1.280_868_9, 5.700_877_2, 1.017_426_3])
        .enumerate()
    {
        let facts = adamw.step(&gradients(step), *rate).unwrap();
        assert!(
            (facts.grad_norm - norm).abs() < 1e-6 && facts.applied && facts.clipped == (norm > 2.0),
            "{facts:?}"
        );
    }
    close(
        &values(&parameters["a.weight"]),
        &[0.465_771_914, -1.215_554_357, 1.965_603_590, 0.109_837_115],
    );
    close(
        &values(&parameters["b.weight"]),
        &[0.967_936_218, -0.718_922_496, 0.223_641_992],
    );
    let [first, second] = &adamw.parameters["a.weight"].moments;
    close(
        &values(first),
        &[0.122_722_253, -0.140_296_340, 0.035_124_999, -0.002_638_876],
    );
    close(
        &values(second),
        &[0.013_572_649, 0.020_147_003, 0.000_778_141, 0.005_241_537],
    );
}

#[test]
fn steps_are_those_of_the_papers_formulas() {
    // The whole algorithm in f64, with moments corrected as the paper writes them.
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
        for (at, ([w, m, v], g)) in state.iter_mut().zip(&gradients).enumerate() {
            let g = if norm > 2.0 {
                g * 2.0 / (norm + 1e-6)
            } else {
                *g
            };
            *m = 0.9 * *m + 0.1 * g;
            *v = 0.99 * *v + 0.01 * g * g;
            let (corrected, square) = (*m / (1.0 - 0.9f64.powi(t)), *v / (1.0 - 0.99f64.powi(t)));
            let decay = if at < 4 { 0.1 } else { 0.0 };
            *w = *w - rate * decay * *w - rate * corrected / (square.sqrt() + 1e-6);
        }
    }
    let weights: Vec<f32> = parameters.values().flat_map(|v| values(v)).collect();
    close(
        &weights,
        &state.iter().map(|[w, ..]| *w).collect::<Vec<_>>(),
    );
}

#[test]
fn without_a_largest_norm_gradients_stay_as_long_as_they_are() {
    // The first step of Adam is the sign of the gradient, whatever its length; its moments are not.
    let mut adamw = AdamW::new(
        AdamWSettings {
            max_grad_norm: 0.0,
            ..settings()
        },
        &parameters(),
    )
    .unwrap();
    assert!(!adamw.step(&gradients(1), 0.1).unwrap().clipped);
    close(
        &values(&adamw.parameters["a.weight"].moments[0]),
        &[0.3, -0.4, 0.0, 0.15],
    );
}

#[test]
fn a_rate_of_zero_leaves_weights_and_learns_moments() {
    let parameters = parameters();
    let before: Vec<_> = parameters.values().map(|v| values(v)).collect();
    let mut adamw = AdamW::new(settings(), &parameters).unwrap();
    adamw.step(&gradients(0), 0.0).unwrap();
    assert_eq!(
        before,
        parameters.values().map(|v| values(v)).collect::<Vec<_>>()
    );
    close(
        &values(&adamw.parameters["b.weight"].moments[0]),
        &[0.025, -0.05, 0.1],
    );
}

#[test]
fn a_gradient_that_is_not_finite_changes_nothing_and_is_counted() {
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
    assert_eq!((adamw.steps(), adamw.refused()), (1, 3));
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
fn sixteen_bits_do_not_lose_small_updates() {
    // The bf16 below 1 is 1/256 away, the f16 1/2048: one step of 1e-4 rounds back to 1, and only
    // the master weight knows of it.
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
fn tensors_that_share_storage_with_a_parameter_follow_it() {
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
fn gradients_of_any_layout_count_by_their_place() {
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
fn gradients_that_are_not_the_parameters_are_refused() {
    let mut adamw = AdamW::new(settings(), &parameters()).unwrap();
    let mut refused = |gradients: &Named, words: &str| {
        let error = adamw.step(gradients, 0.01).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    };
    let mut wrong = gradients(0);
    wrong.insert("c".into(), vector([0.0; 3]));
    refused(&wrong, "gradient of `c`, which is no parameter");
    wrong.remove("c");
    wrong.insert("b.weight".into(), matrix([0.0; 4]));
    refused(&wrong, "gradient of `b.weight` has shape [2, 2]");
    wrong.remove("b.weight");
    refused(&wrong, "parameter `b.weight` has no gradient");
    for rate in [-0.1, 1.5, f64::NAN] {
        assert!(
            adamw
                .step(&gradients(0), rate)
                .unwrap_err()
                .to_string()
                .contains("learning rate")
        );
    }
    assert_eq!((adamw.steps(), adamw.refused()), (0, 0));
}

#[test]
fn parameters_that_cannot_be_trained_are_refused() {
    let error = |parameters| AdamW::new(settings(), &parameters).unwrap_err().to_string();
    assert!(error(BTreeMap::new()).contains("no parameter"));
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

//! Every operation against finite differences in `f64`, and the passes of ours against what they replace.

use std::sync::Arc;

use assay_core::Random;
use candle_core::{DType, Device, Result, Tensor, Var};

use super::*;

fn random(shape: &[usize], stream: u64) -> Tensor {
    let mut random = Random::stream(&[stream]);
    let numbers: Vec<f64> = (0..shape.iter().product()).map(|_| random.normal()).collect();
    Tensor::from_vec(numbers, shape, &Device::Cpu).unwrap()
}

/// The gradients of a weighted sum of what `f` gives, against central differences of every number of every input.
fn held(inputs: &[Tensor], f: impl Fn(&[Tensor]) -> Result<Tensor>) {
    let loss = |inputs: &[Tensor]| {
        let out = f(inputs).unwrap();
        let weights = random(out.dims(), 99);
        (out * weights).unwrap().sum_all().unwrap()
    };
    let vars: Vec<Var> = inputs.iter().map(|input| Var::from_tensor(input).unwrap()).collect();
    let tensors: Vec<Tensor> = vars.iter().map(|var| var.as_tensor().clone()).collect();
    let grads = loss(&tensors).backward().unwrap();
    for (which, var) in vars.iter().enumerate() {
        let found =
            grads.get(var).expect("every input has a gradient").flatten_all().unwrap().to_vec1::<f64>().unwrap();
        let numbers = inputs[which].flatten_all().unwrap().to_vec1::<f64>().unwrap();
        for (at, found) in found.iter().enumerate() {
            let shifted = |by: f64| {
                let mut numbers = numbers.clone();
                numbers[at] += by;
                let mut inputs = inputs.to_vec();
                inputs[which] = Tensor::from_vec(numbers, inputs[which].shape(), &Device::Cpu).unwrap();
                loss(&inputs).to_scalar::<f64>().unwrap()
            };
            let expected = (shifted(1e-5) - shifted(-1e-5)) / 2e-5;
            assert!((found - expected).abs() < 1e-7 * expected.abs().max(1.0), "{which}[{at}]: {found} for {expected}");
        }
    }
}

/// The same numbers of both types and of both ways.
fn close(one: &Tensor, other: &Tensor, tolerance: f64) {
    let off = (one.to_dtype(DType::F64).unwrap() - other.to_dtype(DType::F64).unwrap()).unwrap();
    let off = off.abs().unwrap().max_all().unwrap().to_scalar::<f64>().unwrap();
    assert!(off < tolerance, "off by {off}");
}

#[test]
fn norms_have_the_gradient_they_should() {
    held(&[random(&[70, 6], 1), random(&[6], 2)], |x| rms_norm(&x[0], &x[1], 1e-6));
}

#[test]
fn products_have_the_gradient_they_should() {
    held(&[random(&[5, 4], 1), random(&[3, 4], 2)], |x| linear(&x[0], &x[1]));
}

#[test]
fn gates_have_the_gradient_they_should() {
    held(&[random(&[3, 7], 1), random(&[3, 7], 2)], |x| swiglu(&x[0], &x[1]));
}

#[test]
fn turns_have_the_gradient_they_should() {
    let turns = Turns::new(&[0, 1, 2, 0, 5], &[1.0, 0.3, 0.01], DType::F64, &Device::Cpu).unwrap();
    held(&[random(&[5, 2, 6], 1)], |x| rotate(&x[0], &turns));
}

#[test]
fn log_probs_and_entropies_have_the_gradient_they_should() {
    let tokens: Arc<[u32]> = (0..20).map(|at| at % 5).collect();
    held(&[random(&[20, 5], 1)], |x| log_probs(&x[0], &tokens, 0.7));
}

#[test]
fn attention_has_the_gradient_it_should() {
    for window in [None, Some(2)] {
        let span = Span { starts: Arc::new([0, 3, 3, 8]), window };
        held(&[random(&[8, 4, 3], 1), random(&[8, 2, 3], 2), random(&[8, 2, 3], 3)], |x| {
            attention(&x[0], &x[1], &x[2], &span)
        });
    }
}

#[test]
fn attention_over_several_tiles_is_what_it_replaces() {
    for window in [None, Some(40), Some(150)] {
        let span = Span { starts: Arc::new([0, 1, 300, 430]), window };
        let [q, k, v] = [[430, 4, 6], [430, 2, 6], [430, 2, 6]].map(|shape| {
            let x = random(&shape, shape[1] as u64).to_dtype(DType::F32).unwrap();
            Var::from_tensor(&x).unwrap()
        });
        let ours = attention(&q, &k, &v, &span).unwrap();
        let theirs = super::attention::composed(&q, &k, &v, &span).unwrap();
        close(&ours, &theirs, 1e-5);
        let weights = random(ours.dims(), 7).to_dtype(DType::F32).unwrap();
        let grads = |out: &Tensor| (out * &weights).unwrap().sum_all().unwrap().backward().unwrap();
        let (ours, theirs) = (grads(&ours), grads(&theirs));
        for var in [&q, &k, &v] {
            close(ours.get(var).unwrap(), theirs.get(var).unwrap(), 2e-5);
        }
    }
}

/// What other devices run, here in half precision on the CPU, which has no pass of ours.
#[test]
fn what_other_devices_run_is_the_same() {
    let half = |x: &Tensor| x.to_dtype(DType::BF16).unwrap();
    let back = |x: &Tensor| half(x).to_dtype(DType::F64).unwrap();
    let (x, w) = (random(&[9, 8], 1), random(&[8], 2));
    close(&rms_norm(&half(&x), &half(&w), 1e-6).unwrap(), &rms_norm(&back(&x), &back(&w), 1e-6).unwrap(), 0.05);
    close(&swiglu(&half(&x), &half(&x)).unwrap(), &swiglu(&back(&x), &back(&x)).unwrap(), 0.1);
    let heads = random(&[9, 2, 4], 3);
    let turns = |dtype| Turns::new(&[0, 1, 2, 3, 4, 5, 6, 7, 8], &[1.0, 0.1], dtype, &Device::Cpu).unwrap();
    let (ours, theirs) = (rotate(&back(&heads), &turns(DType::F64)), rotate(&half(&heads), &turns(DType::BF16)));
    close(&ours.unwrap(), &theirs.unwrap(), 0.06);
    let tokens: Arc<[u32]> = (0..9).map(|at| at % 8).collect();
    let logits = x.to_dtype(DType::F32).unwrap();
    let composed = {
        let all = candle_nn::ops::log_softmax(&(&logits / 1.3).unwrap(), 1).unwrap();
        let chosen = all.gather(&Tensor::from_slice(&tokens, (9, 1), &Device::Cpu).unwrap(), 1).unwrap();
        let entropy = (all.exp().unwrap() * &all).unwrap().sum_keepdim(1).unwrap().neg().unwrap();
        Tensor::cat(&[chosen, entropy], 1).unwrap()
    };
    close(&log_probs(&logits, &tokens, 1.3).unwrap(), &composed, 1e-5);
}

#[test]
fn tokens_out_of_the_vocabulary_are_refused() {
    let tokens: Arc<[u32]> = Arc::new([5]);
    assert!(log_probs(&random(&[1, 5], 1), &tokens, 1.0).is_err());
}

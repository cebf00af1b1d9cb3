//! Every operation against finite differences in `f64`, and the passes of ours against what they
//! replace.

use std::sync::Arc;

use assay_core::Random;
use candle_core::{DType, Device, Result, Tensor, Var};

use super::linear::linear;
use super::*;

fn random(shape: &[usize], stream: u64) -> Tensor {
    let mut random = Random::stream(&[stream]);
    let numbers: Vec<f64> = (0..shape.iter().product())
        .map(|_| random.normal())
        .collect();
    Tensor::from_vec(numbers, shape, &Device::Cpu).unwrap()
}

/// What arrives at each input of the gradient of a weighted sum of what `f` gives.
fn arrived(vars: &[Var], f: impl Fn(&[Tensor], &mut Tape) -> Result<Tensor>) -> Vec<Tensor> {
    let tensors: Vec<Tensor> = vars.iter().map(|var| var.as_tensor().clone()).collect();
    let mut tape = Tape::default();
    let out = f(&tensors, &mut tape).unwrap();
    let weights = random(out.dims(), 99).to_dtype(out.dtype()).unwrap();
    let found = tape.backward(&weights).unwrap();
    let of = |var: &Var| {
        found
            .iter()
            .find(|(to, _)| to.id() == var.id())
            .expect("every input has a gradient")
            .1
            .clone()
    };
    vars.iter().map(of).collect()
}

/// The gradients of a weighted sum of what `f` gives, against central differences of every number
/// of every input.
fn held(inputs: &[Tensor], f: impl Fn(&[Tensor], &mut Tape) -> Result<Tensor>) {
    let loss = |inputs: &[Tensor]| {
        let out = f(inputs, &mut Tape::default()).unwrap();
        let weights = random(out.dims(), 99);
        (out * weights).unwrap().sum_all().unwrap()
    };
    let vars: Vec<Var> = inputs
        .iter()
        .map(|input| Var::from_tensor(input).unwrap())
        .collect();
    for (which, found) in arrived(&vars, &f).iter().enumerate() {
        let found = found.flatten_all().unwrap().to_vec1::<f64>().unwrap();
        let numbers = inputs[which]
            .flatten_all()
            .unwrap()
            .to_vec1::<f64>()
            .unwrap();
        for (at, found) in found.iter().enumerate() {
            let shifted = |by: f64| {
                let mut numbers = numbers.clone();
                numbers[at] += by;
                let mut inputs = inputs.to_vec();
                inputs[which] =
                    Tensor::from_vec(numbers, inputs[which].shape(), &Device::Cpu).unwrap();
                loss(&inputs).to_scalar::<f64>().unwrap()
            };
            let expected = (shifted(1e-5) - shifted(-1e-5)) / 2e-5;
            assert!(
                (found - expected).abs() < 1e-7 * expected.abs().max(1.0),
                "{which}[{at}]: {found} for {expected}"
            );
        }
    }
}

#[test]
fn a_weight_that_is_laid_out_gives_the_same_products() {
    let [x, weight] =
        [random(&[130, 300], 1), random(&[90, 300], 2)].map(|x| x.to_dtype(DType::F32).unwrap());
    let plain = Weight::Plain(weight.clone())
        .of(&x, &mut Tape::default())
        .unwrap();
    let laid = Weight::Plain(weight).laid_out().unwrap();
    assert!(matches!(laid, Weight::Laid(_)));
    close(&laid.of(&x, &mut Tape::default()).unwrap(), &plain, 1e-4);
    assert!(
        laid.of(&plain, &mut Tape::default()).is_err(),
        "rows of 90 numbers do not fit"
    );
    let wide = Weight::Plain(random(&[2, 3], 3)).laid_out().unwrap();
    assert!(
        matches!(wide, Weight::Plain(_)),
        "what learns in f64 stays as it is"
    );
}

/// The same numbers of both types and of both ways.
fn close(one: &Tensor, other: &Tensor, tolerance: f64) {
    let off = (one.to_dtype(DType::F64).unwrap() - other.to_dtype(DType::F64).unwrap()).unwrap();
    let off = off
        .abs()
        .unwrap()
        .max_all()
        .unwrap()
        .to_scalar::<f64>()
        .unwrap();
    assert!(off < tolerance, "off by {off}");
}

#[test]
fn norms_have_the_gradient_they_should() {
    held(&[random(&[70, 6], 1), random(&[6], 2)], |x, tape| {
        rms_norm(&x[0], &x[1], 1e-6, tape)
    });
    // Of two heads each.
    held(&[random(&[5, 12], 1), random(&[6], 2)], |x, tape| {
        rms_norm(&x[0], &x[1], 1e-6, tape)
    });
}

#[test]
fn products_have_the_gradient_they_should() {
    held(&[random(&[5, 4], 1), random(&[3, 4], 2)], |x, tape| {
        linear(&x[0], &x[1], tape)
    });
}

#[test]
fn sums_have_the_gradient_they_should() {
    held(&[random(&[5, 4], 1), random(&[5, 4], 2)], |x, tape| {
        add(&x[0], &x[1], 0.7, tape)
    });
    held(&[random(&[5, 4], 1), random(&[4], 2)], |x, tape| {
        add_bias(&x[0], &x[1], tape)
    });
}

#[test]
fn chosen_rows_have_the_gradient_they_should() {
    let ids = Tensor::new(&[2u32, 0, 2], &Device::Cpu).unwrap();
    held(&[random(&[4, 3], 1)], |x, tape| rows(&x[0], &ids, tape));
    let none = Tensor::new(&[4u32], &Device::Cpu).unwrap();
    assert!(rows(&random(&[4, 3], 1), &none, &mut Tape::default()).is_err());
}

#[test]
fn gates_have_the_gradient_they_should() {
    held(&[random(&[3, 7], 1), random(&[3, 7], 2)], |x, tape| {
        swiglu(&x[0], &x[1], tape)
    });
}

#[test]
fn turns_have_the_gradient_they_should() {
    let turns = Turns::new(
        &[0, 1, 2, 0, 5],
        &[1.0, 0.3, 0.01],
        DType::F64,
        &Device::Cpu,
    )
    .unwrap();
    held(&[random(&[5, 12], 1)], |x, tape| {
        rotate(&x[0], &turns, 6, tape)
    });
}

#[test]
fn log_probs_and_entropies_have_the_gradient_they_should() {
    let tokens: Arc<[u32]> = (0..20).map(|at| at % 5).collect();
    held(&[random(&[20, 5], 1)], |x, tape| {
        log_probs(&x[0], &tokens, 0.7, tape)
    });
}

#[test]
fn attention_has_the_gradient_it_should() {
    let heads = Heads {
        heads: 4,
        kv_heads: 2,
        head_dim: 3,
    };
    for window in [None, Some(2)] {
        let span = Span {
            starts: Arc::new([0, 3, 3, 8]),
            window,
        };
        held(
            &[random(&[8, 12], 1), random(&[8, 6], 2), random(&[8, 6], 3)],
            |x, tape| attention([&x[0], &x[1], &x[2]], heads, span.clone(), tape),
        );
    }
}

/// Gradients of a tensor that is used more than once are sums.
#[test]
fn what_is_used_twice_has_the_gradient_it_should() {
    held(&[random(&[4, 3], 1), random(&[3, 3], 2)], |x, tape| {
        let once = linear(&x[0], &x[1], tape)?;
        let twice = linear(&once, &x[1], tape)?;
        add(&add(&once, &twice, 1.0, tape)?, &x[0], 0.5, tape)
    });
}

#[test]
fn nothing_is_kept_where_nothing_learns() {
    let mut tape = Tape::default();
    linear(&random(&[5, 4], 1), &random(&[3, 4], 2), &mut tape).unwrap();
    assert!(tape.is_empty());
}

#[test]
fn attention_over_several_tiles_is_what_it_replaces() {
    let heads = Heads {
        heads: 4,
        kv_heads: 2,
        head_dim: 6,
    };
    for window in [None, Some(40), Some(150)] {
        let span = Span {
            starts: Arc::new([0, 1, 300, 430]),
            window,
        };
        let vars = [[430, 24], [430, 12], [430, 12]].map(|shape| {
            Var::from_tensor(
                &random(&shape, shape[1] as u64)
                    .to_dtype(DType::F32)
                    .unwrap(),
            )
            .unwrap()
        });
        let [q, k, v] = &vars;
        let ours = attention([q, k, v], heads, span.clone(), &mut Tape::default()).unwrap();
        let theirs = super::attention::composed([q, k, v], heads, &span).unwrap();
        close(&ours, &theirs, 1e-5);
        let ours = arrived(&vars, |x, tape| {
            attention([&x[0], &x[1], &x[2]], heads, span.clone(), tape)
        });
        let weights = random(theirs.dims(), 99).to_dtype(DType::F32).unwrap();
        let theirs = (theirs * &weights)
            .unwrap()
            .sum_all()
            .unwrap()
            .backward()
            .unwrap();
        for (var, ours) in vars.iter().zip(&ours) {
            close(ours, theirs.get(var).unwrap(), 2e-5);
        }
    }
}

/// What other devices run, here in half precision on the CPU, which has no pass of ours.
#[test]
fn what_other_devices_run_is_the_same() {
    let half = |x: &Tensor| x.to_dtype(DType::BF16).unwrap();
    let back = |x: &Tensor| half(x).to_dtype(DType::F64).unwrap();
    let none = &mut Tape::default();
    let (x, w) = (random(&[9, 8], 1), random(&[8], 2));
    let both = [(half(&x), half(&w)), (back(&x), back(&w))];
    let [theirs, ours] = both
        .each_ref()
        .map(|(x, w)| rms_norm(x, w, 1e-6, none).unwrap());
    close(&ours, &theirs, 0.05);
    let [theirs, ours] = both.each_ref().map(|(x, _)| swiglu(x, x, none).unwrap());
    close(&ours, &theirs, 0.1);
    let [theirs, ours] = both
        .each_ref()
        .map(|(x, w)| add_bias(&add(x, x, 0.3, none).unwrap(), w, none).unwrap());
    close(&ours, &theirs, 0.05);
    let turns = |dtype| {
        Turns::new(
            &[0, 1, 2, 3, 4, 5, 6, 7, 8],
            &[1.0, 0.1],
            dtype,
            &Device::Cpu,
        )
        .unwrap()
    };
    let ours = rotate(&back(&x), &turns(DType::F64), 4, none).unwrap();
    close(
        &ours,
        &rotate(&half(&x), &turns(DType::BF16), 4, none).unwrap(),
        0.06,
    );
    let tokens: Arc<[u32]> = (0..9).map(|at| at % 8).collect();
    let logits = x.to_dtype(DType::F32).unwrap();
    let composed = {
        let all = candle_nn::ops::log_softmax(&(&logits / 1.3).unwrap(), 1).unwrap();
        let chosen = all
            .gather(
                &Tensor::from_slice(&tokens, (9, 1), &Device::Cpu).unwrap(),
                1,
            )
            .unwrap();
        let entropy = (all.exp().unwrap() * &all)
            .unwrap()
            .sum_keepdim(1)
            .unwrap()
            .neg()
            .unwrap();
        Tensor::cat(&[chosen, entropy], 1).unwrap()
    };
    close(
        &log_probs(&logits, &tokens, 1.3, none).unwrap(),
        &composed,
        1e-5,
    );
}

#[test]
fn tokens_out_of_the_vocabulary_are_refused() {
    let tokens: Arc<[u32]> = Arc::new([5]);
    assert!(log_probs(&random(&[1, 5], 1), &tokens, 1.0, &mut Tape::default()).is_err());
}

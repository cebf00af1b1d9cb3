//! Compares the gradient of every operation with finite differences in `f64`, and fused operations
//! with their composed equivalents.

use std::sync::Arc;

use assay_base::Random;
use candle_core::{DType, Device, Result, Tensor, Var};

use super::linear::linear;
use super::*;
use crate::gradients::Gradients;

fn random(shape: &[usize], stream: u64) -> Tensor {
    let mut random = Random::stream(&[stream]);
    let numbers: Vec<f64> = (0..shape.iter().product())
        .map(|_| random.normal())
        .collect();
    Tensor::from_vec(numbers, shape, &Device::Cpu).unwrap()
}

/// Sums of gradients of variables.
fn sums(vars: &[Var]) -> Gradients {
    let named = vars.iter().enumerate();
    Gradients::new(
        &named
            .map(|(at, var)| (at.to_string(), var.clone()))
            .collect(),
    )
    .unwrap()
}

/// The gradients by each input of a weighted sum of the result of `f`.
fn gradients(vars: &[Var], f: impl Fn(&[Tensor], &mut Tape) -> Result<Tensor>) -> Vec<Tensor> {
    let tensors: Vec<Tensor> = vars.iter().map(|var| var.as_tensor().clone()).collect();
    let mut tape = Tape::default();
    let out = f(&tensors, &mut tape).unwrap();
    let weights = random(out.dims(), 99).to_dtype(out.dtype()).unwrap();
    let mut sums = sums(vars);
    let by_input = tape.backward(&weights, &mut sums, &out).unwrap();
    assert!(by_input.is_none());
    sums.end_pass().unwrap();
    (0..vars.len())
        .map(|at| sums.tensors()[&at.to_string()].clone())
        .collect()
}

/// Compares the gradients of a weighted sum of the result of `f` with central differences, for
/// every number of every input.
fn assert_gradients(inputs: &[Tensor], f: impl Fn(&[Tensor], &mut Tape) -> Result<Tensor>) {
    let loss = |inputs: &[Tensor]| {
        let out = f(inputs, &mut Tape::default()).unwrap();
        let weights = random(out.dims(), 99);
        (out * weights).unwrap().sum_all().unwrap()
    };
    let vars: Vec<Var> = inputs
        .iter()
        .map(|input| Var::from_tensor(input).unwrap())
        .collect();
    for (which, gradient) in gradients(&vars, &f).iter().enumerate() {
        let gradient = gradient.flatten_all().unwrap().to_vec1::<f64>().unwrap();
        let numbers = inputs[which]
            .flatten_all()
            .unwrap()
            .to_vec1::<f64>()
            .unwrap();
        for (index, slope) in gradient.iter().enumerate() {
            let shifted = |by: f64| {
                let mut numbers = numbers.clone();
                numbers[index] += by;
                let mut inputs = inputs.to_vec();
                inputs[which] =
                    Tensor::from_vec(numbers, inputs[which].shape(), &Device::Cpu).unwrap();
                loss(&inputs).to_scalar::<f64>().unwrap()
            };
            let expected = (shifted(1e-5) - shifted(-1e-5)) / 2e-5;
            assert!(
                (slope - expected).abs() < 1e-7 * expected.abs().max(1.0),
                "{which}[{index}]: {slope} is not {expected}"
            );
        }
    }
}

#[test]
fn packed_weights_yield_the_same_products() {
    let [x, weight] =
        [random(&[130, 300], 1), random(&[90, 300], 2)].map(|x| x.to_dtype(DType::F32).unwrap());
    let plain = Weight::Tensor(weight.clone())
        .apply(&x, &mut Tape::default())
        .unwrap();
    let packed = Weight::Tensor(weight).pack().unwrap();
    assert!(matches!(packed, Weight::Packed(_)));
    assert_close(
        &packed.apply(&x, &mut Tape::default()).unwrap(),
        &plain,
        1e-4,
    );
    assert!(
        packed.apply(&plain, &mut Tape::default()).is_err(),
        "rows of 90 numbers do not fit"
    );
    let wide = Weight::Tensor(random(&[2, 3], 3)).pack().unwrap();
    assert!(
        matches!(wide, Weight::Tensor(_)),
        "weights in f64 are not packed"
    );
}

/// Asserts that two tensors of any types differ by less than `tolerance`.
fn assert_close(one: &Tensor, other: &Tensor, tolerance: f64) {
    let difference =
        (one.to_dtype(DType::F64).unwrap() - other.to_dtype(DType::F64).unwrap()).unwrap();
    let difference = difference
        .abs()
        .unwrap()
        .max_all()
        .unwrap()
        .to_scalar::<f64>()
        .unwrap();
    assert!(difference < tolerance, "differs by {difference}");
}

#[test]
fn differentiates_norms() {
    assert_gradients(&[random(&[70, 6], 1), random(&[6], 2)], |x, tape| {
        rms_norm(&x[0], &x[1], 1e-6, tape)
    });
    // Rows with two heads each.
    assert_gradients(&[random(&[5, 12], 1), random(&[6], 2)], |x, tape| {
        rms_norm(&x[0], &x[1], 1e-6, tape)
    });
}

#[test]
fn differentiates_products() {
    assert_gradients(&[random(&[5, 4], 1), random(&[3, 4], 2)], |x, tape| {
        linear(&x[0], &x[1], tape)
    });
}

#[test]
fn differentiates_sums() {
    assert_gradients(&[random(&[5, 4], 1), random(&[5, 4], 2)], |x, tape| {
        add(&x[0], &x[1], 0.7, tape)
    });
    assert_gradients(&[random(&[5, 4], 1), random(&[4], 2)], |x, tape| {
        add_bias(&x[0], &x[1], tape)
    });
}

#[test]
fn differentiates_row_selection() {
    let ids = Tensor::new(&[2u32, 0, 2], &Device::Cpu).unwrap();
    assert_gradients(&[random(&[4, 3], 1)], |x, tape| rows(&x[0], &ids, tape));
    let out_of_range = Tensor::new(&[4u32], &Device::Cpu).unwrap();
    assert!(rows(&random(&[4, 3], 1), &out_of_range, &mut Tape::default()).is_err());
}

#[test]
fn differentiates_swiglu() {
    assert_gradients(&[random(&[3, 7], 1), random(&[3, 7], 2)], |x, tape| {
        swiglu(&x[0], &x[1], tape)
    });
}

#[test]
fn differentiates_rotary_embeddings() {
    let table = RotaryTable::new(
        &[0, 1, 2, 0, 5],
        &[1.0, 0.3, 0.01],
        DType::F64,
        &Device::Cpu,
    )
    .unwrap();
    assert_gradients(&[random(&[5, 12], 1)], |x, tape| {
        rotate(&x[0], &table, 6, tape)
    });
}

/// Scores of 20 tokens by a head with 5 rows.
fn vocabulary(rows: Option<usize>, composed: bool) -> Vocabulary {
    Vocabulary {
        tokens: (0..20).map(|at| at % 5).collect(),
        scale: 1.0 / 0.7,
        rows,
        composed,
    }
}

/// The gradients of a weighted sum of log-probabilities and, unless the weights are `None`,
/// entropies, by hidden states and head.
fn vocabulary_gradients(
    [hidden, head]: [&Var; 2],
    vocabulary: Vocabulary,
    weights: [Option<&Tensor>; 2],
) -> [Tensor; 2] {
    let mut sums = sums(std::slice::from_ref(head));
    let scored = score_rows(hidden, head, vocabulary, true).unwrap();
    let by_hidden = scored.backward(weights, &mut sums, head).unwrap();
    [by_hidden, sums.tensors()["0"].clone()]
}

#[test]
fn differentiates_log_probs_and_entropies() {
    let inputs = [random(&[20, 3], 1), random(&[5, 3], 2)];
    let weights = [random(&[20], 3), random(&[20], 4)];
    for (rows, composed) in [
        (None, false),
        (Some(7), false),
        (None, true),
        (Some(7), true),
    ] {
        for which in 0..4 {
            let weight = |at: usize| (which >> at & 1 == 0).then_some(&weights[at]);
            let weights = [weight(0), weight(1)];
            let vars = inputs
                .each_ref()
                .map(|input| Var::from_tensor(input).unwrap());
            let by = vocabulary_gradients(vars.each_ref(), vocabulary(rows, composed), weights);
            let loss = |inputs: &[Tensor; 2]| {
                let scored =
                    score_rows(&inputs[0], &inputs[1], vocabulary(rows, composed), false).unwrap();
                let scores = [scored.log_probs, scored.entropies];
                let parts = scores.iter().zip(weights).map(|(scores, weights)| {
                    let weights = weights?;
                    let sum = (scores * weights).unwrap().sum_all().unwrap();
                    Some(sum.to_scalar::<f64>().unwrap())
                });
                parts.flatten().sum::<f64>()
            };
            for (at, gradient) in by.iter().enumerate() {
                let gradient = gradient.flatten_all().unwrap().to_vec1::<f64>().unwrap();
                for (index, slope) in gradient.iter().enumerate() {
                    let shifted = |by: f64| {
                        let mut inputs = inputs.clone();
                        let numbers = inputs[at].flatten_all().unwrap();
                        let mut numbers = numbers.to_vec1::<f64>().unwrap();
                        numbers[index] += by;
                        let shape = inputs[at].shape().clone();
                        inputs[at] = Tensor::from_vec(numbers, shape, &Device::Cpu).unwrap();
                        loss(&inputs)
                    };
                    let expected = (shifted(1e-5) - shifted(-1e-5)) / 2e-5;
                    assert!(
                        (slope - expected).abs() < 1e-7 * expected.abs().max(1.0),
                        "{rows:?} {composed} {which} {at}[{index}]: {slope} is not {expected}"
                    );
                }
            }
        }
    }
}

#[test]
fn chunks_of_the_vocabulary_change_nothing() {
    let f32 = |shape: &[usize], stream| random(shape, stream).to_dtype(DType::F32).unwrap();
    // Logits of about 1.
    let hidden = (f32(&[20, 64], 1) * 0.125).unwrap();
    let vars = [hidden, f32(&[5, 64], 2)];
    let vars = vars
        .each_ref()
        .map(|input| Var::from_tensor(input).unwrap());
    let weights = [f32(&[20], 3), f32(&[20], 4)];
    let weights = weights.each_ref().map(Some);
    let scores = |rows, composed| {
        let scored = score_rows(&vars[0], &vars[1], vocabulary(rows, composed), true).unwrap();
        [scored.log_probs, scored.entropies]
    };
    let (plain, whole) = (
        scores(None, false),
        vocabulary_gradients(vars.each_ref(), vocabulary(None, false), weights),
    );
    for (rows, composed) in [
        (Some(1), false),
        (Some(6), false),
        (Some(20), true),
        (Some(6), true),
    ] {
        let parts = vocabulary_gradients(vars.each_ref(), vocabulary(rows, composed), weights);
        let scores = scores(rows, composed);
        for (one, other) in scores.iter().chain(&parts).zip(plain.iter().chain(&whole)) {
            let largest = other.abs().unwrap().max_all().unwrap();
            let largest = f64::from(largest.to_scalar::<f32>().unwrap());
            assert_close(one, other, 1e-6 * largest.max(1.0));
        }
    }
}

#[test]
fn differentiates_attention() {
    let heads = Heads {
        heads: 4,
        kv_heads: 2,
        head_dim: 3,
    };
    for window in [None, Some(2)] {
        let span = Span {
            starts: Arc::new([0, 3, 3, 8]),
            window,
            masks: Masks::default(),
        };
        assert_gradients(
            &[random(&[8, 12], 1), random(&[8, 6], 2), random(&[8, 6], 3)],
            |x, tape| attention([&x[0], &x[1], &x[2]], heads, span.clone(), tape),
        );
    }
}

/// The gradient of a tensor that is used more than once is a sum.
#[test]
fn differentiates_reused_tensors() {
    assert_gradients(&[random(&[4, 3], 1), random(&[3, 3], 2)], |x, tape| {
        let once = linear(&x[0], &x[1], tape)?;
        let twice = linear(&once, &x[1], tape)?;
        add(&add(&once, &twice, 1.0, tape)?, &x[0], 0.5, tape)
    });
}

#[test]
fn records_nothing_without_trained_parameters() {
    let mut tape = Tape::default();
    linear(&random(&[5, 4], 1), &random(&[3, 4], 2), &mut tape).unwrap();
    assert!(tape.is_empty());
}

#[test]
fn tiled_attention_equals_composed_attention() {
    let heads = Heads {
        heads: 4,
        kv_heads: 2,
        head_dim: 6,
    };
    for window in [None, Some(40), Some(150)] {
        let span = Span {
            starts: Arc::new([0, 1, 300, 430]),
            window,
            masks: Masks::default(),
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
        let fused = attention([q, k, v], heads, span.clone(), &mut Tape::default()).unwrap();
        let composed = super::attention::composed([q, k, v], heads, &span).unwrap();
        assert_close(&fused, &composed, 1e-5);
        let fused = gradients(&vars, |x, tape| {
            attention([&x[0], &x[1], &x[2]], heads, span.clone(), tape)
        });
        let weights = random(composed.dims(), 99).to_dtype(DType::F32).unwrap();
        let composed = (composed * &weights)
            .unwrap()
            .sum_all()
            .unwrap()
            .backward()
            .unwrap();
        for (var, fused) in vars.iter().zip(&fused) {
            assert_close(fused, composed.get(var).unwrap(), 2e-5);
        }
    }
}

/// Half precision on a CPU uses the composed operations, which other devices run.
#[test]
fn composed_operations_equal_fused_operations() {
    let half = |x: &Tensor| x.to_dtype(DType::BF16).unwrap();
    let rounded = |x: &Tensor| half(x).to_dtype(DType::F64).unwrap();
    let tape = &mut Tape::default();
    let (x, w) = (random(&[9, 8], 1), random(&[8], 2));
    let both = [(half(&x), half(&w)), (rounded(&x), rounded(&w))];
    let [composed, fused] = both
        .each_ref()
        .map(|(x, w)| rms_norm(x, w, 1e-6, tape).unwrap());
    assert_close(&fused, &composed, 0.05);
    let [composed, fused] = both.each_ref().map(|(x, _)| swiglu(x, x, tape).unwrap());
    assert_close(&fused, &composed, 0.1);
    let [composed, fused] = both
        .each_ref()
        .map(|(x, w)| add_bias(&add(x, x, 0.3, tape).unwrap(), w, tape).unwrap());
    assert_close(&fused, &composed, 0.05);
    let table = |dtype| {
        RotaryTable::new(
            &[0, 1, 2, 3, 4, 5, 6, 7, 8],
            &[1.0, 0.1],
            dtype,
            &Device::Cpu,
        )
        .unwrap()
    };
    let fused = rotate(&rounded(&x), &table(DType::F64), 4, tape).unwrap();
    assert_close(
        &fused,
        &rotate(&half(&x), &table(DType::BF16), 4, tape).unwrap(),
        0.06,
    );
}

#[test]
fn rejects_tokens_outside_the_vocabulary() {
    let wrong = Vocabulary {
        tokens: Arc::new([5]),
        ..vocabulary(None, false)
    };
    assert!(score_rows(&random(&[1, 3], 1), &random(&[5, 3], 2), wrong, false).is_err());
}

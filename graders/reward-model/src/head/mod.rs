//! Heads: from the hidden states of a few rows to the model's output.
//!
//! A head runs on the CPU in `f32`, with any data type of the backbone: near 23, `bf16` has a
//! resolution of 0.125, so completions of one group would tie. The cost is small because a head has
//! few rows.

pub(crate) mod detect;
mod matrix;

use assay_core::reward_model::{ModelOutput, Scale, sigmoid, softmax, unit};

use crate::backbone::norm::RowNorm;
use matrix::Matrix;

/// Interpretation of a head's outputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OutputKind {
    /// One unbounded number.
    Scalar,
    /// A logit for each class.
    Classes,
    /// A logit for each label token.
    Labels,
    /// Logits of `bad` and `good_probability` for each step.
    Steps,
    /// An embedding.
    Embedding,
}

impl OutputKind {
    /// Name of the output kind, as model lists show it.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Scalar => "scalar",
            Self::Classes => "classes",
            Self::Labels => "labels",
            Self::Steps => "steps",
            Self::Embedding => "embedding",
        }
    }

    /// Scale of the raw number.
    pub(crate) fn scale(self) -> Scale {
        match self {
            Self::Scalar => Scale::Logit,
            Self::Classes | Self::Labels | Self::Steps => Scale::Probability,
            Self::Embedding => Scale::Cosine,
        }
    }
}

/// Layers between a hidden state and the outputs.
enum HeadLayers {
    /// `out(x)`
    One(Matrix),
    /// `out(relu(first(x)))`
    Two(Matrix, Matrix),
    /// `out(tanh(pool(x)))`: BERT.
    Pooler(Matrix, Matrix),
    /// `out(norm(gelu(dense(x))))`: ModernBERT.
    Prediction(Matrix, RowNorm, Matrix),
    /// `x`, or `x` scaled to length 1.
    None { unit_length: bool },
}

/// A head with its tensors.
pub(crate) struct Head {
    pub(crate) output_kind: OutputKind,
    layers: HeadLayers,
}

impl Head {
    /// Computes the outputs of each row. Each row contains `hidden` numbers.
    pub(crate) fn forward(&self, rows: Vec<Vec<f32>>) -> Vec<Vec<f32>> {
        match &self.layers {
            HeadLayers::One(out) => out.apply(&rows),
            HeadLayers::Two(first, out) => out.apply(&map_values(first.apply(&rows), relu)),
            HeadLayers::Pooler(pool, out) => {
                out.apply(&map_values(pool.apply(&rows), |x| f64::from(x).tanh()))
            }
            HeadLayers::Prediction(dense, norm, out) => {
                let mut rows = map_values(dense.apply(&rows), gelu);
                rows.iter_mut().for_each(|row| norm.apply(row));
                out.apply(&rows)
            }
            HeadLayers::None { unit_length: false } => rows,
            HeadLayers::None { unit_length: true } => rows.iter().map(|row| unit(row)).collect(),
        }
    }

    /// Converts the outputs of the rows of one sequence.
    pub(crate) fn read(&self, mut rows: Vec<Vec<f32>>) -> ModelOutput {
        if self.output_kind == OutputKind::Steps {
            return ModelOutput::Steps(rows.iter().map(|row| good_probability(row)).collect());
        }
        let row = rows.pop().unwrap_or_default();
        match self.output_kind {
            OutputKind::Scalar => ModelOutput::Scalar(row.first().copied().unwrap_or(f32::NAN)),
            OutputKind::Classes => ModelOutput::Classes(row),
            OutputKind::Labels => ModelOutput::Labels(softmax(&row)),
            OutputKind::Steps | OutputKind::Embedding => ModelOutput::Embedding(row),
        }
    }
}

/// Probability of the second class, or of the only class.
fn good_probability(row: &[f32]) -> f32 {
    match row {
        [only] => narrow(sigmoid(f64::from(*only))),
        _ => softmax(row).get(1).copied().unwrap_or(f32::NAN),
    }
}

/// Cosine similarity of two embeddings, or 0 if one of them has length 0.
pub(crate) fn cosine(a: &[f32], b: &[f32]) -> f32 {
    let dot = |a: &[f32], b: &[f32]| {
        a.iter()
            .zip(b)
            .map(|(a, b)| f64::from(*a) * f64::from(*b))
            .sum::<f64>()
    };
    let lengths = (dot(a, a) * dot(b, b)).sqrt();
    if lengths > 0.0 {
        narrow((dot(a, b) / lengths).clamp(-1.0, 1.0))
    } else {
        0.0
    }
}

/// Positive part. Not a number stays one, which `f32::max` would replace with 0: the head would
/// turn a failed pass into a plausible score.
fn relu(x: f32) -> f32 {
    if x < 0.0 { 0.0 } else { x }
}

fn gelu(x: f32) -> f64 {
    let x = f64::from(x);
    0.5 * x * (1.0 + candle_core::cpu::erf::erf_f64(x / std::f64::consts::SQRT_2))
}

fn map_values<T: Into<f64>>(rows: Vec<Vec<f32>>, f: impl Fn(f32) -> T) -> Vec<Vec<f32>> {
    rows.into_iter()
        .map(|row| row.into_iter().map(|x| narrow(f(x).into())).collect())
        .collect()
}

fn narrow(number: f64) -> f32 {
    // Results are f32.
    number as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_keep_what_is_not_a_number() {
        let matrix = || Matrix::of_rows(&[1.0, 2.0, 3.0, 4.0], 2, &[0, 1]).unwrap();
        let head = |layers| Head {
            output_kind: OutputKind::Classes,
            layers,
        };
        for layers in [
            HeadLayers::One(matrix()),
            HeadLayers::Two(matrix(), matrix()),
            HeadLayers::Pooler(matrix(), matrix()),
            HeadLayers::None { unit_length: true },
        ] {
            let rows = vec![vec![1.0, f32::NAN], vec![1.0, 2.0]];
            let outputs = head(layers).forward(rows);
            assert!(outputs[0].iter().any(|x| x.is_nan()), "{outputs:?}");
            assert!(outputs[1].iter().all(|x| x.is_finite()), "{outputs:?}");
        }
    }

    #[test]
    fn cosine_with_a_zero_vector_is_zero() {
        assert_eq!(cosine(&[0.0, 0.0], &[1.0, 0.0]), 0.0);
        assert_eq!(cosine(&[3.0, 0.0], &[1.0, 0.0]), 1.0);
    }
}

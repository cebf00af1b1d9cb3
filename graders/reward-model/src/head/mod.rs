//! Heads: from the hidden states of a few rows to what the model says.
//!
//! A head runs on the CPU in `f32`, whatever the body computes in: near 23 a `bf16` has steps of
//! 0.125, and completions of one group would tie. Its rows are few, so this costs next to nothing.

pub(crate) mod detect;
mod matrix;

use assay_core::reward_model::{Readout, Scale, sigmoid, softmax, unit};

use crate::body::norm::RowNorm;
use matrix::Matrix;

/// What a head's numbers mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// One number of any size.
    Scalar,
    /// A logit for each class.
    Classes,
    /// A logit for each label token.
    Labels,
    /// Logits of `bad` and `good`, for each step.
    Steps,
    /// An embedding.
    Embedding,
}

impl Meaning {
    /// The word for it in lists.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Scalar => "scalar",
            Self::Classes => "classes",
            Self::Labels => "labels",
            Self::Steps => "steps",
            Self::Embedding => "embedding",
        }
    }

    /// The scale of its one number.
    pub(crate) fn scale(self) -> Scale {
        match self {
            Self::Scalar => Scale::Logit,
            Self::Classes | Self::Labels | Self::Steps => Scale::Probability,
            Self::Embedding => Scale::Cosine,
        }
    }
}

/// What is computed between a hidden state and the numbers.
enum Layers {
    /// `out(x)`
    One(Matrix),
    /// `out(relu(first(x)))`
    Two(Matrix, Matrix),
    /// `out(tanh(pool(x)))`: BERT.
    Pooler(Matrix, Matrix),
    /// `out(norm(gelu(dense(x))))`: ModernBERT.
    Prediction(Matrix, RowNorm, Matrix),
    /// `x` itself.
    None { unit: bool },
}

/// A head.
pub(crate) struct Head {
    pub(crate) meaning: Meaning,
    layers: Layers,
}

impl Head {
    /// Numbers for each row: `rows` hold `hidden` numbers each.
    pub(crate) fn forward(&self, rows: Vec<Vec<f32>>) -> Vec<Vec<f32>> {
        match &self.layers {
            Layers::One(out) => out.apply(&rows),
            Layers::Two(first, out) => out.apply(&mapped(first.apply(&rows), |x| x.max(0.0))),
            Layers::Pooler(pool, out) => {
                out.apply(&mapped(pool.apply(&rows), |x| f64::from(x).tanh()))
            }
            Layers::Prediction(dense, norm, out) => {
                let mut rows = mapped(dense.apply(&rows), gelu);
                rows.iter_mut().for_each(|row| norm.apply(row));
                out.apply(&rows)
            }
            Layers::None { unit: false } => rows,
            Layers::None { unit: true } => rows.iter().map(|row| unit(row)).collect(),
        }
    }

    /// What the numbers of one sequence's rows say.
    pub(crate) fn read(&self, mut rows: Vec<Vec<f32>>) -> Readout {
        if self.meaning == Meaning::Steps {
            return Readout::Steps(rows.iter().map(|row| good(row)).collect());
        }
        let row = rows.pop().unwrap_or_default();
        match self.meaning {
            Meaning::Scalar => Readout::Scalar(row.first().copied().unwrap_or(f32::NAN)),
            Meaning::Classes => Readout::Classes(row),
            Meaning::Labels => Readout::Labels(softmax(&row)),
            Meaning::Steps | Meaning::Embedding => Readout::Embedding(row),
        }
    }
}

/// Probability of the second class, or of the only one.
fn good(row: &[f32]) -> f32 {
    match row {
        [only] => narrow(sigmoid(f64::from(*only))),
        _ => softmax(row).get(1).copied().unwrap_or(f32::NAN),
    }
}

/// Cosine of two embeddings; 0 where one has no length.
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

fn gelu(x: f32) -> f64 {
    let x = f64::from(x);
    0.5 * x * (1.0 + candle_core::cpu::erf::erf_f64(x / std::f64::consts::SQRT_2))
}

fn mapped<T: Into<f64>>(rows: Vec<Vec<f32>>, f: impl Fn(f32) -> T) -> Vec<Vec<f32>> {
    rows.into_iter()
        .map(|row| row.into_iter().map(|x| narrow(f(x).into())).collect())
        .collect()
}

#[expect(clippy::cast_possible_truncation, reason = "results are f32")]
fn narrow(number: f64) -> f32 {
    number as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cosine_with_nothing_is_none() {
        assert_eq!(cosine(&[0.0, 0.0], &[1.0, 0.0]), 0.0);
        assert_eq!(cosine(&[3.0, 0.0], &[1.0, 0.0]), 1.0);
    }
}

//! The numbers under a model's head, in the forms in which other servers hand them out.

use assay_core::reward_model::{ModelInfo, ModelScore, Readout, Scale, sigmoid, softmax};

/// What is done to logits before they go out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::compat) enum Activation {
    /// Nothing.
    Off,
    /// A softmax of several classes; one number stays as it is.
    Default,
    /// Also a sigmoid of one number.
    On,
}

impl Activation {
    /// As a request says it, or leaves it open.
    pub(in crate::compat) fn asked(wish: Option<bool>) -> Self {
        match wish {
            None => Self::Default,
            Some(true) => Self::On,
            Some(false) => Self::Off,
        }
    }
}

/// The numbers under a model's head, as the peers hand them out: one of a reward model, one a
/// class, label, step or dimension.
pub(in crate::compat) fn values(
    model: &ModelInfo,
    score: &ModelScore,
    activation: Activation,
) -> Vec<f32> {
    match &score.readout {
        Readout::Scalar(value) if activation == Activation::On && model.scale == Scale::Logit => {
            vec![squeezed(*value)]
        }
        Readout::Scalar(value) => vec![*value],
        Readout::Classes(logits) if activation != Activation::Off => softmax(logits),
        Readout::Classes(values)
        | Readout::Labels(values)
        | Readout::Steps(values)
        | Readout::Embedding(values) => values.clone(),
    }
}

/// The name of the `at`th class, as `transformers` writes those that have none.
pub(in crate::compat) fn label(model: &ModelInfo, at: usize) -> String {
    model
        .labels
        .get(at)
        .cloned()
        .unwrap_or_else(|| format!("LABEL_{at}"))
}

/// The place of the largest value, the first of equals.
pub(in crate::compat) fn largest(values: &[f32]) -> usize {
    let mut best = 0;
    for (at, value) in values.iter().enumerate() {
        if *value > values[best] {
            best = at;
        }
    }
    best
}

/// [`sigmoid`] of one number, which leaves as precise as it came.
#[expect(
    clippy::cast_possible_truncation,
    reason = "a probability as precise as its logit"
)]
pub(in crate::compat) fn squeezed(logit: f32) -> f32 {
    sigmoid(f64::from(logit)) as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_equals_is_the_largest() {
        assert_eq!(largest(&[1.0, 3.0, 3.0]), 1);
    }
}

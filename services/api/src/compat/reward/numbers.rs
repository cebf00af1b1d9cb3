//! The outputs of a model's head in the formats of other servers.

use assay_core::reward_model::{ModelInfo, ModelOutput, ModelScore, Scale, sigmoid, softmax};

/// Which activation is applied to logits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::compat) enum Activation {
    /// None.
    Off,
    /// A softmax for several classes; none for a single number.
    Default,
    /// A softmax for several classes, a sigmoid for a single number.
    On,
}

impl Activation {
    /// Converts the optional field of a request.
    pub(in crate::compat) fn from_field(use_activation: Option<bool>) -> Self {
        match use_activation {
            None => Self::Default,
            Some(true) => Self::On,
            Some(false) => Self::Off,
        }
    }
}

/// The outputs of a model's head: one number for a reward model, otherwise one for each class,
/// label, step or dimension.
pub(in crate::compat) fn values(
    model: &ModelInfo,
    score: &ModelScore,
    activation: Activation,
) -> Vec<f32> {
    match &score.readout {
        ModelOutput::Scalar(value)
            if activation == Activation::On && model.scale == Scale::Logit =>
        {
            vec![sigmoid_f32(*value)]
        }
        ModelOutput::Scalar(value) => vec![*value],
        ModelOutput::Classes(logits) if activation != Activation::Off => softmax(logits),
        ModelOutput::Classes(values)
        | ModelOutput::Labels(values)
        | ModelOutput::Steps(values)
        | ModelOutput::Embedding(values) => values.clone(),
    }
}

/// Name of the class with this index, by default the name that `transformers` uses.
pub(in crate::compat) fn label(model: &ModelInfo, index: usize) -> String {
    model
        .labels
        .get(index)
        .cloned()
        .unwrap_or_else(|| format!("LABEL_{index}"))
}

/// Index of the largest value, the first of equal ones.
pub(in crate::compat) fn argmax(values: &[f32]) -> usize {
    let mut best = 0;
    for (at, value) in values.iter().enumerate() {
        if *value > values[best] {
            best = at;
        }
    }
    best
}

/// [`sigmoid`] with the precision of its argument.
pub(in crate::compat) fn sigmoid_f32(logit: f32) -> f32 {
    // The logit has the precision of an f32 too.
    sigmoid(f64::from(logit)) as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn argmax_returns_the_first_of_equal_values() {
        assert_eq!(argmax(&[1.0, 3.0, 3.0]), 1);
    }
}

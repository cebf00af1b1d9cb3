//! Evidence for a score.

use assay_core::Evidence;
use assay_core::reward_model::{ModelInfo, ModelOutput, ModelScore};
use serde_json::{Map, Value};

/// Maximum number of steps in the evidence. The grade contains all of them.
const MAX_STEPS: usize = 100;

/// Evidence with the model, its input and its output.
pub(super) fn of(model: &ModelInfo, score: &ModelScore) -> Evidence {
    let mut evidence = Evidence::new()
        .text("model", &model.name)
        .text("model_version", &model.version)
        .value(
            "scale",
            serde_json::to_value(model.scale).unwrap_or_default(),
        )
        .value("tokens", score.tokens)
        .value("last_ids", score.last_ids.clone());
    if let Some(raw) = score.raw {
        evidence = evidence.value("raw", shortest(raw));
    }
    if score.truncated_tokens > 0 {
        evidence = evidence.value("truncated_tokens", score.truncated_tokens);
    }
    let named = |numbers: &[f32]| -> Map<String, Value> {
        model
            .labels
            .iter()
            .cloned()
            .zip(numbers.iter().map(|number| Value::from(shortest(*number))))
            .collect()
    };
    match &score.readout {
        ModelOutput::Classes(logits) => evidence.value("classes", named(logits)),
        ModelOutput::Labels(probabilities) => evidence.value("labels", named(probabilities)),
        ModelOutput::Steps(steps) => evidence.value(
            "steps",
            steps
                .iter()
                .take(MAX_STEPS)
                .map(|step| shortest(*step))
                .collect::<Vec<_>>(),
        ),
        ModelOutput::Scalar(_) | ModelOutput::Embedding(_) => evidence,
    }
}

/// Converts via the shortest decimal representation, so that 0.1 stays 0.1 and does not become
/// 0.10000000149.
pub(super) fn shortest(number: f32) -> f64 {
    number.to_string().parse().unwrap_or(f64::from(number))
}

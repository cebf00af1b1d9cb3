//! Low-rank adapters (LoRA, arXiv 2106.09685): few trained parameters next to frozen weights.

use std::collections::BTreeMap;

use assay_base::Random;
use candle_core::{Device, Tensor, Var};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::PolicyError;

/// Which projections have adapters, and their size.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LoraSettings {
    /// Inner dimension of the two factors; at least 1.
    pub rank: usize,
    /// The product of the factors is scaled by alpha / rank.
    pub alpha: f64,
    /// Projections, by the last part of their names.
    pub targets: Vec<String>,
}

impl Default for LoraSettings {
    fn default() -> Self {
        Self {
            rank: 16,
            alpha: 32.0,
            targets: PROJECTIONS.iter().copied().map(str::to_owned).collect(),
        }
    }
}

/// Start of the names of factors in PEFT.
const PREFIX: &str = "base_model.model.";

/// All projections.
const PROJECTIONS: &[&str] = &[
    "q_proj",
    "k_proj",
    "v_proj",
    "o_proj",
    "gate_proj",
    "up_proj",
    "down_proj",
];

impl LoraSettings {
    /// Rejects settings that leave nothing to train.
    pub(crate) fn check(&self) -> Result<(), PolicyError> {
        if self.rank == 0 || !(self.alpha.is_finite() && self.alpha > 0.0) {
            return Err(PolicyError::new(
                "`lora.rank` must be at least 1 and `lora.alpha` above 0",
            ));
        }
        if self.targets.is_empty() {
            return Err(PolicyError::new(format!(
                "`lora.targets` is empty; choose from {}",
                PROJECTIONS.join(", ")
            )));
        }
        match self
            .targets
            .iter()
            .find(|target| !PROJECTIONS.contains(&target.as_str()))
        {
            Some(target) => {
                let known = PROJECTIONS.join(", ");
                Err(PolicyError::new(format!(
                    "unknown projection `{target}` in `lora.targets`; choose from {known}"
                )))
            }
            None => Ok(()),
        }
    }

    /// `alpha / rank`.
    pub(crate) fn scale(&self) -> f64 {
        self.alpha / self.rank as f64
    }

    /// Whether a projection has an adapter, by the last part of its name.
    pub(crate) fn is_target(&self, projection: &str) -> bool {
        self.targets
            .iter()
            .any(|target| projection.rsplit('.').next() == Some(target))
    }

    /// Number of parameters of the adapter of a weight, if it has one.
    pub(crate) fn size(&self, weight: &str, shape: &[usize]) -> Option<u64> {
        let projection = weight.strip_suffix(".weight")?;
        let sum: usize = shape.iter().sum();
        self.is_target(projection).then(|| (self.rank * sum) as u64)
    }

    /// Creates the factors for weights of shape `[out, in]`. The first factor is random and the
    /// second 0, so that the adapters have no effect at the start.
    pub(crate) fn factors<'a>(
        &self,
        weights: impl Iterator<Item = (&'a String, &'a Tensor)>,
        seed: u64,
        device: &Device,
    ) -> Result<BTreeMap<String, Var>, PolicyError> {
        let mut factors = BTreeMap::new();
        for (name, weight) in weights {
            let Some(projection) = name
                .strip_suffix(".weight")
                .filter(|name| self.is_target(name))
            else {
                continue;
            };
            let (out, inner) = weight.dims2()?;
            let [a, b] = names(projection);
            let mut random = Random::stream(&[seed, stream_of(&a)]);
            // Sizes of layers are small.
            let numbers: Vec<f32> = (0..self.rank * inner)
                .map(|_| (random.normal() / (inner as f64).sqrt()) as f32)
                .collect();
            let first = Tensor::from_vec(numbers, (self.rank, inner), &Device::Cpu)?
                .to_dtype(weight.dtype())?;
            let first = first.to_device(device)?;
            factors.insert(a, Var::from_tensor(&first)?);
            factors.insert(
                b,
                Var::from_tensor(&Tensor::zeros((out, self.rank), weight.dtype(), device)?)?,
            );
        }
        Ok(factors)
    }

    /// The content of `adapter_config.json` of PEFT.
    pub(crate) fn config(&self) -> Value {
        json!({
            "peft_type": "LORA", "task_type": "CAUSAL_LM", "r": self.rank,
            "lora_alpha": self.alpha, "lora_dropout": 0.0, "bias": "none",
            "fan_in_fan_out": false, "target_modules": self.targets,
            "base_model_name_or_path": null,
        })
    }
}

/// Names of the two factors of a projection in PEFT.
pub(crate) fn names(projection: &str) -> [String; 2] {
    ["A", "B"].map(|factor| format!("{PREFIX}{projection}.lora_{factor}.weight"))
}

/// Whether a name is that of a factor of an adapter.
pub(crate) fn is_factor(name: &str) -> bool {
    name.starts_with(PREFIX)
}

/// The random stream of a parameter name.
pub(crate) fn stream_of(name: &str) -> u64 {
    let hash = assay_core::Hash::of(name.as_bytes());
    hash.as_bytes()
        .iter()
        .take(8)
        .fold(0, |stream, byte| stream << 8 | u64::from(*byte))
}

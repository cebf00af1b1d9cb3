//! Adapters of low rank (LoRA, arXiv 2106.09685): few numbers that learn beside weights that stay.

use std::collections::BTreeMap;

use assay_core::Random;
use candle_core::{Device, Tensor, Var};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::PolicyError;
use crate::parameters::stream_of;

/// Which projections learn beside their weights, and how much room they have.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LoraSettings {
    /// Numbers between the two factors; from 1 up.
    pub rank: usize,
    /// What the product is scaled by, times the rank.
    pub alpha: f64,
    /// Projections by the last part of their names.
    pub targets: Vec<String>,
}

impl Default for LoraSettings {
    fn default() -> Self {
        let targets = [
            "q_proj",
            "k_proj",
            "v_proj",
            "o_proj",
            "gate_proj",
            "up_proj",
            "down_proj",
        ];
        Self {
            rank: 16,
            alpha: 32.0,
            targets: targets.map(str::to_owned).to_vec(),
        }
    }
}

/// Projections there are.
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
    /// Refuses settings under which nothing could learn.
    pub(crate) fn check(&self) -> Result<(), PolicyError> {
        if self.rank == 0 || !(self.alpha.is_finite() && self.alpha > 0.0) {
            return Err(PolicyError::new(
                "`lora.rank` is at least 1 and `lora.alpha` above 0",
            ));
        }
        if self.targets.is_empty() {
            return Err(PolicyError::new(format!(
                "`lora.targets` is empty; there are {}",
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
                    "`lora.targets` names `{target}`; there are {known}"
                )))
            }
            None => Ok(()),
        }
    }

    /// `alpha / rank`.
    #[expect(clippy::cast_precision_loss, reason = "ranks are small")]
    pub(crate) fn scale(&self) -> f64 {
        self.alpha / self.rank as f64
    }

    fn takes(&self, projection: &str) -> bool {
        self.targets
            .iter()
            .any(|target| projection.rsplit('.').next() == Some(target))
    }

    /// The factors for the weights of `[out, in]` under these names: the first drawn at random, the
    /// second 0, so that the policy starts as it was.
    pub(crate) fn factors<'a>(
        &self,
        weights: impl Iterator<Item = (&'a String, &'a Tensor)>,
        seed: u64,
        device: &Device,
    ) -> Result<BTreeMap<String, Var>, PolicyError> {
        let mut factors = BTreeMap::new();
        for (name, weight) in weights {
            let Some(projection) = name.strip_suffix(".weight").filter(|name| self.takes(name))
            else {
                continue;
            };
            let (out, inner) = weight.dims2()?;
            let [a, b] = names(projection);
            let mut random = Random::stream(&[seed, stream_of(&a)]);
            #[expect(
                clippy::cast_precision_loss,
                clippy::cast_possible_truncation,
                reason = "sizes of layers are small"
            )]
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

    /// The configuration PEFT reads beside the factors.
    pub(crate) fn config(&self) -> Value {
        json!({
            "peft_type": "LORA", "task_type": "CAUSAL_LM", "r": self.rank, "lora_alpha": self.alpha, "lora_dropout": 0.0,
            "bias": "none", "fan_in_fan_out": false, "target_modules": self.targets, "base_model_name_or_path": null,
        })
    }
}

/// Names of the two factors beside a projection, as PEFT has them.
pub(crate) fn names(projection: &str) -> [String; 2] {
    ["A", "B"].map(|factor| format!("base_model.model.{projection}.lora_{factor}.weight"))
}

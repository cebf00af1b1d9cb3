//! The parameters of a policy model by their Hugging Face names: trained ones and frozen ones.

use std::collections::BTreeMap;

use assay_base::Random;
use assay_weights::config::DecoderConfig;
use assay_weights::{Weights, synthetic};
use candle_core::{DType, Device, Tensor, Var};
use serde_json::Value;

use crate::PolicyError;
use crate::lora::{LoraSettings, is_factor, names, stream_of};

/// The parameters of a policy model.
pub(crate) struct Parameters {
    /// Trained parameters.
    pub(crate) trained: BTreeMap<String, Var>,
    /// Frozen parameters. Copies of a model share them.
    pub(crate) frozen: BTreeMap<String, Tensor>,
}

impl Parameters {
    /// Reads all tensors of a model.
    pub(crate) fn read(
        config: &Value,
        weights: &Weights,
    ) -> Result<BTreeMap<String, Tensor>, PolicyError> {
        let mut tensors = BTreeMap::new();
        for (name, shape) in synthetic::tensors(config)? {
            tensors.insert(name.clone(), weights.tensor(&name, &shape)?);
        }
        // Some files contain the head of a model with tied embeddings a second time.
        if !tensors.contains_key("lm_head.weight") && weights.has("lm_head.weight") {
            weights.mark_used("lm_head.weight");
        }
        weights.check_all_used()?;
        Ok(tensors)
    }

    /// Random tensors: weights from a normal distribution with variance `1 / in`, embeddings with
    /// deviation 0.1, norms 1, biases 0.
    pub(crate) fn draw(
        config: &Value,
        seed: u64,
        device: &Device,
    ) -> Result<BTreeMap<String, Tensor>, PolicyError> {
        let mut tensors = BTreeMap::new();
        for (name, shape) in synthetic::tensors(config)? {
            let count: usize = shape.iter().product();
            let deviation = match shape.as_slice() {
                [_] => 0.0,
                _ if name.contains("embed") => 0.1,
                shape => 1.0 / (shape[shape.len() - 1] as f64).sqrt(),
            };
            let mean = if name.ends_with("norm.weight") {
                1.0
            } else {
                0.0
            };
            let mut random = Random::stream(&[seed, stream_of(&name)]);
            // Weights are f32.
            let numbers: Vec<f32> = (0..count)
                .map(|_| (mean + deviation * random.normal()) as f32)
                .collect();
            tensors.insert(
                name,
                Tensor::from_vec(numbers, shape, &Device::Cpu)?.to_device(device)?,
            );
        }
        Ok(tensors)
    }

    /// Trains all tensors, or only adapters if `lora` is given.
    pub(crate) fn new(
        tensors: BTreeMap<String, Tensor>,
        lora: Option<&LoraSettings>,
        seed: u64,
        device: &Device,
    ) -> Result<Self, PolicyError> {
        if let Some(lora) = lora {
            lora.check()?;
            return Ok(Self {
                trained: lora.factors(tensors.iter(), seed, device)?,
                frozen: tensors,
            });
        }
        let variable = |(name, tensor): (String, Tensor)| Ok((name, Var::from_tensor(&tensor)?));
        let trained = tensors
            .into_iter()
            .map(variable)
            .collect::<Result<_, PolicyError>>()?;
        Ok(Self {
            trained,
            frozen: BTreeMap::new(),
        })
    }

    /// Frozen tensors.
    pub(crate) fn frozen(tensors: BTreeMap<String, Tensor>) -> Self {
        Self {
            trained: BTreeMap::new(),
            frozen: tensors,
        }
    }

    /// The same tensors, all frozen: copies of the trained ones, and the frozen ones themselves.
    pub(crate) fn snapshot(&self) -> Result<Self, PolicyError> {
        let mut frozen = self.frozen.clone();
        for (name, var) in &self.trained {
            frozen.insert(name.clone(), var.as_detached_tensor().copy()?);
        }
        Ok(Self::frozen(frozen))
    }

    /// Whether there is a tensor with a name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.trained.contains_key(name) || self.frozen.contains_key(name)
    }

    /// The tensor with a name; a trained one with its graph if `learns`, else as a view without.
    pub(crate) fn tensor(&self, name: &str, learns: bool) -> candle_core::Result<Tensor> {
        match (self.trained.get(name), self.frozen.get(name)) {
            (Some(var), _) if learns => Ok(var.as_tensor().clone()),
            (Some(var), _) => Ok(var.as_detached_tensor()),
            (None, Some(tensor)) => Ok(tensor.clone()),
            (None, None) => candle_core::bail!("the policy model has no tensor `{name}`"),
        }
    }

    /// The weights with adapters merged into them.
    pub(crate) fn merged(
        &self,
        lora: Option<&LoraSettings>,
    ) -> Result<BTreeMap<String, Tensor>, PolicyError> {
        let names = self.trained.keys().chain(self.frozen.keys());
        let weights = names.filter(|name| !is_factor(name));
        let merged = weights.map(|name| Ok((name.clone(), self.merged_weight(name, lora)?)));
        merged.collect()
    }

    /// A weight with its adapter merged into it.
    fn merged_weight(
        &self,
        name: &str,
        lora: Option<&LoraSettings>,
    ) -> Result<Tensor, PolicyError> {
        let weight = self.tensor(name, false)?;
        let [a, b] = names(name.strip_suffix(".weight").unwrap_or(name));
        match lora.filter(|_| self.has(&a)) {
            Some(lora) => {
                let [a, b] = [a, b].map(|factor| self.tensor(&factor, false));
                let product = (b?.matmul(&a?)? * lora.scale())?;
                Ok((&weight + product.to_dtype(weight.dtype())?)?)
            }
            None => Ok(weight),
        }
    }
}

/// Rejects unsupported types and vocabularies.
pub(crate) fn check(config: &DecoderConfig, dtype: DType) -> Result<(), PolicyError> {
    if !matches!(dtype, DType::F32 | DType::BF16 | DType::F16 | DType::F64) {
        return Err(PolicyError::new(format!(
            "policy models do not support the type {dtype:?}"
        )));
    }
    if config.vocabulary > u32::MAX as usize {
        return Err(PolicyError::new(
            "the vocabulary exceeds the range of 32-bit token ids",
        ));
    }
    Ok(())
}

//! Synthetic weights: the values depend only on the name and the shape of a tensor. Models can
//! therefore be compared with other implementations without downloading files, and timed at any
//! size.

mod tensors;
pub(crate) mod values;

use std::collections::BTreeMap;
use std::path::Path;

use candle_core::{Device, Tensor};
use serde_json::Value;

use crate::{LoadError, save};

pub use tensors::tensors;
pub use values::values;

/// Writes `config.json` and `model.safetensors` of the model that a configuration describes. Writes
/// no tokenizer.
///
/// # Errors
/// The configuration does not describe a decoder or a BERT, or the files cannot be written.
pub fn write(directory: &Path, config: &Value) -> Result<(), LoadError> {
    write_tensors(directory, config, &tensors(config)?)
}

/// Like [`write()`], for tensors of these shapes.
///
/// # Errors
/// The files cannot be written.
pub fn write_tensors(
    directory: &Path,
    config: &Value,
    tensors: &BTreeMap<String, Vec<usize>>,
) -> Result<(), LoadError> {
    let named = tensors.iter().map(|(name, shape)| {
        let tensor = Tensor::from_vec(values(name, shape), shape.as_slice(), &Device::Cpu)?;
        Ok((name.clone(), tensor))
    });
    let named = named.collect::<Result<BTreeMap<_, _>, candle_core::Error>>()?;
    Ok(save::model(directory, config, &named)?)
}

#[cfg(test)]
mod tests {
    use candle_core::DType;
    use serde_json::json;

    use super::*;
    use crate::Directory;

    #[test]
    fn values_depend_on_name_and_shape() {
        assert_eq!(values("w", &[2, 3]), values("w", &[2, 3]));
        assert_ne!(values("w", &[2, 3]), values("v", &[2, 3]));
        let norm = values("input_layernorm.weight", &[64]);
        assert!(norm.iter().all(|value| (0.8..=1.2).contains(value)));
        let bias = values("q_proj.bias", &[64]);
        assert!(bias.iter().all(|value| (-0.1..=0.1).contains(value)));
    }

    #[test]
    fn writes_the_tensors_that_the_configuration_requires() {
        let folder = tempfile::tempdir().unwrap();
        let config = json!({
            "architectures": ["Qwen2ForCausalLM"], "model_type": "qwen2", "hidden_size": 8,
            "intermediate_size": 12, "num_hidden_layers": 1, "num_attention_heads": 2,
            "num_key_value_heads": 1, "vocab_size": 10,
        });
        write(folder.path(), &config).unwrap();
        let directory = Directory::open(folder.path()).unwrap();
        assert_eq!(directory.config().unwrap(), config);
        let weights = directory.weights(&Device::Cpu, DType::F32).unwrap();
        for (name, shape) in tensors(&config).unwrap() {
            assert_eq!(
                weights.values(&name, &shape).unwrap(),
                values(&name, &shape),
                "{name}"
            );
        }
        weights.check_all_used().unwrap();
        assert_eq!(weights.shape("lm_head.weight"), Some(vec![10, 8]));
        assert_eq!(
            weights.shape("model.layers.0.self_attn.k_proj.bias"),
            Some(vec![4])
        );
    }
}

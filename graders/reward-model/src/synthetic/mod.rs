//! Weights out of nothing: the same numbers for a name and a size everywhere, so that models can be compared with other
//! implementations without anyone's files, and timed in any size.

pub(crate) mod tensors;

use std::collections::BTreeMap;
use std::path::Path;

use rayon::prelude::*;
use safetensors::tensor::{Dtype, TensorView};
use serde_json::Value;

use crate::LoadError;

/// Step of the generator, 2^64 over the golden ratio.
const GAMMA: u64 = 0x9E37_79B9_7F4A_7C15;

/// The numbers of a tensor, row by row: uniform around 0, or around 1 for norms, of a spread that keeps hidden states in bounds.
#[must_use]
#[expect(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "24 random bits are an f32")]
pub fn values(name: &str, shape: &[usize]) -> Vec<f32> {
    let seed = name
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
    let norm = name.to_lowercase().contains("norm") && name.ends_with(".weight");
    let (spread, middle) = match shape {
        [_] if norm => (0.4, 1.0),
        [_] => (0.2, 0.0),
        _ if name.contains("embed") => (1.0, 0.0),
        _ => ((12f64.sqrt() / (shape.last().copied().unwrap_or(1) as f64).sqrt()) as f32, 0.0),
    };
    let count: usize = shape.iter().product();
    let value = |at: usize| {
        let mixed = mix(seed.wrapping_add((at as u64 + 1).wrapping_mul(GAMMA)));
        ((mixed >> 40) as f32 / 16_777_216.0 - 0.5) * spread + middle
    };
    (0..count).into_par_iter().map(value).collect()
}

/// The mixing of splitmix64.
fn mix(z: u64) -> u64 {
    let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Writes the directory of a model that a configuration describes, but for its tokenizer: `config.json` and `model.safetensors`.
///
/// # Errors
/// The configuration is none of a decoder or a BERT, or the files cannot be written.
pub fn write(directory: &Path, config: &Value) -> Result<(), LoadError> {
    write_tensors(directory, config, &tensors::tensors(config)?)
}

/// As [`write`], for tensors of these sizes.
pub(crate) fn write_tensors(
    directory: &Path,
    config: &Value,
    tensors: &BTreeMap<String, Vec<usize>>,
) -> Result<(), LoadError> {
    let at_fault = |error: &dyn std::fmt::Display| LoadError::new(format!("`{}`: {error}", directory.display()));
    let bytes: Vec<(&str, &[usize], Vec<u8>)> = tensors
        .iter()
        .map(|(name, shape)| {
            let bytes = values(name, shape).into_iter().flat_map(f32::to_le_bytes).collect();
            (name.as_str(), shape.as_slice(), bytes)
        })
        .collect();
    let mut views = Vec::with_capacity(bytes.len());
    for (name, shape, bytes) in &bytes {
        views.push((*name, TensorView::new(Dtype::F32, shape.to_vec(), bytes).map_err(|error| at_fault(&error))?));
    }
    std::fs::create_dir_all(directory).map_err(|error| at_fault(&error))?;
    std::fs::write(directory.join("config.json"), config.to_string()).map_err(|error| at_fault(&error))?;
    safetensors::serialize_to_file(views, None, &directory.join("model.safetensors")).map_err(|error| at_fault(&error))
}

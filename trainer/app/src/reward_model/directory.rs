//! Directories of reward models that the service loads.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use assay_policy_model::{PolicyModelOptions, ScoringModel};
use assay_reward_model::{Compute, FILE, Model, ModelOptions, RawScale, RewardModel};
use assay_weights::save;
use assay_wire::reward_models::ModelInfo;
use candle_core::Device;
use serde_json::{Map, Value, json};

use super::fit::Trained;
use crate::checkpoint::copy_tokenizer;

/// The reader of a reward model: it tokenises as the service does.
///
/// # Errors
/// The directory is not a reward model.
pub fn reader(name: &str, directory: &Path) -> anyhow::Result<RewardModel> {
    let options = ModelOptions::default();
    let source = directory.to_string_lossy();
    let compute = Compute::open("cpu", 0)?;
    Ok(RewardModel::open(
        name, &source, directory, &options, &compute, 0,
    )?)
}

/// Opens a model for training.
///
/// # Errors
/// The directory has no decoder, or one with several outputs.
pub fn open(
    directory: &Path,
    device: &Device,
    trained: &Trained,
    seed: u64,
) -> anyhow::Result<ScoringModel> {
    let lora = trained.lora();
    Ok(ScoringModel::open(
        directory,
        device,
        &PolicyModelOptions {
            lora,
            seed,
            ..PolicyModelOptions::default()
        },
    )?)
}

/// Writes a model with the tokenizer and the options of `from`. With `affine` normalisation, the
/// mean and the deviation are those of the scores in `raw`.
///
/// # Errors
/// A file cannot be read or written.
pub fn write(
    model: &ScoringModel,
    from: &Path,
    to: &Path,
    options: Option<Map<String, Value>>,
    raw: &[f32],
) -> anyhow::Result<()> {
    model.save(to)?;
    copy_tokenizer(from, to)?;
    let mut declared = declared(from)?;
    declared.extend(options.unwrap_or_default());
    if declared.get("normalise").and_then(Value::as_str) == Some("affine") {
        let mut scale = RawScale::default();
        raw.iter().for_each(|raw| scale.add(*raw));
        if let Ok((_, mean, std)) = scale.estimate() {
            declared.insert("mean".to_owned(), json!(mean));
            declared.insert("std".to_owned(), json!(std));
        }
    }
    if !declared.is_empty() {
        let text = format!("{:#}\n", Value::Object(declared));
        save::bytes(&to.join(FILE), text.as_bytes())?;
    }
    Ok(())
}

/// The options that a directory declares.
fn declared(directory: &Path) -> anyhow::Result<Map<String, Value>> {
    let path = directory.join(FILE);
    if !path.is_file() {
        return Ok(Map::new());
    }
    let text =
        fs::read_to_string(&path).with_context(|| format!("cannot read `{}`", path.display()))?;
    let options: Value = serde_json::from_str(&text)
        .with_context(|| format!("cannot parse `{}`", path.display()))?;
    let Value::Object(options) = options else {
        anyhow::bail!("`{}` must contain a JSON object", path.display());
    };
    Ok(options)
}

/// The directory of a model that the service has loaded.
///
/// # Errors
/// It is not below `folder`, or its files or options differ from those that the service loaded.
pub fn of_served(folder: &Path, served: &ModelInfo) -> anyhow::Result<(PathBuf, RewardModel)> {
    let directory = folder.join(&served.source);
    ensure!(
        directory.is_dir(),
        "the service loaded `{}` from `{}`, which is not a directory in `{}`; set `--folder` to \
         the service's `reward_models.folder`",
        served.name,
        served.source,
        folder.display()
    );
    let reader = reader(&served.name, &directory)?;
    let own = reader.info();
    // The version covers the type of the weights, which depends on the service's device.
    let is_same = if own.dtype == served.dtype {
        own.version == served.version
    } else {
        own.template == served.template
            && own.pooling == served.pooling
            && own.normalise == served.normalise
            && own.max_tokens == served.max_tokens
    };
    ensure!(
        is_same,
        "`{}` differs from the model that the service has loaded as `{}`; declare the options of \
         the model in its `{FILE}` instead of in the service's configuration, and load it again",
        directory.display(),
        served.name
    );
    Ok((directory, reader))
}

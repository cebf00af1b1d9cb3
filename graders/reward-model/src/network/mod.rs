//! Backbone and head: from token ids to outputs.

use assay_core::reward_model::ModelOutput;
use assay_weights::config::{BackboneConfig, Fields};
use assay_weights::{Directory, LoadError, Weights};
use candle_core::{DType, Device, Result, Tensor};
use serde_json::Value;

use crate::backbone::{Backbone, Packed};
use crate::head::Head;
use crate::head::detect::DetectedHead;
use crate::{GpuOptions, ModelOptions, Rows, Sequence};

/// Properties of a network, determined before its tensors are read.
pub(crate) struct Outline {
    pub(crate) config: Value,
    pub(crate) backbone: BackboneConfig,
    pub(crate) head: DetectedHead,
    /// Maximum sequence length, in tokens.
    pub(crate) max_tokens: usize,
}

impl Outline {
    /// Reads the configuration and detects the head from options and names of tensors.
    pub(crate) fn detect(
        directory: &Directory,
        weights: &Weights,
        options: &ModelOptions,
    ) -> std::result::Result<Self, LoadError> {
        let unit_length = sentence_modules(directory)?;
        let sentences = directory.json("sentence_bert_config.json")?;
        let max_length = sentences
            .map(|sentences| Fields(&sentences).size_or_none("max_seq_length"))
            .transpose()?
            .flatten();
        Self::from_config(
            directory.config()?,
            weights,
            options,
            unit_length,
            max_length,
        )
    }

    /// Like [`Outline::detect`] for a given configuration. `unit_length` scales embeddings to
    /// length 1, `max_length` limits the sequence length of the configuration.
    pub(crate) fn from_config(
        config: Value,
        weights: &Weights,
        options: &ModelOptions,
        unit_length: bool,
        max_length: Option<usize>,
    ) -> std::result::Result<Self, LoadError> {
        if Fields(&config).object("quantization_config").is_some() {
            return Err(LoadError::new(
                "quantised weights are not supported; load the original model",
            ));
        }
        let backbone = BackboneConfig::read(&config)?;
        let head = DetectedHead::detect(backbone.family(), &config, weights, options, unit_length)?;
        let max_tokens = max_length.map_or(backbone.max_positions(), |max_length| {
            max_length.min(backbone.max_positions())
        });
        Ok(Self {
            config,
            backbone,
            head,
            max_tokens,
        })
    }
}

/// Returns whether `modules.json` scales embeddings to length 1. Rejects unknown modules.
fn sentence_modules(directory: &Directory) -> std::result::Result<bool, LoadError> {
    let modules = directory.json("modules.json")?.unwrap_or_default();
    let kinds = modules
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|module| module.get("type").and_then(Value::as_str));
    let mut unit_length = false;
    for kind in kinds.map(|kind| kind.rsplit('.').next().unwrap_or(kind)) {
        match kind {
            "Transformer" | "Pooling" => {}
            "Normalize" => unit_length = true,
            other => {
                return Err(LoadError::new(format!(
                    "`modules.json` contains the module `{other}`, which is not supported"
                )));
            }
        }
    }
    Ok(unit_length)
}

/// A backbone with its head.
pub(crate) struct Network {
    backbone: Backbone,
    head: Head,
    device: Device,
    gpu: GpuOptions,
    vocabulary: usize,
    hidden: usize,
}

impl Network {
    /// Reads all tensors. `labels` are the ids of the label tokens of a verifier.
    pub(crate) fn read(
        outline: Outline,
        weights: &Weights,
        options: &ModelOptions,
        labels: &[u32],
    ) -> std::result::Result<Self, LoadError> {
        let Outline {
            config,
            backbone: shape,
            head,
            ..
        } = outline;
        let prefix = shape.prefix(weights);
        let backbone = Backbone::read(&shape, weights, prefix)?;
        let head = head.read(&config, weights, options, prefix, labels)?;
        weights.check_all_used()?;
        let (vocabulary, hidden) = (shape.vocabulary(), shape.hidden());
        Ok(Self {
            backbone,
            head,
            device: weights.device().clone(),
            gpu: GpuOptions::default(),
            vocabulary,
            hidden,
        })
    }

    /// Sets how batches are computed on a GPU.
    pub(crate) fn with_gpu(self, gpu: GpuOptions) -> Self {
        Self { gpu, ..self }
    }

    /// Whether sequences of a batch with the same first tokens share the work on them.
    pub(crate) fn shares_prefixes(&self) -> bool {
        self.backbone.is_causal()
    }

    /// Computes the output of each sequence.
    pub(crate) fn run(&self, batch: &[&Sequence]) -> Result<Vec<ModelOutput>> {
        if let Some(id) = batch
            .iter()
            .flat_map(|sequence| &sequence.ids)
            .find(|id| **id as usize >= self.vocabulary)
        {
            candle_core::bail!(
                "token {id} exceeds the vocabulary of {} tokens",
                self.vocabulary
            );
        }
        let packed = Packed::new(batch, self.shares_prefixes(), &self.device, self.gpu)?;
        let states = self.backbone.forward(&packed)?;
        let mut rows = Vec::new();
        let mut counts = Vec::with_capacity(batch.len());
        for (sequence, packed) in batch.iter().zip(packed.sequences.iter()) {
            let before = rows.len();
            match &sequence.rows {
                Rows::At(at) => {
                    for at in at {
                        let Some(row) = packed.row(*at as usize) else {
                            candle_core::bail!("row {at} of {} tokens", packed.len);
                        };
                        rows.push(row);
                    }
                }
                Rows::Mean => rows.extend(packed.rows(0..packed.len).flatten()),
            }
            counts.push(rows.len() - before);
        }
        let rows = rows
            .into_iter()
            .map(u32::try_from)
            .collect::<std::result::Result<Vec<u32>, _>>()
            .map_err(candle_core::Error::wrap)?;
        let rows = self.rows(&states, rows)?;
        let mut pooled = Vec::with_capacity(rows.len());
        let mut rows = rows.into_iter();
        for (sequence, count) in batch.iter().zip(&mut counts) {
            let own_rows = rows.by_ref().take(*count);
            match sequence.rows {
                Rows::At(_) => pooled.extend(own_rows),
                Rows::Mean => {
                    pooled.push(mean(own_rows, self.hidden));
                    *count = 1;
                }
            }
        }
        let mut outputs = self.head.forward(pooled).into_iter();
        Ok(counts
            .into_iter()
            .map(|count| self.head.read(outputs.by_ref().take(count).collect()))
            .collect())
    }

    /// Hidden states at `rows`, after the last norm. A row with a number that is not finite
    /// consists of `NaN`, because activations of heads may turn an infinity into a finite number.
    fn rows(&self, states: &Tensor, rows: Vec<u32>) -> Result<Vec<Vec<f32>>> {
        let count = rows.len();
        let rows = Tensor::from_vec(rows, count, &self.device)?;
        let states = states
            .index_select(&rows, 0)?
            .to_dtype(DType::F32)?
            .to_device(&Device::Cpu)?;
        let mut rows = states.to_vec2::<f32>()?;
        for row in &mut rows {
            self.backbone.last_norm(row);
            if row.iter().any(|x| !x.is_finite()) {
                row.fill(f32::NAN);
            }
        }
        Ok(rows)
    }
}

/// Mean of rows of `size` numbers.
fn mean(rows: impl Iterator<Item = Vec<f32>>, size: usize) -> Vec<f32> {
    // The mean of f32 numbers fits in an f32.
    let (mut sums, mut count) = (vec![0f64; size], 0usize);
    for row in rows {
        sums.iter_mut()
            .zip(row)
            .for_each(|(sum, x)| *sum += f64::from(x));
        count += 1;
    }
    sums.into_iter()
        .map(|sum| (sum / count.max(1) as f64) as f32)
        .collect()
}

#[cfg(test)]
mod tests;

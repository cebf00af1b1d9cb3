//! The policy model: a decoder with trained weights.

use std::collections::BTreeMap;
use std::path::Path;

use assay_weights::config::DecoderConfig;
use assay_weights::{Directory, save};
use candle_core::{DType, Device, Tensor, Var};
use serde_json::Value;

use crate::PolicyError;
use crate::batch::{Packed, TokenBatch};
use crate::decoder::{Adapter, Attend, Decoder};
use crate::graph::Scored;
use crate::lora::{LoraSettings, names};
use crate::ops::{Heads, RotaryTable, Tape, Weight, attention, log_probs, on_thread_pool, rows};
use crate::parameters::{self, Parameters};

/// A decoder with trained weights.
pub struct PolicyModel {
    /// The content of `config.json`.
    json: Value,
    pub(crate) config: DecoderConfig,
    parameters: Parameters,
    lora: Option<LoraSettings>,
    decoder: Decoder,
    frequencies: Vec<f32>,
    dtype: DType,
    device: Device,
}

/// Options of a policy model.
#[derive(Debug, Clone, Default)]
pub struct PolicyModelOptions {
    /// Train only adapters. Default: train all weights.
    pub lora: Option<LoraSettings>,
    /// Seed of random weights.
    pub seed: u64,
}

impl PolicyModel {
    /// Reads a model directory in the Hugging Face layout.
    ///
    /// # Errors
    /// A file or tensor is missing, or the configuration is not supported.
    pub fn open(
        directory: &Path,
        device: &Device,
        dtype: DType,
        options: &PolicyModelOptions,
    ) -> Result<Self, PolicyError> {
        let directory = Directory::open(directory)?;
        let json = directory.config()?;
        let weights = directory.weights(device, dtype)?;
        let tensors = Parameters::read(&json, &weights)?;
        Self::new(json, tensors, device, dtype, options)
    }

    /// Creates a policy model with random weights in `f32`.
    ///
    /// # Errors
    /// The configuration is not one of a supported decoder.
    pub fn draw(
        json: Value,
        device: &Device,
        options: &PolicyModelOptions,
    ) -> Result<Self, PolicyError> {
        let tensors = Parameters::draw(&json, options.seed, device)?;
        Self::new(json, tensors, device, DType::F32, options)
    }

    pub(crate) fn new(
        json: Value,
        tensors: BTreeMap<String, Tensor>,
        device: &Device,
        dtype: DType,
        options: &PolicyModelOptions,
    ) -> Result<Self, PolicyError> {
        let config = DecoderConfig::read(&json)?;
        parameters::check(&config, dtype)?;
        let parameters = Parameters::new(tensors, options.lora.as_ref(), options.seed, device)?;
        let decoder = decoder(&config, &parameters, options.lora.as_ref(), true)?;
        let frequencies = config.rope.frequencies(config.head_dim);
        let (lora, device) = (options.lora.clone(), device.clone());
        Ok(Self {
            json,
            config,
            parameters,
            lora,
            decoder,
            frequencies,
            dtype,
            device,
        })
    }

    /// The trained parameters, by name.
    #[must_use]
    pub fn parameters(&self) -> &BTreeMap<String, Var> {
        &self.parameters.trained
    }

    /// Number of trained parameters.
    #[must_use]
    pub fn trained(&self) -> usize {
        self.parameters
            .trained
            .values()
            .map(|var| var.elem_count())
            .sum()
    }

    /// Number of all parameters.
    #[must_use]
    pub fn size(&self) -> usize {
        self.trained()
            + self
                .parameters
                .frozen
                .values()
                .map(Tensor::elem_count)
                .sum::<usize>()
    }

    /// Size of the vocabulary.
    #[must_use]
    pub fn vocabulary(&self) -> usize {
        self.config.vocabulary
    }

    /// Context length in tokens.
    #[must_use]
    pub fn max_positions(&self) -> usize {
        self.config.max_positions
    }

    /// The type of the weights.
    #[must_use]
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The device of the weights.
    #[must_use]
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// The content of `config.json`.
    #[must_use]
    pub fn config(&self) -> &Value {
        &self.json
    }

    /// A frozen copy of the current weights.
    ///
    /// # Errors
    /// The device is out of memory.
    pub fn snapshot(&self) -> Result<Self, PolicyError> {
        let tensors = self.parameters.merged(self.lora.as_ref())?;
        let copy = |(name, tensor): (String, Tensor)| Ok((name, tensor.copy()?));
        let frozen = tensors
            .into_iter()
            .map(copy)
            .collect::<Result<_, PolicyError>>()?;
        let parameters = Parameters {
            trained: BTreeMap::new(),
            frozen,
        };
        let decoder = decoder(&self.config, &parameters, None, false)?;
        let (json, config, frequencies) = (
            self.json.clone(),
            self.config.clone(),
            self.frequencies.clone(),
        );
        Ok(Self {
            json,
            config,
            parameters,
            lora: None,
            decoder,
            frequencies,
            dtype: self.dtype,
            device: self.device.clone(),
        })
    }

    /// Scores the completions of a batch with the softmax of logits / `temperature`.
    ///
    /// # Errors
    /// The device is out of memory.
    pub fn score(&self, batch: &TokenBatch, temperature: f64) -> Result<Scored, PolicyError> {
        self.score_by(&self.decoder, batch, temperature)
    }

    /// Like [`score`](Self::score), without a graph.
    ///
    /// # Errors
    /// The device is out of memory.
    pub fn score_only(&self, batch: &TokenBatch, temperature: f64) -> Result<Scored, PolicyError> {
        self.score_by(&self.view()?, batch, temperature)
    }

    fn score_by(
        &self,
        decoder: &Decoder,
        batch: &TokenBatch,
        temperature: f64,
    ) -> Result<Scored, PolicyError> {
        let mut tape = Tape::default();
        let output = on_thread_pool(|| {
            let hidden = rows(
                &self.hidden_by(decoder, &batch.packed, &mut tape)?,
                &batch.rows,
                &mut tape,
            )?;
            let logits = decoder.logits(&hidden, &mut tape)?;
            let logits = if logits.dtype() == DType::F64 {
                logits
            } else {
                logits.to_dtype(DType::F32)?
            };
            log_probs(&logits, &batch.scored, temperature, &mut tape)
        })?;
        Ok(Scored::new(&output, tape)?)
    }

    /// Hidden states of the last token of each text after the last norm, `[texts, hidden]`, without
    /// a graph.
    ///
    /// # Errors
    /// A text is empty, an id is outside the vocabulary, or the device is out of memory.
    pub fn states(&self, texts: &[&[u32]]) -> Result<Tensor, PolicyError> {
        let packed = Packed::new(
            texts.iter().map(|text| [*text, &[]]),
            self.vocabulary(),
            &self.device,
        )?;
        let (decoder, mut tape, last) = (self.view()?, Tape::default(), self.ids(&packed.last())?);
        Ok(on_thread_pool(|| {
            rows(
                &self.hidden_by(&decoder, &packed, &mut tape)?,
                &last,
                &mut tape,
            )
        })?)
    }

    pub(crate) fn hidden_by(
        &self,
        decoder: &Decoder,
        packed: &Packed,
        tape: &mut Tape,
    ) -> candle_core::Result<Tensor> {
        let rotary = self.rotary(&packed.positions)?;
        decoder.hidden(
            &packed.ids,
            &rotary,
            &mut PackedAttention {
                packed,
                windows: &self.config.windows,
            },
            tape,
        )
    }

    /// The decoder over the trained parameters, with a graph.
    pub(crate) fn learning(&self) -> &Decoder {
        &self.decoder
    }

    /// A decoder over the same weights without a graph. It shares their storage, so it follows
    /// every update.
    pub(crate) fn view(&self) -> Result<Decoder, PolicyError> {
        decoder(&self.config, &self.parameters, self.lora.as_ref(), false)
    }

    pub(crate) fn rotary(&self, positions: &[u32]) -> candle_core::Result<RotaryTable> {
        RotaryTable::new(positions, &self.frequencies, self.dtype, &self.device)
    }

    /// Ids as a tensor.
    pub(crate) fn ids(&self, ids: &[u32]) -> candle_core::Result<Tensor> {
        Tensor::from_slice(ids, ids.len(), &self.device)
    }

    /// Writes the model to a directory in the Hugging Face layout, with adapters merged into the
    /// weights.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn save(&self, directory: &Path) -> Result<(), PolicyError> {
        Ok(save::model(directory, &self.json, &self.tensors()?)?)
    }

    /// Writes only the adapters, in the PEFT layout; does nothing if all weights are trained.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn save_adapters(&self, directory: &Path) -> Result<(), PolicyError> {
        let Some(lora) = &self.lora else {
            return Ok(());
        };
        save::tensors(
            &directory.join("adapter_model.safetensors"),
            &self.trained_tensors(),
        )?;
        let config = format!("{:#}\n", lora.config());
        Ok(save::bytes(
            &directory.join("adapter_config.json"),
            config.as_bytes(),
        )?)
    }

    /// All weights by their Hugging Face names, with adapters merged.
    ///
    /// # Errors
    /// The device is out of memory.
    pub fn tensors(&self) -> Result<BTreeMap<String, Tensor>, PolicyError> {
        self.parameters.merged(self.lora.as_ref())
    }

    /// The trained parameters by name, as views without a graph.
    #[must_use]
    pub fn trained_tensors(&self) -> BTreeMap<String, Tensor> {
        self.parameters
            .trained
            .iter()
            .map(|(name, var)| (name.clone(), var.as_detached_tensor()))
            .collect()
    }

    /// Sets the trained parameters to these tensors, bit for bit.
    ///
    /// # Errors
    /// Names or shapes differ from those of the model.
    pub fn restore(&self, tensors: &BTreeMap<String, Tensor>) -> Result<(), PolicyError> {
        let own = &self.parameters.trained;
        if let Some(name) = own.keys().find(|name| !tensors.contains_key(*name)) {
            return Err(PolicyError::new(format!(
                "the checkpoint lacks `{name}`; it belongs to another policy model"
            )));
        }
        if let Some(name) = tensors.keys().find(|name| !own.contains_key(*name)) {
            return Err(PolicyError::new(format!(
                "the checkpoint has `{name}`, which the policy model lacks"
            )));
        }
        for (name, var) in own {
            let tensor = tensors[name]
                .to_dtype(var.dtype())?
                .to_device(&self.device)?;
            if tensor.shape() != var.shape() {
                let (shape, expected) = (tensor.shape(), var.shape());
                return Err(PolicyError::new(format!(
                    "`{name}` has shape {shape:?} in the checkpoint; expected {expected:?}"
                )));
            }
            var.set(&tensor)?;
        }
        Ok(())
    }
}

#[cfg(test)]
impl PolicyModel {
    /// The same model in `f64`, for finite differences.
    pub(crate) fn widened(self) -> Self {
        let wide = |tensor: &Tensor| tensor.to_dtype(DType::F64).unwrap();
        let trained = self.parameters.trained.iter();
        let trained = trained
            .map(|(name, var)| (name.clone(), Var::from_tensor(&wide(var)).unwrap()))
            .collect();
        let frozen = self
            .parameters
            .frozen
            .iter()
            .map(|(name, tensor)| (name.clone(), wide(tensor)))
            .collect();
        let parameters = Parameters { trained, frozen };
        let decoder = decoder(&self.config, &parameters, self.lora.as_ref(), true).unwrap();
        Self {
            parameters,
            decoder,
            dtype: DType::F64,
            ..self
        }
    }
}

fn decoder(
    config: &DecoderConfig,
    parameters: &Parameters,
    lora: Option<&LoraSettings>,
    learns: bool,
) -> Result<Decoder, PolicyError> {
    let adapter = |projection: &str| -> candle_core::Result<Option<Adapter>> {
        let Some(lora) = lora else { return Ok(None) };
        let [a, b] = names(projection);
        let factor = |name: &str| {
            Ok::<_, candle_core::Error>(Weight::Tensor(parameters.tensor(name, learns)?))
        };
        if !parameters.trained.contains_key(&a) {
            return Ok(None);
        }
        Ok(Some(Adapter {
            a: factor(&a)?,
            b: factor(&b)?,
            scale: lora.scale(),
        }))
    };
    Ok(Decoder::new(
        config,
        &|name| parameters.tensor(name, learns),
        &adapter,
    )?)
}

/// Attention among the tokens of a batch.
struct PackedAttention<'a> {
    packed: &'a Packed,
    windows: &'a [Option<usize>],
}

impl Attend for PackedAttention<'_> {
    fn attend(
        &mut self,
        layer: usize,
        qkv: [&Tensor; 3],
        heads: Heads,
        tape: &mut Tape,
    ) -> candle_core::Result<Tensor> {
        attention(qkv, heads, self.packed.span(self.windows[layer]), tape)
    }
}

//! A policy: a decoder whose weights learn, and a view of it that writes.

use std::collections::BTreeMap;
use std::path::Path;

use assay_weights::config::DecoderConfig;
use assay_weights::{Directory, save};
use candle_core::{DType, Device, Tensor, Var};
use serde_json::Value;

use crate::PolicyError;
use crate::batch::{Batch, Packed};
use crate::decoder::{Adapter, Attend, Decoder};
use crate::graph::Scored;
use crate::lora::{LoraSettings, names};
use crate::ops::{Heads, Tape, Turns, Weight, attention, log_probs, on_workers, rows};
use crate::parameters::{self, Parameters};

/// A decoder whose weights learn.
pub struct PolicyModel {
    /// `config.json`, as it was read and is written.
    json: Value,
    pub(crate) config: DecoderConfig,
    parameters: Parameters,
    lora: Option<LoraSettings>,
    decoder: Decoder,
    frequencies: Vec<f32>,
    dtype: DType,
    device: Device,
}

/// How a policy runs.
#[derive(Debug, Clone, Default)]
pub struct PolicyModelOptions {
    /// Learn adapters only; all weights without.
    pub lora: Option<LoraSettings>,
    /// Where its random numbers start.
    pub seed: u64,
}

impl PolicyModel {
    /// Reads the directory of a model, as Hugging Face lays it out.
    ///
    /// # Errors
    /// What is missing or not known, and what to do.
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

    /// Makes a policy of this configuration with weights drawn at random, in `f32`.
    ///
    /// # Errors
    /// The configuration is none of a decoder.
    pub fn draw(
        json: Value,
        device: &Device,
        options: &PolicyModelOptions,
    ) -> Result<Self, PolicyError> {
        let tensors = Parameters::draw(&json, options.seed, device)?;
        Self::new(json, tensors, device, DType::F32, options)
    }

    fn new(
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

    /// What learns, under its name.
    #[must_use]
    pub fn parameters(&self) -> &BTreeMap<String, Var> {
        &self.parameters.trained
    }

    /// Numbers that learn.
    #[must_use]
    pub fn trained(&self) -> usize {
        self.parameters
            .trained
            .values()
            .map(|var| var.elem_count())
            .sum()
    }

    /// Numbers in all.
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

    /// Ids of tokens there are.
    #[must_use]
    pub fn vocabulary(&self) -> usize {
        self.config.vocabulary
    }

    /// Tokens of the longest text it was made for.
    #[must_use]
    pub fn max_positions(&self) -> usize {
        self.config.max_positions
    }

    /// The type of its numbers.
    #[must_use]
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Where it runs.
    #[must_use]
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// `config.json`.
    #[must_use]
    pub fn config(&self) -> &Value {
        &self.json
    }

    /// A policy that holds the same numbers now and keeps them while this one learns.
    ///
    /// # Errors
    /// The device has no room.
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

    /// Scores the completions of a batch under the softmax of logits over `temperature`.
    ///
    /// # Errors
    /// The device has no room.
    pub fn score(&self, batch: &Batch, temperature: f64) -> Result<Scored, PolicyError> {
        self.score_by(&self.decoder, batch, temperature)
    }

    /// As [`score`](Self::score), without a graph: nothing is kept for a backward pass.
    ///
    /// # Errors
    /// The device has no room.
    pub fn score_only(&self, batch: &Batch, temperature: f64) -> Result<Scored, PolicyError> {
        self.score_by(&self.view()?, batch, temperature)
    }

    fn score_by(
        &self,
        decoder: &Decoder,
        batch: &Batch,
        temperature: f64,
    ) -> Result<Scored, PolicyError> {
        let mut tape = Tape::default();
        let found = on_workers(|| {
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
        Ok(Scored::new(&found, tape)?)
    }

    /// Hidden states of the last token of each text behind the last norm, `[texts, hidden]`,
    /// without a graph.
    ///
    /// # Errors
    /// A text without a token, ids that the vocabulary has not, no room on the device.
    pub fn states(&self, texts: &[&[u32]]) -> Result<Tensor, PolicyError> {
        let packed = Packed::new(
            texts.iter().map(|text| [*text, &[]]),
            self.vocabulary(),
            &self.device,
        )?;
        let (decoder, mut tape, last) = (self.view()?, Tape::default(), self.ids(&packed.last())?);
        Ok(on_workers(|| {
            rows(
                &self.hidden_by(&decoder, &packed, &mut tape)?,
                &last,
                &mut tape,
            )
        })?)
    }

    fn hidden_by(
        &self,
        decoder: &Decoder,
        packed: &Packed,
        tape: &mut Tape,
    ) -> candle_core::Result<Tensor> {
        let turns = self.turns(&packed.positions)?;
        decoder.hidden(
            &packed.ids,
            &turns,
            &mut Inside {
                packed,
                windows: &self.config.windows,
            },
            tape,
        )
    }

    /// A decoder over the same numbers that keeps no graph: what it reads follows every step of
    /// learning.
    pub(crate) fn view(&self) -> Result<Decoder, PolicyError> {
        decoder(&self.config, &self.parameters, self.lora.as_ref(), false)
    }

    pub(crate) fn turns(&self, positions: &[u32]) -> candle_core::Result<Turns> {
        Turns::new(positions, &self.frequencies, self.dtype, &self.device)
    }

    /// Ids as a tensor.
    pub(crate) fn ids(&self, ids: &[u32]) -> candle_core::Result<Tensor> {
        Tensor::from_slice(ids, ids.len(), &self.device)
    }

    /// Writes the policy into a directory, as Hugging Face lays it out; adapters are multiplied
    /// into the weights.
    ///
    /// # Errors
    /// Which file cannot be written.
    pub fn save(&self, directory: &Path) -> Result<(), PolicyError> {
        Ok(save::model(directory, &self.json, &self.tensors()?)?)
    }

    /// Writes the adapters alone, as PEFT lays them out; nothing where all weights learn.
    ///
    /// # Errors
    /// Which file cannot be written.
    pub fn save_adapters(&self, directory: &Path) -> Result<(), PolicyError> {
        let Some(lora) = &self.lora else {
            return Ok(());
        };
        save::tensors(
            &directory.join("adapter_model.safetensors"),
            &self.numbers(),
        )?;
        let config = format!("{:#}\n", lora.config());
        Ok(save::bytes(
            &directory.join("adapter_config.json"),
            config.as_bytes(),
        )?)
    }

    /// All numbers under the names that Hugging Face gives them, adapters multiplied into the
    /// weights.
    ///
    /// # Errors
    /// The device has no room.
    pub fn tensors(&self) -> Result<BTreeMap<String, Tensor>, PolicyError> {
        self.parameters.merged(self.lora.as_ref())
    }

    /// The numbers that learn, under their names, as views.
    #[must_use]
    pub fn numbers(&self) -> BTreeMap<String, Tensor> {
        self.parameters
            .trained
            .iter()
            .map(|(name, var)| (name.clone(), var.as_detached_tensor()))
            .collect()
    }

    /// Sets what learns to these numbers, bit for bit.
    ///
    /// # Errors
    /// Names or sizes that are not the policy's.
    pub fn restore(&self, numbers: &BTreeMap<String, Tensor>) -> Result<(), PolicyError> {
        let own = &self.parameters.trained;
        if let Some(name) = own.keys().find(|name| !numbers.contains_key(*name)) {
            return Err(PolicyError::new(format!(
                "the checkpoint has no `{name}`: it is of another policy"
            )));
        }
        if let Some(name) = numbers.keys().find(|name| !own.contains_key(*name)) {
            return Err(PolicyError::new(format!(
                "the checkpoint has `{name}`, and the policy has not"
            )));
        }
        for (name, var) in own {
            let tensor = numbers[name]
                .to_dtype(var.dtype())?
                .to_device(&self.device)?;
            if tensor.shape() != var.shape() {
                let (there, here) = (tensor.shape(), var.shape());
                return Err(PolicyError::new(format!(
                    "`{name}` of the checkpoint has the sizes {there:?}, not {here:?}"
                )));
            }
            var.set(&tensor)?;
        }
        Ok(())
    }
}

#[cfg(test)]
impl PolicyModel {
    /// The same in `f64`, for differences that are finite.
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
            Ok::<_, candle_core::Error>(Weight::Plain(parameters.tensor(name, learns)?))
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
struct Inside<'a> {
    packed: &'a Packed,
    windows: &'a [Option<usize>],
}

impl Attend for Inside<'_> {
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

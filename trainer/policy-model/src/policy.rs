//! The policy model: a decoder with trained weights.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use assay_weights::config::DecoderConfig;
use assay_weights::{Directory, save};
use candle_core::{DType, Device, Tensor, Var};
use serde_json::Value;

use crate::PolicyError;
use crate::batch::{Packed, TokenBatch};
use crate::chain::Chain;
use crate::decoder::{Adapter, Decoder};
use crate::forward::Pass;
use crate::graph::{Entropies, Scored, Scores};
use crate::lora::{LoraSettings, is_factor, names};
use crate::ops::{
    RotaryTable, ScoredRows, Vocabulary, Weight, is_fused, on_thread_pool, score_rows,
};
use crate::parameters::{self, Parameters};

/// Name of the file of adapters in the PEFT layout.
pub const ADAPTERS: &str = "adapter_model.safetensors";

/// A decoder with trained weights.
pub struct PolicyModel {
    /// The content of `config.json`.
    json: Value,
    pub(crate) config: DecoderConfig,
    parameters: Parameters,
    lora: Option<LoraSettings>,
    decoder: Arc<Decoder>,
    windows: Arc<[Option<usize>]>,
    computation: Computation,
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
    /// How scores and gradients are computed.
    pub computation: Computation,
}

/// How scores and gradients are computed: the same numbers in less memory or in less time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Computation {
    /// Keeps only the input of each layer for the backward pass, which computes the rest again.
    /// Default: keeps all results.
    pub recompute: bool,
    /// Number of scored tokens whose logits are in memory at a time. Default: as many as have 2^25
    /// logits on a CPU and 2^27 on other devices.
    pub vocabulary_rows: Option<usize>,
    /// Composes operations of those of candle on a CPU too, as on other devices; for tests.
    pub composed: bool,
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
        let parameters = Parameters::new(tensors, options.lora.as_ref(), options.seed, device)?;
        Self::with_parameters(
            json,
            parameters,
            options.lora.clone(),
            device,
            dtype,
            options.computation,
        )
    }

    fn with_parameters(
        json: Value,
        parameters: Parameters,
        lora: Option<LoraSettings>,
        device: &Device,
        dtype: DType,
        computation: Computation,
    ) -> Result<Self, PolicyError> {
        let config = DecoderConfig::read(&json)?;
        parameters::check(&config, dtype)?;
        let decoder = Arc::new(decoder(&config, &parameters, lora.as_ref(), true)?);
        let windows = config.windows.clone().into();
        let frequencies = config.rope.frequencies(config.head_dim);
        Ok(Self {
            json,
            config,
            parameters,
            lora,
            decoder,
            windows,
            computation,
            frequencies,
            dtype,
            device: device.clone(),
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

    /// How scores and gradients are computed.
    #[must_use]
    pub fn computation(&self) -> Computation {
        self.computation
    }

    /// The content of `config.json`.
    #[must_use]
    pub fn config(&self) -> &Value {
        &self.json
    }

    /// Reads a model directory like [`open`](Self::open), without trained parameters and the
    /// variables for them.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_frozen(
        directory: &Path,
        device: &Device,
        dtype: DType,
        computation: Computation,
    ) -> Result<Self, PolicyError> {
        let directory = Directory::open(directory)?;
        let json = directory.config()?;
        let tensors = Parameters::read(&json, &directory.weights(device, dtype)?)?;
        let parameters = Parameters::frozen(tensors);
        Self::with_parameters(json, parameters, None, device, dtype, computation)
    }

    /// A frozen copy of the trained parameters. Frozen parameters are shared, not copied.
    ///
    /// # Errors
    /// The device is out of memory.
    pub fn snapshot(&self) -> Result<Self, PolicyError> {
        self.with(self.parameters.snapshot()?, self.lora.clone())
    }

    /// The model without its adapters, which shares the frozen weights; `None` if all weights are
    /// trained.
    ///
    /// # Errors
    /// The device fails.
    pub fn base(&self) -> Result<Option<Self>, PolicyError> {
        if self.lora.is_none() {
            return Ok(None);
        }
        let frozen = self.parameters.frozen.clone();
        let base = frozen.into_iter().filter(|(name, _)| !is_factor(name));
        let parameters = Parameters::frozen(base.collect());
        Ok(Some(self.with(parameters, None)?))
    }

    /// The same model with other parameters.
    fn with(
        &self,
        parameters: Parameters,
        lora: Option<LoraSettings>,
    ) -> Result<Self, PolicyError> {
        Self::with_parameters(
            self.json.clone(),
            parameters,
            lora,
            &self.device,
            self.dtype,
            self.computation,
        )
    }

    /// Scores the completions of a batch with the softmax of logits / `temperature`.
    ///
    /// # Errors
    /// The device is out of memory.
    pub fn score(
        &self,
        batch: &TokenBatch,
        temperature: f64,
        entropies: Entropies,
    ) -> Result<Scored, PolicyError> {
        let mut chain = self.chain();
        let scored = self.score_by(&self.decoder, batch, temperature, &mut chain, true)?;
        let head = head(&self.decoder)?;
        Ok(Scored::new(scored, head, entropies, chain)?)
    }

    /// Log-probabilities and entropies like those of [`score`](Self::score), without a graph.
    ///
    /// # Errors
    /// The device is out of memory.
    pub fn score_only(&self, batch: &TokenBatch, temperature: f64) -> Result<Scores, PolicyError> {
        let (decoder, mut chain) = (Arc::new(self.view()?), self.chain());
        let scored = self.score_by(&decoder, batch, temperature, &mut chain, false)?;
        Ok(Scores {
            log_probs: scored.log_probs,
            entropies: scored.entropies,
        })
    }

    fn score_by(
        &self,
        decoder: &Arc<Decoder>,
        batch: &TokenBatch,
        temperature: f64,
        chain: &mut Chain,
        learns: bool,
    ) -> Result<ScoredRows, PolicyError> {
        let pass = self.pass(&batch.packed)?;
        let head = head(decoder)?;
        let vocabulary = Vocabulary {
            tokens: Arc::clone(&batch.scored),
            scale: 1.0 / temperature,
            rows: self.computation.vocabulary_rows,
            composed: self.is_composed(),
        };
        Ok(on_thread_pool(|| {
            let hidden = pass.states(decoder, &batch.rows, chain)?;
            score_rows(&hidden, head, vocabulary, learns)
        })?)
    }

    /// Hidden states of the last token of each text after the last norm, `[texts, hidden]`, without
    /// a graph.
    ///
    /// # Errors
    /// A text is empty, an id is outside the vocabulary, or the device is out of memory.
    pub fn states(&self, texts: &[&[u32]]) -> Result<Tensor, PolicyError> {
        let packed = self.packed(texts)?;
        let (decoder, last) = (Arc::new(self.view()?), self.ids(&packed.last())?);
        let (pass, mut chain) = (self.pass(&packed)?, self.chain());
        Ok(on_thread_pool(|| pass.states(&decoder, &last, &mut chain))?)
    }

    /// Like [`states`](Self::states), recorded on a chain.
    pub(crate) fn learning_states(&self, texts: &[&[u32]]) -> Result<(Tensor, Chain), PolicyError> {
        let packed = self.packed(texts)?;
        let last = self.ids(&packed.last())?;
        let (pass, mut chain) = (self.pass(&packed)?, self.chain());
        let states = on_thread_pool(|| pass.states(&self.decoder, &last, &mut chain))?;
        Ok((states, chain))
    }

    fn packed(&self, texts: &[&[u32]]) -> Result<Packed, PolicyError> {
        let texts = texts.iter().map(|text| [*text, &[]]);
        Packed::new(texts, self.vocabulary(), &self.device)
    }

    fn pass(&self, packed: &Packed) -> candle_core::Result<Pass> {
        Ok(Pass {
            packed: packed.clone(),
            rotary: self.rotary(&packed.positions)?,
            windows: Arc::clone(&self.windows),
        })
    }

    /// Whether operations are composed of those of candle.
    fn is_composed(&self) -> bool {
        self.computation.composed || !is_fused(&self.device, self.dtype)
    }

    fn chain(&self) -> Chain {
        Chain::new(self.is_composed(), self.computation.recompute)
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
        Ok(save::model(
            directory,
            &self.saved_config(),
            &self.tensors()?,
        )?)
    }

    /// `config.json` with the type of the weights.
    fn saved_config(&self) -> Value {
        let name = match self.dtype {
            DType::BF16 => "bfloat16",
            DType::F16 => "float16",
            DType::F64 => "float64",
            _ => "float32",
        };
        let mut json = self.json.clone();
        // The key of older and of newer versions of `transformers`.
        let key = ["dtype", "torch_dtype"]
            .into_iter()
            .find(|key| json.get(key).is_some())
            .unwrap_or("torch_dtype");
        json[key] = name.into();
        json
    }

    /// Whether only adapters are trained.
    #[must_use]
    pub fn has_adapters(&self) -> bool {
        self.lora.is_some()
    }

    /// The factors of the adapters by their names in PEFT, as views without a graph.
    #[must_use]
    pub fn adapters(&self) -> BTreeMap<String, Tensor> {
        let trained = self.trained_tensors().into_iter();
        let frozen = self.parameters.frozen.clone();
        trained
            .chain(frozen)
            .filter(|(name, _)| is_factor(name))
            .collect()
    }

    /// A frozen model with these adapters, which shares the frozen weights of this one.
    ///
    /// # Errors
    /// Names or shapes differ from those of the model.
    pub fn with_adapters(&self, adapters: &BTreeMap<String, Tensor>) -> Result<Self, PolicyError> {
        let own = self.adapters();
        let fits = own.len() == adapters.len()
            && own.iter().all(|(name, tensor)| {
                adapters
                    .get(name)
                    .is_some_and(|given| given.shape() == tensor.shape())
            });
        if !fits {
            return Err(PolicyError::new(
                "the adapters belong to another policy model or have another rank",
            ));
        }
        let mut frozen = self.parameters.frozen.clone();
        for (name, tensor) in adapters {
            let tensor = tensor.to_dtype(self.dtype)?.to_device(&self.device)?;
            frozen.insert(name.clone(), tensor);
        }
        self.with(Parameters::frozen(frozen), self.lora.clone())
    }

    /// Writes only the adapters, in the PEFT layout, to a directory that is created if it does not
    /// exist. Does nothing if all weights are trained.
    ///
    /// The directory must not be that of merged weights: PEFT would add the adapters a second time.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn save_adapters(&self, directory: &Path) -> Result<(), PolicyError> {
        let Some(lora) = &self.lora else {
            return Ok(());
        };
        std::fs::create_dir_all(directory).map_err(|error| {
            PolicyError::new(format!("cannot create `{}`: {error}", directory.display()))
        })?;
        save::tensors(&directory.join(ADAPTERS), &self.adapters())?;
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
            decoder: Arc::new(decoder),
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
        if !parameters.has(&a) {
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

/// The head of a decoder whose weights are not packed.
fn head(decoder: &Decoder) -> candle_core::Result<&Tensor> {
    match decoder.head() {
        Some(head) => Ok(head),
        None => candle_core::bail!("packed weights have no gradients"),
    }
}

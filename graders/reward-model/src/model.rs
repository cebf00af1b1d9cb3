//! A reward model: input reader, network and normalisation.

use std::path::Path;
use std::sync::Arc;

use assay_core::Completion;
use assay_core::reward_model::{ModelInfo, ModelInput, ModelOutput, Refusal, Truncate, softmax};
use assay_weights::config::{Family, Fields};
use assay_weights::{Directory, LoadError, first_line};

use crate::head::{OutputKind, cosine};
use crate::network::{Network, Outline};
use crate::normalise::Normalise;
use crate::pooling::Pooling;
use crate::serving::{Model, RewardScore, RunError, TokenisedInput};
use crate::text::{InputKind, InputReader, ModelProperties};
use crate::{Compute, FILE, ModelOptions, Rows, Sequence, compute};

/// A model in memory.
pub struct RewardModel {
    info: Arc<ModelInfo>,
    reader: InputReader,
    /// Each device with the network on it.
    networks: Vec<(Compute, Network)>,
    output_kind: OutputKind,
    /// Indices of the labels that mean a pass.
    positive: Vec<usize>,
    normalise: Normalise,
}

impl RewardModel {
    /// Loads the model of a directory under a name. `source` is the name or path by which it was
    /// requested. `options` take precedence over those of `assay.json` in the directory.
    ///
    /// # Errors
    /// [`LoadError`] names the file, tensor or option at fault and the reason.
    pub fn open(
        name: &str,
        source: &str,
        path: &Path,
        options: &ModelOptions,
        compute: &Compute,
        loaded_us: i64,
    ) -> Result<Self, LoadError> {
        let compute = std::slice::from_ref(compute);
        Self::open_on(name, source, path, options, compute, loaded_us)
    }

    /// Like [`RewardModel::open`] on each of these devices.
    ///
    /// # Errors
    /// As [`RewardModel::open`].
    pub fn open_on(
        name: &str,
        source: &str,
        path: &Path,
        options: &ModelOptions,
        devices: &[Compute],
        loaded_us: i64,
    ) -> Result<Self, LoadError> {
        let Some((compute, others)) = devices.split_first() else {
            return Err(LoadError::new("no device"));
        };
        let directory = Directory::open(path)?;
        let options = match directory.json(FILE)? {
            Some(declared) => options.over(declared)?,
            None => options.clone(),
        };
        let dtype = compute.dtype(options.dtype.as_deref())?;
        let weights = directory.weights(compute.device(), dtype)?;
        let outline = Outline::detect(&directory, &weights, &options)?;
        let output_kind = outline.head.output_kind;
        let fields = Fields(&outline.config);
        let properties = ModelProperties {
            kind: input_kind(outline.backbone.family(), output_kind),
            pooling: default_pooling(&directory, outline.backbone.family(), output_kind, fields)?,
            pad: fields.id("pad_token_id"),
            max_tokens: outline.max_tokens,
            vocabulary: outline.backbone.vocabulary(),
        };
        let reader = InputReader::open(path, &options, &properties)
            .map_err(|error| LoadError::new(error.to_string()))?;
        let labels = match output_kind {
            OutputKind::Labels => options.labels.clone(),
            OutputKind::Classes if !options.labels.is_empty() => options.labels.clone(),
            OutputKind::Classes => fields.labels(),
            OutputKind::Scalar | OutputKind::Steps | OutputKind::Embedding => Vec::new(),
        };
        if output_kind == OutputKind::Classes && labels.len() != outline.head.outputs {
            let (declared, classes) = (labels.len(), outline.head.outputs);
            return Err(LoadError::new(format!(
                "option `labels` has {declared} entries, but the head has {classes} classes"
            )));
        }
        if !options.labels.is_empty() && labels.is_empty() {
            let head = output_kind.as_str();
            return Err(LoadError::new(format!(
                "option `labels` applies to classes and label tokens, but the output of the head \
                 is `{head}`"
            )));
        }
        let positive = label_indices(&options.positive, &labels)?;
        if output_kind == OutputKind::Labels && positive.is_empty() {
            return Err(LoadError::new(
                "option `positive` is missing; declare at least one of `labels` that means a pass",
            ));
        }
        let ids = match output_kind {
            OutputKind::Labels => labels
                .iter()
                .map(|label| reader.token_id(label))
                .collect::<Result<Vec<u32>, _>>(),
            _ => Ok(Vec::new()),
        };
        let ids = ids.map_err(|error| LoadError::new(error.to_string()))?;
        // Encoders that return one number are trained as classifiers, and so is VerifyRM.
        let log_odds = !matches!(outline.backbone.family(), Family::Decoder)
            || options.template.as_deref() == Some("verify_rm");
        let normalise = Normalise::declared(&options, &outline.config, output_kind, log_odds)?;
        let info = ModelInfo {
            name: name.to_owned(),
            version: directory.version(&weights, &options)?,
            source: source.to_owned(),
            architecture: fields
                .texts("architectures")
                .and_then(|names| names.first().copied())
                .unwrap_or_default()
                .to_owned(),
            head: output_kind.as_str().into(),
            pooling: if output_kind == OutputKind::Steps {
                "steps".to_owned()
            } else {
                reader.pooling().to_string()
            },
            scale: output_kind.scale(),
            normalise: normalise.as_str().into(),
            labels,
            template: reader.name().into(),
            parameters: weights.parameters(),
            hidden: outline.backbone.hidden(),
            layers: outline.backbone.layers(),
            max_tokens: reader.max_tokens(),
            dtype: compute::dtype_name(dtype).into(),
            device: Compute::names(devices),
            loaded_us,
        };
        let network = Network::read(outline, &weights, &options, &ids)?;
        drop(weights);
        let mut networks = vec![(compute.clone(), network.with_gpu(compute.gpu()))];
        for compute in others {
            let weights = directory.weights(compute.device(), dtype)?;
            let outline = Outline::detect(&directory, &weights, &options)?;
            let network = Network::read(outline, &weights, &options, &ids)?;
            networks.push((compute.clone(), network.with_gpu(compute.gpu())));
        }
        Ok(Self {
            info: Arc::new(info),
            reader,
            networks,
            output_kind,
            positive,
            normalise,
        })
    }

    /// Total probability of the positive labels.
    fn positive(&self, probabilities: &[f32]) -> Option<f32> {
        (!self.positive.is_empty()).then(|| {
            self.positive
                .iter()
                .filter_map(|index| probabilities.get(*index))
                .sum::<f32>()
                .min(1.0)
        })
    }

    fn raw(&self, readout: &ModelOutput, reference: Option<&ModelOutput>) -> Option<f32> {
        let raw = match readout {
            ModelOutput::Scalar(number) => Some(*number),
            ModelOutput::Classes(logits) => self.positive(&softmax(logits)),
            ModelOutput::Labels(probabilities) => self.positive(probabilities),
            ModelOutput::Steps(steps) => steps.iter().copied().reduce(f32::min),
            ModelOutput::Embedding(own) => match reference {
                Some(ModelOutput::Embedding(other)) => Some(cosine(own, other)),
                _ => None,
            },
        };
        raw.filter(|raw| raw.is_finite())
    }
}

impl Model for RewardModel {
    fn info(&self) -> &Arc<ModelInfo> {
        &self.info
    }

    fn read(&self, input: &ModelInput, truncate: Truncate) -> Result<TokenisedInput, Refusal> {
        let main = self.reader.read(input, truncate)?;
        let ModelInput::Rollout {
            prompt,
            reference: Some(reference),
            ..
        } = input
        else {
            return Ok(TokenisedInput {
                main,
                reference: None,
            });
        };
        let reference_input = match (self.output_kind, self.normalise) {
            (OutputKind::Embedding, _) => Some(ModelInput::Text(Arc::clone(reference))),
            (_, Normalise::Relative) => Some(ModelInput::Rollout {
                prompt: prompt.clone(),
                completion: Completion::Text(Arc::clone(reference)),
                reference: None,
            }),
            _ => None,
        };
        let reference = reference_input
            .map(|input| self.reader.read(&input, truncate))
            .transpose()?;
        Ok(TokenisedInput { main, reference })
    }

    fn run(&self, batch: &[&Sequence]) -> Result<Vec<ModelOutput>, RunError> {
        self.run_on(0, batch)
    }

    fn run_on(&self, device: usize, batch: &[&Sequence]) -> Result<Vec<ModelOutput>, RunError> {
        let Some((compute, network)) = self.networks.get(device) else {
            return Err(RunError::Device(format!("no device {device}")));
        };
        let result = compute.run(|| network.run(batch));
        result.map_err(|error| {
            let text = first_line(&error);
            if text.to_lowercase().contains("out of memory") || text.contains("OUT_OF_MEMORY") {
                RunError::OutOfMemory
            } else {
                RunError::Device(text)
            }
        })
    }

    fn shares_prefixes(&self) -> bool {
        self.networks
            .iter()
            .all(|(_, network)| network.shares_prefixes())
    }

    fn score(&self, readout: &ModelOutput, reference: Option<&ModelOutput>) -> RewardScore {
        let raw = self.raw(readout, reference);
        let reference_raw = reference.and_then(|reference| self.raw(reference, None));
        RewardScore {
            raw,
            score: raw.and_then(|raw| self.normalise.score(raw, reference_raw)),
        }
    }

    /// On a GPU, where kernels are compiled at first use and memory is limited: a sequence of one
    /// token, a batch of short sequences, and one of the maximum length. On a CPU: one token.
    fn warm_up(&self, batch_tokens: usize) -> Vec<Sequence> {
        if self.info.device == "cpu" {
            return vec![self.sample(1)];
        }
        let short = batch_tokens.div_ceil(64).min(512);
        let longest = self.info.max_tokens.min(batch_tokens.max(1));
        std::iter::once(1)
            .chain(std::iter::repeat_n(64, short))
            .chain([longest])
            .map(|length| self.sample(length))
            .collect()
    }
}

impl RewardModel {
    /// A dummy sequence of `length` tokens.
    fn sample(&self, length: usize) -> Sequence {
        let sequence = Sequence::whole(vec![0; length.clamp(1, self.info.max_tokens)]);
        match self.reader.pooling() {
            Pooling::Mean => Sequence {
                rows: Rows::Mean,
                ..sequence
            },
            _ => sequence,
        }
    }
}

fn input_kind(family: Family, output_kind: OutputKind) -> InputKind {
    match (family, output_kind) {
        (_, OutputKind::Steps) => InputKind::Steps,
        (_, OutputKind::Embedding) => InputKind::Embedding,
        (Family::Decoder, _) => InputKind::Rollout,
        (Family::Bert | Family::ModernBert, _) => InputKind::Pair,
    }
}

/// Default pooling, used unless an option declares another.
fn default_pooling(
    directory: &Directory,
    family: Family,
    output_kind: OutputKind,
    fields: Fields<'_>,
) -> Result<Pooling, LoadError> {
    match (family, output_kind) {
        (Family::Decoder, _) => Ok(Pooling::Last),
        (_, OutputKind::Embedding) => sentence_pooling(directory),
        (Family::ModernBert, _) if fields.text("classifier_pooling") == Some("mean") => {
            Ok(Pooling::Mean)
        }
        (Family::Bert | Family::ModernBert, _) => Ok(Pooling::Cls),
    }
}

/// Pooling of an embedding model according to `1_Pooling/config.json`, or the mean if there is no
/// such file.
fn sentence_pooling(directory: &Directory) -> Result<Pooling, LoadError> {
    let Some(declared) = directory.json("1_Pooling/config.json")? else {
        return Ok(Pooling::Mean);
    };
    let flags = declared.as_object().into_iter().flatten();
    let mut chosen: Vec<&str> = flags
        .filter(|(_, value)| value.as_bool() == Some(true))
        .filter_map(|(name, _)| name.strip_prefix("pooling_mode_"))
        .collect();
    chosen.extend(
        declared
            .get("pooling_mode")
            .and_then(serde_json::Value::as_str),
    );
    match chosen[..] {
        [] | ["mean_tokens" | "mean"] => Ok(Pooling::Mean),
        ["cls_token" | "cls"] => Ok(Pooling::Cls),
        ["lasttoken"] => Ok(Pooling::Last),
        _ => {
            let chosen = chosen.join(", ");
            Err(LoadError::new(format!(
                "`1_Pooling/config.json` declares {chosen}; only mean, cls or last is supported"
            )))
        }
    }
}

/// Indices of the labels `some` in `all`, sorted.
fn label_indices(some: &[String], all: &[String]) -> Result<Vec<usize>, LoadError> {
    let index = |name: &String| {
        let index = all.iter().position(|label| label == name);
        index.ok_or_else(|| {
            LoadError::new(format!(
                "option `positive` names `{name}`, which is not one of the labels {}",
                all.join(", ")
            ))
        })
    };
    let mut indices = some.iter().map(index).collect::<Result<Vec<_>, _>>()?;
    indices.sort_unstable();
    indices.dedup();
    Ok(indices)
}

//! Files of a model: its configuration, and tensors mapped from disk under their names.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use candle_core::safetensors::Load;
use candle_core::{DType, Device, Tensor};
use memmap2::Mmap;
use safetensors::{Dtype, SafeTensors};
use serde_json::Value;

use crate::{LoadError, ModelOptions, raw, synthetic};

/// Largest file that is read whole: a configuration or a tokenizer.
const MAX_TEXT: u64 = 256 << 20;

/// Files beside the weights that decide a score.
const TEXTS: &[&str] = &[
    "config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "chat_template.jinja",
    "1_Pooling/config.json",
    "modules.json",
    "sentence_bert_config.json",
];

/// A directory with a model, as Hugging Face lays it out.
pub(crate) struct Directory {
    path: PathBuf,
}

impl Directory {
    pub(crate) fn open(path: &Path) -> Result<Self, LoadError> {
        if !path.is_dir() {
            return Err(LoadError::new(format!("`{}` is no directory", path.display())));
        }
        let directory = Self { path: path.to_owned() };
        directory.check()?;
        Ok(directory)
    }

    /// The text of a file; `None` where there is none.
    pub(crate) fn text(&self, name: &str) -> Result<Option<String>, LoadError> {
        let path = self.path.join(name);
        let at_fault = |error: std::io::Error| LoadError::new(format!("`{name}` cannot be read: {error}"));
        let Ok(facts) = fs::metadata(&path) else { return Ok(None) };
        if !facts.is_file() || facts.len() > MAX_TEXT {
            return Err(LoadError::new(format!("`{name}` is no file of at most {} MiB", MAX_TEXT >> 20)));
        }
        fs::read_to_string(&path).map(Some).map_err(at_fault)
    }

    /// A file as JSON; `None` where there is none.
    pub(crate) fn json(&self, name: &str) -> Result<Option<Value>, LoadError> {
        let parse = |text: String| {
            serde_json::from_str(&text).map_err(|error| LoadError::new(format!("`{name}` is no JSON: {error}")))
        };
        self.text(name)?.map(parse).transpose()
    }

    /// Holds every file that decides a score to be one, and of a size that can be read.
    fn check(&self) -> Result<(), LoadError> {
        TEXTS.iter().try_for_each(|name| match fs::metadata(self.path.join(name)) {
            Ok(facts) if !facts.is_file() || facts.len() > MAX_TEXT => {
                Err(LoadError::new(format!("`{name}` is no file of at most {} MiB", MAX_TEXT >> 20)))
            }
            _ => Ok(()),
        })
    }

    /// The model's configuration.
    pub(crate) fn config(&self) -> Result<Value, LoadError> {
        self.json("config.json")?.ok_or_else(|| {
            LoadError::new(format!("`{}` has no `config.json`; is it the directory of a model?", self.path.display()))
        })
    }

    /// The files of weights, in the order of their names.
    fn weight_files(&self) -> Result<Vec<PathBuf>, LoadError> {
        const INDEX: &str = "model.safetensors.index.json";
        let Some(index) = self.json(INDEX)? else {
            let single = self.path.join("model.safetensors");
            if single.is_file() {
                return Ok(vec![single]);
            }
            let message = "there is no `model.safetensors`; weights in other formats are not read: convert them";
            return Err(LoadError::new(message));
        };
        let map = index.get("weight_map").and_then(Value::as_object);
        let map = map.ok_or_else(|| LoadError::new(format!("`{INDEX}` has no `weight_map`")))?;
        let names: BTreeSet<&str> = map.values().filter_map(Value::as_str).collect();
        let inside = |name: &&str| Path::new(name).components().count() == 1 && !name.starts_with('.');
        if let Some(name) = names.iter().find(|name| !inside(name)) {
            return Err(LoadError::new(format!("`{INDEX}` names `{name}`, which is not beside it")));
        }
        Ok(names.into_iter().map(|name| self.path.join(name)).collect())
    }

    /// Maps the weights.
    pub(crate) fn weights(&self, device: &Device, dtype: DType) -> Result<Weights, LoadError> {
        let mut files = Vec::new();
        let mut places = BTreeMap::new();
        for path in self.weight_files()? {
            let at_fault =
                |error: &dyn std::fmt::Display| LoadError::new(format!("`{}` cannot be read: {error}", path.display()));
            let file = raw::map(&path).map_err(|error| at_fault(&error))?;
            let names: Vec<String> = SafeTensors::deserialize(&file)
                .map_err(|error| at_fault(&error))?
                .names()
                .into_iter()
                .map(str::to_owned)
                .collect();
            for name in names {
                if places.insert(name.clone(), files.len()).is_some() {
                    return Err(LoadError::new(format!("the tensor `{name}` is in two files")));
                }
            }
            files.push(file);
        }
        Ok(Weights { source: Source::Files { files, places }, used: RefCell::default(), device: device.clone(), dtype })
    }

    /// Hash of everything that decides a score: configuration, weights, the tokenizer's files and the options, in hex.
    pub(crate) fn version(&self, weights: &Weights, options: &ModelOptions) -> Result<String, LoadError> {
        let mut hasher = blake3::Hasher::new();
        let mut part = |bytes: &[u8]| {
            hasher.update(&(bytes.len() as u64).to_le_bytes());
            hasher.update(bytes);
        };
        for name in TEXTS {
            part(self.text(name)?.unwrap_or_default().as_bytes());
        }
        // Options are plain data: they always have a JSON form.
        part(&serde_json::to_vec(options).unwrap_or_default());
        part(format!("{:?}", weights.dtype).as_bytes());
        if let Source::Files { files, .. } = &weights.source {
            files.iter().for_each(|file| part(file));
        }
        Ok(hasher.finalize().to_hex().to_string())
    }
}

/// Tensors under their names, loaded when they are asked for. What nobody asked for is told.
pub(crate) struct Weights {
    source: Source,
    used: RefCell<BTreeSet<String>>,
    device: Device,
    dtype: DType,
}

/// Where numbers come from.
enum Source {
    /// Files, and in which of them each tensor is.
    Files { files: Vec<Mmap>, places: BTreeMap<String, usize> },
    /// Nowhere: sizes of tensors that are made up.
    Made(BTreeMap<String, Vec<usize>>),
}

impl Weights {
    /// Weights out of nothing for tensors of these sizes.
    pub(crate) fn made(shapes: BTreeMap<String, Vec<usize>>, device: &Device, dtype: DType) -> Self {
        Self { source: Source::Made(shapes), used: RefCell::default(), device: device.clone(), dtype }
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        match &self.source {
            Source::Files { places, .. } => places.contains_key(name),
            Source::Made(shapes) => shapes.contains_key(name),
        }
    }

    /// Every name, in alphabetical order.
    fn names(&self) -> Box<dyn Iterator<Item = &str> + '_> {
        match &self.source {
            Source::Files { places, .. } => Box::new(places.keys().map(String::as_str)),
            Source::Made(shapes) => Box::new(shapes.keys().map(String::as_str)),
        }
    }

    /// Where tensors go.
    pub(crate) fn device(&self) -> &Device {
        &self.device
    }

    /// The type they are computed with.
    pub(crate) fn dtype(&self) -> DType {
        self.dtype
    }

    /// Parameters in all.
    pub(crate) fn parameters(&self) -> u64 {
        self.counted(|_| true)
    }

    /// Parameters of embeddings, which are looked up and not multiplied.
    pub(crate) fn embedding_parameters(&self) -> u64 {
        self.counted(|name| name.contains("embed"))
    }

    fn counted(&self, counts: impl Fn(&str) -> bool) -> u64 {
        let size = |name: &str| self.shape(name).unwrap_or_default().iter().map(|size| *size as u64).product::<u64>();
        self.names().filter(|name| counts(name)).map(size).sum()
    }

    /// The sizes of a tensor.
    pub(crate) fn shape(&self, name: &str) -> Option<Vec<usize>> {
        match &self.source {
            Source::Files { files, places } => {
                let file = files.get(*places.get(name)?)?;
                SafeTensors::deserialize(file).ok()?.tensor(name).ok().map(|tensor| tensor.shape().to_vec())
            }
            Source::Made(shapes) => shapes.get(name).cloned(),
        }
    }

    /// A tensor of these sizes, on the device, in the type of the model.
    pub(crate) fn tensor(&self, name: &str, shape: &[usize]) -> Result<Tensor, LoadError> {
        self.read(name, shape, &self.device, self.dtype)
    }

    /// A tensor of these sizes as `f32` values, row by row.
    pub(crate) fn values(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>, LoadError> {
        let tensor = self.read(name, shape, &Device::Cpu, DType::F32)?;
        Ok(tensor.flatten_all()?.to_vec1()?)
    }

    fn read(&self, name: &str, shape: &[usize], device: &Device, dtype: DType) -> Result<Tensor, LoadError> {
        let there = self.shape(name).ok_or_else(|| LoadError::new(format!("the tensor `{name}` is missing")))?;
        let at_fault = |error: &dyn std::fmt::Display| LoadError::new(format!("the tensor `{name}`: {error}"));
        if there != shape {
            return Err(at_fault(&format!("has the sizes {there:?}, and {shape:?} are expected")));
        }
        self.used.borrow_mut().insert(name.to_owned());
        let tensor = match &self.source {
            Source::Files { files, places } => {
                let tensors = SafeTensors::deserialize(&files[places[name]]).map_err(|error| at_fault(&error))?;
                let view = tensors.tensor(name).map_err(|error| at_fault(&error))?;
                if !matches!(view.dtype(), Dtype::F32 | Dtype::F16 | Dtype::BF16 | Dtype::F64) {
                    return Err(at_fault(&format!("holds {:?}; quantised weights are not read", view.dtype())));
                }
                view.load(&Device::Cpu)?
            }
            Source::Made(_) => Tensor::from_vec(synthetic::values(name, shape), shape, &Device::Cpu)?,
        };
        Ok(tensor.to_dtype(dtype)?.to_device(device)?)
    }

    /// Notes that a tensor is there and rightly not read.
    pub(crate) fn pass_over(&self, name: &str) {
        self.used.borrow_mut().insert(name.to_owned());
    }

    /// Refuses tensors nobody asked for: a head that is not read would leave a score that means nothing.
    pub(crate) fn all_used(&self) -> Result<(), LoadError> {
        let used = self.used.borrow();
        let ignored = |name: &str| name.ends_with("rotary_emb.inv_freq") || name.ends_with("position_ids");
        let left: Vec<&str> = self.names().filter(|name| !used.contains(*name) && !ignored(name)).collect();
        if left.is_empty() {
            return Ok(());
        }
        let some = left.iter().take(5).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        let more = if left.len() > 5 { format!(" and {} more", left.len() - 5) } else { String::new() };
        let message = format!(
            "no part of the model reads {some}{more}: is it another architecture or head than its configuration says?"
        );
        Err(LoadError::new(message))
    }
}

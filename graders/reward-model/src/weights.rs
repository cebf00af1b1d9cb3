//! Files of a model: its configuration, and tensors mapped from disk under their names.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use candle_core::safetensors::Load;
use candle_core::{DType, Device, Tensor};
use memmap2::Mmap;
use safetensors::SafeTensors;
use serde_json::Value;

use crate::{LoadError, ModelOptions, raw};

/// Largest file that is read whole: a configuration or a tokenizer.
const MAX_TEXT: u64 = 256 << 20;

/// A directory with a model, as Hugging Face lays it out.
pub(crate) struct Directory {
    path: PathBuf,
}

impl Directory {
    pub(crate) fn open(path: &Path) -> Result<Self, LoadError> {
        if !path.is_dir() {
            return Err(LoadError::new(format!("`{}` is no directory", path.display())));
        }
        Ok(Self { path: path.to_owned() })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The text of a file; `None` where there is none.
    pub(crate) fn text(&self, name: &str) -> Result<Option<String>, LoadError> {
        let path = self.path.join(name);
        let at_fault = |error: std::io::Error| LoadError::new(format!("`{name}` cannot be read: {error}"));
        let Ok(facts) = fs::metadata(&path) else { return Ok(None) };
        if facts.len() > MAX_TEXT {
            return Err(LoadError::new(format!("`{name}` is larger than {} MiB", MAX_TEXT >> 20)));
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
        Ok(Weights { files, places, used: RefCell::default(), device: device.clone(), dtype })
    }

    /// Hash of everything that decides a score: configuration, weights, the tokenizer's files and the options, in hex.
    pub(crate) fn version(&self, weights: &Weights, options: &ModelOptions) -> Result<String, LoadError> {
        /// Files beside the weights that decide a score.
        const TEXTS: &[&str] = &[
            "config.json",
            "tokenizer.json",
            "tokenizer_config.json",
            "special_tokens_map.json",
            "chat_template.jinja",
            "1_Pooling/config.json",
        ];
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
        weights.files.iter().for_each(|file| part(file));
        Ok(hasher.finalize().to_hex().to_string())
    }
}

/// Tensors under their names, loaded when they are asked for. What nobody asked for is told.
pub(crate) struct Weights {
    files: Vec<Mmap>,
    places: BTreeMap<String, usize>,
    used: RefCell<BTreeSet<String>>,
    device: Device,
    dtype: DType,
}

impl Weights {
    pub(crate) fn has(&self, name: &str) -> bool {
        self.places.contains_key(name)
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
        self.files
            .iter()
            .filter_map(|file| SafeTensors::deserialize(file).ok())
            .flat_map(|tensors| tensors.tensors())
            .map(|(_, tensor)| tensor.shape().iter().map(|size| *size as u64).product::<u64>())
            .sum()
    }

    /// The sizes of a tensor.
    pub(crate) fn shape(&self, name: &str) -> Option<Vec<usize>> {
        let file = self.files.get(*self.places.get(name)?)?;
        SafeTensors::deserialize(file).ok()?.tensor(name).ok().map(|tensor| tensor.shape().to_vec())
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
        let file = self.places.get(name).and_then(|place| self.files.get(*place));
        let file = file.ok_or_else(|| LoadError::new(format!("the tensor `{name}` is missing")))?;
        let at_fault = |error: &dyn std::fmt::Display| LoadError::new(format!("the tensor `{name}`: {error}"));
        let tensors = SafeTensors::deserialize(file).map_err(|error| at_fault(&error))?;
        let view = tensors.tensor(name).map_err(|error| at_fault(&error))?;
        if view.shape() != shape {
            let message = format!("has the sizes {:?}, and {shape:?} are expected", view.shape());
            return Err(at_fault(&message));
        }
        self.used.borrow_mut().insert(name.to_owned());
        let tensor = view.load(&Device::Cpu)?.to_dtype(dtype)?;
        Ok(tensor.to_device(device)?)
    }

    /// Notes that a tensor is there and rightly not read.
    pub(crate) fn pass_over(&self, name: &str) {
        self.used.borrow_mut().insert(name.to_owned());
    }

    /// Refuses tensors nobody asked for: a head that is not read would leave a score that means nothing.
    pub(crate) fn all_used(&self) -> Result<(), LoadError> {
        let used = self.used.borrow();
        let ignored = |name: &str| name.ends_with("rotary_emb.inv_freq") || name.ends_with("position_ids");
        let left: Vec<&str> =
            self.places.keys().map(String::as_str).filter(|name| !used.contains(*name) && !ignored(name)).collect();
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

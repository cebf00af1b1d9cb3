//! The directory of a model: its texts, which files hold its weights, and one hash of everything
//! that decides a number.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use candle_core::{DType, Device};
use safetensors::SafeTensors;
use serde::Serialize;
use serde_json::Value;

use crate::{LoadError, Weights, map};

/// The configuration of a model.
pub(crate) const CONFIG: &str = "config.json";

/// Its weights where they are one file.
pub(crate) const SINGLE: &str = "model.safetensors";

/// Which file holds which tensor, where they are several.
pub(crate) const INDEX: &str = "model.safetensors.index.json";

/// Largest file that is read whole: a configuration or a tokenizer.
const MAX_TEXT: u64 = 256 << 20;

/// Files beside the weights that decide a number.
const TEXTS: &[&str] = &[
    CONFIG,
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "chat_template.jinja",
    "1_Pooling/config.json",
    "modules.json",
    "sentence_bert_config.json",
];

/// A directory with a model, as Hugging Face lays it out.
pub struct Directory {
    path: PathBuf,
}

impl Directory {
    /// Looks at a directory.
    ///
    /// # Errors
    /// It is none, or holds a file of texts that cannot be read whole.
    pub fn open(path: &Path) -> Result<Self, LoadError> {
        if !path.is_dir() {
            return Err(LoadError::new(format!(
                "`{}` is no directory",
                path.display()
            )));
        }
        let directory = Self {
            path: path.to_owned(),
        };
        directory.check()?;
        Ok(directory)
    }

    /// The text of a file; `None` where there is none.
    ///
    /// # Errors
    /// It is larger than 256 MiB, or no UTF-8.
    pub fn text(&self, name: &str) -> Result<Option<String>, LoadError> {
        let path = self.path.join(name);
        let at_fault =
            |error: std::io::Error| LoadError::new(format!("`{name}` cannot be read: {error}"));
        let Ok(facts) = fs::metadata(&path) else {
            return Ok(None);
        };
        if !facts.is_file() || facts.len() > MAX_TEXT {
            return Err(LoadError::new(format!(
                "`{name}` is no file of at most {} MiB",
                MAX_TEXT >> 20
            )));
        }
        fs::read_to_string(&path).map(Some).map_err(at_fault)
    }

    /// A file as JSON; `None` where there is none.
    ///
    /// # Errors
    /// As [`Directory::text`], or it is no JSON.
    pub fn json(&self, name: &str) -> Result<Option<Value>, LoadError> {
        let parse = |text: String| {
            serde_json::from_str(&text)
                .map_err(|error| LoadError::new(format!("`{name}` is no JSON: {error}")))
        };
        self.text(name)?.map(parse).transpose()
    }

    /// Holds every file that decides a number to be one, and of a size that can be read.
    fn check(&self) -> Result<(), LoadError> {
        TEXTS
            .iter()
            .try_for_each(|name| match fs::metadata(self.path.join(name)) {
                Ok(facts) if !facts.is_file() || facts.len() > MAX_TEXT => Err(LoadError::new(
                    format!("`{name}` is no file of at most {} MiB", MAX_TEXT >> 20),
                )),
                _ => Ok(()),
            })
    }

    /// The model's configuration, `config.json`.
    ///
    /// # Errors
    /// It is missing, or no JSON.
    pub fn config(&self) -> Result<Value, LoadError> {
        self.json(CONFIG)?.ok_or_else(|| {
            LoadError::new(format!(
                "`{}` has no `{CONFIG}`; is it the directory of a model?",
                self.path.display()
            ))
        })
    }

    /// The files of weights, in the order of their names.
    fn weight_files(&self) -> Result<Vec<PathBuf>, LoadError> {
        let Some(index) = self.json(INDEX)? else {
            let single = self.path.join(SINGLE);
            if single.is_file() {
                return Ok(vec![single]);
            }
            return Err(LoadError::new(format!(
                "there is no `{SINGLE}`; weights in other formats are not read: convert them"
            )));
        };
        let map = index.get("weight_map").and_then(Value::as_object);
        let map = map.ok_or_else(|| LoadError::new(format!("`{INDEX}` has no `weight_map`")))?;
        let names: BTreeSet<&str> = map.values().filter_map(Value::as_str).collect();
        let inside =
            |name: &&str| Path::new(name).components().count() == 1 && !name.starts_with('.');
        if let Some(name) = names.iter().find(|name| !inside(name)) {
            return Err(LoadError::new(format!(
                "`{INDEX}` names `{name}`, which is not beside it"
            )));
        }
        Ok(names.into_iter().map(|name| self.path.join(name)).collect())
    }

    /// Maps the weights, to be given as `dtype` on `device`: `model.safetensors`, or the files that
    /// its index names.
    ///
    /// # Errors
    /// No such file, or one that cannot be read; an index that names files elsewhere; a tensor in
    /// two files.
    pub fn weights(&self, device: &Device, dtype: DType) -> Result<Weights, LoadError> {
        let mut files = Vec::new();
        let mut places = BTreeMap::new();
        for path in self.weight_files()? {
            let at_fault = |error: &dyn std::fmt::Display| {
                LoadError::new(format!("`{}` cannot be read: {error}", path.display()))
            };
            let file = map::map(&path).map_err(|error| at_fault(&error))?;
            let names: Vec<String> = SafeTensors::deserialize(&file)
                .map_err(|error| at_fault(&error))?
                .names()
                .into_iter()
                .map(str::to_owned)
                .collect();
            for name in names {
                if places.insert(name.clone(), files.len()).is_some() {
                    return Err(LoadError::new(format!(
                        "the tensor `{name}` is in two files"
                    )));
                }
            }
            files.push(file);
        }
        Ok(Weights::mapped(files, places, device, dtype))
    }

    /// Hash of everything that decides a number: configuration, weights, the tokenizer's files and
    /// the options, in hex.
    ///
    /// # Errors
    /// A file that cannot be read, or options without a JSON form.
    pub fn version(
        &self,
        weights: &Weights,
        options: &impl Serialize,
    ) -> Result<String, LoadError> {
        let mut hasher = blake3::Hasher::new();
        let mut part = |bytes: &[u8]| {
            hasher.update(&(bytes.len() as u64).to_le_bytes());
            hasher.update(bytes);
        };
        for name in TEXTS {
            part(self.text(name)?.unwrap_or_default().as_bytes());
        }
        let options = serde_json::to_vec(options);
        part(
            &options.map_err(|error| {
                LoadError::new(format!("the options have no JSON form: {error}"))
            })?,
        );
        part(format!("{:?}", weights.dtype()).as_bytes());
        weights.files().for_each(part);
        Ok(hasher.finalize().to_hex().to_string())
    }
}

#[cfg(test)]
mod tests {
    use candle_core::Tensor;
    use serde_json::json;

    use super::*;
    use crate::save;

    /// A directory with one tensor of one number in each of these files.
    fn directory(files: &[(&str, &str, f32)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (file, name, value) in files {
            let tensor = Tensor::new(&[*value], &Device::Cpu).unwrap();
            save::tensors(
                &folder.path().join(file),
                &BTreeMap::from([((*name).to_owned(), tensor)]),
            )
            .unwrap();
        }
        folder
    }

    fn index(folder: &Path, map: &Value) {
        fs::write(folder.join(INDEX), json!({ "weight_map": map }).to_string()).unwrap();
    }

    fn weights(folder: &Path) -> Result<Weights, LoadError> {
        Directory::open(folder)?.weights(&Device::Cpu, DType::F32)
    }

    fn refusal(folder: &Path) -> String {
        weights(folder).err().unwrap().to_string()
    }

    #[test]
    fn an_index_says_which_files_are_read() {
        let folder = directory(&[
            ("1.safetensors", "a", 1.0),
            ("2.safetensors", "b", 2.0),
            ("model.safetensors", "c", 3.0),
        ]);
        index(
            folder.path(),
            &json!({"a": "1.safetensors", "b": "2.safetensors"}),
        );
        let weights = weights(folder.path()).unwrap();
        assert_eq!(weights.values("b", &[1]).unwrap(), [2.0]);
        assert!(!weights.has("c"));
        assert_eq!(weights.parameters(), 2);
    }

    #[test]
    fn an_index_that_leaves_the_directory_or_names_a_tensor_twice_is_refused() {
        let folder = directory(&[("1.safetensors", "a", 1.0), ("2.safetensors", "a", 2.0)]);
        index(
            folder.path(),
            &json!({"a": "1.safetensors", "b": "2.safetensors"}),
        );
        assert!(refusal(folder.path()).contains("the tensor `a` is in two files"));
        for outside in ["../1.safetensors", "/1.safetensors", ".1.safetensors"] {
            index(folder.path(), &json!({ "a": outside }));
            assert!(
                refusal(folder.path()).contains("which is not beside it"),
                "{outside}"
            );
        }
        index(folder.path(), &json!({"a": "3.safetensors"}));
        assert!(refusal(folder.path()).contains("3.safetensors` cannot be read"));
        index(folder.path(), &Value::Null);
        assert!(refusal(folder.path()).contains("no `weight_map`"));
    }

    #[test]
    fn what_is_missing_or_no_model_is_said() {
        let folder = tempfile::tempdir().unwrap();
        assert!(refusal(&folder.path().join("absent")).contains("is no directory"));
        assert!(refusal(folder.path()).contains("there is no `model.safetensors`"));
        let error = Directory::open(folder.path())
            .unwrap()
            .config()
            .unwrap_err()
            .to_string();
        assert!(error.contains("has no `config.json`"), "{error}");
        fs::write(folder.path().join("model.safetensors"), "no tensors").unwrap();
        assert!(refusal(folder.path()).contains("cannot be read"));
        fs::create_dir(folder.path().join("tokenizer.json")).unwrap();
        assert!(refusal(folder.path()).contains("`tokenizer.json` is no file"));
    }

    #[test]
    fn the_version_is_of_everything_that_decides_a_number() {
        let folder = directory(&[("model.safetensors", "a", 1.0)]);
        let version = |dtype: DType, options: &str| {
            let directory = Directory::open(folder.path()).unwrap();
            directory
                .version(&directory.weights(&Device::Cpu, dtype).unwrap(), &options)
                .unwrap()
        };
        let mut seen = BTreeSet::from([version(DType::F32, "")]);
        assert!(!seen.insert(version(DType::F32, "")));
        assert!(seen.insert(version(DType::BF16, "")));
        assert!(seen.insert(version(DType::F32, "other")));
        fs::write(folder.path().join("tokenizer.json"), "{}").unwrap();
        assert!(seen.insert(version(DType::F32, "")));
        fs::write(folder.path().join("README.md"), "says nothing of numbers").unwrap();
        assert!(!seen.insert(version(DType::F32, "")));
        let tensor = Tensor::new(&[2f32], &Device::Cpu).unwrap();
        save::tensors(
            &folder.path().join(SINGLE),
            &BTreeMap::from([("a".to_owned(), tensor)]),
        )
        .unwrap();
        assert!(seen.insert(version(DType::F32, "")));
    }
}

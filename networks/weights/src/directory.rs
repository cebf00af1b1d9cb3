//! A model directory: its text files, the files of its weights, and one hash of everything that
//! determines an output.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use candle_core::{DType, Device};
use safetensors::SafeTensors;
use serde::Serialize;
use serde_json::Value;

use crate::{LoadError, Weights, map};

/// Configuration of a model.
pub(crate) const CONFIG: &str = "config.json";

/// Weights of a model that has one file of weights.
pub(crate) const SINGLE: &str = "model.safetensors";

/// Maps tensors to files for a model with several files of weights.
pub(crate) const INDEX: &str = "model.safetensors.index.json";

/// Size limit, in bytes, of a file that is read into memory: a configuration or a tokenizer.
const MAX_TEXT_BYTES: u64 = 256 << 20;

/// Files other than weights that determine an output.
const METADATA_FILES: &[&str] = &[
    CONFIG,
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "chat_template.jinja",
    "1_Pooling/config.json",
    "modules.json",
    "sentence_bert_config.json",
];

/// A model directory in the Hugging Face layout.
pub struct Directory {
    path: PathBuf,
}

impl Directory {
    /// Opens a model directory and checks its text files.
    ///
    /// # Errors
    /// The path is not a directory, or one of its text files is not a regular file or is too large.
    pub fn open(path: &Path) -> Result<Self, LoadError> {
        if !path.is_dir() {
            return Err(LoadError::new(format!(
                "`{}` is not a directory",
                path.display()
            )));
        }
        let directory = Self {
            path: path.to_owned(),
        };
        directory.check()?;
        Ok(directory)
    }

    /// Text of a file, or `None` if the file does not exist.
    ///
    /// # Errors
    /// The file is larger than 256 MiB, or is not UTF-8.
    pub fn text(&self, name: &str) -> Result<Option<String>, LoadError> {
        let path = self.path.join(name);
        let read_error =
            |error: std::io::Error| LoadError::new(format!("`{name}` cannot be read: {error}"));
        let Ok(metadata) = fs::metadata(&path) else {
            return Ok(None);
        };
        if !metadata.is_file() || metadata.len() > MAX_TEXT_BYTES {
            return Err(LoadError::new(format!(
                "`{name}` is not a regular file of at most {} MiB",
                MAX_TEXT_BYTES >> 20
            )));
        }
        fs::read_to_string(&path).map(Some).map_err(read_error)
    }

    /// Content of a JSON file, or `None` if the file does not exist.
    ///
    /// # Errors
    /// As [`Directory::text`], or the file is not valid JSON.
    pub fn json(&self, name: &str) -> Result<Option<Value>, LoadError> {
        let parse = |text: String| {
            serde_json::from_str(&text)
                .map_err(|error| LoadError::new(format!("`{name}` is not valid JSON: {error}")))
        };
        self.text(name)?.map(parse).transpose()
    }

    /// Checks that every file in [`METADATA_FILES`] is a regular file of at most
    /// [`MAX_TEXT_BYTES`].
    fn check(&self) -> Result<(), LoadError> {
        METADATA_FILES
            .iter()
            .try_for_each(|name| match fs::metadata(self.path.join(name)) {
                Ok(metadata) if !metadata.is_file() || metadata.len() > MAX_TEXT_BYTES => {
                    Err(LoadError::new(format!(
                        "`{name}` is not a regular file of at most {} MiB",
                        MAX_TEXT_BYTES >> 20
                    )))
                }
                _ => Ok(()),
            })
    }

    /// The model's configuration, `config.json`.
    ///
    /// # Errors
    /// The file is missing, or is not valid JSON.
    pub fn config(&self) -> Result<Value, LoadError> {
        self.json(CONFIG)?.ok_or_else(|| {
            LoadError::new(format!(
                "`{}` has no `{CONFIG}`; use a model directory",
                self.path.display()
            ))
        })
    }

    /// The files of weights, sorted by name.
    fn weight_files(&self) -> Result<Vec<PathBuf>, LoadError> {
        let Some(index) = self.json(INDEX)? else {
            let single = self.path.join(SINGLE);
            if single.is_file() {
                return Ok(vec![single]);
            }
            return Err(LoadError::new(format!(
                "the directory has no `{SINGLE}`; convert weights in other formats to safetensors"
            )));
        };
        let map = index.get("weight_map").and_then(Value::as_object);
        let map = map.ok_or_else(|| LoadError::new(format!("`{INDEX}` has no `weight_map`")))?;
        let names: BTreeSet<&str> = map.values().filter_map(Value::as_str).collect();
        let in_directory =
            |name: &&str| Path::new(name).components().count() == 1 && !name.starts_with('.');
        if let Some(name) = names.iter().find(|name| !in_directory(name)) {
            return Err(LoadError::new(format!(
                "`{INDEX}` names `{name}`, which is not in the same directory"
            )));
        }
        Ok(names.into_iter().map(|name| self.path.join(name)).collect())
    }

    /// Maps the weights for loading as `dtype` on `device`: `model.safetensors`, or the files that
    /// the index names.
    ///
    /// # Errors
    /// A file is missing or cannot be read, the index names a file in another directory, or a
    /// tensor is in two files.
    pub fn weights(&self, device: &Device, dtype: DType) -> Result<Weights, LoadError> {
        let mut files = Vec::new();
        let mut file_of_tensor = BTreeMap::new();
        for path in self.weight_files()? {
            let read_error = |error: &dyn std::fmt::Display| {
                LoadError::new(format!("`{}` cannot be read: {error}", path.display()))
            };
            let file = map::map(&path).map_err(|error| read_error(&error))?;
            let names: Vec<String> = SafeTensors::deserialize(&file)
                .map_err(|error| read_error(&error))?
                .names()
                .into_iter()
                .map(str::to_owned)
                .collect();
            for name in names {
                if file_of_tensor.insert(name.clone(), files.len()).is_some() {
                    return Err(LoadError::new(format!("tensor `{name}` is in two files")));
                }
            }
            files.push(file);
        }
        Ok(Weights::mapped(files, file_of_tensor, device, dtype))
    }

    /// Hash, in hexadecimal, of everything that determines an output: configuration, weights,
    /// tokenizer files and options.
    ///
    /// # Errors
    /// A file cannot be read, or the options cannot be serialised as JSON.
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
        for name in METADATA_FILES {
            part(self.text(name)?.unwrap_or_default().as_bytes());
        }
        let options = serde_json::to_vec(options);
        part(&options.map_err(|error| {
            LoadError::new(format!("the options cannot be serialised as JSON: {error}"))
        })?);
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

    /// Creates a directory with one file for each entry, each containing one tensor with one
    /// number.
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

    fn load_error(folder: &Path) -> String {
        weights(folder).err().unwrap().to_string()
    }

    #[test]
    fn reads_only_the_files_that_the_index_names() {
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
    fn rejects_an_index_with_outside_paths_or_duplicate_tensors() {
        let folder = directory(&[("1.safetensors", "a", 1.0), ("2.safetensors", "a", 2.0)]);
        index(
            folder.path(),
            &json!({"a": "1.safetensors", "b": "2.safetensors"}),
        );
        assert!(load_error(folder.path()).contains("tensor `a` is in two files"));
        for outside in ["../1.safetensors", "/1.safetensors", ".1.safetensors"] {
            index(folder.path(), &json!({ "a": outside }));
            assert!(
                load_error(folder.path()).contains("which is not in the same directory"),
                "{outside}"
            );
        }
        index(folder.path(), &json!({"a": "3.safetensors"}));
        assert!(load_error(folder.path()).contains("3.safetensors` cannot be read"));
        index(folder.path(), &Value::Null);
        assert!(load_error(folder.path()).contains("no `weight_map`"));
    }

    #[test]
    fn reports_missing_and_malformed_files() {
        let folder = tempfile::tempdir().unwrap();
        assert!(load_error(&folder.path().join("absent")).contains("is not a directory"));
        assert!(load_error(folder.path()).contains("has no `model.safetensors`"));
        let error = Directory::open(folder.path())
            .unwrap()
            .config()
            .unwrap_err()
            .to_string();
        assert!(error.contains("has no `config.json`"), "{error}");
        fs::write(folder.path().join("model.safetensors"), "not tensors").unwrap();
        assert!(load_error(folder.path()).contains("cannot be read"));
        fs::create_dir(folder.path().join("tokenizer.json")).unwrap();
        assert!(load_error(folder.path()).contains("`tokenizer.json` is not a regular file"));
    }

    #[test]
    fn version_changes_with_everything_that_determines_an_output() {
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
        fs::write(
            folder.path().join("README.md"),
            "does not affect the version",
        )
        .unwrap();
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

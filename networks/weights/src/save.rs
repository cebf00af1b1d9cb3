//! Writes model directories.
//!
//! A file is written under a temporary name in the same directory, synced, and renamed. A reader
//! sees either the old file or the complete new one, and a process that has mapped the old file
//! keeps it. The same tensors produce the same bytes.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use candle_core::{DType, Device, Tensor};
use serde_json::Value;

use crate::SaveError;
use crate::directory::{CONFIG, INDEX, SINGLE};

/// Writes a model into a directory, which is created if it does not exist: `model.safetensors`,
/// then `config.json`.
///
/// # Errors
/// [`SaveError`] with the file and the reason. A directory that contains
/// `model.safetensors.index.json` is rejected, because readers would continue to read the files
/// that the index names.
pub fn model(
    directory: &Path,
    config: &Value,
    tensors: &BTreeMap<String, Tensor>,
) -> Result<(), SaveError> {
    let index = directory.join(INDEX);
    if index.exists() {
        return Err(SaveError::new(
            &directory.join(SINGLE),
            &format!(
                "readers would use `{INDEX}` of the directory instead; choose another directory"
            ),
        ));
    }
    fs::create_dir_all(directory).map_err(|error| SaveError::new(directory, &error))?;
    self::tensors(&directory.join(SINGLE), tensors)?;
    bytes(&directory.join(CONFIG), format!("{config:#}\n").as_bytes())
}

/// Writes named tensors as one safetensors file, each in its own data type. This needs a second
/// copy of the tensors in memory.
///
/// # Errors
/// [`SaveError`] with the file and the reason: the file or one of the tensors cannot be written.
pub fn tensors(path: &Path, tensors: &BTreeMap<String, Tensor>) -> Result<(), SaveError> {
    let mut views = Vec::with_capacity(tensors.len());
    for (name, tensor) in tensors {
        if matches!(
            tensor.dtype(),
            DType::F6E2M3 | DType::F6E3M2 | DType::F4 | DType::F8E8M0
        ) {
            return Err(SaveError::new(
                path,
                &format!(
                    "tensor `{name}` has the unsupported data type {:?}",
                    tensor.dtype()
                ),
            ));
        }
        let tensor = tensor.to_device(&Device::Cpu);
        views.push((
            name,
            tensor.map_err(|error| SaveError::new(path, &crate::first_line(&error)))?,
        ));
    }
    // `transformers` rejects files without the `format` entry.
    let metadata = HashMap::from([("format".to_owned(), "pt".to_owned())]);
    let file = safetensors::serialize(views, Some(metadata))
        .map_err(|error| SaveError::new(path, &error))?;
    bytes(path, &file)
}

/// Writes a file atomically.
///
/// # Errors
/// [`SaveError`] with the file and the reason.
pub fn bytes(path: &Path, bytes: &[u8]) -> Result<(), SaveError> {
    let Some(name) = path.file_name() else {
        return Err(SaveError::new(path, &"the path has no file name"));
    };
    // A name that no loader reads. A partial file of a killed process is overwritten.
    let partial = path.with_file_name(format!(".{}.partial", name.to_string_lossy()));
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    let write = || {
        let mut file = File::create(&partial)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&partial, path)?;
        File::open(folder)?.sync_all()
    };
    write().map_err(|error| {
        // Only the first error is reported.
        let _ = fs::remove_file(&partial);
        SaveError::new(path, &error)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Directory;

    fn named(entries: &[(&str, Tensor)]) -> BTreeMap<String, Tensor> {
        entries
            .iter()
            .map(|(name, tensor)| ((*name).to_owned(), tensor.clone()))
            .collect()
    }

    fn row(values: &[f32]) -> Tensor {
        Tensor::new(values, &Device::Cpu).unwrap()
    }

    fn values(directory: &Path, name: &str, shape: &[usize]) -> Vec<f32> {
        let weights = Directory::open(directory)
            .unwrap()
            .weights(&Device::Cpu, DType::F32)
            .unwrap();
        weights.values(name, shape).unwrap()
    }

    #[test]
    fn reads_back_saved_tensors_and_configuration() {
        let folder = tempfile::tempdir().unwrap();
        let directory = folder.path().join("step/4");
        let transposed = Tensor::new(&[[1f32, 2.0, 3.0], [4.0, 5.0, 6.0]], &Device::Cpu)
            .unwrap()
            .t()
            .unwrap();
        let half = row(&[0.5, -2.0]).to_dtype(DType::BF16).unwrap();
        let config = json!({"model_type": "qwen3", "vocab_size": 4});
        model(
            &directory,
            &config,
            &named(&[("transposed", transposed), ("half", half)]),
        )
        .unwrap();

        assert_eq!(
            Directory::open(&directory).unwrap().config().unwrap(),
            config
        );
        assert_eq!(
            values(&directory, "transposed", &[3, 2]),
            [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]
        );
        assert_eq!(values(&directory, "half", &[2]), [0.5, -2.0]);
        let file = fs::read(directory.join(SINGLE)).unwrap();
        let view = safetensors::SafeTensors::deserialize(&file).unwrap();
        assert_eq!(
            view.tensor("half").unwrap().dtype(),
            safetensors::Dtype::BF16
        );
        let (_, header) = safetensors::SafeTensors::read_metadata(&file).unwrap();
        assert_eq!(header.metadata().as_ref().unwrap()["format"], "pt");
    }

    #[test]
    fn mapped_weights_survive_replacement_of_their_file() {
        let folder = tempfile::tempdir().unwrap();
        let save =
            |value: f32| model(folder.path(), &json!({}), &named(&[("w", row(&[value]))])).unwrap();
        save(1.0);
        let old = Directory::open(folder.path())
            .unwrap()
            .weights(&Device::Cpu, DType::F32)
            .unwrap();
        save(2.0);
        assert_eq!(old.values("w", &[1]).unwrap(), [1.0]);
        assert_eq!(values(folder.path(), "w", &[1]), [2.0]);
    }

    #[test]
    fn writes_reproducible_bytes_and_leaves_no_partial_file() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(
            folder.path().join(".a.safetensors.partial"),
            "partial file of a killed process",
        )
        .unwrap();
        let all = named(&[
            ("w", row(&[1.0])),
            ("b", row(&[2.0])),
            ("a", Tensor::new(3u32, &Device::Cpu).unwrap()),
        ]);
        for name in ["a.safetensors", "b.safetensors"] {
            tensors(&folder.path().join(name), &all).unwrap();
        }
        let read = |name: &str| fs::read(folder.path().join(name)).unwrap();
        assert_eq!(read("a.safetensors"), read("b.safetensors"));
        let mut entries: Vec<_> = fs::read_dir(folder.path())
            .unwrap()
            .map(|file| file.unwrap().file_name())
            .collect();
        entries.sort();
        assert_eq!(entries, ["a.safetensors", "b.safetensors"]);
    }

    #[test]
    fn failed_writes_name_the_file_and_keep_the_old_one() {
        let folder = tempfile::tempdir().unwrap();
        let taken = folder.path().join("taken");
        fs::create_dir_all(taken.join("inside")).unwrap();
        let error = bytes(&taken, b"new").unwrap_err().to_string();
        assert!(error.contains("taken` cannot be written: "), "{error}");
        assert!(!folder.path().join(".taken.partial").exists());
        assert!(taken.join("inside").is_dir());
        assert!(
            bytes(Path::new("/"), b"new")
                .unwrap_err()
                .to_string()
                .ends_with("the path has no file name")
        );

        fs::write(folder.path().join(INDEX), "{}").unwrap();
        let error = model(folder.path(), &json!({}), &BTreeMap::new())
            .unwrap_err()
            .to_string();
        assert!(error.contains("choose another directory"), "{error}");
        assert!(!folder.path().join(SINGLE).exists());
    }
}

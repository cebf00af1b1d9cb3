//! Writing what a directory of a model holds.
//!
//! A file is written beside its place, made durable, and moved there: a reader finds the old one or
//! the new one, whole, and what has mapped the old one keeps it. The same tensors make the same
//! bytes.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use candle_core::{DType, Device, Tensor};
use serde_json::Value;

use crate::SaveError;
use crate::directory::{CONFIG, INDEX, SINGLE};

/// Writes a model into a directory, which is made where there is none: `model.safetensors`, then
/// `config.json`.
///
/// # Errors
/// [`SaveError`]: which file, and why. A directory with `model.safetensors.index.json` is refused,
/// because readers would go on reading the files that it names.
pub fn model(
    directory: &Path,
    config: &Value,
    tensors: &BTreeMap<String, Tensor>,
) -> Result<(), SaveError> {
    let index = directory.join(INDEX);
    if index.exists() {
        return Err(SaveError::new(
            &directory.join(SINGLE),
            &format!("readers would follow `{INDEX}` beside it; take another directory"),
        ));
    }
    fs::create_dir_all(directory).map_err(|error| SaveError::new(directory, &error))?;
    self::tensors(&directory.join(SINGLE), tensors)?;
    bytes(&directory.join(CONFIG), format!("{config:#}\n").as_bytes())
}

/// Writes tensors under their names as one file of safetensors, each in its own type. They lie in
/// memory a second time meanwhile.
///
/// # Errors
/// [`SaveError`]: the file, and why it or one of the tensors cannot be written.
pub fn tensors(path: &Path, tensors: &BTreeMap<String, Tensor>) -> Result<(), SaveError> {
    let mut there = Vec::with_capacity(tensors.len());
    for (name, tensor) in tensors {
        if matches!(
            tensor.dtype(),
            DType::F6E2M3 | DType::F6E3M2 | DType::F4 | DType::F8E8M0
        ) {
            return Err(SaveError::new(
                path,
                &format!("the tensor `{name}` holds {:?}", tensor.dtype()),
            ));
        }
        let tensor = tensor.to_device(&Device::Cpu);
        there.push((
            name,
            tensor.map_err(|error| SaveError::new(path, &crate::first_line(&error)))?,
        ));
    }
    // Peers refuse files that do not say for whom they were written.
    let facts = HashMap::from([("format".to_owned(), "pt".to_owned())]);
    let file =
        safetensors::serialize(there, Some(facts)).map_err(|error| SaveError::new(path, &error))?;
    bytes(path, &file)
}

/// Writes a file whole or not at all.
///
/// # Errors
/// [`SaveError`]: the file, and why.
pub fn bytes(path: &Path, bytes: &[u8]) -> Result<(), SaveError> {
    let Some(name) = path.file_name() else {
        return Err(SaveError::new(path, &"it names no file"));
    };
    // A name that no loader reads. What a process left here when it was killed is written over.
    let beside = path.with_file_name(format!(".{}.partial", name.to_string_lossy()));
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    let write = || {
        let mut file = File::create(&beside)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&beside, path)?;
        File::open(folder)?.sync_all()
    };
    write().map_err(|error| {
        // The error that is told is the first one.
        let _ = fs::remove_file(&beside);
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
    fn what_is_saved_is_what_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("step/4");
        let turned = Tensor::new(&[[1f32, 2.0, 3.0], [4.0, 5.0, 6.0]], &Device::Cpu)
            .unwrap()
            .t()
            .unwrap();
        let half = row(&[0.5, -2.0]).to_dtype(DType::BF16).unwrap();
        let config = json!({"model_type": "qwen3", "vocab_size": 4});
        model(
            &place,
            &config,
            &named(&[("turned", turned), ("half", half)]),
        )
        .unwrap();

        assert_eq!(Directory::open(&place).unwrap().config().unwrap(), config);
        assert_eq!(
            values(&place, "turned", &[3, 2]),
            [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]
        );
        assert_eq!(values(&place, "half", &[2]), [0.5, -2.0]);
        let file = fs::read(place.join(SINGLE)).unwrap();
        let view = safetensors::SafeTensors::deserialize(&file).unwrap();
        assert_eq!(
            view.tensor("half").unwrap().dtype(),
            safetensors::Dtype::BF16
        );
        let (_, header) = safetensors::SafeTensors::read_metadata(&file).unwrap();
        assert_eq!(header.metadata().as_ref().unwrap()["format"], "pt");
    }

    #[test]
    fn weights_that_are_mapped_outlive_the_file_that_replaces_them() {
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
    fn the_same_tensors_make_the_same_bytes_and_nothing_is_left_beside_them() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(
            folder.path().join(".a.safetensors.partial"),
            "what a killed process left",
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
        let mut there: Vec<_> = fs::read_dir(folder.path())
            .unwrap()
            .map(|file| file.unwrap().file_name())
            .collect();
        there.sort();
        assert_eq!(there, ["a.safetensors", "b.safetensors"]);
    }

    #[test]
    fn a_file_that_cannot_be_written_is_named_and_the_old_one_stays() {
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
                .ends_with("it names no file")
        );

        fs::write(folder.path().join(INDEX), "{}").unwrap();
        let error = model(folder.path(), &json!({}), &BTreeMap::new())
            .unwrap_err()
            .to_string();
        assert!(error.contains("another directory"), "{error}");
        assert!(!folder.path().join(SINGLE).exists());
    }
}

//! Named tensors of a model, read from mapped files.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use candle_core::safetensors::Load;
use candle_core::{DType, Device, Tensor};
use memmap2::Mmap;
use safetensors::{Dtype, SafeTensors};

use crate::LoadError;
use crate::synthetic::values::values;

/// Named tensors, loaded on demand. Records which tensors were used, so that unused ones can be
/// reported.
pub struct Weights {
    source: Source,
    used: RefCell<BTreeSet<String>>,
    device: Device,
    dtype: DType,
}

/// Source of the values.
enum Source {
    /// Mapped files, and the index of the file that contains each tensor.
    Files {
        files: Vec<Mmap>,
        file_of_tensor: BTreeMap<String, usize>,
    },
    /// Generated values for tensors of these shapes.
    Synthetic(BTreeMap<String, Vec<usize>>),
}

impl Weights {
    /// Tensors of mapped files, with the index of the file that contains each tensor.
    pub(crate) fn mapped(
        files: Vec<Mmap>,
        file_of_tensor: BTreeMap<String, usize>,
        device: &Device,
        dtype: DType,
    ) -> Self {
        Self {
            source: Source::Files {
                files,
                file_of_tensor,
            },
            used: RefCell::default(),
            device: device.clone(),
            dtype,
        }
    }

    /// Synthetic weights for tensors of these shapes; see
    /// [`synthetic::values`](crate::synthetic::values()).
    #[must_use]
    pub fn synthetic(shapes: BTreeMap<String, Vec<usize>>, device: &Device, dtype: DType) -> Self {
        Self {
            source: Source::Synthetic(shapes),
            used: RefCell::default(),
            device: device.clone(),
            dtype,
        }
    }

    /// Contents of the mapped files. Empty for synthetic weights.
    pub(crate) fn files(&self) -> impl Iterator<Item = &[u8]> {
        let files = match &self.source {
            Source::Files { files, .. } => files.as_slice(),
            Source::Synthetic(_) => &[],
        };
        files.iter().map(|file| &**file)
    }

    /// Returns whether a tensor of this name exists.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        match &self.source {
            Source::Files { file_of_tensor, .. } => file_of_tensor.contains_key(name),
            Source::Synthetic(shapes) => shapes.contains_key(name),
        }
    }

    /// All names in alphabetical order.
    fn names(&self) -> Box<dyn Iterator<Item = &str> + '_> {
        match &self.source {
            Source::Files { file_of_tensor, .. } => {
                Box::new(file_of_tensor.keys().map(String::as_str))
            }
            Source::Synthetic(shapes) => Box::new(shapes.keys().map(String::as_str)),
        }
    }

    /// Device on which tensors are loaded.
    #[must_use]
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Data type in which tensors are loaded.
    #[must_use]
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Number of parameters.
    #[must_use]
    pub fn parameters(&self) -> u64 {
        self.count_parameters(|_| true)
    }

    /// Number of parameters of embeddings, which are looked up instead of multiplied.
    #[must_use]
    pub fn embedding_parameters(&self) -> u64 {
        self.count_parameters(|name| name.contains("embed"))
    }

    fn count_parameters(&self, included: impl Fn(&str) -> bool) -> u64 {
        let size = |name: &str| {
            self.shape(name)
                .unwrap_or_default()
                .iter()
                .map(|size| *size as u64)
                .product::<u64>()
        };
        self.names().filter(|name| included(name)).map(size).sum()
    }

    /// Shape of a tensor, or `None` if it does not exist.
    #[must_use]
    pub fn shape(&self, name: &str) -> Option<Vec<usize>> {
        match &self.source {
            Source::Files {
                files,
                file_of_tensor,
            } => {
                let file = files.get(*file_of_tensor.get(name)?)?;
                SafeTensors::deserialize(file)
                    .ok()?
                    .tensor(name)
                    .ok()
                    .map(|tensor| tensor.shape().to_vec())
            }
            Source::Synthetic(shapes) => shapes.get(name).cloned(),
        }
    }

    /// Loads a tensor of this shape on the device of the model, in its data type.
    ///
    /// # Errors
    /// The tensor is missing, has a different shape, or is quantised.
    pub fn tensor(&self, name: &str, shape: &[usize]) -> Result<Tensor, LoadError> {
        self.read(name, shape, &self.device, self.dtype)
    }

    /// Loads the values of a tensor of this shape as `f32` in row-major order.
    ///
    /// # Errors
    /// As [`Weights::tensor`].
    pub fn values(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>, LoadError> {
        let tensor = self.read(name, shape, &Device::Cpu, DType::F32)?;
        Ok(tensor.flatten_all()?.to_vec1()?)
    }

    fn read(
        &self,
        name: &str,
        shape: &[usize],
        device: &Device,
        dtype: DType,
    ) -> Result<Tensor, LoadError> {
        let actual = self
            .shape(name)
            .ok_or_else(|| LoadError::new(format!("tensor `{name}` is missing")))?;
        let tensor_error =
            |error: &dyn std::fmt::Display| LoadError::new(format!("tensor `{name}`: {error}"));
        if actual != shape {
            return Err(tensor_error(&format!(
                "shape {actual:?}, expected {shape:?}"
            )));
        }
        self.used.borrow_mut().insert(name.to_owned());
        let tensor = match &self.source {
            Source::Files {
                files,
                file_of_tensor,
            } => {
                let tensors = SafeTensors::deserialize(&files[file_of_tensor[name]])
                    .map_err(|error| tensor_error(&error))?;
                let view = tensors.tensor(name).map_err(|error| tensor_error(&error))?;
                if !matches!(
                    view.dtype(),
                    Dtype::F32 | Dtype::F16 | Dtype::BF16 | Dtype::F64
                ) {
                    return Err(tensor_error(&format!(
                        "data type {:?} is not supported; quantised weights cannot be loaded",
                        view.dtype()
                    )));
                }
                view.load(&Device::Cpu)?
            }
            Source::Synthetic(_) => Tensor::from_vec(values(name, shape), shape, &Device::Cpu)?,
        };
        Ok(tensor.to_dtype(dtype)?.to_device(device)?)
    }

    /// Marks a tensor as used without loading it.
    pub fn mark_used(&self, name: &str) {
        self.used.borrow_mut().insert(name.to_owned());
    }

    /// Checks that every tensor was used. A model with an unused part would produce meaningless
    /// outputs.
    ///
    /// # Errors
    /// Some tensors were not used. The message names up to five of them.
    pub fn check_all_used(&self) -> Result<(), LoadError> {
        let used = self.used.borrow();
        let ignored =
            |name: &str| name.ends_with("rotary_emb.inv_freq") || name.ends_with("position_ids");
        let unused: Vec<&str> = self
            .names()
            .filter(|name| !used.contains(*name) && !ignored(name))
            .collect();
        if unused.is_empty() {
            return Ok(());
        }
        let some = unused
            .iter()
            .take(5)
            .map(|name| format!("`{name}`"))
            .collect::<Vec<_>>()
            .join(", ");
        let more = if unused.len() > 5 {
            format!(" and {} more", unused.len() - 5)
        } else {
            String::new()
        };
        let message = format!(
            "unused tensors {some}{more}: `config.json` may name a different architecture or head"
        );
        Err(LoadError::new(message))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Directory, save};

    fn saved(tensors: &[(&str, Tensor)]) -> Weights {
        let folder = tempfile::tempdir().unwrap();
        let tensors = tensors
            .iter()
            .map(|(name, tensor)| ((*name).to_owned(), tensor.clone()))
            .collect();
        save::tensors(&folder.path().join("model.safetensors"), &tensors).unwrap();
        Directory::open(folder.path())
            .unwrap()
            .weights(&Device::Cpu, DType::F32)
            .unwrap()
    }

    #[test]
    fn rejects_missing_misshapen_and_quantised_tensors() {
        let floats = Tensor::new(&[[1f32, 2.0]], &Device::Cpu).unwrap();
        let weights = saved(&[
            ("w", floats),
            ("ids", Tensor::new(&[1u32], &Device::Cpu).unwrap()),
        ]);
        let load_error =
            |name: &str, shape: &[usize]| weights.tensor(name, shape).err().unwrap().to_string();
        assert_eq!(
            load_error("w", &[2, 1]),
            "tensor `w`: shape [1, 2], expected [2, 1]"
        );
        assert_eq!(load_error("v", &[2]), "tensor `v` is missing");
        assert!(load_error("ids", &[1]).contains("quantised weights cannot be loaded"));
        assert_eq!(weights.values("w", &[1, 2]).unwrap(), [1.0, 2.0]);
    }

    #[test]
    fn reports_unused_tensors() {
        let one = Tensor::new(&[1f32], &Device::Cpu).unwrap();
        let weights = saved(&[
            ("a", one.clone()),
            ("b", one.clone()),
            ("c", one.clone()),
            ("x.position_ids", one),
        ]);
        weights.tensor("a", &[1]).unwrap();
        weights.mark_used("b");
        assert!(
            weights
                .check_all_used()
                .unwrap_err()
                .to_string()
                .contains("unused tensors `c`:")
        );
        weights.tensor("c", &[1]).unwrap();
        weights.check_all_used().unwrap();
    }

    #[test]
    fn counts_parameters_with_and_without_embeddings() {
        let shapes = [
            ("embed_tokens.weight", vec![5, 2]),
            ("down.weight", vec![2, 3]),
        ];
        let shapes = shapes
            .into_iter()
            .map(|(name, shape)| (name.to_owned(), shape))
            .collect();
        let weights = Weights::synthetic(shapes, &Device::Cpu, DType::F32);
        assert_eq!(
            (weights.parameters(), weights.embedding_parameters()),
            (16, 10)
        );
        assert_eq!(
            weights.tensor("down.weight", &[2, 3]).unwrap().dims(),
            [2, 3]
        );
        assert_eq!(
            weights.values("down.weight", &[2, 3]).unwrap(),
            values("down.weight", &[2, 3])
        );
    }
}

//! Tensors of a model, read from mapped files by name.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use candle_core::safetensors::Load;
use candle_core::{DType, Device, Tensor};
use memmap2::Mmap;
use safetensors::{Dtype, SafeTensors};

use crate::{LoadError, synthetic};

/// Tensors under their names, loaded when they are asked for. What nobody asked for is told.
pub struct Weights {
    source: Source,
    used: RefCell<BTreeSet<String>>,
    device: Device,
    dtype: DType,
}

/// Where numbers come from.
enum Source {
    /// Files, and in which of them each tensor is.
    Files {
        files: Vec<Mmap>,
        places: BTreeMap<String, usize>,
    },
    /// Nowhere: sizes of tensors that are made up.
    Made(BTreeMap<String, Vec<usize>>),
}

impl Weights {
    /// Tensors in files, and in which of them each is.
    pub(crate) fn mapped(
        files: Vec<Mmap>,
        places: BTreeMap<String, usize>,
        device: &Device,
        dtype: DType,
    ) -> Self {
        Self {
            source: Source::Files { files, places },
            used: RefCell::default(),
            device: device.clone(),
            dtype,
        }
    }

    /// Weights out of nothing for tensors of these sizes.
    #[must_use]
    pub fn made(shapes: BTreeMap<String, Vec<usize>>, device: &Device, dtype: DType) -> Self {
        Self {
            source: Source::Made(shapes),
            used: RefCell::default(),
            device: device.clone(),
            dtype,
        }
    }

    /// The bytes of the files.
    pub(crate) fn files(&self) -> impl Iterator<Item = &[u8]> {
        let files = match &self.source {
            Source::Files { files, .. } => files.as_slice(),
            Source::Made(_) => &[],
        };
        files.iter().map(|file| &**file)
    }

    /// Whether there is a tensor of this name.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
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
    #[must_use]
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// The type they are computed with.
    #[must_use]
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Parameters in all.
    #[must_use]
    pub fn parameters(&self) -> u64 {
        self.counted(|_| true)
    }

    /// Parameters of embeddings, which are looked up and not multiplied.
    #[must_use]
    pub fn embedding_parameters(&self) -> u64 {
        self.counted(|name| name.contains("embed"))
    }

    fn counted(&self, counts: impl Fn(&str) -> bool) -> u64 {
        let size = |name: &str| {
            self.shape(name)
                .unwrap_or_default()
                .iter()
                .map(|size| *size as u64)
                .product::<u64>()
        };
        self.names().filter(|name| counts(name)).map(size).sum()
    }

    /// The sizes of a tensor.
    #[must_use]
    pub fn shape(&self, name: &str) -> Option<Vec<usize>> {
        match &self.source {
            Source::Files { files, places } => {
                let file = files.get(*places.get(name)?)?;
                SafeTensors::deserialize(file)
                    .ok()?
                    .tensor(name)
                    .ok()
                    .map(|tensor| tensor.shape().to_vec())
            }
            Source::Made(shapes) => shapes.get(name).cloned(),
        }
    }

    /// A tensor of these sizes, on the device, in the type of the model.
    ///
    /// # Errors
    /// It is missing, of other sizes, or quantised.
    pub fn tensor(&self, name: &str, shape: &[usize]) -> Result<Tensor, LoadError> {
        self.read(name, shape, &self.device, self.dtype)
    }

    /// A tensor of these sizes as `f32` values, row by row.
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
        let there = self
            .shape(name)
            .ok_or_else(|| LoadError::new(format!("the tensor `{name}` is missing")))?;
        let at_fault =
            |error: &dyn std::fmt::Display| LoadError::new(format!("the tensor `{name}`: {error}"));
        if there != shape {
            return Err(at_fault(&format!(
                "has the sizes {there:?}, and {shape:?} are expected"
            )));
        }
        self.used.borrow_mut().insert(name.to_owned());
        let tensor = match &self.source {
            Source::Files { files, places } => {
                let tensors = SafeTensors::deserialize(&files[places[name]])
                    .map_err(|error| at_fault(&error))?;
                let view = tensors.tensor(name).map_err(|error| at_fault(&error))?;
                if !matches!(
                    view.dtype(),
                    Dtype::F32 | Dtype::F16 | Dtype::BF16 | Dtype::F64
                ) {
                    return Err(at_fault(&format!(
                        "holds {:?}; quantised weights are not read",
                        view.dtype()
                    )));
                }
                view.load(&Device::Cpu)?
            }
            Source::Made(_) => {
                Tensor::from_vec(synthetic::values(name, shape), shape, &Device::Cpu)?
            }
        };
        Ok(tensor.to_dtype(dtype)?.to_device(device)?)
    }

    /// Notes that a tensor is there and rightly not read.
    pub fn pass_over(&self, name: &str) {
        self.used.borrow_mut().insert(name.to_owned());
    }

    /// Refuses tensors nobody asked for: a part that is not read would leave numbers that mean
    /// nothing.
    ///
    /// # Errors
    /// Names of up to five of them.
    pub fn all_used(&self) -> Result<(), LoadError> {
        let used = self.used.borrow();
        let ignored =
            |name: &str| name.ends_with("rotary_emb.inv_freq") || name.ends_with("position_ids");
        let left: Vec<&str> = self
            .names()
            .filter(|name| !used.contains(*name) && !ignored(name))
            .collect();
        if left.is_empty() {
            return Ok(());
        }
        let some = left
            .iter()
            .take(5)
            .map(|name| format!("`{name}`"))
            .collect::<Vec<_>>()
            .join(", ");
        let more = if left.len() > 5 {
            format!(" and {} more", left.len() - 5)
        } else {
            String::new()
        };
        let message = format!(
            "no part of the model reads {some}{more}: is it another architecture or head than its \
             configuration says?"
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
    fn a_tensor_of_other_sizes_or_numbers_is_refused() {
        let floats = Tensor::new(&[[1f32, 2.0]], &Device::Cpu).unwrap();
        let weights = saved(&[
            ("w", floats),
            ("ids", Tensor::new(&[1u32], &Device::Cpu).unwrap()),
        ]);
        let refusal =
            |name: &str, shape: &[usize]| weights.tensor(name, shape).err().unwrap().to_string();
        assert_eq!(
            refusal("w", &[2, 1]),
            "the tensor `w`: has the sizes [1, 2], and [2, 1] are expected"
        );
        assert_eq!(refusal("v", &[2]), "the tensor `v` is missing");
        assert!(refusal("ids", &[1]).contains("quantised weights are not read"));
        assert_eq!(weights.values("w", &[1, 2]).unwrap(), [1.0, 2.0]);
    }

    #[test]
    fn tensors_nobody_asked_for_are_told() {
        let one = Tensor::new(&[1f32], &Device::Cpu).unwrap();
        let weights = saved(&[
            ("a", one.clone()),
            ("b", one.clone()),
            ("c", one.clone()),
            ("x.position_ids", one),
        ]);
        weights.tensor("a", &[1]).unwrap();
        weights.pass_over("b");
        assert!(
            weights
                .all_used()
                .unwrap_err()
                .to_string()
                .contains("no part of the model reads `c`:")
        );
        weights.tensor("c", &[1]).unwrap();
        weights.all_used().unwrap();
    }

    #[test]
    fn parameters_are_counted_with_and_without_embeddings() {
        let shapes = [
            ("embed_tokens.weight", vec![5, 2]),
            ("down.weight", vec![2, 3]),
        ];
        let shapes = shapes
            .into_iter()
            .map(|(name, shape)| (name.to_owned(), shape))
            .collect();
        let weights = Weights::made(shapes, &Device::Cpu, DType::F32);
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
            synthetic::values("down.weight", &[2, 3])
        );
    }
}

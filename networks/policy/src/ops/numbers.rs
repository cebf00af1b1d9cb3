//! The numbers of tensors on a CPU, as slices.

use assay_kernels::Real;
use candle_core::{DType, Layout, Result, Storage, StorageRef, Tensor, WithDType};

/// A type the passes over rows are written for.
pub(crate) trait Number: Real + WithDType {}

impl Number for f32 {}
impl Number for f64 {}

/// Whether there is a pass of ours for a tensor.
pub(crate) fn is_fused(x: &Tensor) -> bool {
    x.device().is_cpu() && matches!(x.dtype(), DType::F32 | DType::F64)
}

/// Runs `$code` with `$number` standing for the type of the numbers.
macro_rules! by_type {
    ($dtype:expr, $number:ident => $code:expr) => {
        match $dtype {
            candle_core::DType::F32 => {
                type $number = f32;
                $code
            }
            candle_core::DType::F64 => {
                type $number = f64;
                $code
            }
            other => candle_core::bail!("there is no pass over rows of {other:?}"),
        }
    };
}
pub(crate) use by_type;

/// A contiguous tensor on a CPU, held for reading.
pub(crate) struct Held<'a> {
    storage: StorageRef<'a>,
    layout: &'a Layout,
}

impl<'a> Held<'a> {
    pub(crate) fn new(tensor: &'a Tensor) -> Self {
        let (storage, layout) = tensor.storage_and_layout();
        Self { storage, layout }
    }

    /// Its numbers.
    pub(crate) fn slice<T: WithDType>(&self) -> Result<&[T]> {
        let Storage::Cpu(storage) = &*self.storage else {
            candle_core::bail!("passes over rows run on a CPU")
        };
        let Some((start, end)) = self.layout.contiguous_offsets() else {
            candle_core::bail!("passes over rows read contiguous tensors")
        };
        Ok(&T::cpu_storage_as_slice(storage)?[start..end])
    }
}

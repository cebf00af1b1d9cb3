//! The numbers of tensors on a CPU, as slices.

use assay_kernels::Real;
use candle_core::{CpuStorage, DType, Layout, Result, Storage, StorageRef, Tensor, WithDType};

/// Rows one thread takes at a time. Sums over rows are made of sums over so many, so results do not depend on threads.
pub(crate) const ROWS: usize = 64;

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

/// The numbers of a contiguous argument of an operation.
pub(crate) fn slice<'a, T: Number>(storage: &'a CpuStorage, layout: &Layout) -> Result<&'a [T]> {
    match layout.contiguous_offsets() {
        Some((start, end)) => Ok(&T::cpu_storage_as_slice(storage)?[start..end]),
        None => candle_core::bail!("passes over rows read contiguous tensors"),
    }
}

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
    pub(crate) fn slice<T: Number>(&self) -> Result<&[T]> {
        match &*self.storage {
            Storage::Cpu(storage) => slice(storage, self.layout),
            Storage::Cuda(_) | Storage::Metal(_) => candle_core::bail!("passes over rows run on a CPU"),
        }
    }
}

/// A tensor of these numbers, on the CPU.
pub(crate) fn tensor<T: Number>(numbers: Vec<T>, like: &Tensor) -> Result<Tensor> {
    Tensor::from_vec(numbers, like.shape(), like.device())
}

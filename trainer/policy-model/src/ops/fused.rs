//! Support of fused operations: number types, and access to the numbers of CPU tensors.

use assay_kernels::Real;
use candle_core::{
    CpuStorage, DType, Device, Layout, Result, Storage, StorageRef, Tensor, WithDType,
};

/// A number type of fused operations.
pub(crate) trait Number: Real + WithDType {
    /// The numbers of a storage of this type.
    fn numbers_mut(storage: &mut CpuStorage) -> Option<&mut [Self]>;
}

impl Number for f32 {
    fn numbers_mut(storage: &mut CpuStorage) -> Option<&mut [Self]> {
        match storage {
            CpuStorage::F32(numbers) => Some(numbers),
            _ => None,
        }
    }
}

impl Number for f64 {
    fn numbers_mut(storage: &mut CpuStorage) -> Option<&mut [Self]> {
        match storage {
            CpuStorage::F64(numbers) => Some(numbers),
            _ => None,
        }
    }
}

/// Whether fused operations support tensors of this device and type.
pub(crate) fn is_fused(device: &Device, dtype: DType) -> bool {
    device.is_cpu() && matches!(dtype, DType::F32 | DType::F64)
}

/// Evaluates `$code` with `$number` as the number type of `$dtype`.
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
            other => candle_core::bail!("fused operations do not support {other:?}"),
        }
    };
}
pub(crate) use by_type;

/// A read guard of a contiguous tensor on a CPU.
pub(crate) struct ReadGuard<'a> {
    storage: StorageRef<'a>,
    layout: &'a Layout,
}

impl<'a> ReadGuard<'a> {
    pub(crate) fn new(tensor: &'a Tensor) -> Self {
        let (storage, layout) = tensor.storage_and_layout();
        Self { storage, layout }
    }

    /// Its numbers.
    pub(crate) fn slice<T: WithDType>(&self) -> Result<&[T]> {
        let Storage::Cpu(storage) = &*self.storage else {
            candle_core::bail!("fused operations require tensors on a CPU")
        };
        let Some((start, end)) = self.layout.contiguous_offsets() else {
            candle_core::bail!("fused operations require contiguous tensors")
        };
        Ok(&T::cpu_storage_as_slice(storage)?[start..end])
    }
}

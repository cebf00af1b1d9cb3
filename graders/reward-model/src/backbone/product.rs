//! Products with weights on a GPU, in tiles with a fixed number of rows.
//!
//! The library chooses a kernel by the size of a product. All tiles have the same size, so a row
//! has the same bits in any tile of any batch. The tiles are written to one tensor without copies.

use candle_core::backend::BackendStorage;
use candle_core::cuda::CudaDType;
use candle_core::cuda::cudarc::cublas::sys::cublasOperation_t::{CUBLAS_OP_N, CUBLAS_OP_T};
use candle_core::cuda::cudarc::cublas::{CudaBlas, Gemm, GemmConfig};
use candle_core::cuda::cudarc::driver::{DeviceRepr, ValidAsZeroBits};
use candle_core::{CpuStorage, CudaStorage, CustomOp2, DType, Error, Layout, Result, Shape};
use half::{bf16, f16};

/// The product of `[rows, in]` with the transpose of `[out, in]` in tiles of `tile` rows. The last
/// tile is padded with zeros, so the result has a multiple of `tile` rows.
pub(super) struct TiledProduct {
    pub(super) tile: usize,
}

impl CustomOp2 for TiledProduct {
    fn name(&self) -> &'static str {
        "tiled-product"
    }

    fn cpu_fwd(
        &self,
        _: &CpuStorage,
        _: &Layout,
        _: &CpuStorage,
        _: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        candle_core::bail!("products are tiled only on a GPU")
    }

    fn cuda_fwd(
        &self,
        x: &CudaStorage,
        x_layout: &Layout,
        weight: &CudaStorage,
        weight_layout: &Layout,
    ) -> Result<(CudaStorage, Shape)> {
        let (x, weight) = ((x, x_layout), (weight, weight_layout));
        match x.0.dtype() {
            DType::BF16 => self.multiply(x, weight, bf16::ONE, bf16::ZERO),
            DType::F16 => self.multiply(x, weight, f16::ONE, f16::ZERO),
            DType::F32 => self.multiply(x, weight, 1f32, 0f32),
            other => candle_core::bail!("products of {other:?} are not supported"),
        }
    }
}

impl TiledProduct {
    fn multiply<T>(
        &self,
        (x, x_layout): (&CudaStorage, &Layout),
        (weight, weight_layout): (&CudaStorage, &Layout),
        one: T,
        zero: T,
    ) -> Result<(CudaStorage, Shape)>
    where
        T: CudaDType + DeviceRepr + ValidAsZeroBits + Copy,
        CudaBlas: Gemm<T>,
    {
        let tile = self.tile;
        let (rows, inner) = x_layout.shape().dims2()?;
        let (out, _) = weight_layout.shape().dims2()?;
        let device = x.device();
        let blas = device.cublas_handle();
        let stream = device.cuda_stream();
        let (Some((from, to)), Some((weight_from, weight_to))) = (
            x_layout.contiguous_offsets(),
            weight_layout.contiguous_offsets(),
        ) else {
            candle_core::bail!("tiled products need contiguous tensors")
        };
        let x = x.as_cuda_slice::<T>()?.slice(from..to);
        let weight = weight.as_cuda_slice::<T>()?;
        let weight = weight.slice(weight_from..weight_to);
        // The library stores matrices by columns, so it computes the transpose of the product.
        let config = GemmConfig {
            transa: CUBLAS_OP_T,
            transb: CUBLAS_OP_N,
            m: size(out)?,
            n: size(tile)?,
            k: size(inner)?,
            alpha: one,
            lda: size(inner)?,
            ldb: size(inner)?,
            beta: zero,
            ldc: size(out)?,
        };
        let padded = rows.next_multiple_of(tile);
        #[expect(unsafe_code, reason = "the tiles below write all of it")]
        // SAFETY: nothing reads the memory before the tiles below are written.
        let mut product = unsafe { device.alloc::<T>(padded * out)? };
        for first in (0..rows).step_by(tile) {
            let whole = first + tile <= rows;
            let padded_input = (!whole)
                .then(|| -> Result<_> {
                    let mut input = device.alloc_zeros::<T>(tile * inner)?;
                    let rest = x.slice(first * inner..rows * inner);
                    let mut start = input.slice_mut(0..(rows - first) * inner);
                    stream.memcpy_dtod(&rest, &mut start).map_err(Error::wrap)?;
                    drop(start);
                    Ok(input)
                })
                .transpose()?;
            let input = match &padded_input {
                Some(input) => input.slice(..),
                None => x.slice(first * inner..(first + tile) * inner),
            };
            let mut output = product.slice_mut(first * out..(first + tile) * out);
            #[expect(unsafe_code, reason = "a call of the library")]
            // SAFETY: the slices have the sizes of `config`: `weight` is `[out, inner]`, `input`
            // `[tile, inner]` and `output` `[tile, out]`, all contiguous and on this device.
            unsafe { blas.gemm(config, &weight, &input, &mut output) }.map_err(Error::wrap)?;
        }
        let product = CudaStorage::wrap_cuda_slice(product, device.clone());
        Ok((product, Shape::from((padded, out))))
    }
}

/// A dimension as the library takes it.
fn size(dimension: usize) -> Result<i32> {
    i32::try_from(dimension).map_err(Error::wrap)
}

//! A build with CUDA on any machine: where there is a GPU it computes, where there is none it says so and goes on.
#![cfg(feature = "cuda")]

use candle_core::{DType, Device, Tensor};

/// A product of small whole numbers, exact in any order of summation.
fn product(device: &Device) -> candle_core::Result<Vec<Vec<f32>>> {
    let left = Tensor::arange(0_f32, 64.0, device)?.reshape((8, 8))?;
    let right = left.affine(-1.0, 3.0)?.t()?.contiguous()?;
    left.to_dtype(DType::F32)?.matmul(&right)?.to_vec2()
}

#[test]
fn the_first_gpu_agrees_with_the_processor_or_is_said_to_be_missing() {
    let expected = product(&Device::Cpu).unwrap();
    match Device::new_cuda(0) {
        Ok(gpu) => assert_eq!(product(&gpu).unwrap(), expected),
        Err(error) => assert!(error.to_string().contains("CUDA_ERROR_NO_DEVICE"), "{error}"),
    }
}

//! Opens GPUs.

use candle_core::{Device, Result};

/// Opens the GPU with this index. All threads that use it share one stream, so operations run in
/// the order in which they were submitted, and memory is freed after its last use.
///
/// [`Device::new_cuda`] would use a stream for each thread: a thread could read what another is
/// still computing, and a thread that never used the GPU could not free its memory.
///
/// # Errors
/// There is no such GPU, or the binary was built without CUDA.
pub fn open_gpu(index: usize) -> Result<Device> {
    Device::new_cuda_with_stream(index)
}

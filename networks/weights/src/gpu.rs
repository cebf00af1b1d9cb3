//! Opens GPUs.

use candle_core::{Device, Result};

/// Opens the GPU with this index. All threads that use it share one stream, so operations run in
/// the order in which they were submitted, and memory is freed after its last use.
///
/// [`Device::new_cuda`] would use a stream for each thread: a thread could read what another is
/// still computing, and a thread that never used the GPU could not free its memory.
///
/// With one stream, the two events that the CUDA library keeps for each tensor order nothing, so
/// they are off.
///
/// # Errors
/// There is no such GPU, or the binary was built without CUDA.
pub fn open_gpu(index: usize) -> Result<Device> {
    let device = Device::new_cuda_with_stream(index)?;
    #[cfg(feature = "cuda")]
    without_events(&device);
    Ok(device)
}

/// Turns off the events by which tensors wait for other streams.
#[cfg(feature = "cuda")]
fn without_events(device: &Device) {
    if let Device::Cuda(device) = device {
        #[expect(
            unsafe_code,
            reason = "all tensors of the device are used on its one stream, in order"
        )]
        // SAFETY: no operation uses another stream than the one that the device was opened with.
        unsafe {
            device.disable_event_tracking();
        }
    }
}

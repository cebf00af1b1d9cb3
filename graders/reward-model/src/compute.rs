//! Where a network computes: the device, the type of its numbers, and the threads of a CPU.

use std::sync::Arc;

use assay_weights::{LoadError, first_line};
use candle_core::{DType, Device};
use rayon::{ThreadPool, ThreadPoolBuilder};

/// A device with its threads. Cheap to clone.
#[derive(Clone)]
pub struct Compute {
    device: Device,
    threads: Arc<ThreadPool>,
    number: usize,
}

impl Compute {
    /// The device of this name, `cpu` or `cuda:N`, with so many threads; 0 for one a core.
    ///
    /// # Errors
    /// When there is no such device, or this binary was built without it.
    pub fn open(name: &str, threads: usize) -> Result<Self, LoadError> {
        let (device, number) = device(name)?;
        let pool = ThreadPoolBuilder::new()
            .num_threads(threads)
            .thread_name(|at| format!("assay-model-{at}"))
            .build();
        let threads =
            pool.map_err(|error| LoadError::new(format!("threads cannot be started: {error}")))?;
        Ok(Self {
            device,
            threads: Arc::new(threads),
            number,
        })
    }

    /// The name of the device.
    #[must_use]
    pub fn name(&self) -> String {
        if self.device.is_cpu() {
            "cpu".to_owned()
        } else {
            format!("cuda:{}", self.number)
        }
    }

    /// Threads that a CPU's products are shared among.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.threads.current_num_threads()
    }

    /// Whether it is the CPU.
    #[must_use]
    pub fn is_cpu(&self) -> bool {
        self.device.is_cpu()
    }

    pub(crate) fn device(&self) -> &Device {
        &self.device
    }

    /// The type of this name, or the device's own: `f32` on a CPU, which has no quick way with
    /// shorter ones, `bf16` on a GPU.
    pub(crate) fn dtype(&self, name: Option<&str>) -> Result<DType, LoadError> {
        match name {
            None if self.device.is_cpu() => Ok(DType::F32),
            None | Some("bf16") => Ok(DType::BF16),
            Some("f32") => Ok(DType::F32),
            Some("f16") => Ok(DType::F16),
            Some(other) => Err(LoadError::new(format!(
                "`dtype` is `f32`, `bf16` or `f16`, not `{other}`"
            ))),
        }
    }

    /// Runs `work` with the threads of this device.
    pub(crate) fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        self.threads.install(work)
    }
}

fn device(name: &str) -> Result<(Device, usize), LoadError> {
    if name == "cpu" {
        return Ok((Device::Cpu, 0));
    }
    let number = match name.split_once(':') {
        None if name == "cuda" => Some(0),
        Some(("cuda", number)) => number.parse().ok(),
        _ => None,
    };
    let Some(number) = number else {
        return Err(LoadError::new(format!(
            "a device is `cpu` or `cuda:N`, not `{name}`"
        )));
    };
    if !cfg!(feature = "cuda") {
        let message = format!(
            "this binary was built without CUDA, so there is no `{name}`; build it with the \
             feature `cuda`"
        );
        return Err(LoadError::new(message));
    }
    let device = Device::new_cuda(number).map_err(|error| {
        LoadError::new(format!("`{name}` cannot be used: {}", first_line(&error)))
    })?;
    Ok((device, number))
}

/// The word for a type of numbers.
pub(crate) fn word(dtype: DType) -> &'static str {
    match dtype {
        DType::BF16 => "bf16",
        DType::F16 => "f16",
        _ => "f32",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(name: &str) -> String {
        Compute::open(name, 1)
            .err()
            .map(|error| error.to_string())
            .unwrap_or_default()
    }

    #[test]
    fn devices_are_the_cpu_and_numbered_gpus() {
        assert_eq!(Compute::open("cpu", 2).unwrap().threads(), 2);
        for name in ["gpu", "cuda:", "cuda:-1", "cuda:first", "CPU", ""] {
            assert!(
                refusal(name).contains(&format!("not `{name}`")),
                "{}",
                refusal(name)
            );
        }
    }

    #[test]
    #[cfg(not(feature = "cuda"))]
    fn a_build_without_cuda_says_what_a_gpu_needs() {
        assert!(refusal("cuda:0").contains("build it with the feature `cuda`"));
    }

    #[test]
    #[cfg(feature = "cuda")]
    fn a_gpu_is_opened_or_said_to_be_missing() {
        match Compute::open("cuda:0", 1) {
            Ok(compute) => assert_eq!(compute.name(), "cuda:0"),
            Err(error) => assert!(
                error.to_string().contains("CUDA_ERROR_NO_DEVICE"),
                "{error}"
            ),
        }
        assert!(
            refusal("cuda:4096").starts_with("`cuda:4096` cannot be used"),
            "{}",
            refusal("cuda:4096")
        );
    }
}

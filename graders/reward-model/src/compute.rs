//! Device on which a network runs, its default data type, and the threads of a CPU.

use std::sync::Arc;

use assay_weights::{LoadError, first_line, open_gpu};
use candle_core::{DType, Device};
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::{AttentionKernel, GpuOptions};

/// A device with its thread pool. Cheap to clone.
#[derive(Clone)]
pub struct Compute {
    device: Device,
    threads: Arc<ThreadPool>,
    index: usize,
    gpu: GpuOptions,
}

impl Compute {
    /// Opens the device `cpu` or `cuda:N` with this number of threads. 0 uses one thread per core.
    ///
    /// # Errors
    /// The device does not exist, this binary was built without support for it, or the threads
    /// cannot be started.
    pub fn open(name: &str, threads: usize) -> Result<Self, LoadError> {
        let (device, index) = device(name)?;
        let pool = ThreadPoolBuilder::new()
            .num_threads(threads)
            .thread_name(|at| format!("assay-model-{at}"))
            .build();
        let threads = pool.map_err(|error| {
            LoadError::new(format!("cannot start the threads of the model: {error}"))
        })?;
        Ok(Self {
            device,
            threads: Arc::new(threads),
            index,
            gpu: GpuOptions::default(),
        })
    }

    /// Name of the device: `cpu` or `cuda:N`.
    #[must_use]
    pub fn name(&self) -> String {
        if self.device.is_cpu() {
            "cpu".to_owned()
        } else {
            format!("cuda:{}", self.index)
        }
    }

    /// Names of several devices, separated by commas.
    pub(crate) fn names(devices: &[Self]) -> String {
        let names: Vec<String> = devices.iter().map(Self::name).collect();
        names.join(",")
    }

    /// Checks that these devices return the same bits: GPUs of one kind, or a CPU.
    ///
    /// # Errors
    /// The names of two devices of different kinds.
    pub fn check_equal_kinds(devices: &[Self]) -> Result<(), LoadError> {
        let kinds = devices
            .iter()
            .map(|device| Ok((device.name(), kind(&device.device)?)));
        let kinds = kinds.collect::<Result<Vec<_>, LoadError>>()?;
        for pair in kinds.windows(2) {
            let [(one, kind), (other, other_kind)] = pair else {
                continue;
            };
            if kind != other_kind {
                return Err(LoadError::new(format!(
                    "`{one}` is a {kind} and `{other}` a {other_kind}: scores of different kinds \
                     of devices differ in the last bits; use devices of one kind"
                )));
            }
        }
        Ok(())
    }

    /// Number of threads for products on a CPU.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.threads.current_num_threads()
    }

    /// Returns whether the device is the CPU.
    #[must_use]
    pub fn is_cpu(&self) -> bool {
        self.device.is_cpu()
    }

    /// Sets how networks compute on a GPU.
    ///
    /// # Errors
    /// The kernel of attention is not part of this binary.
    pub fn with_gpu(self, gpu: GpuOptions) -> Result<Self, LoadError> {
        if gpu.attention == AttentionKernel::Flash && !cfg!(feature = "flash-attn") {
            return Err(LoadError::new(
                "attention `flash` is not available: this binary was built without the feature \
                 `flash-attn`; use `tiles`",
            ));
        }
        Ok(Self { gpu, ..self })
    }

    /// How networks compute on a GPU.
    pub(crate) fn gpu(&self) -> GpuOptions {
        self.gpu
    }

    pub(crate) fn device(&self) -> &Device {
        &self.device
    }

    /// The data type of this name, or the default of the device: `f32` on a CPU, which is slow with
    /// shorter types, and `bf16` on a GPU.
    pub(crate) fn dtype(&self, name: Option<&str>) -> Result<DType, LoadError> {
        match name {
            None if self.device.is_cpu() => Ok(DType::F32),
            None | Some("bf16") => Ok(DType::BF16),
            Some("f32") => Ok(DType::F32),
            Some("f16") => Ok(DType::F16),
            Some(other) => Err(LoadError::new(format!(
                "invalid `dtype` `{other}`: use `f32`, `bf16` or `f16`"
            ))),
        }
    }

    /// Runs `work` in the thread pool of this device.
    pub(crate) fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        self.threads.install(work)
    }
}

fn device(name: &str) -> Result<(Device, usize), LoadError> {
    if name == "cpu" {
        return Ok((Device::Cpu, 0));
    }
    let index = match name.split_once(':') {
        None if name == "cuda" => Some(0),
        Some(("cuda", index)) => index.parse().ok(),
        _ => None,
    };
    let Some(index) = index else {
        return Err(LoadError::new(format!(
            "invalid device `{name}`: use `cpu` or `cuda:N`"
        )));
    };
    if !cfg!(feature = "cuda") {
        let message = format!(
            "device `{name}` is not available: this binary was built without CUDA; build it with \
             the feature `cuda`"
        );
        return Err(LoadError::new(message));
    }
    let device = open_gpu(index).map_err(|error| {
        LoadError::new(format!(
            "cannot open device `{name}`: {}",
            first_line(&error)
        ))
    })?;
    Ok((device, index))
}

/// Kind of a device: the name of a GPU.
#[cfg(feature = "cuda")]
fn kind(device: &Device) -> Result<String, LoadError> {
    let Device::Cuda(device) = device else {
        return Ok("CPU".to_owned());
    };
    let name = device.cuda_stream().context().name();
    name.map_err(|error| LoadError::new(format!("cannot read the name of a GPU: {error}")))
}

/// Kind of a device: always a CPU.
#[cfg(not(feature = "cuda"))]
fn kind(_: &Device) -> Result<String, LoadError> {
    Ok("CPU".to_owned())
}

/// Name of a data type, as options write it.
pub(crate) fn dtype_name(dtype: DType) -> &'static str {
    match dtype {
        DType::BF16 => "bf16",
        DType::F16 => "f16",
        _ => "f32",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open_error(name: &str) -> String {
        Compute::open(name, 1)
            .err()
            .map(|error| error.to_string())
            .unwrap_or_default()
    }

    #[test]
    fn rejects_invalid_device_names() {
        assert_eq!(Compute::open("cpu", 2).unwrap().threads(), 2);
        for name in ["gpu", "cuda:", "cuda:-1", "cuda:first", "CPU", ""] {
            assert!(
                open_error(name).contains(&format!("invalid device `{name}`")),
                "{}",
                open_error(name)
            );
        }
    }

    #[test]
    #[cfg(not(feature = "cuda"))]
    fn names_the_missing_feature_in_a_build_without_cuda() {
        assert!(open_error("cuda:0").contains("the feature `cuda`"));
    }

    #[test]
    #[cfg(feature = "cuda")]
    fn opens_a_gpu_or_reports_that_there_is_none() {
        match Compute::open("cuda:0", 1) {
            Ok(compute) => assert_eq!(compute.name(), "cuda:0"),
            Err(error) => assert!(
                error.to_string().contains("CUDA_ERROR_NO_DEVICE"),
                "{error}"
            ),
        }
        assert!(
            open_error("cuda:4096").starts_with("cannot open device `cuda:4096`"),
            "{}",
            open_error("cuda:4096")
        );
    }
}

//! Memory that is available on a device, and memory in use.

use std::fs;
use std::path::Path;

use candle_core::Device;

/// Bytes that the process can still allocate on a device: free memory of the GPU, or of the machine
/// within the limit of the control group of the process. `None` if the system does not tell.
#[must_use]
pub fn available_memory(device: &Device) -> Option<u64> {
    if device.is_cpu() {
        let machine = from_meminfo(&fs::read_to_string("/proc/meminfo").ok()?);
        let group = [
            ("/sys/fs/cgroup", "memory.max", "memory.current"),
            (
                "/sys/fs/cgroup/memory",
                "memory.limit_in_bytes",
                "memory.usage_in_bytes",
            ),
        ]
        .into_iter()
        .find_map(|(folder, limit, used)| {
            let number = |name| {
                let text = fs::read_to_string(Path::new(folder).join(name)).ok()?;
                text.trim().parse::<u64>().ok()
            };
            Some(number(limit)?.saturating_sub(number(used)?))
        });
        return machine.into_iter().chain(group).min();
    }
    free_on_gpu()
}

/// Bytes that the process uses on a device: its resident memory, or all used memory of the GPU.
/// `None` if the system does not tell.
#[must_use]
pub fn used_memory(device: &Device) -> Option<u64> {
    if !device.is_cpu() {
        return used_on_gpu();
    }
    from_status(&fs::read_to_string("/proc/self/status").ok()?)
}

/// `VmRSS` of `/proc/self/status`.
fn from_status(text: &str) -> Option<u64> {
    kibibytes(text, "VmRSS:")
}

/// `MemAvailable` of `/proc/meminfo`, which includes memory that caches would give up.
fn from_meminfo(text: &str) -> Option<u64> {
    kibibytes(text, "MemAvailable:")
}

/// The bytes of a line that has a number of KiB.
fn kibibytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}

#[cfg(feature = "cuda")]
fn free_on_gpu() -> Option<u64> {
    let (free, _) = candle_core::cuda_backend::cudarc::driver::result::mem_get_info().ok()?;
    Some(free as u64)
}

#[cfg(feature = "cuda")]
fn used_on_gpu() -> Option<u64> {
    let (free, total) = candle_core::cuda_backend::cudarc::driver::result::mem_get_info().ok()?;
    Some(total.saturating_sub(free) as u64)
}

#[cfg(not(feature = "cuda"))]
fn free_on_gpu() -> Option<u64> {
    None
}

#[cfg(not(feature = "cuda"))]
fn used_on_gpu() -> Option<u64> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_available_memory() {
        let text = "MemTotal:       16 kB\nMemAvailable:    12 kB\n";
        assert_eq!(from_meminfo(text), Some(12 * 1024));
        assert_eq!(from_meminfo("MemTotal: 16 kB\n"), None);
        assert_eq!(from_status("VmRSS:\t  8 kB\n"), Some(8 * 1024));
        assert!(used_memory(&Device::Cpu).is_some_and(|bytes| bytes > 1 << 20));
        assert!(available_memory(&Device::Cpu).is_some_and(|bytes| bytes > 1 << 20));
    }
}

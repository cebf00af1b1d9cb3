//! The configuration of wasmtime. Images must be compiled and run with the same one, because
//! compiled code depends on copy-on-write memory.

use wasmtime::{
    Config, Enabled, Engine, InstanceAllocationStrategy, OptLevel, PoolingAllocationConfig,
};

use crate::ImageError;

/// Most linear memory of an instance, in bytes. The limits of tasks are lower.
pub(crate) const MAX_MEMORY: usize = 2 << 30;

/// Native stack of a thread that runs guests.
pub(crate) const THREAD_STACK: usize = 192 << 20;

/// Part of that stack that the guest's own frames may use. It is well below the size of the
/// thread's stack: exceeding this limit is a trap, while reaching the guard page of the thread
/// aborts the process.
const WASM_STACK: usize = 160 << 20;

/// Most instances in a worker at once: a program, the instance of its test, and those that are
/// being dropped.
const INSTANCES: u32 = 4;

/// Memory that stays mapped in a freed slot, in bytes. With the kernel's page scan this avoids page
/// faults (184 instead of 260 for a small Python program). Without it, or with much more memory,
/// resetting the slot costs more than the faults.
const KEEP_RESIDENT: usize = 4 << 20;

/// An engine that uses the kernel's page scan if available (Linux 6.7 or later).
pub(crate) fn engine() -> Result<Engine, ImageError> {
    let engine_error = |error: wasmtime::Error| ImageError::Engine(format!("{error:#}"));
    let with_scan = Engine::new(&config(Enabled::Yes));
    with_scan
        .or_else(|_| Engine::new(&config(Enabled::No)))
        .map_err(engine_error)
}

fn config(scan: Enabled) -> Config {
    let mut pool = PoolingAllocationConfig::new();
    pool.total_memories(INSTANCES)
        .total_core_instances(INSTANCES)
        .total_tables(INSTANCES)
        .max_memory_size(MAX_MEMORY)
        .table_elements(100_000)
        .max_core_instance_size(4 << 20)
        .max_unused_warm_slots(INSTANCES)
        .linear_memory_keep_resident(if scan == Enabled::Yes {
            KEEP_RESIDENT
        } else {
            0
        })
        .pagemap_scan(scan);
    let mut config = Config::new();
    config
        .allocation_strategy(InstanceAllocationStrategy::Pooling(pool))
        // Fuel counts work exactly and independently of the machine. Time is limited by the parent,
        // which kills the worker.
        .consume_fuel(true)
        // The bits of a NaN differ between machines.
        .cranelift_nan_canonicalization(true)
        // A fused multiply-add rounds once, even on processors without the instruction.
        .relaxed_simd_deterministic(true)
        .cranelift_opt_level(OptLevel::Speed)
        .max_wasm_stack(WASM_STACK)
        // Guests do not run on asynchronous stacks, but the engine validates the setting.
        .async_stack_size(THREAD_STACK)
        .memory_init_cow(true)
        .memory_guaranteed_dense_image_size(256 << 20)
        // Addresses in backtraces are not useful, and capturing them makes each trap slower.
        .wasm_backtrace_max_frames(None);
    config
}

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

/// Most instances in a worker at once, of all images.
pub(crate) const INSTANCES: u32 = 12;

/// The engine of images.
pub(crate) fn engine() -> Result<Engine, ImageError> {
    Engine::new(&config()).map_err(|error| ImageError::Engine(format!("{error:#}")))
}

fn config() -> Config {
    let mut pool = PoolingAllocationConfig::new();
    pool.total_memories(INSTANCES)
        .total_core_instances(INSTANCES)
        .total_tables(INSTANCES)
        .max_memory_size(MAX_MEMORY)
        .table_elements(100_000)
        .max_core_instance_size(4 << 20)
        .max_unused_warm_slots(INSTANCES)
        // An instance that cannot be restored is unmapped as a whole. The engine's own scan of
        // pages skips those that are swapped out or being moved.
        .linear_memory_keep_resident(0)
        .pagemap_scan(Enabled::No);
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

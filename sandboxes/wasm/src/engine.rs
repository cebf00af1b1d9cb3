//! The one configuration of wasmtime, for compiling images and for running them: copy-on-write is
//! baked into what is compiled.

use wasmtime::{
    Config, Enabled, Engine, InstanceAllocationStrategy, OptLevel, PoolingAllocationConfig,
};

use crate::ImageError;

/// Most linear memory one instance may have, in bytes. Tasks ask for less.
pub(crate) const MAX_MEMORY: usize = 2 << 30;

/// Native stack of a thread that runs guests.
pub(crate) const THREAD_STACK: usize = 192 << 20;

/// What of it a guest's own frames may use. Well under the thread's: an engine that runs into the
/// guard page of its thread aborts the process, while this limit is a clean trap.
const WASM_STACK: usize = 160 << 20;

/// Instances alive at once in a worker: a program, and the one that judges it; one more that is being
/// taken down.
const INSTANCES: u32 = 4;

/// Memory kept mapped in a freed slot. With the kernel's page scan this spares page faults (260 to
/// 184 for a small Python program); without it, or with much more, resetting the slot costs more
/// than the faults.
const KEEP_RESIDENT: usize = 4 << 20;

/// An engine, with the kernel's page scan where there is one: Linux has it from 6.7.
pub(crate) fn engine() -> Result<Engine, ImageError> {
    let refused = |error: wasmtime::Error| ImageError::Engine(format!("{error:#}"));
    let scanned = Engine::new(&config(Enabled::Yes));
    scanned
        .or_else(|_| Engine::new(&config(Enabled::No)))
        .map_err(refused)
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
        // Work is fuel: exact, and the same everywhere. Time is the parent's business, which kills
        // the worker.
        .consume_fuel(true)
        // The bits of a NaN would tell machines apart.
        .cranelift_nan_canonicalization(true)
        // A fused multiply-add rounds once, even on processors without the instruction.
        .relaxed_simd_deterministic(true)
        .cranelift_opt_level(OptLevel::Speed)
        .max_wasm_stack(WASM_STACK)
        // No guest runs on a stack of the engine's own, but the engine checks that it could.
        .async_stack_size(THREAD_STACK)
        .memory_init_cow(true)
        .memory_guaranteed_dense_image_size(256 << 20)
        // Addresses in backtraces would say nothing to anyone, and capturing them costs each trap.
        .wasm_backtrace_max_frames(None);
    config
}

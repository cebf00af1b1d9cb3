//! The configuration of wasmtime. Images must be compiled and run with the same one, because
//! compiled code depends on copy-on-write memory.

use wasmtime::{
    Collector, Config, Enabled, Engine, InstanceAllocationStrategy, OperatorCost, OptLevel,
    PoolingAllocationConfig,
};

use crate::ImageError;
use crate::state::MAX_ELEMENTS;

/// Most linear memory of an instance, in bytes. The limits of tasks are lower.
pub(crate) const MAX_MEMORY: usize = 2 << 30;

/// Native stack of a thread that runs guests.
pub(crate) const THREAD_STACK: usize = 288 << 20;

/// Part of that stack that the frames of an interpreter may use. It is well below the size of the
/// thread's stack: exceeding this limit is a trap, while reaching the guard page of the thread
/// aborts the process.
const INTERPRETER_STACK: usize = 160 << 20;

/// Part of that stack that a compiler or a compiled program may use. A million frames of a small
/// function take 100 to 200 MiB.
const PROGRAM_STACK: usize = 256 << 20;

/// Most instances in a worker at once, of all images of interpreters.
pub(crate) const INSTANCES: u32 = 20;

/// Most instances in a worker at once of an image with a compiler: a library and its program.
const TOOLCHAIN_INSTANCES: u32 = 2;

/// Memory that a compiled program can have in addition to its limit: that of the library, most of
/// which is the stack.
const LIBRARY_MEMORY: usize = 256 << 20;

/// Largest size of the engine's structure for an instance of a compiler, which has many functions.
const COMPILER_INSTANCE: usize = 32 << 20;

/// The engine of images with an interpreter.
pub(crate) fn for_interpreters() -> Result<Engine, ImageError> {
    let mut pool = PoolingAllocationConfig::new();
    pool.total_memories(INSTANCES)
        .total_core_instances(INSTANCES)
        .total_tables(INSTANCES)
        .max_memory_size(MAX_MEMORY)
        .total_gc_heaps(0)
        .max_core_instance_size(4 << 20)
        .max_unused_warm_slots(INSTANCES);
    let mut config = config(pool, INTERPRETER_STACK);
    config.wasm_exceptions(false).gc_support(false);
    engine(&config)
}

/// The engine of images with a compiler: its programs throw exceptions. An exception is freed as
/// soon as it is caught, so that a program can throw any number.
///
/// `threads` says whether modules are compiled on several threads.
pub(crate) fn for_toolchains(threads: bool) -> Result<Engine, ImageError> {
    let mut pool = PoolingAllocationConfig::new();
    pool.total_memories(TOOLCHAIN_INSTANCES)
        .total_core_instances(TOOLCHAIN_INSTANCES)
        .total_tables(TOOLCHAIN_INSTANCES)
        .total_gc_heaps(TOOLCHAIN_INSTANCES)
        .max_memory_size(MAX_MEMORY + LIBRARY_MEMORY)
        .max_core_instance_size(COMPILER_INSTANCE)
        .max_unused_warm_slots(TOOLCHAIN_INSTANCES);
    let mut config = config(pool, PROGRAM_STACK);
    config
        .operator_cost(work_of_operators())
        .wasm_exceptions(true)
        .collector(Collector::DeferredReferenceCounting)
        .parallel_compilation(threads);
    engine(&config)
}

/// The work of the instructions of compiled programs, where it is not 1. Instructions that usually
/// compile to no machine code are free, and each iteration of a loop and each call costs work. A
/// second of `WORK_PER_SECOND` is then at least about a native second: ten programs do 1.1e9 to
/// 2.1e10 units in one, the fewest when they wait for memory (`make cpp`). For interpreters, every
/// instruction counts as one.
fn work_of_operators() -> OperatorCost {
    let mut work = OperatorCost::new();
    macro_rules! set {
        ($cost:literal: $($operator:ident)*) => { $(work.$operator = $cost;)* };
    }
    set!(0: LocalGet LocalSet LocalTee I32Const I64Const F32Const F64Const I32WrapI64
        I64ExtendI32U I64ExtendI32S);
    set!(4: Br BrIf BrTable);
    set!(6: Call ReturnCall);
    set!(8: CallIndirect ReturnCallIndirect I32DivS I32DivU I32RemS I32RemU F32Div F64Div F32Sqrt
        F64Sqrt);
    set!(12: I64DivS I64DivU I64RemS I64RemU);
    // `nop` carries the work of throwing an exception (`toolchain/narrow.rs`).
    set!(255: Nop Throw ThrowRef MemoryGrow);
    work
}

fn engine(config: &Config) -> Result<Engine, ImageError> {
    Engine::new(config).map_err(|error| ImageError::Engine(format!("{error:#}")))
}

fn config(mut pool: PoolingAllocationConfig, stack: usize) -> Config {
    // An instance that cannot be restored is unmapped as a whole. The engine's own scan of pages
    // skips those that are swapped out or being moved.
    pool.linear_memory_keep_resident(0)
        .pagemap_scan(Enabled::No)
        .table_elements(MAX_ELEMENTS);
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
        .max_wasm_stack(stack)
        // Guests do not run on asynchronous stacks, but the engine validates the setting.
        .async_stack_size(THREAD_STACK)
        .memory_init_cow(true)
        .memory_guaranteed_dense_image_size(256 << 20)
        // Addresses in backtraces are not useful, and capturing them makes each trap slower.
        .wasm_backtrace_max_frames(None);
    config
}

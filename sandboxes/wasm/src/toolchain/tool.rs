//! Runs the compiler and the linker.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use assay_worker::program::Limits;
use wasmtime::{InstancePre, Store, Trap};

use crate::files::Files;
use crate::state::{DRIVER_OUTPUT, State, Stop};

/// The files of a compilation.
pub(super) type SharedFiles = Arc<Mutex<Files>>;

/// Locks the files. Only one tool runs at a time.
pub(super) fn lock(files: &SharedFiles) -> MutexGuard<'_, Files> {
    files.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How a tool ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ToolEnd {
    /// It reported these warnings.
    Succeeded(String),
    /// It reported errors, with this text.
    Failed(String),
    OutOfWork,
    OutOfMemory,
    /// The source nests too deeply.
    StackOverflow,
    /// The system is out of memory.
    HostFailed(String),
}

/// Limits of a run of a tool.
#[derive(Debug, Clone, Copy)]
pub(super) struct ToolLimits {
    pub(super) work: u64,
    pub(super) memory_bytes: u64,
}

/// Runs a command of the compiler's module. `arguments` begins with the name of the tool.
pub(super) fn run(
    compiler: &InstancePre<State>,
    files: &SharedFiles,
    limits: ToolLimits,
    arguments: Vec<String>,
) -> ToolEnd {
    let ToolLimits { work, memory_bytes } = limits;
    let limits = Limits {
        work,
        memory_bytes,
        output_bytes: DRIVER_OUTPUT,
    };
    let mut state = State::with_files(limits, 0, Vec::new(), Arc::clone(files));
    state.arguments = arguments;
    state.keeps_stderr_start = true;
    state.clock_start = work;
    let mut store = Store::new(compiler.module().engine(), state);
    store.limiter(|state| state);
    let started = store.set_fuel(work).and_then(|()| {
        let instance = compiler.instantiate(&mut store)?;
        instance.get_typed_func::<(), ()>(&mut store, "_start")
    });
    let start = match started {
        Ok(start) => start,
        Err(error) => return ToolEnd::HostFailed(format!("{error:#}")),
    };
    let ended = start.call(&mut store, ());
    let state = store.data();
    let messages = || String::from_utf8_lossy(&state.stderr).into_owned();
    let Err(error) = ended else {
        return ToolEnd::Succeeded(messages());
    };
    match (error.downcast_ref::<Stop>(), error.downcast_ref::<Trap>()) {
        (Some(Stop::Exit(0)), _) => ToolEnd::Succeeded(messages()),
        (Some(Stop::Host), _) => ToolEnd::HostFailed("the system is out of memory".to_owned()),
        _ if state.memory_refusals > 0 => ToolEnd::OutOfMemory,
        (Some(_), _) => ToolEnd::Failed(messages()),
        (_, Some(Trap::OutOfFuel)) => ToolEnd::OutOfWork,
        // The compiler's own stack is in its linear memory and grows down to address 0.
        (_, Some(Trap::StackOverflow | Trap::MemoryOutOfBounds)) => ToolEnd::StackOverflow,
        (_, _) => ToolEnd::Failed(format!("{}the compiler failed: {error}\n", messages())),
    }
}

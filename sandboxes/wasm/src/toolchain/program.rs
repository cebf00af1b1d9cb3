//! Runs compiled programs.

use assay_worker::program::{End, Limits, Ran};
use wasmtime::{Extern, Instance, Ref, Store, Trap, format_err};

use super::code::Program;
use super::{Toolchain, callees};
use crate::request_error::RequestError;
use crate::state::{State, Stop};

/// What a run starts.
pub(crate) enum Entry {
    /// `main`, with these arguments.
    Main(Vec<String>),
    /// A function, by its name and its arguments, as JSON.
    Call(String, Vec<String>),
}

impl Toolchain {
    /// Runs a program in new instances of the library and of its module. Also returns the state at
    /// its end.
    ///
    /// # Errors
    /// If the code was not compiled by this image, or the system is out of memory.
    pub(crate) fn run(
        &self,
        code: &[u8],
        entry: Entry,
        limits: Limits,
        mut state: State,
    ) -> Result<(Ran, State), RequestError> {
        let program = self.programs.get(code).map_err(|error| {
            RequestError::Permanent(format!("cannot load compiled code: {error:#}"))
        })?;
        state.arguments = vec!["program".to_owned()];
        let start = match entry {
            Entry::Main(arguments) => {
                state.arguments.extend(arguments);
                "_start"
            }
            Entry::Call(function, arguments) => {
                state
                    .arguments
                    .push(callees::name_of(&function, arguments.len()));
                state.arguments.extend(arguments);
                "_call"
            }
        };
        state.clock_start = limits.work;
        let mut store = Store::new(self.runtime_library.module().engine(), state);
        store.limiter(|state| state);
        let ended = self.start(&mut store, (&program, start), limits);
        let work = limits.work - store.get_fuel().unwrap_or_default().min(limits.work);
        let end = match ended {
            Ok(bytes) => (End::Finished, bytes),
            Err((error, bytes)) => (end_of(&error, store.data())?, bytes),
        };
        let (mut end, memory_bytes) = end;
        let state = store.into_data();
        // A program that exits before its function returns has written nothing.
        if end == End::Finished && !state.returned.is_empty() {
            end = End::Returned(String::from_utf8_lossy(&state.returned).into_owned());
        }
        let ran = Ran {
            end,
            driver_evidence: None,
            stdout: state.stdout.clone(),
            stderr: state.stderr_tail().to_vec(),
            work,
            memory_bytes,
            files: Vec::new(),
        };
        Ok((ran, state))
    }

    /// The limits of the instance that runs a program. The library's stack does not count towards
    /// the task's limit, so it is added.
    pub(crate) fn limits(&self, limits: Limits) -> Limits {
        let stack = self.manifest.memory.stack_bytes;
        Limits {
            memory_bytes: limits.memory_bytes.saturating_add(stack),
            ..limits
        }
    }

    /// Runs a program. Returns its memory in bytes, without the stack, also if the run fails.
    fn start(
        &self,
        store: &mut Store<State>,
        (program, start): (&Program, &str),
        limits: Limits,
    ) -> Result<u64, (wasmtime::Error, u64)> {
        store.set_fuel(limits.work).map_err(|error| (error, 0))?;
        let library = self
            .runtime_library
            .instantiate(&mut *store)
            .map_err(|error| (error, 0))?;
        let ended = execute(store, &library, program, start);
        let bytes = library
            .get_memory(&mut *store, "memory")
            .map_or(0, |memory| memory.data_size(&*store) as u64);
        let bytes = bytes.saturating_sub(self.manifest.memory.stack_bytes);
        ended.map(|()| bytes).map_err(|error| (error, bytes))
    }
}

fn execute(
    store: &mut Store<State>,
    library: &Instance,
    program: &Program,
    start: &str,
) -> wasmtime::Result<()> {
    let mut imports = Vec::with_capacity(program.imports.len());
    for name in &program.imports {
        let export = library.get_export(&mut *store, name);
        imports.push(export.ok_or_else(|| format_err!("the library lacks `{name}`"))?);
    }
    for import in &imports {
        match import {
            Extern::Memory(memory) => {
                let missing = program.pages.saturating_sub(memory.size(&*store));
                if missing > 0 && memory.grow(&mut *store, missing).is_err() {
                    return Err(Stop::Memory.into());
                }
            }
            Extern::Table(table) => {
                let missing = program.elements.saturating_sub(table.size(&*store));
                if missing > 0 {
                    table.grow(&mut *store, missing, Ref::Func(None))?;
                }
            }
            _ => {}
        }
    }
    let instance = Instance::new(&mut *store, &program.module, &imports)?;
    let start = instance.get_typed_func::<(), ()>(&mut *store, start)?;
    start.call(&mut *store, ())
}

/// How a program ended that did not return from its start function. This is the usual case, because
/// that function calls `exit`.
fn end_of(error: &wasmtime::Error, state: &State) -> Result<End, RequestError> {
    let is_short_of_memory = state.memory_refusals > 0;
    let raised = |message: &str| match is_short_of_memory {
        // A program that ignores the error of an allocation usually fails soon afterwards.
        true => End::OutOfMemory,
        false => End::Raised(message.to_owned()),
    };
    if let Some(stop) = error.downcast_ref::<Stop>() {
        return Ok(match stop {
            // As on Linux, a status has 8 bits.
            Stop::Exit(status) => match status & 0xff {
                0 => End::Finished,
                _ if is_short_of_memory => End::OutOfMemory,
                status => End::Exited(status),
            },
            Stop::Memory => End::OutOfMemory,
            Stop::Output => End::OutOfOutput,
            Stop::Peer | Stop::Host => {
                return Err(RequestError::Transient(
                    "the system is out of memory".to_owned(),
                ));
            }
        });
    }
    Ok(match error.downcast_ref::<Trap>() {
        Some(Trap::OutOfFuel) => End::OutOfWork,
        Some(Trap::StackOverflow) => raised("segmentation fault: the stack overflowed"),
        Some(Trap::MemoryOutOfBounds) => {
            raised("segmentation fault: an access to an invalid address")
        }
        Some(Trap::IntegerDivisionByZero | Trap::IntegerOverflow) => {
            raised("floating-point exception: a division by zero or an overflow of a division")
        }
        Some(Trap::BadConversionToInteger) => raised("an invalid conversion to an integer"),
        Some(Trap::IndirectCallToNull | Trap::TableOutOfBounds | Trap::BadSignature) => {
            raised("segmentation fault: a call of an invalid function pointer")
        }
        Some(Trap::UnreachableCodeReached) => raised("aborted: undefined behavior was detected"),
        _ => raised(&format!("the program failed: {error}")),
    })
}

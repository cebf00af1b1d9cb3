//! One instance of an image: requests to its driver, and how it ended.

use std::sync::Arc;

use assay_worker::program::{End, Limits, MAX_DRIVER_EVIDENCE};
use serde_json::{Map, Value};
use wasmtime::{Global, Instance, InstancePre, Store, Trap};

use crate::call::call;
use crate::exports::Exports;
use crate::frozen::{FrozenError, GlobalValue, HostState, Memory, ThawedSegments, cannot};
use crate::globals;
use crate::message::{self, Message};
use crate::restore::{PrivatePages, Untouched};
use crate::state::{State, Stop};

/// Work of the driver before the program's own begins, such as loading code.
const DRIVER_WORK: u64 = 20_000_000_000;

/// Size of a page of a WebAssembly memory, in bytes.
const WASM_PAGE: u64 = 64 << 10;

/// Longest returned value in the driver's notation, in bytes.
const MAX_RESULT: usize = 32 << 20;

/// Pages that may be compared in vain before the instance is replaced by a fresh one, which costs
/// as much. Otherwise a program that writes many pages would slow down all later ones.
const MOST_WASTED: usize = 1_000;

/// An instance of an image.
pub(crate) struct Guest {
    store: Store<State>,
    exports: Arc<Exports>,
    globals: Vec<Global>,
    pages: PrivatePages,
    /// Whether every request was answered. Otherwise the guest ended in the middle of one.
    is_intact: bool,
    /// Whether it ended with an unexpected trap.
    is_broken: bool,
}

/// Why a guest did not reply.
#[derive(Debug)]
pub(crate) enum Stopped {
    /// The program caused it.
    Ended(End),
    /// The other instance ended first. Its own run reports how.
    PeerEnded,
    /// The system is out of memory, so there is no result.
    HostOutOfMemory,
}

impl Guest {
    /// Creates an instance. `globals` is the number of mutable globals that the image exports.
    pub(crate) fn start(
        image: &InstancePre<State>,
        globals: usize,
        state: State,
    ) -> wasmtime::Result<Self> {
        let mut store = Store::new(image.module().engine(), state);
        store.limiter(|state| state);
        let instance = image.instantiate(&mut store)?;
        let exports = Arc::new(exports(&mut store, &instance)?);
        let globals = globals::of(&mut store, &instance, globals)?;
        let mut guest = Self {
            store,
            exports,
            globals,
            pages: PrivatePages::default(),
            is_intact: true,
            is_broken: false,
        };
        guest.prepare()?;
        Ok(guest)
    }

    /// Starts another run in a restored instance.
    pub(crate) fn restart(mut self, state: State) -> wasmtime::Result<Self> {
        *self.store.data_mut() = state;
        self.prepare()?;
        self.pages.begin();
        Ok(self)
    }

    /// Completes the state of an instance that has not run yet.
    fn prepare(&mut self) -> wasmtime::Result<()> {
        self.store.set_fuel(DRIVER_WORK)?;
        let exports = Arc::clone(&self.exports);
        let state = self.store.data_mut();
        (state.exports, state.clock_start) = (Some(exports), DRIVER_WORK);
        Ok(())
    }

    /// Ends the run and restores the instance, so that it equals a fresh one. `None` if that is
    /// impossible or not worth it: then the instance is gone.
    pub(crate) fn restored(mut self, untouched: &Untouched, most_bytes: usize) -> Option<Self> {
        if !self.is_intact {
            return None;
        }
        untouched.restore(
            &mut self.store,
            self.exports.memory,
            &self.globals,
            &mut self.pages,
            most_bytes,
        )?;
        if self.pages.wasted > MOST_WASTED {
            return None;
        }
        *self.store.data_mut() = State::idle();
        Some(self)
    }

    /// The memory and the globals of the instance, which no request uses.
    pub(crate) fn freeze<'a>(
        &mut self,
        untouched: &Untouched,
        thawed: &ThawedSegments<'a>,
    ) -> Result<Memory<'a>, FrozenError> {
        let globals: Option<Vec<GlobalValue>> = self
            .globals
            .iter()
            .map(|global| GlobalValue::of(&global.get(&mut self.store)))
            .collect();
        let written = untouched.written(self.memory());
        Ok(Memory {
            bytes: self.memory_bytes(),
            globals: globals.ok_or_else(|| cannot("frozen", &"a global is a reference"))?,
            segments: thawed.freeze(self.memory(), untouched.memory(), &written)?,
        })
    }

    /// Gives a new instance the memory and the globals of a frozen one. For `buffer`, see
    /// [`ThawedSegments::apply`].
    pub(crate) fn thaw<'a>(
        &mut self,
        frozen: Memory<'a>,
        untouched: &Untouched,
        buffer: Vec<u8>,
    ) -> Result<ThawedSegments<'a>, FrozenError> {
        let missing = frozen.bytes.checked_sub(self.memory_bytes());
        let missing = missing.ok_or_else(|| cannot("thawed", &"its memory has shrunk"))?;
        let memory = self.exports.memory;
        memory
            .grow(&mut self.store, missing / WASM_PAGE)
            .map_err(|error| cannot("thawed", &error))?;
        if frozen.globals.len() != self.globals.len() {
            return Err(cannot("thawed", &"its globals differ"));
        }
        for (global, value) in self.globals.iter().zip(&frozen.globals) {
            let set = global.set(&mut self.store, value.value());
            set.map_err(|error| cannot("thawed", &error))?;
        }
        let memory = memory.data_mut(&mut self.store);
        ThawedSegments::apply(frozen.segments, memory, untouched.memory(), buffer)
    }

    /// The host's state of the instance, which no request uses.
    pub(crate) fn host_state(&self) -> HostState {
        let work = self.state().clock_start.saturating_sub(self.work_left());
        self.state().freeze(work)
    }

    /// Sets the work that the guest may do from now on, and starts its clock.
    pub(crate) fn begin(&mut self, limits: Limits) -> wasmtime::Result<()> {
        self.store.set_fuel(limits.work)?;
        self.store.data_mut().clock_start = limits.work;
        Ok(())
    }

    /// Work left of the limit set by [`Guest::begin`].
    pub(crate) fn work_left(&self) -> u64 {
        // Fuel is always enabled, so it can always be read.
        self.store.get_fuel().unwrap_or_default()
    }

    /// Sends a request to the driver and returns its reply.
    pub(crate) fn request(
        &mut self,
        header: Map<String, Value>,
        blobs: &[&[u8]],
    ) -> Result<Vec<u8>, Stopped> {
        self.request_bytes(&message::write(header, blobs))
    }

    /// Sends an encoded request to the driver and returns its reply.
    pub(crate) fn request_bytes(&mut self, message: &[u8]) -> Result<Vec<u8>, Stopped> {
        let reply = call(&mut self.store, &self.exports, message);
        self.is_intact &= reply.is_ok();
        reply.map_err(|error| self.stopped(&error))
    }

    /// Whether it ended with a trap other than a limit or a stack overflow. In that case the
    /// program broke the interpreter, and the process must not be trusted any longer.
    pub(crate) fn is_broken(&self) -> bool {
        self.is_broken
    }

    /// Connects the guest to another instance.
    pub(crate) fn connect(&mut self, peer: crate::peer::Peer) {
        self.store.data_mut().peer = Some(peer);
    }

    /// The contents of the memory.
    pub(crate) fn memory(&self) -> &[u8] {
        self.exports.memory.data(&self.store)
    }

    /// The values of the mutable globals, as text.
    pub(crate) fn globals(&mut self) -> Vec<String> {
        let globals = self.globals.iter();
        let values = globals.map(|global| format!("{:?}", global.get(&mut self.store)));
        values.collect()
    }

    pub(crate) fn state(&self) -> &State {
        self.store.data()
    }

    /// Current memory in bytes, which is also the peak: linear memories never shrink.
    pub(crate) fn memory_bytes(&self) -> u64 {
        self.exports.memory.data_size(&self.store) as u64
    }

    /// Interprets an error of the engine.
    fn stopped(&mut self, error: &wasmtime::Error) -> Stopped {
        if let Some(stop) = error.downcast_ref::<Stop>() {
            return match stop {
                // As on Linux, a status has 8 bits.
                Stop::Exit(status) => Stopped::Ended(End::Exited(status & 0xff)),
                Stop::Memory => Stopped::Ended(End::OutOfMemory),
                Stop::Output => Stopped::Ended(End::OutOfOutput),
                Stop::Peer => Stopped::PeerEnded,
                Stop::Host => Stopped::HostOutOfMemory,
            };
        }
        let trap = error.downcast_ref::<Trap>();
        let is_short_of_memory = self.state().memory_refusals > 0;
        self.is_broken |=
            !is_short_of_memory && !matches!(trap, Some(Trap::OutOfFuel | Trap::StackOverflow));
        Stopped::Ended(match trap {
            _ if is_short_of_memory => End::OutOfMemory,
            Some(Trap::OutOfFuel) => End::OutOfWork,
            Some(Trap::StackOverflow) => {
                End::Raised("the stack of the sandbox overflowed".to_owned())
            }
            _ => End::Raised(format!("the program broke the interpreter: {error}")),
        })
    }
}

fn exports(store: &mut Store<State>, instance: &Instance) -> wasmtime::Result<Exports> {
    let memory = instance.get_memory(&mut *store, "memory");
    Ok(Exports {
        memory: memory.ok_or_else(|| wasmtime::format_err!("the image exports no memory"))?,
        allocate: instance.get_typed_func(&mut *store, "allocate")?,
        handle: instance.get_typed_func(&mut *store, "handle")?,
        reply_pointer: instance.get_typed_func(&mut *store, "reply_pointer")?,
        reply_length: instance.get_typed_func(&mut *store, "reply_length")?,
    })
}

/// Reads from the driver's reply how a run ended.
pub(crate) fn end_of(reply: &[u8]) -> End {
    let Some(message) = Message::read(reply) else {
        return End::Raised("the program broke the driver of its image".to_owned());
    };
    let text = || message.text("message").to_owned();
    match message.text("end") {
        "finished" => End::Finished,
        "exited" => {
            let status = message.header.get("status").and_then(Value::as_i64);
            let status = status.and_then(|status| i32::try_from(status).ok());
            End::Exited(status.map_or(1, |status| status & 0xff))
        }
        // The driver respects this limit unless a program has taken it over.
        "returned" if message.blob().len() > MAX_RESULT => End::OutOfOutput,
        "returned" => End::Returned(String::from_utf8_lossy(message.blob()).into_owned()),
        "refuted" => End::TestFailed(text()),
        "unjudgeable" => End::TaskFailed(text()),
        "failed_early" => End::FailedEarly(text()),
        "too_long" => End::OutOfOutput,
        _ => End::Raised(text()),
    }
}

/// Who can have written a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReplySource {
    /// An instance in which no code of a program has run.
    Driver,
    /// An instance that a program may have taken over. It has no information about the test, so
    /// evidence about the test is forged.
    Program,
}

/// The driver's evidence about how a run ended, as JSON text; `None` if it is missing or too long.
pub(crate) fn driver_evidence(reply: &[u8], source: ReplySource) -> Option<String> {
    let mut message = Message::read(reply)?;
    let Some(Value::Object(mut evidence)) = message.header.remove("details") else {
        return None;
    };
    if source == ReplySource::Program {
        evidence.retain(|name, _| name == "limit");
    }
    let text = Value::Object(evidence).to_string();
    (text.len() <= MAX_DRIVER_EVIDENCE && text != "{}").then_some(text)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn reply(evidence: &Value) -> Vec<u8> {
        let header = json!({"end": "raised", "message": "m", "details": evidence});
        let Value::Object(header) = header else {
            unreachable!()
        };
        message::write(header, &[])
    }

    #[test]
    fn only_limits_are_accepted_from_a_program() {
        let both = reply(&json!({"left": "5", "limit": {"cause": "module", "name": "numpy"}}));
        let limit = r#"{"limit":{"cause":"module","name":"numpy"}}"#;
        assert_eq!(
            driver_evidence(&both, ReplySource::Program).as_deref(),
            Some(limit)
        );
        assert!(
            driver_evidence(&both, ReplySource::Driver)
                .unwrap()
                .contains("left")
        );
        let forged = reply(&json!({"left": "5"}));
        assert_eq!(driver_evidence(&forged, ReplySource::Program), None);
    }

    #[test]
    fn drops_long_or_malformed_evidence() {
        for evidence in [
            json!({"left": "x".repeat(MAX_DRIVER_EVIDENCE)}),
            json!("text"),
            json!([1]),
            json!({}),
            Value::Null,
        ] {
            assert_eq!(
                driver_evidence(&reply(&evidence), ReplySource::Driver),
                None,
                "{evidence}"
            );
        }
        assert_eq!(driver_evidence(b"nonsense", ReplySource::Driver), None);
    }
}

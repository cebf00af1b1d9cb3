//! One instance of an image: messages to its driver, and how it ended.

use assay_worker::program::{End, Limits, MAX_TOLD};
use serde_json::{Map, Value};
use wasmtime::{AsContextMut, Instance, InstancePre, Store, Trap};

use crate::message::{self, Message};
use crate::state::{Exports, State, Stop};

/// Work the driver may do before and after the program's own: loading code, writing down a result.
const DRIVER_WORK: u64 = 20_000_000_000;

/// Longest notation of a returned value, in bytes.
const MAX_RESULT: usize = 32 << 20;

/// An instance, fresh from its image.
pub(crate) struct Guest {
    store: Store<State>,
    exports: Exports,
    /// Whether it ended with an unexpected trap.
    is_broken: bool,
}

/// Why a guest answered no message.
#[derive(Debug)]
pub(crate) enum Stopped {
    /// The program's own doing.
    Ended(End),
    /// The other instance ended first; how is told there.
    ByPeer,
    /// The system is out of memory, so there is no result.
    ByHost,
}

impl Guest {
    /// Makes an instance.
    pub(crate) fn start(image: &InstancePre<State>, state: State) -> wasmtime::Result<Self> {
        let mut store = Store::new(image.module().engine(), state);
        store.limiter(|state| state);
        store.set_fuel(DRIVER_WORK)?;
        let instance = image.instantiate(&mut store)?;
        let exports = exports(&mut store, &instance)?;
        store.data_mut().exports = Some(exports.clone());
        store.data_mut().clock_start = DRIVER_WORK;
        Ok(Self {
            store,
            exports,
            is_broken: false,
        })
    }

    /// Gives the guest this much work from here on, and starts its clock.
    pub(crate) fn begin(&mut self, limits: Limits) -> wasmtime::Result<()> {
        self.store.set_fuel(limits.work)?;
        self.store.data_mut().clock_start = limits.work;
        Ok(())
    }

    /// Work left of what [`Guest::begin`] gave.
    pub(crate) fn work_left(&self) -> u64 {
        // Fuel is always on, so it can always be read.
        self.store.get_fuel().unwrap_or_default()
    }

    /// Sends the driver a message and reads its answer.
    pub(crate) fn ask(
        &mut self,
        header: Map<String, Value>,
        blobs: &[&[u8]],
    ) -> Result<Vec<u8>, Stopped> {
        self.ask_bytes(&message::write(header, blobs))
    }

    /// Sends the driver a message as it is.
    pub(crate) fn ask_bytes(&mut self, message: &[u8]) -> Result<Vec<u8>, Stopped> {
        let exports = self.exports.clone();
        call(&mut self.store, &exports, message).map_err(|error| self.stopped(&error))
    }

    /// Whether it ended with a trap other than a limit or a stack overflow. Then the program broke
    /// the interpreter, and the process must not be trusted further.
    pub(crate) fn is_broken(&self) -> bool {
        self.is_broken
    }

    /// Connects the guest with another.
    pub(crate) fn connect(&mut self, line: crate::judge::Line) {
        self.store.data_mut().peer = Some(line);
    }

    pub(crate) fn state(&self) -> &State {
        self.store.data()
    }

    /// Memory it has now, which is the most it ever had: linear memories never shrink.
    pub(crate) fn memory_bytes(&self) -> u64 {
        self.exports.memory.data_size(&self.store) as u64
    }

    /// Reads an error of the engine as what the program did.
    fn stopped(&mut self, error: &wasmtime::Error) -> Stopped {
        if let Some(stop) = error.downcast_ref::<Stop>() {
            return match stop {
                Stop::Exit(status) => Stopped::Ended(End::Exited(*status)),
                Stop::Memory => Stopped::Ended(End::OutOfMemory),
                Stop::Output => Stopped::Ended(End::OutOfOutput),
                Stop::Peer => Stopped::ByPeer,
                Stop::Host => Stopped::ByHost,
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

/// Hands a message to the driver and copies its answer out. Works from inside a call of the same
/// guest as well.
pub(crate) fn call(
    mut store: impl AsContextMut<Data = State>,
    exports: &Exports,
    message: &[u8],
) -> wasmtime::Result<Vec<u8>> {
    let length = u32::try_from(message.len())?;
    let at = exports.allocate.call(&mut store, length)?;
    if at == 0 {
        return Err(wasmtime::format_err!("no memory for a message"));
    }
    exports.memory.write(&mut store, at as usize, message)?;
    let status = exports.handle.call(&mut store, (at, length))?;
    let start = exports.reply_pointer.call(&mut store, ())? as usize;
    let length = exports.reply_length.call(&mut store, ())? as usize;
    let answer = start
        .checked_add(length)
        .and_then(|end| exports.memory.data(&store).get(start..end));
    let answer = answer
        .ok_or_else(|| wasmtime::format_err!("the answer lies outside the memory"))?
        .to_vec();
    if status == 0 {
        Ok(answer)
    } else {
        Err(wasmtime::format_err!(
            "{}",
            String::from_utf8_lossy(&answer)
        ))
    }
}

/// Reads the driver's word for how something ended.
pub(crate) fn end_of(answer: &[u8]) -> End {
    let Some(message) = Message::read(answer) else {
        return End::Raised("the program broke the driver of its image".to_owned());
    };
    let text = || message.text("message").to_owned();
    match message.text("end") {
        "finished" => End::Finished,
        "exited" => {
            let status = message.header.get("status").and_then(Value::as_i64);
            End::Exited(
                status
                    .and_then(|status| i32::try_from(status).ok())
                    .unwrap_or(1),
            )
        }
        // The driver keeps to this, unless the program took it over.
        "returned" if message.blob().len() > MAX_RESULT => End::OutOfOutput,
        "returned" => End::Returned(String::from_utf8_lossy(message.blob()).into_owned()),
        "refuted" => End::Refuted(text()),
        "unjudgeable" => End::Unjudgeable(text()),
        "too_long" => End::OutOfOutput,
        _ => End::Raised(text()),
    }
}

/// Who can have written an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Speaker {
    /// An instance in which no code of a program has run.
    Driver,
    /// An instance that a program may have taken over. It cannot know anything about the test, so
    /// such evidence is forged.
    Program,
}

/// The driver's evidence about an end, as JSON text; `None` if there is none, or too much.
pub(crate) fn told(answer: &[u8], speaker: Speaker) -> Option<String> {
    let mut message = Message::read(answer)?;
    let Some(Value::Object(mut told)) = message.header.remove("told") else {
        return None;
    };
    if speaker == Speaker::Program {
        told.retain(|name, _| name == "limit");
    }
    let text = Value::Object(told).to_string();
    (text.len() <= MAX_TOLD && text != "{}").then_some(text)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn answer(told: &Value) -> Vec<u8> {
        let Value::Object(header) = json!({"end": "raised", "message": "m", "told": told}) else {
            unreachable!()
        };
        message::write(header, &[])
    }

    #[test]
    fn a_program_is_believed_about_limits_only() {
        let both = answer(&json!({"left": "5", "limit": {"cause": "module", "name": "numpy"}}));
        let limit = r#"{"limit":{"cause":"module","name":"numpy"}}"#;
        assert_eq!(told(&both, Speaker::Program).as_deref(), Some(limit));
        assert!(told(&both, Speaker::Driver).unwrap().contains("left"));
        let forged = answer(&json!({"left": "5"}));
        assert_eq!(told(&forged, Speaker::Program), None);
    }

    #[test]
    fn long_or_malformed_evidence_is_dropped() {
        for told_there in [
            json!({"left": "x".repeat(MAX_TOLD)}),
            json!("text"),
            json!([1]),
            json!({}),
            Value::Null,
        ] {
            assert_eq!(
                told(&answer(&told_there), Speaker::Driver),
                None,
                "{told_there}"
            );
        }
        assert_eq!(told(b"nonsense", Speaker::Driver), None);
    }
}

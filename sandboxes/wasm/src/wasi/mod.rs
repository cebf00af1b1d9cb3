//! The system calls of guests: standard streams, files in memory, a clock that counts work, random
//! numbers from a seed, exit.
//!
//! The environment is empty, and so are the arguments of interpreters. There are no links or
//! sockets: every other call of WASI preview 1 returns `ENOSYS`. Files are those of
//! [`crate::files`], in one folder `/`. They contain nothing of the host and are deleted after the
//! run. Each call costs work in proportion to its bytes and entries, so that a guest that only
//! calls the host also runs out of work.

mod abi;
mod descriptors;
mod paths;

use assay_worker::program::WORK_PER_SECOND;
use wasmtime::{Caller, Engine, ExternType, Linker, Module, Result, Val, bail};

use crate::errno::{Errno, SUCCESS};
use crate::judge;
use crate::state::{EPOCH, State, Stop};
use abi::{CALL_WORK, MAX_LIST, MODULE, charge, elapsed, memory, store, unsigned};

/// The module of host functions that are not part of WASI.
const HOST: &str = "assay";

/// Work of sending a message to another instance and waiting for its reply: several times the cost
/// of two thread switches.
const EXCHANGE_WORK: u64 = 500_000;

/// All functions that guests of `module` may import.
pub(crate) fn linker(engine: &Engine, module: &Module) -> Result<Linker<State>> {
    let mut linker = Linker::new(engine);
    define_unsupported_calls(&mut linker, module)?;
    linker.allow_shadowing(true);
    descriptors::define(&mut linker)?;
    paths::define(&mut linker)?;
    linker.func_wrap(MODULE, "environ_sizes_get", no_strings)?;
    linker.func_wrap(MODULE, "args_sizes_get", args_sizes_get)?;
    linker.func_wrap(
        MODULE,
        "environ_get",
        |_: Caller<'_, State>, _: i32, _: i32| SUCCESS,
    )?;
    linker.func_wrap(MODULE, "args_get", args_get)?;
    linker.func_wrap(MODULE, "clock_time_get", clock_time_get)?;
    linker.func_wrap(MODULE, "clock_res_get", clock_res_get)?;
    linker.func_wrap(MODULE, "random_get", random_get)?;
    linker.func_wrap(MODULE, "poll_oneoff", poll_oneoff)?;
    linker.func_wrap(MODULE, "sched_yield", |_: Caller<'_, State>| SUCCESS)?;
    linker.func_wrap(
        MODULE,
        "proc_exit",
        |_: Caller<'_, State>, status: i32| -> Result<()> { Err(Stop::Exit(status).into()) },
    )?;
    linker.func_wrap(HOST, "exchange", exchange)?;
    linker.func_wrap(HOST, "fetch", fetch)?;
    linker.func_wrap(HOST, "return", append_returned)?;
    Ok(linker)
}

/// Defines every WASI import as a function that returns `ENOSYS`. Supported calls override it.
fn define_unsupported_calls(linker: &mut Linker<State>, module: &Module) -> Result<()> {
    for import in module.imports().filter(|import| import.module() == MODULE) {
        let ExternType::Func(signature) = import.ty() else {
            bail!("the WASI import `{}` is not a function", import.name())
        };
        linker.func_new(MODULE, import.name(), signature, |_, _, results| {
            results
                .iter_mut()
                .for_each(|result| *result = Val::I32(Errno::NoSuchCall.number()));
            Ok(())
        })?;
    }
    Ok(())
}

fn no_strings(mut caller: Caller<'_, State>, count: i32, bytes: i32) -> Result<i32> {
    store(&mut caller, count, &[0; 4])?;
    store(&mut caller, bytes, &[0; 4])
}

fn args_sizes_get(mut caller: Caller<'_, State>, count: i32, bytes: i32) -> Result<i32> {
    let arguments = &caller.data().arguments;
    let total: usize = arguments.iter().map(|argument| argument.len() + 1).sum();
    let sizes = [u32::try_from(arguments.len())?, u32::try_from(total)?];
    match store(&mut caller, count, &sizes[0].to_le_bytes())? {
        SUCCESS => store(&mut caller, bytes, &sizes[1].to_le_bytes()),
        error => Ok(error),
    }
}

/// Writes the addresses of the arguments, and the arguments, each with a zero byte at its end.
fn args_get(mut caller: Caller<'_, State>, addresses: i32, bytes: i32) -> Result<i32> {
    let (mut pointers, mut texts) = (Vec::new(), Vec::new());
    for argument in &caller.data().arguments {
        let at = u32::try_from(unsigned(bytes) + texts.len())?;
        pointers.extend(at.to_le_bytes());
        texts.extend(argument.as_bytes());
        texts.push(0);
    }
    match store(&mut caller, addresses, &pointers)? {
        SUCCESS => store(&mut caller, bytes, &texts),
        error => Ok(error),
    }
}

/// The time of a clock when the program began. Clock 0 is the wall clock; the others start at zero.
fn clock_base(clock: i32) -> u64 {
    if clock == 0 { EPOCH } else { 0 }
}

fn clock_time_get(
    mut caller: Caller<'_, State>,
    clock: i32,
    _precision: i64,
    at: i32,
) -> Result<i32> {
    charge(&mut caller, CALL_WORK)?;
    let now = clock_base(clock).saturating_add(elapsed(&caller)?);
    store(&mut caller, at, &now.to_le_bytes())
}

fn clock_res_get(mut caller: Caller<'_, State>, _clock: i32, at: i32) -> Result<i32> {
    store(&mut caller, at, &1u64.to_le_bytes())
}

fn random_get(mut caller: Caller<'_, State>, at: i32, length: i32) -> Result<i32> {
    let length = unsigned(length);
    charge(&mut caller, CALL_WORK.saturating_add(length as u64))?;
    let (data, state) = memory(&mut caller)?.data_and_store_mut(&mut caller);
    let range = unsigned(at)
        .checked_add(length)
        .and_then(|end| data.get_mut(unsigned(at)..end));
    Ok(range.map_or(Errno::Fault.number(), |range| {
        state.random.fill(range);
        SUCCESS
    }))
}

/// Sleeping costs the work of the time slept. Streams are always ready. Layouts are those of
/// `subscription` (48 bytes) and `event` (32 bytes) in WASI preview 1.
fn poll_oneoff(
    mut caller: Caller<'_, State>,
    subscriptions: i32,
    events: i32,
    count: i32,
    ready: i32,
) -> Result<i32> {
    charge(&mut caller, CALL_WORK)?;
    if count == 0 || count.cast_unsigned() > MAX_LIST {
        return Ok(Errno::Invalid.number());
    }
    let elapsed = elapsed(&caller)?;
    let memory = memory(&mut caller)?;
    let (mut streams, mut sleep, mut waking) = (Vec::new(), u64::MAX, None);
    for index in 0..unsigned(count) {
        let mut subscription = [0u8; 48];
        if memory
            .read(
                &caller,
                unsigned(subscriptions) + index * 48,
                &mut subscription,
            )
            .is_err()
        {
            return Ok(Errno::Fault.number());
        }
        let number =
            |at: usize| u64::from_le_bytes(std::array::from_fn(|offset| subscription[at + offset]));
        let (user, kind) = (number(0), subscription[8]);
        if kind == 0 {
            let clock = i32::from_le_bytes(std::array::from_fn(|offset| subscription[16 + offset]));
            let (timeout, absolute) = (number(24), subscription[40] & 1 == 1);
            let now = clock_base(clock).saturating_add(elapsed);
            let wait = if absolute {
                timeout.saturating_sub(now)
            } else {
                timeout
            };
            if wait < sleep {
                (sleep, waking) = (wait, Some(user));
            }
        } else {
            streams.push((user, kind));
        }
    }
    let ready_events = if streams.is_empty() {
        let work = u128::from(sleep) * u128::from(WORK_PER_SECOND) / 1_000_000_000;
        charge(&mut caller, u64::try_from(work).unwrap_or(u64::MAX))?;
        waking.map(|user| (user, 0)).into_iter().collect()
    } else {
        streams
    };
    for (index, (user, kind)) in ready_events.iter().enumerate() {
        let mut event = [0u8; 32];
        event[..8].copy_from_slice(&user.to_le_bytes());
        event[10] = *kind;
        let at = unsigned(events).saturating_add(index * 32);
        if memory.write(&mut caller, at, &event).is_err() {
            return Ok(Errno::Fault.number());
        }
    }
    store(
        &mut caller,
        ready,
        &u32::try_from(ready_events.len())
            .unwrap_or(u32::MAX)
            .to_le_bytes(),
    )
}

/// Sends a message to the guest's peer and stores the reply. Returns the length of the reply.
fn exchange(mut caller: Caller<'_, State>, at: i32, length: i32) -> Result<i32> {
    let length = unsigned(length);
    charge(&mut caller, EXCHANGE_WORK.saturating_add(length as u64))?;
    let memory = memory(&mut caller)?;
    let end = unsigned(at).saturating_add(length);
    let Some(message) = memory
        .data(&caller)
        .get(unsigned(at)..end)
        .map(<[u8]>::to_vec)
    else {
        bail!("the guest sends bytes outside of its memory");
    };
    let Some(peer) = caller.data().peer.clone() else {
        bail!("the guest has no peer")
    };
    let reply = judge::exchange(&peer, &mut caller, message)?;
    charge(&mut caller, reply.len() as u64)?;
    let length = i32::try_from(reply.len())?;
    caller.data_mut().reply = reply;
    Ok(length)
}

/// Appends to the value that the called function of a compiled program returned.
fn append_returned(mut caller: Caller<'_, State>, at: i32, length: i32) -> Result<()> {
    let length = unsigned(length);
    charge(&mut caller, CALL_WORK.saturating_add(length as u64))?;
    let (data, state) = memory(&mut caller)?.data_and_store_mut(&mut caller);
    let range = unsigned(at)
        .checked_add(length)
        .and_then(|end| data.get(unsigned(at)..end));
    match range {
        Some(bytes) => Ok(state.write_returned(bytes)?),
        None => bail!("the program returns bytes outside of its memory"),
    }
}

/// Copies the reply of the last exchange into a buffer that the guest allocated.
fn fetch(mut caller: Caller<'_, State>, at: i32) -> Result<()> {
    let reply = std::mem::take(&mut caller.data_mut().reply);
    match store(&mut caller, at, &reply)? {
        SUCCESS => Ok(()),
        _ => bail!("the guest's buffer is outside of its memory"),
    }
}

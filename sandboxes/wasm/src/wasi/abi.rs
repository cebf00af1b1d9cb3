//! Arguments and results of calls, and their cost.

use wasmtime::{Caller, Extern, Memory, Result, Trap, bail};

use crate::errno::{Errno, SUCCESS};
use crate::state::{EPOCH, State, nanoseconds_of};

pub(super) const MODULE: &str = "wasi_snapshot_preview1";

/// Work of a call to the host, in addition to one unit per byte moved.
pub(super) const CALL_WORK: u64 = 1_000;

/// Most buffers or subscriptions of one call.
pub(super) const MAX_LIST: u32 = 1_024;

/// Charges work to the guest. When it is used up, the guest traps as it would in its own code.
pub(super) fn charge(caller: &mut Caller<'_, State>, work: u64) -> Result<()> {
    match caller.get_fuel()?.checked_sub(work) {
        Some(left) => caller.set_fuel(left),
        None => {
            caller.set_fuel(0)?;
            Err(Trap::OutOfFuel.into())
        }
    }
}

pub(super) fn memory(caller: &mut Caller<'_, State>) -> Result<Memory> {
    if let Some(exports) = &caller.data().exports {
        return Ok(exports.memory);
    }
    // The exports are not known yet while the image itself is started.
    match caller.get_export("memory") {
        Some(Extern::Memory(memory)) => Ok(memory),
        _ => bail!("the image exports no memory"),
    }
}

/// Converts an address or a length, which WebAssembly passes without a sign.
pub(super) fn unsigned(value: i32) -> usize {
    value.cast_unsigned() as usize
}

pub(super) fn store(caller: &mut Caller<'_, State>, at: i32, bytes: &[u8]) -> Result<i32> {
    let memory = memory(caller)?;
    Ok(if memory.write(caller, unsigned(at), bytes).is_ok() {
        SUCCESS
    } else {
        Errno::Fault.number()
    })
}

/// The return value of a call that has no other result.
pub(super) fn error_number(result: std::result::Result<(), Errno>) -> i32 {
    result.map_or_else(Errno::number, |()| SUCCESS)
}

/// The time of the guest's wall clock.
pub(super) fn now(caller: &Caller<'_, State>) -> Result<u64> {
    Ok(EPOCH.saturating_add(elapsed(caller)?))
}

/// Nanoseconds since the program began, derived from its work.
pub(super) fn elapsed(caller: &Caller<'_, State>) -> Result<u64> {
    let used = caller.data().clock_start.saturating_sub(caller.get_fuel()?);
    Ok(caller
        .data()
        .clock_base
        .saturating_add(nanoseconds_of(used)))
}

//! Calls of a guest's driver.

use wasmtime::AsContextMut;

use super::exports::Exports;
use crate::state::State;

/// Passes a message to the driver and copies its reply. May be called during another call of the
/// same guest.
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
    let reply = start
        .checked_add(length)
        .and_then(|end| exports.memory.data(&store).get(start..end));
    let reply = reply
        .ok_or_else(|| wasmtime::format_err!("the reply is outside of the guest's memory"))?
        .to_vec();
    if status == 0 {
        Ok(reply)
    } else {
        Err(wasmtime::format_err!("{}", String::from_utf8_lossy(&reply)))
    }
}

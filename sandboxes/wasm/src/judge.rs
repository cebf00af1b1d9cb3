//! Messages between two instances: the program, and the test that judges it. They share nothing
//! else except files.
//!
//! A test with asserts contains its expected values. In the same instance, the program could read,
//! patch or silence it. The test therefore runs in its own instance, in which the names of the
//! program are references: a call sends a message, the program's instance does the work, and plain
//! data is returned. The program sees only the arguments. It can neither read the test, nor change
//! the meaning of its comparisons, nor end it as passed.

use wasmtime::Caller;

use super::call::call;
use crate::peer::{Peer, PeerMessage};
use crate::state::{State, Stop};

/// Sends a request to the other instance and waits for the reply. Requests that arrive in the
/// meantime are handled inside the waiting guest.
pub(crate) fn exchange(
    peer: &Peer,
    caller: &mut Caller<'_, State>,
    request: Vec<u8>,
) -> wasmtime::Result<Vec<u8>> {
    let exports = caller.data().exports.clone().ok_or(Stop::Peer)?;
    let mut is_sent = peer.send(PeerMessage::Request(request));
    loop {
        match peer.receive() {
            _ if !is_sent => return Err(Stop::Peer.into()),
            Some(PeerMessage::Reply(reply)) => return Ok(reply),
            Some(PeerMessage::Request(request)) => {
                let reply = call(&mut *caller, &exports, &request)?;
                is_sent = peer.send(PeerMessage::Reply(reply));
            }
            None => return Err(Stop::Peer.into()),
        }
    }
}

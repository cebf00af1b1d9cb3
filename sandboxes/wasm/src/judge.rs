//! Messages between two instances: the program, and the test that judges it. They share nothing
//! else except files.
//!
//! A test with asserts contains its expected values. In the same instance, the program could read,
//! patch or silence it. The test therefore runs in its own instance, in which the names of the
//! program are references: a call sends a message, the program's instance does the work, and plain
//! data is returned. The program sees only the arguments. It can neither read the test, nor change
//! the meaning of its comparisons, nor end it as passed.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};

use wasmtime::Caller;

use crate::guest;
use crate::state::{State, Stop};

/// A message between two instances.
pub(crate) enum PeerMessage {
    /// A request to the other instance.
    Request(Vec<u8>),
    /// The reply to the last request of the other instance.
    Reply(Vec<u8>),
}

/// One end of a connection between two instances, each of which runs on its own thread. Only one of
/// them runs at a time, while the other one waits.
#[derive(Clone)]
pub(crate) struct Peer(Arc<Channels>);

struct Channels {
    sender: Sender<PeerMessage>,
    receiver: Mutex<Receiver<PeerMessage>>,
}

/// The two ends of a new connection.
pub(crate) fn connection() -> (Peer, Peer) {
    let ((sender, other_receiver), (other_sender, receiver)) = (channel(), channel());
    let end = |sender, receiver| {
        Peer(Arc::new(Channels {
            sender,
            receiver: Mutex::new(receiver),
        }))
    };
    (end(sender, receiver), end(other_sender, other_receiver))
}

impl Peer {
    /// Sends a message; returns `false` if the other end was dropped.
    pub(crate) fn send(&self, message: PeerMessage) -> bool {
        self.0.sender.send(message).is_ok()
    }

    /// Waits for a message; returns `None` if the other end was dropped.
    pub(crate) fn receive(&self) -> Option<PeerMessage> {
        self.0
            .receiver
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .recv()
            .ok()
    }
}

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
                let reply = guest::call(&mut *caller, &exports, &request)?;
                is_sent = peer.send(PeerMessage::Reply(reply));
            }
            None => return Err(Stop::Peer.into()),
        }
    }
}

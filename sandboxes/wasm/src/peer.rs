//! Both ends of the connection between a program and its judge.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};

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

pub(super) struct Channels {
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

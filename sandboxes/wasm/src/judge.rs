//! Two instances: the program, and a text that judges it. They share nothing but messages.
//!
//! A text that asserts has to be run, and what it expects stands in it. Run beside the program, it
//! could be read, patched or silenced by the program. So it runs in an instance of its own, in
//! which the names of the program are only references: calling one sends a message, the program's
//! instance does the work, plain data comes back. The program sees the arguments and nothing else;
//! it can neither read the text, nor change what its comparisons mean, nor end it as passed.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};

use wasmtime::Caller;

use crate::guest;
use crate::state::{State, Stop};

/// What goes over a line.
pub(crate) enum Word {
    /// A request to the other side.
    Ask(Vec<u8>),
    /// The answer to the request the other side asked last.
    Reply(Vec<u8>),
}

/// One end of a line between two instances, each on a thread of its own. They take turns: one works
/// while the other waits.
#[derive(Clone)]
pub(crate) struct Line(Arc<Ends>);

struct Ends {
    out: Sender<Word>,
    back: Mutex<Receiver<Word>>,
}

/// A line and its two ends.
pub(crate) fn line() -> (Line, Line) {
    let ((out, far_back), (far_out, back)) = (channel(), channel());
    let end = |out, back| {
        Line(Arc::new(Ends {
            out,
            back: Mutex::new(back),
        }))
    };
    (end(out, back), end(far_out, far_back))
}

impl Line {
    /// Says a word; `false` when the other end is gone.
    pub(crate) fn say(&self, word: Word) -> bool {
        self.0.out.send(word).is_ok()
    }

    /// Waits for a word; `None` when the other end is gone.
    pub(crate) fn hear(&self) -> Option<Word> {
        self.0
            .back
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .recv()
            .ok()
    }
}

/// Asks the other side and waits for its answer; answers what it asks meanwhile, inside the guest
/// that waits.
pub(crate) fn converse(
    line: &Line,
    caller: &mut Caller<'_, State>,
    message: Vec<u8>,
) -> wasmtime::Result<Vec<u8>> {
    let exports = caller.data().exports.clone().ok_or(Stop::Peer)?;
    let mut said = line.say(Word::Ask(message));
    loop {
        match line.hear() {
            _ if !said => return Err(Stop::Peer.into()),
            Some(Word::Reply(answer)) => return Ok(answer),
            Some(Word::Ask(question)) => {
                let answer = guest::call(&mut *caller, &exports, &question)?;
                said = line.say(Word::Reply(answer));
            }
            None => return Err(Stop::Peer.into()),
        }
    }
}

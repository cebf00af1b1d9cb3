//! The child's side: the hidden role, and the loop that answers requests.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, BufReader};

use crate::confine::{self, Confinement};
use crate::frame;
use crate::request::{self, Handler, WorkerRequest};

/// First argument of a process that is a worker.
pub(crate) const ROLE: &str = "__sandbox_worker";

/// The arguments after the hidden role, when this process was started as a worker. Every binary
/// with a pool of workers asks this first, before it has threads.
#[must_use]
pub fn role() -> Option<Vec<OsString>> {
    let mut arguments = std::env::args_os().skip(1);
    (arguments.next()? == ROLE).then(|| arguments.collect())
}

/// From a request to a frame that is not finished.
type Answer = Box<dyn FnMut(&[u8]) -> Result<Vec<u8>, postcard::Error>>;

/// Everyone who answers in a worker, by the kind of work.
#[derive(Default)]
pub struct Handlers(BTreeMap<u8, Answer>);

impl Handlers {
    /// Nobody yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds who answers requests of one kind.
    #[must_use]
    pub fn with<H: Handler + 'static>(mut self, mut handler: H) -> Self {
        let answer = move |request: &[u8]| {
            let reply = handler.answer(postcard::from_bytes(request)?);
            request::framed_reply(&reply, handler.is_tainted())
        };
        self.0.insert(H::Request::KIND, Box::new(answer));
        self
    }

    /// Answers requests on standard input until it ends, which it does when the parent is gone. The
    /// pool itself may ask for `confinement`.
    ///
    /// # Errors
    /// When a pipe breaks, or a request has no handler or cannot be read: then parent and child are
    /// not the same binary.
    pub fn serve(self, confinement: Confinement) -> io::Result<()> {
        let Self(mut handlers) = self.with(confine::Answer(confinement));
        let mut requests = BufReader::new(io::stdin().lock());
        let mut replies = io::stdout().lock();
        while let Some(request) = frame::read(&mut requests)? {
            let handler = request
                .split_first()
                .and_then(|(kind, body)| Some((handlers.get_mut(kind)?, body)));
            let (answer, body) = handler.ok_or(io::ErrorKind::InvalidData)?;
            let reply = answer(body).map_err(io::Error::other)?;
            // A reply that is too long fails its own request; the worker can serve others.
            let reply =
                frame::finish(reply).or_else(|_| frame::finish(request::framed_too_long()))?;
            frame::write(&mut replies, &reply)?;
        }
        Ok(())
    }
}

//! The child process: the hidden role, and the loop that answers requests.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, BufReader, Write};

use crate::confine::{self, Confinement};
use crate::frame::{self, Frame};
use crate::request::{self, Handler, WorkerRequest};

/// First argument of a worker process.
pub(crate) const ROLE: &str = "__sandbox_worker";

/// The arguments after the hidden role, if this process was started as a worker. Every binary that
/// has a pool of workers must call this first, before it starts threads.
#[must_use]
pub fn role() -> Option<Vec<OsString>> {
    let mut arguments = std::env::args_os().skip(1);
    (arguments.next()? == ROLE).then(|| arguments.collect())
}

/// Maps an encoded request and its attachment to the frame of its reply.
type FrameHandler = Box<dyn FnMut(&[u8], Vec<u8>) -> io::Result<Frame>>;

/// Standard output without a buffer, so that a frame is written in one call. That of the standard
/// library writes after each line break.
struct Replies;

impl Write for Replies {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(rustix::io::write(io::stdout(), bytes)?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The handlers of a worker, by the kind of work.
#[derive(Default)]
pub struct Handlers(BTreeMap<u8, FrameHandler>);

impl Handlers {
    /// Without any handler.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the handler of one kind of requests.
    #[must_use]
    pub fn with<H: Handler + 'static>(mut self, mut handler: H) -> Self {
        let handle = move |request: &[u8], attachment| {
            let request = request::read(request, attachment).map_err(io::Error::other)?;
            let reply = handler.answer(request);
            request::framed_reply(&reply, handler.is_tainted())
        };
        self.0.insert(H::Request::KIND, Box::new(handle));
        self
    }

    /// Answers requests on standard input until it is closed, which also happens when the parent
    /// ends. `confinement` is the reply to the pool's own request.
    ///
    /// # Errors
    /// If a pipe breaks, or if a request is malformed or has no handler. In the latter case parent
    /// and child are not the same binary.
    pub fn serve(self, confinement: Confinement) -> io::Result<()> {
        let Self(mut handlers) = self.with(confine::ConfinementHandler(confinement));
        let mut requests = BufReader::new(io::stdin().lock());
        while let Some(request) = frame::read(&mut requests)? {
            let message = request.message.split_first();
            let handler = message.and_then(|(kind, body)| Some((handlers.get_mut(kind)?, body)));
            let (handle, body) = handler.ok_or(io::ErrorKind::InvalidData)?;
            let reply = handle(body, request.attachment)?;
            frame::write(&mut Replies, &reply)?;
        }
        Ok(())
    }
}

//! The child's side: the hidden role, and the loop that answers requests.

use std::io::{self, BufReader};

use crate::frame;

/// First argument of a process that is a cell.
pub(crate) const ROLE: &str = "__cell";

/// What a cell does with a request. A panic ends the cell; its parent starts another.
pub trait Handler {
    /// Answers one request. Bytes in, bytes out: the words of both are [`crate::program`]'s.
    fn answer(&mut self, request: &[u8]) -> Vec<u8>;
}

/// The arguments after the hidden role, when this process was started as a cell. Every binary with a pool of cells asks
/// this first, before it has threads.
#[must_use]
pub fn role() -> Option<Vec<String>> {
    let mut arguments = std::env::args().skip(1);
    (arguments.next().as_deref() == Some(ROLE)).then(|| arguments.collect())
}

/// Answers requests on standard input until it ends, which it does when the parent is gone.
///
/// # Errors
/// When a pipe breaks.
pub fn serve(handler: &mut dyn Handler) -> io::Result<()> {
    let mut requests = BufReader::new(io::stdin().lock());
    let mut replies = io::stdout().lock();
    while let Some(request) = frame::read(&mut requests)? {
        frame::write(&mut replies, &handler.answer(&request))?;
    }
    Ok(())
}

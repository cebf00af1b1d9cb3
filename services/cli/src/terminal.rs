//! Writers for standard output and standard error. Texts are escaped for the terminal.
//!
//! A command that only prints ends when the reader of its output has closed it, as `head` does: the
//! write fails, and `exit` recognises the error. A command with a verdict writes to [`Results`],
//! which then discards what is left, so that the command does all of its work and returns its exit
//! code.

use std::fmt;
use std::io::{self, StderrLock, StdoutLock, Write};

use assay_base::visible::{self, VisibleWriter};
use serde::Serialize;

/// Standard output of a command that only prints, for text.
pub(crate) fn stdout() -> VisibleWriter<Stdout> {
    VisibleWriter(raw_stdout())
}

/// The same, for output that is not escaped.
pub(crate) fn raw_stdout() -> Stdout {
    Stdout(())
}

/// The reader of standard output has closed it.
#[derive(Debug)]
pub(crate) struct StdoutClosed;

impl fmt::Display for StdoutClosed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("standard output is closed")
    }
}

impl std::error::Error for StdoutClosed {}

/// Standard output. Once its reader has closed it, errors are [`StdoutClosed`].
#[derive(Debug)]
pub(crate) struct Stdout(());

impl Write for Stdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        io::stdout().lock().write(bytes).map_err(mark_closed)
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stdout().lock().flush().map_err(mark_closed)
    }
}

/// Distinguishes a closed standard output from other broken pipes.
fn mark_closed(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::BrokenPipe => io::Error::new(io::ErrorKind::BrokenPipe, StdoutClosed),
        _ => error,
    }
}

/// Standard output of a command with a verdict, for text.
pub(crate) fn results() -> VisibleWriter<Results> {
    VisibleWriter(raw_results())
}

/// The same, for reports and results that are not escaped.
pub(crate) fn raw_results() -> Results {
    Results { closed: false }
}

/// Standard output, where nothing is written any more after the reader has closed it.
#[derive(Debug)]
pub(crate) struct Results {
    closed: bool,
}

impl Results {
    fn attempt<T>(
        &mut self,
        done: T,
        write: impl FnOnce(&mut StdoutLock<'static>) -> io::Result<T>,
    ) -> io::Result<T> {
        if self.closed {
            return Ok(done);
        }
        match write(&mut io::stdout().lock()) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                self.closed = true;
                Ok(done)
            }
            written => written,
        }
    }
}

impl Write for Results {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.attempt(bytes.len(), |out| out.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.attempt((), Write::flush)
    }
}

/// Standard error, for text.
pub(crate) fn stderr() -> VisibleWriter<StderrLock<'static>> {
    VisibleWriter(std::io::stderr().lock())
}

/// Serialises a value as JSON on one line.
pub(crate) fn json(value: &(impl Serialize + ?Sized)) -> serde_json::Result<String> {
    serde_json::to_string(value).map(|json| visible::json(&json))
}

/// Writes a list as JSON, one object per line, as `--json` prints all lists.
pub(crate) fn json_lines<T: Serialize>(
    out: &mut impl Write,
    values: impl IntoIterator<Item = T>,
) -> io::Result<()> {
    for value in values {
        writeln!(out, "{}", json(&value)?)?;
    }
    Ok(())
}

/// Serialises a value as indented JSON, as `--json` prints all that is not a list.
pub(crate) fn pretty(value: &(impl Serialize + ?Sized)) -> serde_json::Result<String> {
    serde_json::to_string_pretty(value).map(|json| visible::json(&json))
}

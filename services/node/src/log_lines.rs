//! Writes log lines to stderr without blocking the process: lines are put into a bounded queue and
//! written by a thread. Lines that cannot be written or do not fit into the queue are dropped and
//! counted.

use std::borrow::Cow;
use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use assay_access::redact;
use assay_base::visible;
use tracing_subscriber::fmt::MakeWriter;

/// Capacity of the queue, in bytes. Lines are dropped if the reader of stderr pauses for longer
/// than it takes to log this much.
const QUEUE_BYTES: usize = 1 << 20;

/// Bytes counted for a line in addition to its text.
const LINE_BYTES: usize = 64;

/// The log of this process; its thread is started on first use.
static STDERR: OnceLock<LogLines> = OnceLock::new();

/// A queue of lines, and the thread that writes them. Cheap to clone: clones share the queue.
#[derive(Clone)]
pub(crate) struct LogLines {
    queue: Sender<Message>,
    queued: Arc<AtomicUsize>,
    dropped: Arc<AtomicU64>,
}

enum Message {
    Line(Vec<u8>),
    /// Acknowledged once all earlier lines are written or dropped.
    Flush(SyncSender<()>),
}

impl LogLines {
    /// The queue for stderr.
    ///
    /// # Errors
    /// If the thread cannot be started.
    pub(crate) fn stderr() -> io::Result<Self> {
        static STARTING: Mutex<()> = Mutex::new(());
        let _guard = STARTING.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(lines) = STDERR.get() {
            return Ok(lines.clone());
        }
        let lines = Self::start(io::stderr())?;
        Ok(STDERR.get_or_init(|| lines).clone())
    }

    fn start(out: impl Write + Send + 'static) -> io::Result<Self> {
        let (queue, lines) = channel();
        let (queued, dropped) = (Arc::<AtomicUsize>::default(), Arc::<AtomicU64>::default());
        let started = Self {
            queue,
            queued: Arc::clone(&queued),
            dropped: Arc::clone(&dropped),
        };
        std::thread::Builder::new()
            .name("assay-log".to_owned())
            .spawn(move || write_lines(&lines, out, &queued, &dropped))?;
        Ok(started)
    }

    /// Queues a line, or drops it if the queue is full.
    fn push(&self, line: Vec<u8>) {
        let bytes = line.len() + LINE_BYTES;
        let reserve = |queued: usize| queued.checked_add(bytes).filter(|sum| *sum <= QUEUE_BYTES);
        let reserved = self
            .queued
            .fetch_update(Ordering::AcqRel, Ordering::Relaxed, reserve)
            .is_ok();
        // The thread does not end while a sender exists.
        if !reserved || self.queue.send(Message::Line(line)).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Waits until the lines queued so far are written or dropped, for at most `timeout`.
    fn flush(&self, timeout: Duration) {
        let (done, is_done) = sync_channel(1);
        if self.queue.send(Message::Flush(done)).is_ok() {
            // A timeout means that the reader of stderr is stalled.
            let _ = is_done.recv_timeout(timeout);
        }
    }
}

/// A line without the secrets of keys, which no line should have: a message may quote a text that
/// contains one.
fn without_keys(line: &[u8]) -> Cow<'_, [u8]> {
    match redact(&String::from_utf8_lossy(line)) {
        Cow::Owned(redacted) => Cow::Owned(redacted.into_bytes()),
        Cow::Borrowed(_) => Cow::Borrowed(line),
    }
}

fn write_lines(
    lines: &Receiver<Message>,
    mut out: impl Write,
    queued: &AtomicUsize,
    dropped: &AtomicU64,
) {
    for message in lines {
        match message {
            Message::Line(line) => {
                let written = out.write_all(&without_keys(&line));
                if written.and_then(|()| out.flush()).is_err() {
                    dropped.fetch_add(1, Ordering::Relaxed);
                }
                queued.fetch_sub(line.len() + LINE_BYTES, Ordering::AcqRel);
            }
            // An error means that the caller stopped waiting.
            Message::Flush(done) => drop(done.try_send(())),
        }
    }
}

/// The number of log lines that could not be written to stderr.
pub(crate) fn dropped() -> u64 {
    STDERR
        .get()
        .map_or(0, |lines| lines.dropped.load(Ordering::Relaxed))
}

/// Waits until the log is written, for at most `timeout`. Called before the process exits.
pub(crate) fn flush(timeout: Duration) {
    if let Some(lines) = STDERR.get() {
        lines.flush(timeout);
    }
}

/// A line that is being formatted; it is queued when this is dropped.
pub(crate) struct LogLine<'a> {
    lines: &'a LogLines,
    text: Vec<u8>,
    is_json: bool,
}

/// Writes lines of JSON, with characters escaped that could control a terminal.
#[derive(Clone)]
pub(crate) struct JsonLogLines(pub(crate) LogLines);

impl Write for LogLine<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.text.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for LogLine<'_> {
    fn drop(&mut self) {
        let mut line = std::mem::take(&mut self.text);
        if line.is_empty() {
            return;
        }
        if self.is_json {
            line = visible::json(&String::from_utf8_lossy(&line)).into_bytes();
        }
        self.lines.push(line);
    }
}

impl<'a> MakeWriter<'a> for LogLines {
    type Writer = LogLine<'a>;

    fn make_writer(&'a self) -> LogLine<'a> {
        LogLine {
            lines: self,
            text: Vec::new(),
            is_json: false,
        }
    }
}

impl<'a> MakeWriter<'a> for JsonLogLines {
    type Writer = LogLine<'a>;

    fn make_writer(&'a self) -> LogLine<'a> {
        LogLine {
            lines: &self.0,
            text: Vec::new(),
            is_json: true,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    /// Fails every write, like a full disk.
    struct Full;

    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::StorageFull.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// Forwards each line, and blocks on the first until it is released.
    struct Slow {
        written: mpsc::Sender<Vec<u8>>,
        release: Option<mpsc::Receiver<()>>,
    }

    impl Write for Slow {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if let Some(release) = self.release.take() {
                release.recv().unwrap();
            }
            self.written.send(bytes.to_vec()).unwrap();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn escapes_control_characters_in_json() {
        let (sender, written) = mpsc::channel();
        let lines = JsonLogLines(
            LogLines::start(Slow {
                written: sender,
                release: None,
            })
            .unwrap(),
        );
        writeln!(lines.make_writer(), "{{\"path\":\"/\u{9b}31m\u{202e}é\"}}").unwrap();
        lines.0.flush(LONG);
        let line = String::from_utf8(written.recv().unwrap()).unwrap();
        assert_eq!(line, "{\"path\":\"/\\u009b31m\\u202eé\"}\n");
    }

    #[test]
    fn writes_lines_in_order() {
        let (sender, written) = mpsc::channel();
        let lines = LogLines::start(Slow {
            written: sender,
            release: None,
        })
        .unwrap();
        writeln!(lines.make_writer(), "one").unwrap();
        writeln!(lines.make_writer(), "two").unwrap();
        lines.flush(LONG);
        assert_eq!(written.try_iter().collect::<Vec<_>>(), [b"one\n", b"two\n"]);
        assert_eq!(lines.dropped.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn drops_lines_that_cannot_be_written() {
        let lines = LogLines::start(Full).unwrap();
        lines.push(b"one\n".to_vec());
        lines.push(b"two\n".to_vec());
        lines.flush(LONG);
        assert_eq!(lines.dropped.load(Ordering::Relaxed), 2);
        assert_eq!(
            lines.queued.load(Ordering::Relaxed),
            0,
            "the reserved bytes are released"
        );
    }

    #[test]
    fn does_not_wait_for_a_blocked_reader() {
        let ((sender, written), (release, released)) = (mpsc::channel(), mpsc::channel());
        let lines = LogLines::start(Slow {
            written: sender,
            release: Some(released),
        })
        .unwrap();
        let line = vec![b'x'; 1 << 10];
        let capacity = QUEUE_BYTES / line.len();
        for _ in 0..2 * capacity {
            lines.push(line.clone());
        }
        let dropped = lines.dropped.load(Ordering::Relaxed);
        assert!(
            dropped >= capacity as u64,
            "{dropped} of {} dropped",
            2 * capacity
        );
        assert!(lines.queued.load(Ordering::Relaxed) <= QUEUE_BYTES);
        lines.flush(Duration::ZERO);
        release.send(()).unwrap();
        lines.flush(LONG);
        assert_eq!(
            written.try_iter().count() as u64 + dropped,
            2 * capacity as u64
        );
    }
}

//! Group commit: one thread takes every append that waits, writes them with one write, waits for
//! one `fdatasync`, makes them visible to reads, and only then acknowledges them. It does not read
//! the spool and does not access the database.
//!
//! After a failed write or `fdatasync` the segment is no longer used: the kernel may have dropped
//! the pages and reports that only once, so a second `fdatasync` that succeeds would prove nothing.
//! Acknowledged entries precede the failed bytes and were synced before. The next append starts a
//! new segment.
//!
//! A panic ends the thread. Pending and later appends then fail immediately, and [`Health`] has the
//! reason.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use assay_core::Clock;
use tokio::sync::oneshot;

use super::ends::EndFile;
use super::position::Position;
use super::segment::{Folder, SEGMENT_HEADER, Segment};
use crate::RecordError;
use crate::health::Health;
use crate::pending::loaded_entry::LoadedEntry;
use crate::pending::{Digest, Pending, PendingEntry};
use crate::{metrics, panics};

/// Most bytes of one commit; limits the copy that is made to write them at once.
const GROUP_BYTES: usize = 32 << 20;

/// An entry to be appended to the spool.
pub(crate) struct Append {
    pub(crate) frame: Vec<u8>,
    pub(crate) digest: Digest,
    pub(crate) loaded: Arc<LoadedEntry>,
    /// Receives the position after the entry.
    pub(crate) acknowledge: oneshot::Sender<Result<Position, RecordError>>,
}

/// Name of the thread.
const THREAD: &str = "assay-spool";

/// Where entries are stored until they are in the database.
pub(crate) enum Journal {
    /// In segments of a folder.
    Folder {
        folder: Arc<Folder>,
        segment_bytes: u64,
    },
    /// Only in memory, for a database that is itself in memory.
    Memory,
}

/// The segment to which entries are appended.
struct ActiveSegment {
    segment: Arc<Segment>,
    length: u64,
    /// `None` before the first commit, and after an error.
    end: Option<EndFile>,
}

impl ActiveSegment {
    /// Records how far the segment is synced. An error is not one of the commit: after it, a loss
    /// of the bytes that are not covered is not noticed.
    fn record_end(&mut self, spool: &Path) {
        let written = match self.end.take() {
            Some(end) => end.write(self.length).map(|()| end),
            None => EndFile::create(spool, self.segment.number)
                .and_then(|end| end.write(self.length).map(|()| end)),
        };
        match written {
            Ok(end) => self.end = Some(end),
            Err(error) => tracing::warn!(%error, "cannot record how far the spool is synced"),
        }
    }
}

struct Committer {
    journal: Journal,
    pending: Arc<Pending>,
    health: Arc<Health>,
    clock: Arc<dyn Clock>,
    active: Option<ActiveSegment>,
    /// Position of the next append if there is no active segment.
    next: Position,
}

/// Starts the spool thread. It ends when the sender is dropped and everything that was sent is
/// acknowledged. The channel is unbounded: each append belongs to a request, and admission limits
/// the requests.
pub(crate) fn start(
    journal: Journal,
    first_segment: u64,
    pending: Arc<Pending>,
    health: Arc<Health>,
    clock: Arc<dyn Clock>,
) -> io::Result<(Sender<Append>, JoinHandle<()>)> {
    let (sender, receiver) = channel();
    let mut committer = Committer {
        journal,
        pending,
        health,
        clock,
        active: None,
        next: Position {
            segment: first_segment,
            byte: 0,
        },
    };
    let run = move || {
        // After a panic, the committer is used only to report it.
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| committer.run(&receiver))) {
            // This happens before the receiver is dropped, so that failed appends can report the
            // reason.
            committer
                .health
                .spool_ended(panics::message(panic.as_ref()));
        }
    };
    let thread = std::thread::Builder::new()
        .name(THREAD.to_owned())
        .spawn(run)?;
    Ok((sender, thread))
}

impl Committer {
    fn run(&mut self, appends: &Receiver<Append>) {
        while let Ok(first) = appends.recv() {
            let mut bytes = first.frame.len();
            let mut group = vec![first];
            while bytes < GROUP_BYTES
                && let Ok(next) = appends.try_recv()
            {
                bytes += next.frame.len();
                group.push(next);
            }
            self.commit(group, bytes);
        }
    }

    fn commit(&mut self, group: Vec<Append>, bytes: usize) {
        let span = tracing::info_span!("commit", entries = group.len(), bytes);
        let _entered = span.enter();
        let mut frames = Vec::with_capacity(group.len());
        let mut appends = Vec::with_capacity(group.len());
        for append in group {
            frames.push(append.frame);
            appends.push((append.digest, append.loaded, append.acknowledge));
        }
        match self.write(&frames, bytes) {
            Ok((start, segment)) => {
                metrics::committed(appends.len(), bytes);
                self.health.appended(Ok(()));
                let mut position = start;
                let mut acknowledgements = Vec::with_capacity(appends.len());
                let mut entries = Vec::with_capacity(appends.len());
                for (frame, (digest, loaded, acknowledge)) in frames.iter().zip(appends) {
                    let start = position;
                    position.byte += frame.len() as u64;
                    entries.push(PendingEntry::new(
                        start,
                        position,
                        digest,
                        loaded,
                        segment.clone(),
                    ));
                    acknowledgements.push((acknowledge, position));
                }
                // Entries become visible before they are acknowledged, so that a client that reads
                // after the acknowledgement finds them.
                self.pending.push(entries);
                for (acknowledge, end) in acknowledgements {
                    // The receiver of a cancelled request is gone; its entry is recorded all the
                    // same.
                    let _ = acknowledge.send(Ok(end));
                }
            }
            Err(error) => {
                metrics::append_failed();
                self.health.appended(Err(error.to_string()));
                tracing::error!(%error, entries = appends.len(), "cannot write to the spool; these \
                    entries are not recorded");
                for (_, _, acknowledge) in appends {
                    let _ = acknowledge.send(Err(RecordError::Unavailable(format!(
                        "cannot write to the spool ({error}); free space on its disk or restore \
                         its folder, then send the batch again"
                    ))));
                }
            }
        }
    }

    /// Writes and syncs the frames; returns the position of the first.
    fn write(
        &mut self,
        frames: &[Vec<u8>],
        bytes: usize,
    ) -> io::Result<(Position, Option<Arc<Segment>>)> {
        let Journal::Folder {
            folder,
            segment_bytes,
        } = &self.journal
        else {
            if self.pending.is_full() {
                return Err(io::Error::other(
                    "the database is unavailable and there is no spool",
                ));
            }
            let start = self.next;
            self.next.byte += bytes as u64;
            return Ok((start, None));
        };
        if self
            .active
            .as_ref()
            .is_some_and(|active| active.length >= *segment_bytes)
        {
            self.active = None;
        }
        let active = match &mut self.active {
            Some(active) => active,
            None => {
                // Every number is used only once, even if creating the segment fails.
                let number = self.next.segment;
                self.next.segment += 1;
                self.active.insert(ActiveSegment {
                    segment: folder.create(number)?,
                    length: SEGMENT_HEADER as u64,
                    end: None,
                })
            }
        };
        let started = self.clock.monotonic();
        let written = active
            .segment
            .write(frames, active.length)
            .and_then(|()| active.segment.sync());
        if let Err(error) = written {
            // Entries whose append failed may still be replayed, which is allowed. Truncating the
            // segment avoids warnings at the next start.
            let _ = active.segment.truncate(active.length);
            if active.length == SEGMENT_HEADER as u64 {
                // The segment has no frame. If it cannot be deleted, the empty file does no harm.
                let _ = folder.delete(active.segment.number);
            }
            self.active = None;
            return Err(error);
        }
        metrics::synced(self.clock.monotonic().saturating_sub(started));
        let start = Position {
            segment: active.segment.number,
            byte: active.length,
        };
        active.length += bytes as u64;
        active.record_end(&folder.path);
        Ok((start, Some(active.segment.clone())))
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::process::{Command, Stdio};
    use std::time::Duration;

    use crate::{Body, BodyKind, Entry};
    use assay_core::Hash;

    use super::*;
    use crate::pending::packs::Contents;
    use crate::spool::{frame, recovery};

    struct FixedClock;

    impl Clock for FixedClock {
        fn unix_us(&self) -> i64 {
            0
        }

        fn monotonic(&self) -> Duration {
            Duration::ZERO
        }
    }

    /// Appends `count` entries with completions of `bytes` bytes to the folder named on stdin;
    /// returns those that were recorded.
    fn append(count: u128, bytes: usize) -> Vec<u128> {
        let mut path = String::new();
        io::stdin().read_line(&mut path).unwrap();
        let folder = Arc::new(Folder::open(path.trim().as_ref(), "spool").unwrap());
        append_to(folder, 1 << 20, count, bytes)
    }

    /// Appends entries to a folder without segments; returns those that were recorded.
    fn append_to(folder: Arc<Folder>, segment_bytes: u64, count: u128, bytes: usize) -> Vec<u128> {
        let seal = folder.seal();
        let pending = Arc::new(Pending::new(1 << 20));
        let journal = Journal::Folder {
            folder,
            segment_bytes,
        };
        let (appends, thread) =
            start(journal, 1, pending, Arc::default(), Arc::new(FixedClock)).unwrap();
        let mut recorded = Vec::new();
        for n in 0..count {
            let mut entry = Entry::of_events(n.into(), "local".into(), Vec::new(), 0);
            let content = vec![b'a'; bytes];
            entry.bodies = vec![Body {
                hash: Hash::of(&content),
                kind: BodyKind::Text,
                content,
            }];
            let contents = Contents::of(&entry, 0).unwrap();
            let frame = frame::encode(&seal, &entry, &contents).unwrap();
            let digest = Digest::of(&entry, &contents);
            let loaded = Arc::new(LoadedEntry::new(Arc::new(entry), contents));
            let (acknowledge, acknowledged) = oneshot::channel();
            appends
                .send(Append {
                    frame,
                    digest,
                    loaded,
                    acknowledge,
                })
                .unwrap();
            if acknowledged.blocking_recv().unwrap().is_ok() {
                recorded.push(n);
            }
        }
        drop(appends);
        thread.join().unwrap();
        recorded
    }

    /// Child process that cannot write: fails if an append succeeds.
    #[test]
    #[ignore = "child process of `failed_appends_leave_no_segments_behind`"]
    fn child() {
        assert_eq!(append(3, 8192), [0_u128; 0]);
    }

    /// Child process whose files have room for only some of the appends: prints the recorded ones.
    #[test]
    #[ignore = "child process of `recovers_all_entries_recorded_between_failed_appends`"]
    fn growing_child() {
        let recorded = append(30, 3_000);
        writeln!(io::stdout(), "\nrecorded {recorded:?}").unwrap();
    }

    /// Runs a test in a process whose files have at most `blocks` blocks of 512 or 1024 bytes;
    /// returns its output.
    fn limited(test: &str, blocks: u32, folder: &Path) -> String {
        let mut child = Command::new("sh")
            .args(["-c", &format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$@\""), "sh"])
            .arg(std::env::current_exe().unwrap())
            .args(["--exact", &format!("spool::commit::tests::{test}"), "--ignored", "--nocapture"])
            .stdin(Stdio::piped())
            // Pipes, because the limit would also apply to a file that the tests' output is
            // redirected to.
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        writeln!(child.stdin.take().unwrap(), "{}", folder.display()).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success());
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.contains("test result: ok. 1 passed"), "{text}");
        text
    }

    #[test]
    fn failed_appends_leave_no_segments_behind() {
        // With 0 blocks writing the header fails; with 1 block, writing the first frame.
        for blocks in [0, 1] {
            let folder = tempfile::tempdir().unwrap();
            drop(Folder::open(folder.path(), "spool").unwrap());
            limited("child", blocks, folder.path());
            let remaining: Vec<_> = std::fs::read_dir(folder.path())
                .unwrap()
                .map(|file| file.unwrap().file_name())
                .collect();
            assert_eq!(remaining, ["identity"]);
        }
    }

    #[test]
    fn recovers_all_entries_recorded_between_failed_appends() {
        let folder = tempfile::tempdir().unwrap();
        drop(Folder::open(folder.path(), "spool").unwrap());
        let output = limited("growing_child", 16, folder.path());
        let recorded = output
            .lines()
            .find_map(|line| line.strip_prefix("recorded "))
            .unwrap();
        let opened = Folder::open(folder.path(), "spool").unwrap();
        let pending = Pending::new(1 << 20);
        recovery::recover(&opened, Position::default(), &pending, 0).unwrap();
        let found: Vec<u128> = pending
            .select(|_| true)
            .iter()
            .map(|item| item.digest.batch.into())
            .collect();
        assert_eq!(format!("{found:?}"), recorded);
        assert!(
            found.len() > 4 && found.len() < 30,
            "some appends must fail and some succeed: {recorded}"
        );
        assert!(
            opened.segments().len() > 1,
            "appends continue in another segment"
        );
    }

    #[test]
    fn a_full_segment_is_followed_by_the_one_with_the_next_number() {
        let path = tempfile::tempdir().unwrap();
        let folder = Arc::new(Folder::open(path.path(), "spool").unwrap());
        // Any entry fills a segment.
        let recorded = append_to(Arc::clone(&folder), 1, 3, 100);
        assert_eq!(recorded, [0, 1, 2]);
        let numbers: Vec<u64> = folder
            .segments()
            .iter()
            .map(|segment| segment.number)
            .collect();
        assert_eq!(numbers, [1, 2, 3]);
    }
}

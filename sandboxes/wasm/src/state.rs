//! The host's state of one instance: its input and output, files, limits, random numbers, and the
//! connection to its peer.

use std::sync::{Arc, Mutex};

use assay_worker::program::{Limits, WORK_PER_SECOND};
use blake3::OutputReader;
use wasmtime::ResourceLimiter;

use crate::descriptors::Descriptors;
use crate::exports::Exports;
use crate::files::Files;
use crate::frozen::HostState;
use crate::peer::Peer;

/// Bytes of standard error that are retained: the end, which contains exceptions. Standard error is
/// never compared, so a program that writes more only loses the beginning. Every byte costs work.
const STDERR_TAIL: usize = 16 << 10;

/// Most refused memory requests. A program that catches `MemoryError` makes a few. One that repeats
/// them endlessly would take much time with little counted work.
const MAX_REFUSALS: u32 = 1_000;

/// Limit on the output of a compiler or of test code, in bytes. Neither needs to write any.
pub(crate) const DRIVER_OUTPUT: u64 = 1 << 20;

/// Most elements of a table.
pub(crate) const MAX_ELEMENTS: usize = 100_000;

/// Why the host ended an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Stop {
    #[error("the program exited with status {0}")]
    Exit(i32),
    #[error("the program wrote more than allowed")]
    Output,
    #[error("the program repeated memory requests beyond its limit")]
    Memory,
    #[error("the program under test ended")]
    Peer,
    #[error("the system is out of memory")]
    Host,
}

/// The host's state of one instance.
pub(crate) struct State {
    pub(crate) stdin: Vec<u8>,
    stdin_read: usize,
    pub(crate) stdout: Vec<u8>,
    /// What the called function of a compiled program returned, as its driver writes it.
    pub(crate) returned: Vec<u8>,
    /// Whether standard output is kept and limited. The output of test code is discarded.
    pub(crate) keeps_stdout: bool,
    pub(crate) stderr: Vec<u8>,
    /// Whether the beginning of standard error is retained rather than its end: the first messages
    /// of a compiler are the important ones.
    pub(crate) keeps_stderr_start: bool,
    /// The arguments of the program, beginning with its name.
    pub(crate) arguments: Vec<String>,
    pub(crate) descriptors: Descriptors,
    limits: Limits,
    /// Fuel left when the guest's clock was zero.
    pub(crate) clock_start: u64,
    /// Nanoseconds on the guest's clock at that time.
    pub(crate) clock_base: u64,
    seed: u64,
    pub(crate) random: OutputReader,
    pub(crate) exports: Option<Arc<Exports>>,
    /// The instance that the guest reaches by `exchange`.
    pub(crate) peer: Option<Peer>,
    /// The reply of the peer, until the guest has allocated a buffer and fetches it.
    pub(crate) reply: Vec<u8>,
    /// How often memory beyond the limit was requested.
    pub(crate) memory_refusals: u32,
}

impl State {
    /// The state of an instance with its own files.
    pub(crate) fn new(limits: Limits, seed: u64, stdin: Vec<u8>) -> Self {
        Self::with_files(
            limits,
            seed,
            stdin,
            Arc::new(Mutex::new(Self::fresh_files())),
        )
    }

    /// The state of an instance in which nothing runs.
    pub(crate) fn idle() -> Self {
        let limits = Limits {
            work: 0,
            memory_bytes: u64::MAX,
            output_bytes: 0,
        };
        Self::with_files(limits, 0, Vec::new(), Arc::new(Mutex::new(Files::empty())))
    }

    /// The state of an instance that is thawed.
    pub(crate) fn thawed(host: HostState, limits: Limits, stdin: Vec<u8>) -> Self {
        let files = Arc::new(Mutex::new(host.files));
        let mut state = Self::with_files(limits, host.seed, stdin, files);
        state.descriptors.set_table(host.descriptors);
        state.random.set_position(host.random_position);
        state.clock_base = host.clock;
        state
    }

    /// The part that outlives a call, which has done this work.
    pub(crate) fn freeze(&self, work: u64) -> HostState {
        HostState {
            files: self.descriptors.files().clone(),
            descriptors: self.descriptors.table().to_vec(),
            seed: self.seed,
            random_position: self.random.position(),
            clock: self.clock_base.saturating_add(nanoseconds_of(work)),
        }
    }

    /// Whether an instance may have this much memory from the start.
    pub(crate) fn allows_memory(&self, bytes: u64) -> bool {
        bytes <= self.limits.memory_bytes
    }

    /// The files at the start of a run.
    pub(crate) fn fresh_files() -> Files {
        Files::new(EPOCH)
    }

    /// The state of an instance that shares files with the other instance of its test.
    pub(crate) fn with_files(
        limits: Limits,
        seed: u64,
        stdin: Vec<u8>,
        files: Arc<Mutex<Files>>,
    ) -> Self {
        Self {
            stdin,
            stdin_read: 0,
            stdout: Vec::new(),
            returned: Vec::new(),
            keeps_stdout: true,
            stderr: Vec::new(),
            keeps_stderr_start: false,
            arguments: Vec::new(),
            descriptors: Descriptors::new(files),
            limits,
            clock_start: 0,
            clock_base: 0,
            seed,
            random: random_numbers(seed),
            exports: None,
            peer: None,
            reply: Vec::new(),
            memory_refusals: 0,
        }
    }

    /// Reads the next bytes of standard input into `target`; returns 0 at its end.
    pub(crate) fn read_stdin(&mut self, target: &mut [u8]) -> usize {
        let left = &self.stdin[self.stdin_read.min(self.stdin.len())..];
        let length = left.len().min(target.len());
        target[..length].copy_from_slice(&left[..length]);
        self.stdin_read += length;
        length
    }

    /// Appends to standard output, up to the limit.
    pub(crate) fn write_stdout(&mut self, bytes: &[u8]) -> Result<(), Stop> {
        if !self.keeps_stdout {
            return Ok(());
        }
        append(&mut self.stdout, bytes, self.limits.output_bytes)
    }

    /// Appends to the returned value, up to the same limit.
    pub(crate) fn write_returned(&mut self, bytes: &[u8]) -> Result<(), Stop> {
        append(&mut self.returned, bytes, self.limits.output_bytes)
    }

    /// Appends to standard error, of which the end or the beginning is retained.
    pub(crate) fn write_stderr(&mut self, bytes: &[u8]) {
        if self.keeps_stderr_start {
            let left = STDERR_TAIL.saturating_sub(self.stderr.len());
            self.stderr
                .extend_from_slice(&bytes[..bytes.len().min(left)]);
            return;
        }
        self.stderr
            .extend_from_slice(&bytes[bytes.len().saturating_sub(STDERR_TAIL)..]);
        if self.stderr.len() > 2 * STDERR_TAIL {
            self.stderr.drain(..self.stderr.len() - STDERR_TAIL);
        }
    }

    /// The end of what was written to standard error.
    pub(crate) fn stderr_tail(&self) -> &[u8] {
        &self.stderr[self.stderr.len().saturating_sub(STDERR_TAIL)..]
    }
}

/// The random numbers of a guest.
fn random_numbers(seed: u64) -> OutputReader {
    blake3::Hasher::new_derive_key("assay guest random numbers")
        .update(&seed.to_le_bytes())
        .finalize_xof()
}

/// Appends as much as fits below a limit.
fn append(target: &mut Vec<u8>, bytes: &[u8], limit: u64) -> Result<(), Stop> {
    let capacity = limit.saturating_sub(target.len() as u64);
    let length = usize::try_from(capacity)
        .unwrap_or(usize::MAX)
        .min(bytes.len());
    target.extend_from_slice(&bytes[..length]);
    if length < bytes.len() {
        Err(Stop::Output)
    } else {
        Ok(())
    }
}

impl ResourceLimiter for State {
    fn memory_growing(
        &mut self,
        _: usize,
        desired: usize,
        _: Option<usize>,
    ) -> wasmtime::Result<bool> {
        let granted = self.allows_memory(desired as u64);
        if !granted {
            self.memory_refusals += 1;
            if self.memory_refusals == MAX_REFUSALS {
                return Err(Stop::Memory.into());
            }
        }
        Ok(granted)
    }

    /// If the system is out of memory that was granted, the run fails. The program must not see
    /// this as its own limit.
    fn memory_grow_failed(&mut self, error: wasmtime::Error) -> wasmtime::Result<()> {
        if error.is::<std::io::Error>() {
            Err(Stop::Host.into())
        } else {
            Ok(())
        }
    }

    /// The table of an interpreter is created with its image and never grows. That of a library
    /// grows for its program before the program starts; no guest can grow a table.
    fn table_growing(
        &mut self,
        _: usize,
        desired: usize,
        _: Option<usize>,
    ) -> wasmtime::Result<bool> {
        Ok(desired <= MAX_ELEMENTS)
    }
}

/// The time that work takes on a guest's clock, in nanoseconds.
pub(crate) fn nanoseconds_of(work: u64) -> u64 {
    let nanoseconds = u128::from(work) * 1_000_000_000 / u128::from(WORK_PER_SECOND);
    u64::try_from(nanoseconds).unwrap_or(u64::MAX)
}

/// The guest's wall clock when a program begins: 2026-01-01T00:00:00Z, in nanoseconds. No host time
/// ever enters a guest.
pub(crate) const EPOCH: u64 = 1_767_225_600_000_000_000;

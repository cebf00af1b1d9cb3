//! The instances of an image: each run gets a fresh one, or one that was restored after an earlier
//! run.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use assay_worker::program::Test;
use wasmtime::InstancePre;

use crate::engine::INSTANCES;
use crate::frozen::{FrozenError, Memory, ThawedSegments, cannot};
use crate::guest::Guest;
use crate::kind::IMAGES;
use crate::pages::PageMap;
use crate::restore::Untouched;
use crate::state::State;

/// Most instances of an image at once: one of each role, and the untouched one.
const MOST_INSTANCES: usize = Role::ALL.len() + 1;

/// Longest buffer that is kept between calls, in bytes.
const MOST_BUFFER: usize = 64 << 20;

const _: () = assert!(MOST_INSTANCES * IMAGES.len() <= INSTANCES as usize);

/// What an instance is used for. An instance that has run code of a completion never gets expected
/// values, and vice versa, even though nothing remains of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// Compiles programs. A compiler writes to many pages that programs do not, and all pages that
    /// were ever written to are compared after each run.
    Compiler,
    /// Runs completions.
    Program,
    /// Runs tests and checker programs, which read expected values.
    Judge,
    /// Runs calls of sessions.
    Session,
}

impl Role {
    pub(crate) const ALL: [Self; 4] = [Self::Compiler, Self::Program, Self::Judge, Self::Session];

    /// Most memory that a restored instance keeps for itself, in bytes. The pages of sessions are
    /// mostly the same in all of them, and mapping one takes longer than restoring and thawing it.
    fn most_private_bytes(self) -> usize {
        match self {
            Self::Session => 32 << 20,
            Self::Compiler | Self::Program | Self::Judge => 4 << 20,
        }
    }

    /// The role of the instance that runs the program of a test.
    pub(crate) fn of_program(test: &Test) -> Self {
        match test {
            Test::Check(_) => Self::Judge,
            Test::Stdin(_) | Test::Call { .. } | Test::Assert { .. } => Self::Program,
        }
    }
}

/// How many instances were created and how many were restored.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) created: AtomicU64,
    pub(crate) restored: AtomicU64,
}

/// The instances of an image.
pub(crate) struct Instances {
    ready: InstancePre<State>,
    globals: usize,
    /// `None` if instances cannot be restored: then every run gets a fresh one.
    untouched: Option<Untouched>,
    /// A restored instance for each role.
    idle: [Mutex<Option<Guest>>; Role::ALL.len()],
    /// The buffer for thawing the next instance.
    buffer: Mutex<Vec<u8>>,
    pub(crate) counts: Counts,
}

impl Instances {
    /// `globals` is the number of mutable globals that the image exports; `None` if it does not
    /// export all of them.
    pub(crate) fn new(
        ready: InstancePre<State>,
        globals: Option<usize>,
        page_map: Option<&Arc<PageMap>>,
    ) -> wasmtime::Result<Self> {
        let untouched = match globals {
            Some(globals) => Some(Untouched::start(&ready, globals, page_map.map(Arc::clone))?),
            None => None,
        };
        Ok(Self {
            ready,
            globals: globals.unwrap_or_default(),
            untouched,
            idle: Default::default(),
            buffer: Mutex::default(),
            counts: Counts::default(),
        })
    }

    /// An instance for a run.
    pub(crate) fn take(&self, role: Role, state: State) -> wasmtime::Result<Guest> {
        let idle = self.idle(role).take();
        match idle {
            Some(guest) if state.allows_memory(guest.memory_bytes()) => guest.restart(state),
            _ => {
                self.counts.created.fetch_add(1, Ordering::Relaxed);
                Guest::start(&self.ready, self.globals, state)
            }
        }
    }

    /// Restores the instance of a run that has ended, for the next one of the same role.
    pub(crate) fn give_back(&self, role: Role, guest: Guest) {
        let Some(untouched) = &self.untouched else {
            return;
        };
        if let Some(guest) = guest.restored(untouched, role.most_private_bytes()) {
            self.counts.restored.fetch_add(1, Ordering::Relaxed);
            *self.idle(role) = Some(guest);
        }
    }

    /// Gives a new instance the memory and the globals of a frozen one.
    pub(crate) fn thaw<'a>(
        &self,
        guest: &mut Guest,
        frozen: Memory<'a>,
    ) -> Result<ThawedSegments<'a>, FrozenError> {
        let buffer = std::mem::take(&mut *lock(&self.buffer));
        guest.thaw(frozen, self.untouched("thawed")?, buffer)
    }

    /// The memory and the globals of an instance after a call.
    pub(crate) fn freeze<'a>(
        &self,
        guest: &mut Guest,
        thawed: &ThawedSegments<'a>,
    ) -> Result<Memory<'a>, FrozenError> {
        guest.freeze(self.untouched("frozen")?, thawed)
    }

    /// Keeps the buffer of a thawed instance for the next one.
    pub(crate) fn keep_buffer(&self, thawed: ThawedSegments<'_>) {
        let buffer = thawed.into_buffer();
        if buffer.len() <= MOST_BUFFER {
            *lock(&self.buffer) = buffer;
        }
    }

    fn untouched(&self, done: &'static str) -> Result<&Untouched, FrozenError> {
        self.untouched
            .as_ref()
            .ok_or_else(|| cannot(done, &"the image does not export its state; build it again"))
    }

    /// Calls `compare` with the waiting instance of a role, if there is one, and a fresh one.
    pub(crate) fn compare<T>(
        &self,
        role: Role,
        compare: impl FnOnce(&mut Guest, &mut Guest) -> T,
    ) -> Option<T> {
        let mut idle = self.idle(role);
        let mut fresh = Guest::start(&self.ready, self.globals, State::idle()).ok()?;
        Some(compare(idle.as_mut()?, &mut fresh))
    }

    fn idle(&self, role: Role) -> MutexGuard<'_, Option<Guest>> {
        lock(&self.idle[role as usize])
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

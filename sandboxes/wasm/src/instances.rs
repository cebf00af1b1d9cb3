//! The instances of an image: each run gets a fresh one, or one that was restored after an earlier
//! run.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use assay_worker::program::Test;
use wasmtime::InstancePre;

use crate::engine::INSTANCES;
use crate::frozen::{Frozen, FrozenError, cannot};
use crate::guest::Guest;
use crate::kind::IMAGES;
use crate::pages::PageMap;
use crate::restore::Untouched;
use crate::state::State;

/// Most instances of an image at once: one of each role, and the untouched one.
const MOST_INSTANCES: usize = Role::ALL.len() + 1;

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
        if let Some(guest) = guest.restored(untouched) {
            self.counts.restored.fetch_add(1, Ordering::Relaxed);
            *self.idle(role) = Some(guest);
        }
    }

    /// The state of an instance after a call.
    pub(crate) fn freeze(&self, guest: &mut Guest, hash: &str) -> Result<Frozen, FrozenError> {
        let untouched = self.untouched.as_ref().ok_or_else(|| {
            cannot(
                "frozen",
                &"the image does not export its state; build it again",
            )
        })?;
        guest.freeze(untouched, hash)
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

    fn idle(&self, role: Role) -> std::sync::MutexGuard<'_, Option<Guest>> {
        let idle = &self.idle[role as usize];
        idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

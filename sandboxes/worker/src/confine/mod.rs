//! Confines a worker before it runs untrusted work: no access to files, new programs, the network
//! or other processes.
//!
//! The sandbox inside the worker needs none of these. Confinement is a further line of defence
//! behind the sandbox, and each of its mechanisms works without the others. Call [`isolate`] first,
//! while the process has one thread, and [`Isolation::confine`] last, when images are mapped and
//! threads are started.

mod files;
mod filter;

use std::path::Path;

pub use filter::ExecutableCode;
use rustix::process::{Resource, Rlimit, setrlimit};
use serde::{Deserialize, Serialize};

use crate::coded_by_serde;
use crate::inherited::enter_namespaces;
use crate::request::{Handler, Message, WorkerRequest};

/// A kernel mechanism that confines a process. Not every kernel has all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mechanism {
    /// System calls are filtered (seccomp).
    Seccomp,
    /// Only images can be opened, and no other process can be signalled (Landlock).
    Landlock,
    /// Separate users, network and shared memory (namespaces).
    Namespaces,
}

impl Mechanism {
    /// All mechanisms.
    pub const ALL: [Self; 3] = [Self::Seccomp, Self::Landlock, Self::Namespaces];

    /// The name in the configuration, in reports and as a metric label.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Seccomp => "seccomp",
            Self::Landlock => "landlock",
            Self::Namespaces => "namespaces",
        }
    }

    /// The mechanism of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|mechanism| mechanism.as_str() == name)
    }
}

/// The mechanisms that the kernel of this machine enforces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confinement {
    seccomp: bool,
    landlock: bool,
    namespaces: bool,
}

impl Confinement {
    /// Whether a mechanism is in place.
    #[must_use]
    pub fn has(self, mechanism: Mechanism) -> bool {
        match mechanism {
            Mechanism::Seccomp => self.seccomp,
            Mechanism::Landlock => self.landlock,
            Mechanism::Namespaces => self.namespaces,
        }
    }

    /// Every mechanism, and whether it is in place.
    pub fn mechanisms(self) -> impl Iterator<Item = (Mechanism, bool)> {
        Mechanism::ALL
            .into_iter()
            .map(move |mechanism| (mechanism, self.has(mechanism)))
    }
}

/// Requests the [`Confinement`] of a worker.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct ConfinementRequest;

impl Message for ConfinementRequest {
    coded_by_serde!();
}

impl Message for Confinement {
    coded_by_serde!();
}

impl WorkerRequest for ConfinementRequest {
    type Reply = Confinement;
    const KIND: u8 = 0;

    fn probe() -> Self {
        Self
    }
}

/// Answers [`ConfinementRequest`].
pub(crate) struct ConfinementHandler(pub(crate) Confinement);

impl Handler for ConfinementHandler {
    type Request = ConfinementRequest;

    fn answer(&mut self, _: ConfinementRequest) -> Confinement {
        self.0
    }
}

/// The mechanisms that were set up while the process had one thread.
#[derive(Debug, Clone, Copy)]
pub struct Isolation {
    landlock: bool,
    namespaces: bool,
}

/// Leaves the namespaces of the parent, and drops access to all files except those in `readable`
/// and the process's own entry in `/proc`. Must be called before the process has a second thread:
/// existing threads would not be restricted.
#[must_use]
pub fn isolate(readable: &[&Path]) -> Isolation {
    // When memory runs out, the kernel should kill a worker rather than the service. Some systems
    // do not allow this.
    let _ = std::fs::write("/proc/self/oom_score_adj", "500");
    let namespaces = enter_namespaces().is_ok();
    Isolation {
        namespaces,
        landlock: files::restrict(readable),
    }
}

/// Most open files of a worker: its pipes, the image and the page map, with a margin.
const OPEN_FILES: u64 = 32;

impl Isolation {
    /// Drops every privilege that a worker no longer needs. Called when images are mapped and
    /// threads are started.
    #[must_use]
    pub fn confine(self, code: ExecutableCode) -> Confinement {
        let limits = [
            (Resource::Core, 0),
            (Resource::Fsize, 0),
            (Resource::Nofile, OPEN_FILES),
        ];
        for (resource, most) in limits {
            if let Err(error) = setrlimit(
                resource,
                Rlimit {
                    current: Some(most),
                    maximum: Some(most),
                },
            ) {
                tracing::warn!(?resource, %error, "cannot lower a resource limit of the worker");
            }
        }
        let filtered = filter::apply(code);
        if let Err(error) = &filtered {
            tracing::warn!(error, "the worker runs without a system call filter");
        }
        let Self {
            landlock,
            namespaces,
        } = self;
        Confinement {
            seccomp: filtered.is_ok(),
            landlock,
            namespaces,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mechanisms_round_trip_through_their_names() {
        for mechanism in Mechanism::ALL {
            assert_eq!(Mechanism::named(mechanism.as_str()), Some(mechanism));
            assert_eq!(serde_json::to_value(mechanism).unwrap(), mechanism.as_str());
        }
        assert_eq!(Mechanism::named("chroot"), None);
    }
}

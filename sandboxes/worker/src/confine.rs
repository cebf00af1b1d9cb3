//! What a worker gives up before it touches untrusted work: files, new programs, the network, other
//! processes.
//!
//! The sandbox inside the worker never needs any of it. These are further walls behind the sandbox,
//! and each works without the others. Call [`isolate`] first, while the process has one thread, and
//! [`Isolation::confine`] last, once images are mapped and threads started.

mod files;
mod filter;

use std::path::Path;

use rustix::process::{Resource, Rlimit, setrlimit};
use serde::{Deserialize, Serialize};

use crate::inherited::enter_namespaces;
use crate::request::{Handler, WorkerRequest};

/// A mechanism of the kernel that confines a process. Not every kernel has all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wall {
    /// System calls are filtered (seccomp).
    Seccomp,
    /// Only images can be opened, and no other process can be signalled (Landlock).
    Landlock,
    /// Separate users, network and shared memory (namespaces).
    Namespaces,
}

impl Wall {
    /// Every wall.
    pub const ALL: [Self; 3] = [Self::Seccomp, Self::Landlock, Self::Namespaces];

    /// Its name in the configuration, in reports and as a label.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Seccomp => "seccomp",
            Self::Landlock => "landlock",
            Self::Namespaces => "namespaces",
        }
    }

    /// The wall of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|wall| wall.as_str() == name)
    }
}

/// What the kernel of this machine agreed to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confinement {
    seccomp: bool,
    landlock: bool,
    namespaces: bool,
}

impl Confinement {
    /// Whether a wall is in place.
    #[must_use]
    pub fn has(self, wall: Wall) -> bool {
        match wall {
            Wall::Seccomp => self.seccomp,
            Wall::Landlock => self.landlock,
            Wall::Namespaces => self.namespaces,
        }
    }

    /// Every wall, and whether it is in place.
    pub fn walls(self) -> impl Iterator<Item = (Wall, bool)> {
        Wall::ALL
            .into_iter()
            .map(move |wall| (wall, self.has(wall)))
    }
}

/// Asks a worker for its [`Confinement`].
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Request;

impl WorkerRequest for Request {
    type Reply = Confinement;
    const KIND: u8 = 0;

    fn probe() -> Self {
        Self
    }
}

/// Answers [`Request`].
pub(crate) struct Answer(pub(crate) Confinement);

impl Handler for Answer {
    type Request = Request;

    fn answer(&mut self, _: Request) -> Confinement {
        self.0
    }
}

/// The walls that were set up while the process had one thread.
#[derive(Debug, Clone, Copy)]
pub struct Isolation {
    landlock: bool,
    namespaces: bool,
}

/// Leaves the namespaces of the parent, and gives up all files except those in `readable` and the
/// process's own entry in `/proc`. Must be called before the process has a second thread: existing
/// threads would not be restricted.
#[must_use]
pub fn isolate(readable: &[&Path]) -> Isolation {
    // When memory runs out, the kernel should kill a worker rather than the service. Not every
    // system allows this.
    let _ = std::fs::write("/proc/self/oom_score_adj", "500");
    let namespaces = enter_namespaces().is_ok();
    Isolation {
        namespaces,
        landlock: files::restrict(readable),
    }
}

/// Open files a worker may have: its pipes, and room to spare.
const OPEN_FILES: u64 = 32;

impl Isolation {
    /// Gives up what a worker needs no more. Called once images are mapped and threads started.
    #[must_use]
    pub fn confine(self) -> Confinement {
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
                tracing::warn!(?resource, %error, "a limit of the worker stays as it was");
            }
        }
        let filtered = filter::apply();
        if let Err(error) = &filtered {
            tracing::warn!(error, "the worker runs without a filter of system calls");
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
    fn walls_are_found_by_their_names() {
        for wall in Wall::ALL {
            assert_eq!(Wall::named(wall.as_str()), Some(wall));
            assert_eq!(serde_json::to_value(wall).unwrap(), wall.as_str());
        }
        assert_eq!(Wall::named("chroot"), None);
    }
}

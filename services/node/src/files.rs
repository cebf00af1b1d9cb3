//! Raises the limit on open files and divides it between connections and everything else that a
//! node opens.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Files that a node has open beside connections: the record and its spool, standard streams, the
/// runtime.
const OF_NODE: usize = 64;

/// Files for each worker: its pipes and its process descriptor.
const OF_CELL: usize = 4;

/// Fraction of the limit that is reserved for everything else, and the number of files at which it
/// is capped.
const KEPT_SHARE: usize = 4;
const KEPT_ENOUGH: usize = 1_024;

/// Default limit on connections, since each takes some memory besides its file.
const MOST_CONNECTIONS: usize = 10_000;

/// Raises the soft limit on open files to the hard limit: shells set 1,024, and each connection
/// takes one. The hard limit is left to the administrator.
pub fn raise_limit() {
    let limit = getrlimit(Resource::Nofile);
    if let Err(error) = setrlimit(
        Resource::Nofile,
        Rlimit {
            current: limit.maximum,
            maximum: limit.maximum,
        },
    ) {
        tracing::warn!(%error, "cannot raise the limit on open files; connections may be refused");
    }
}

/// The limit on connections: the configured number, unless it is 0 or more than the limit on open
/// files allows.
pub(crate) fn connections(configured: usize, workers: usize, pools: usize) -> usize {
    let limit = getrlimit(Resource::Nofile)
        .current
        .and_then(|limit| usize::try_from(limit).ok());
    let room = room(limit.unwrap_or(usize::MAX), workers, pools);
    match configured {
        0 => room.min(MOST_CONNECTIONS),
        configured if configured > room => {
            tracing::warn!(
                configured,
                room,
                "`server.connections` is more than the limit on open files allows; raise the \
                 limit (`ulimit -n`)"
            );
            room
        }
        configured => configured,
    }
}

/// The number of files that are left for connections.
fn room(limit: usize, workers: usize, pools: usize) -> usize {
    let needed = OF_NODE
        .saturating_add(workers.saturating_mul(OF_CELL))
        .saturating_add(pools);
    limit
        .saturating_sub(needed.max((limit / KEPT_SHARE).min(KEPT_ENOUGH)))
        .max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reserves_files_for_everything_else() {
        assert_eq!(room(256, 2, 0), 256 - 72);
        assert_eq!(room(1_024, 2, 0), 768);
        assert_eq!(room(1_024, 200, 0), 1_024 - 864);
        assert_eq!(room(1 << 20, 2, 0), (1 << 20) - 1_024);
        assert_eq!(room(64, 2, 0), 1, "at least one connection is accepted");
    }

    #[test]
    fn never_allows_more_connections_than_files() {
        let limit = getrlimit(Resource::Nofile)
            .current
            .map_or(usize::MAX, |limit| usize::try_from(limit).unwrap());
        assert!(connections(usize::MAX, 1, 0) < limit);
        assert_eq!(connections(1, 1, 0), 1);
        assert!((1..=MOST_CONNECTIONS).contains(&connections(0, 1, 0)));
    }
}

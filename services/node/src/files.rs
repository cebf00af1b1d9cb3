//! Raises the limit on open files and divides it between connections and everything else that a
//! node opens.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Number of files that a node opens in addition to connections: the record and its spool, standard
/// streams, the runtime.
const NODE_FILES: usize = 64;

/// Number of files for each worker: its pipes and its process descriptor.
const FILES_PER_WORKER: usize = 4;

/// The limit is divided by this number to get the number of files that are reserved for everything
/// except connections.
const RESERVED_DIVISOR: usize = 4;

/// Maximum number of reserved files, unless workers and database connections need more.
const MAX_RESERVED: usize = 1_024;

/// Maximum number of connections by default, because each takes memory in addition to its file.
const MAX_CONNECTIONS: usize = 10_000;

/// Raises the soft limit on open files to the hard limit. Shells often set it to 1,024, and each
/// connection needs a file.
pub fn raise_limit() {
    let limit = getrlimit(Resource::Nofile);
    if let Err(error) = setrlimit(
        Resource::Nofile,
        Rlimit {
            current: limit.maximum,
            maximum: limit.maximum,
        },
    ) {
        tracing::warn!(
            %error,
            "cannot raise the limit on open files; connections may be rejected"
        );
    }
}

/// The limit on connections: the configured number, unless it is 0 or more than the limit on open
/// files allows.
pub(crate) fn connections(configured: usize, workers: usize, pools: usize) -> usize {
    let limit = getrlimit(Resource::Nofile)
        .current
        .and_then(|limit| usize::try_from(limit).ok());
    let available = available_files(limit.unwrap_or(usize::MAX), workers, pools);
    match configured {
        0 => available.min(MAX_CONNECTIONS),
        configured if configured > available => {
            tracing::warn!(
                configured,
                available,
                "`server.connections` exceeds the limit on open files; raise the \
                 limit (`ulimit -n`)"
            );
            available
        }
        configured => configured,
    }
}

/// The number of files that are available for connections.
fn available_files(limit: usize, workers: usize, pools: usize) -> usize {
    let needed = NODE_FILES
        .saturating_add(workers.saturating_mul(FILES_PER_WORKER))
        .saturating_add(pools);
    limit
        .saturating_sub(needed.max((limit / RESERVED_DIVISOR).min(MAX_RESERVED)))
        .max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reserves_files_for_everything_else() {
        assert_eq!(available_files(256, 2, 0), 256 - 72);
        assert_eq!(available_files(1_024, 2, 0), 768);
        assert_eq!(available_files(1_024, 200, 0), 1_024 - 864);
        assert_eq!(available_files(1 << 20, 2, 0), (1 << 20) - 1_024);
        assert_eq!(
            available_files(64, 2, 0),
            1,
            "at least one connection is accepted"
        );
    }

    #[test]
    fn never_allows_more_connections_than_files() {
        let limit = getrlimit(Resource::Nofile)
            .current
            .map_or(usize::MAX, |limit| usize::try_from(limit).unwrap());
        assert!(connections(usize::MAX, 1, 0) < limit);
        assert_eq!(connections(1, 1, 0), 1);
        assert!((1..=MAX_CONNECTIONS).contains(&connections(0, 1, 0)));
    }
}

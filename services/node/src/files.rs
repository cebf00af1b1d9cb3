//! Responsible for the limit on open files: raising it, and sharing it between connections and everything else a node opens.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Files that a node has open beside connections: the record and its spool, standard streams, the runtime.
const OF_NODE: usize = 64;

/// Files for each cell: its pipes, and the descriptor by which its end is seen.
const OF_CELL: usize = 4;

/// Part of the limit that is never given to connections, and how much of it is enough.
const KEPT_SHARE: usize = 4;
const KEPT_ENOUGH: usize = 1_024;

/// Most connections unless the configuration says otherwise: each takes some memory beside its file.
const MOST_CONNECTIONS: usize = 10_000;

/// Raises the limit on open files as far as the process may: shells give 1,024, and each connection is one. The hard limit is the
/// administrator's.
pub fn raise_limit() {
    let limit = getrlimit(Resource::Nofile);
    if let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum }) {
        tracing::warn!(%error, "the limit on open files stays as it is; many connections may be refused");
    }
}

/// How many connections there may be: what is configured, unless it is 0 or more than the limit on files leaves room for.
pub(crate) fn connections(configured: usize, cells: usize, pools: usize) -> usize {
    let limit = getrlimit(Resource::Nofile).current.and_then(|limit| usize::try_from(limit).ok());
    let room = room(limit.unwrap_or(usize::MAX), cells, pools);
    match configured {
        0 => room.min(MOST_CONNECTIONS),
        configured if configured > room => {
            tracing::warn!(
                configured,
                room,
                "`server.connections` is more than the limit on open files leaves room for; raise the limit (`ulimit -n`)"
            );
            room
        }
        configured => configured,
    }
}

/// Files that are left for connections.
fn room(limit: usize, cells: usize, pools: usize) -> usize {
    let needed = OF_NODE.saturating_add(cells.saturating_mul(OF_CELL)).saturating_add(pools);
    limit.saturating_sub(needed.max((limit / KEPT_SHARE).min(KEPT_ENOUGH))).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_files_back_for_everything_else() {
        assert_eq!(room(256, 2, 0), 256 - 72);
        assert_eq!(room(1_024, 2, 0), 768);
        assert_eq!(room(1_024, 200, 0), 1_024 - 864);
        assert_eq!(room(1 << 20, 2, 0), (1 << 20) - 1_024);
        assert_eq!(room(64, 2, 0), 1, "a node with hardly any files takes one connection");
    }

    #[test]
    fn never_allows_more_connections_than_files() {
        let limit = getrlimit(Resource::Nofile).current.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap());
        assert!(connections(usize::MAX, 1, 0) < limit);
        assert_eq!(connections(1, 1, 0), 1);
        assert!((1..=MOST_CONNECTIONS).contains(&connections(0, 1, 0)));
    }
}

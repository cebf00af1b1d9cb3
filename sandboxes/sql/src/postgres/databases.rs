//! Tracks the databases of this node: when they were last used, and the scripts that built them.

use std::collections::HashMap;
use std::sync::Arc;

/// Maximum bytes of scripts that are retained to rebuild dropped databases.
const MAX_SCRIPT_BYTES: usize = 256 << 20;

/// Databases that this node built or found.
#[derive(Default)]
pub(super) struct KnownDatabases {
    /// Number of uses so far.
    uses: u64,
    /// Bytes of all scripts.
    bytes: usize,
    databases: HashMap<String, Database>,
}

struct Database {
    /// The number of its last use.
    last: u64,
    scripts: Arc<[String]>,
}

impl KnownDatabases {
    /// Records a use; returns whether the database is known.
    pub(super) fn touch(&mut self, name: &str) -> bool {
        self.uses += 1;
        let uses = self.uses;
        self.databases
            .get_mut(name)
            .map(|database| database.last = uses)
            .is_some()
    }

    /// Records a database that was built.
    pub(super) fn add(&mut self, name: &str, scripts: &[String]) {
        self.uses += 1;
        let database = Database {
            last: self.uses,
            scripts: scripts.into(),
        };
        self.bytes += size(&database);
        if let Some(before) = self.databases.insert(name.to_owned(), database) {
            self.bytes -= size(&before);
        }
        while self.bytes > MAX_SCRIPT_BYTES && self.databases.len() > 1 {
            let oldest = self
                .databases
                .iter()
                .min_by_key(|(_, database)| database.last);
            let Some(oldest) = oldest.map(|(name, _)| name.clone()) else {
                break;
            };
            self.bytes -= self
                .databases
                .remove(&oldest)
                .map_or(0, |database| size(&database));
        }
    }

    /// The scripts of a database.
    pub(super) fn scripts(&self, name: &str) -> Option<Arc<[String]>> {
        self.databases
            .get(name)
            .map(|database| Arc::clone(&database.scripts))
    }

    /// Sorts names by their last use. Names without a use come first, in their given order.
    pub(super) fn sort(&self, names: &mut [String]) {
        names.sort_by_key(|name| self.databases.get(name).map_or(0, |database| database.last));
    }
}

fn size(database: &Database) -> usize {
    database.scripts.iter().map(String::len).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sorts_databases_by_last_use() {
        let mut known = KnownDatabases::default();
        for name in ["a", "b", "c"] {
            known.add(name, &["create table t(x int)".to_owned()]);
        }
        assert!(known.touch("a") && !known.touch("d"));
        let mut names = ["a", "b", "c", "other", "older"].map(str::to_owned);
        known.sort(&mut names);
        assert_eq!(names, ["other", "older", "b", "c", "a"]);
        assert!(known.scripts("b").is_some() && known.scripts("other").is_none());
    }
}

//! The names of one kind, and how many of them each caller introduced.

use std::collections::HashMap;
use std::sync::Arc;

/// A name and who introduced it.
#[derive(Debug)]
struct Registered {
    caller: Arc<str>,
    /// Whether the record has it.
    recorded: bool,
    /// Batches in progress that use it, counted until it is recorded.
    holders: usize,
}

/// The names of one kind.
#[derive(Debug, Default)]
pub(super) struct Register {
    names: HashMap<Arc<str>, Registered>,
    /// Number of names by the caller that introduced them.
    counts: HashMap<Arc<str>, usize>,
}

impl Register {
    /// Adds a name that is in the record.
    pub(super) fn add_recorded(&mut self, name: Arc<str>, caller: Arc<str>) {
        if !self.names.contains_key(&name) {
            self.insert(name, caller, true);
        }
    }

    /// The position of the first of these distinct names that would exceed `most` names of the
    /// caller, if there is one. Names that are known already do not count.
    pub(super) fn first_excess<'n>(
        &self,
        names: impl IntoIterator<Item = &'n str>,
        caller: &str,
        most: usize,
    ) -> Option<usize> {
        let mut count = self.counts.get(caller).copied().unwrap_or(0);
        names.into_iter().position(|name| {
            let is_new = !self.names.contains_key(name);
            count += usize::from(is_new);
            is_new && count > most
        })
    }

    /// Holds a name for a batch of the caller; `None` if the record has it already.
    pub(super) fn hold(&mut self, name: &str, caller: &Arc<str>) -> Option<Arc<str>> {
        if !self.names.contains_key(name) {
            self.insert(name.into(), Arc::clone(caller), false);
        }
        let (name, registered) = self.names.get_key_value(name)?;
        if registered.recorded {
            return None;
        }
        let name = Arc::clone(name);
        self.names.get_mut(&name)?.holders += 1;
        Some(name)
    }

    /// The record has a name that was held.
    pub(super) fn record(&mut self, name: &str) {
        if let Some(registered) = self.names.get_mut(name) {
            registered.recorded = true;
        }
    }

    /// A batch that held a name has ended. The name is free again if no batch recorded it.
    pub(super) fn release(&mut self, name: &str) {
        let Some(registered) = self.names.get_mut(name) else {
            return;
        };
        registered.holders = registered.holders.saturating_sub(1);
        if !registered.recorded && registered.holders == 0 {
            self.remove(name);
        }
    }

    /// A name was deleted from the record. It stays if a batch in progress has introduced it again.
    pub(super) fn forget(&mut self, name: &str) {
        if self.names.get(name).is_some_and(|known| known.recorded) {
            self.remove(name);
        }
    }

    fn insert(&mut self, name: Arc<str>, caller: Arc<str>, recorded: bool) {
        *self.counts.entry(Arc::clone(&caller)).or_default() += 1;
        let registered = Registered {
            caller,
            recorded,
            holders: 0,
        };
        self.names.insert(name, registered);
    }

    fn remove(&mut self, name: &str) {
        let Some(Registered { caller, .. }) = self.names.remove(name) else {
            return;
        };
        if let Some(count) = self.counts.get_mut(&caller) {
            *count -= 1;
            if *count == 0 {
                self.counts.remove(&caller);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_counts_for_its_first_caller_until_it_is_deleted() {
        let (alice, bob): (Arc<str>, Arc<str>) = ("alice".into(), "bob".into());
        let mut register = Register::default();
        register.add_recorded("a".into(), Arc::clone(&alice));
        assert_eq!(register.first_excess(["a"], "alice", 1), None);
        assert_eq!(register.first_excess(["a", "b"], "alice", 1), Some(1));
        assert_eq!(register.first_excess(["a", "b"], "bob", 1), None);
        assert_eq!(register.hold("a", &bob), None);

        register.forget("a");
        assert_eq!(register.first_excess(["b"], "alice", 1), None);
    }

    #[test]
    fn a_held_name_is_free_once_no_batch_holds_it_unless_one_recorded_it() {
        let caller: Arc<str> = "alice".into();
        let mut register = Register::default();
        for _ in 0..2 {
            assert_eq!(register.hold("a", &caller).as_deref(), Some("a"));
        }
        register.release("a");
        assert_eq!(register.first_excess(["b"], "alice", 1), Some(0));
        register.release("a");
        assert_eq!(register.first_excess(["b"], "alice", 1), None);

        register.hold("b", &caller);
        register.record("b");
        register.release("b");
        assert_eq!(register.first_excess(["c"], "alice", 1), Some(0));
    }

    #[test]
    fn a_deletion_does_not_free_a_name_that_a_batch_in_progress_introduces() {
        let caller: Arc<str> = "alice".into();
        let mut register = Register::default();
        register.hold("a", &caller);
        register.forget("a");
        assert_eq!(register.first_excess(["b"], "alice", 1), Some(0));
    }
}

//! Results that equal completions share while they are computed or used.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use assay_core::Hash;
use tokio::sync::OnceCell;

/// Results by the hash of what they depend on. A result is dropped with its last user.
#[derive(Debug)]
pub(crate) struct InFlight<T>(Mutex<HashMap<Hash, Weak<OnceCell<T>>>>);

impl<T> InFlight<T> {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(HashMap::new()))
    }

    /// The result with this hash, which may not be computed yet.
    pub(crate) fn of(&self, hash: Hash) -> Arc<OnceCell<T>> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(cell) = all.get(&hash).and_then(Weak::upgrade) {
            return cell;
        }
        all.retain(|_, cell| cell.strong_count() > 0);
        let cell = Arc::default();
        all.insert(hash, Arc::downgrade(&cell));
        cell
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn result_lives_as_long_as_its_users() {
        let results = InFlight::new();
        let hash = |text: &str| Hash::of_parts(&[text.as_bytes()]);
        let first = results.of(hash("a"));
        first.set(1).unwrap();
        assert_eq!(results.of(hash("a")).get(), Some(&1));
        assert_eq!(results.of(hash("b")).get(), None);
        drop(first);
        assert_eq!(results.of(hash("a")).get(), None);
    }
}

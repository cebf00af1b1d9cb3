//! Cache of replies. The key covers all that a reply depends on, and the caller, because the time
//! of a reply would show what others have had judged.

use assay_core::{Hash, heap};
use quick_cache::Weighter;
use quick_cache::sync::Cache;

use crate::answer::Answer;

/// Cost of an entry in addition to its texts: its slot in the table, which doubles when it is full,
/// and in the list of recently evicted keys.
const ENTRY_BYTES: usize = 256;

#[derive(Clone)]
struct ByteWeighter;

impl Weighter<Hash, Answer> for ByteWeighter {
    fn weight(&self, _: &Hash, answer: &Answer) -> u64 {
        (ENTRY_BYTES + heap::allocation(answer.bytes())) as u64
    }
}

/// A cache of replies that is bounded in bytes.
pub(crate) struct ReplyCache(Option<Cache<Hash, Answer, ByteWeighter>>);

impl ReplyCache {
    /// Creates a cache of at most `max_bytes`. 0 disables caching.
    pub(crate) fn new(max_bytes: u64) -> Self {
        let entries = usize::try_from(max_bytes / 1_024).unwrap_or(usize::MAX);
        let entries = entries.clamp(32, 16_384);
        Self((max_bytes > 0).then(|| Cache::with_weighter(entries, max_bytes, ByteWeighter)))
    }

    pub(crate) fn get(&self, key: &Hash) -> Option<Answer> {
        self.0.as_ref()?.get(key)
    }

    pub(crate) fn insert(&self, key: Hash, answer: &Answer) {
        if let Some(cache) = &self.0 {
            cache.insert(key, answer.clone());
        }
    }
}

//! Cache of readouts. The key covers everything that a readout depends on, so cached and computed
//! readouts are equal, and the caller, because the time of a reply would show what others have
//! scored.

use assay_core::reward_model::ModelOutput;
use assay_core::{Hash, heap};
use quick_cache::Weighter;
use quick_cache::sync::Cache;

use crate::{Rows, Sequence};

/// Cost of an entry in addition to its numbers: its slot in the table, which doubles when it is
/// full, and in the list of recently evicted keys.
const ENTRY_BYTES: u64 = 192;

/// Maximum length of a cached readout. A larger embedding would evict many scores and is rarely
/// requested twice.
const MAX_CACHED_NUMBERS: usize = 1_024;

/// Cache key: a hash of the caller, the model version and the sequence.
pub(super) fn key(caller: &str, version: &str, sequence: &Sequence) -> Hash {
    let ids: Vec<u8> = sequence
        .ids
        .iter()
        .flat_map(|id| id.to_le_bytes())
        .collect();
    let rows: Vec<u8> = match &sequence.rows {
        Rows::At(positions) => positions
            .iter()
            .flat_map(|position| position.to_le_bytes())
            .collect(),
        // One byte cannot be confused with a list of positions, which have four bytes each.
        Rows::Mean => vec![0],
    };
    Hash::of_parts(&[
        caller.as_bytes(),
        version.as_bytes(),
        &ids,
        &(sequence.second as u64).to_le_bytes(),
        &rows,
    ])
}

/// Number of values that a readout stores on the heap.
fn numbers(readout: &ModelOutput) -> usize {
    match readout {
        ModelOutput::Scalar(_) => 0,
        ModelOutput::Classes(numbers)
        | ModelOutput::Labels(numbers)
        | ModelOutput::Steps(numbers)
        | ModelOutput::Embedding(numbers) => numbers.len(),
    }
}

#[derive(Clone)]
struct ByteWeighter;

impl Weighter<Hash, ModelOutput> for ByteWeighter {
    fn weight(&self, _: &Hash, readout: &ModelOutput) -> u64 {
        ENTRY_BYTES + heap::allocation(4 * numbers(readout)) as u64
    }
}

/// A cache of readouts that is bounded in bytes.
pub(super) struct ReadoutCache(Option<Cache<Hash, ModelOutput, ByteWeighter>>);

impl ReadoutCache {
    /// Creates a cache of at most `max_bytes`. 0 disables caching.
    pub(super) fn new(max_bytes: u64) -> Self {
        // The capacity in entries sets the initial size of the table and of the list of evicted
        // keys; the limit is the weight.
        let entries = usize::try_from(max_bytes / ENTRY_BYTES)
            .unwrap_or(usize::MAX)
            .clamp(32, 16_384);
        Self((max_bytes > 0).then(|| Cache::with_weighter(entries, max_bytes, ByteWeighter)))
    }

    pub(super) fn get(&self, key: &Hash) -> Option<ModelOutput> {
        self.0.as_ref()?.get(key)
    }

    pub(super) fn insert(&self, key: Hash, readout: &ModelOutput) {
        if let Some(cache) = &self.0
            && numbers(readout) <= MAX_CACHED_NUMBERS
        {
            cache.insert(key, readout.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_differ_in_everything_that_a_readout_depends_on() {
        let plain = Sequence::whole(vec![1, 2, 3]);
        let others = [
            Sequence::whole(vec![1, 2, 4]),
            Sequence {
                second: 1,
                ..plain.clone()
            },
            Sequence {
                rows: Rows::At(vec![0]),
                ..plain.clone()
            },
            Sequence {
                rows: Rows::At(vec![]),
                ..plain.clone()
            },
            Sequence {
                rows: Rows::Mean,
                ..plain.clone()
            },
        ];
        let mut keys: Vec<_> = others
            .iter()
            .chain([&plain])
            .map(|sequence| key("alice", "v1", sequence))
            .collect();
        keys.push(key("alice", "v2", &plain));
        keys.push(key("bob", "v1", &plain));
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), others.len() + 3);
        assert_eq!(
            key("alice", "v1", &plain),
            key(
                "alice",
                "v1",
                &Sequence {
                    truncated_tokens: 7,
                    ..plain.clone()
                }
            ),
            "truncated tokens do not affect the readout"
        );
    }

    #[test]
    fn caches_scores_but_not_large_embeddings() {
        let cache = ReadoutCache::new(1 << 20);
        let (small, large) = (Hash::of(b"small"), Hash::of(b"large"));
        cache.insert(small, &ModelOutput::Scalar(1.5));
        cache.insert(large, &ModelOutput::Embedding(vec![0.0; 1_025]));
        assert_eq!(cache.get(&small), Some(ModelOutput::Scalar(1.5)));
        assert_eq!(cache.get(&large), None);
    }

    #[test]
    fn limits_the_total_weight() {
        let cache = ReadoutCache::new(64 * ENTRY_BYTES);
        let keys: Vec<_> = (0..10_000u32)
            .map(|number| Hash::of(&number.to_le_bytes()))
            .collect();
        for key in &keys {
            cache.insert(*key, &ModelOutput::Scalar(0.0));
        }
        let cached = keys.iter().filter(|key| cache.get(key).is_some()).count();
        assert!((1..=64).contains(&cached), "{cached} entries");
    }

    #[test]
    fn caches_nothing_if_disabled() {
        let cache = ReadoutCache::new(0);
        cache.insert(Hash::of(b"a"), &ModelOutput::Scalar(1.0));
        assert_eq!(cache.get(&Hash::of(b"a")), None);
    }
}

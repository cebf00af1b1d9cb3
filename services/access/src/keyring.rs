//! The keys of a node in memory.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use assay_record::access::KeyRecord;

use crate::caller::Caller;
use crate::key::Key;
use crate::metrics;
use crate::quota::{Meter, Quota};

/// Why a well-formed key is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RefusedKey {
    /// No key is this one.
    #[error("the key is not one of this node")]
    Unknown,
    /// It was rotated, and the time during which the old key was valid has passed.
    #[error("the key was rotated; use the new one")]
    Rotated,
    /// It has expired.
    #[error("the key has expired; ask the operator of the node for another one")]
    Expired,
    /// It was revoked.
    #[error("the key was revoked")]
    Revoked,
}

/// All keys. Replaced as a whole when a key changes.
#[derive(Debug, Default)]
pub(crate) struct Keyring {
    secret: [u8; 32],
    keys: HashMap<String, HeldKey>,
    /// The names of all keys, also of revoked ones.
    names: HashSet<String>,
}

#[derive(Debug)]
struct HeldKey {
    record: KeyRecord,
    meter: Arc<Meter>,
}

/// The hash that keys with an unknown id are compared with. No key has it: that would be a preimage
/// of 32 chosen bytes.
const NO_HASH: [u8; 32] = [0; 32];

impl Keyring {
    /// The keyring of these keys, with the meters of `previous` where it has them.
    pub(crate) fn new(
        secret: [u8; 32],
        records: Vec<KeyRecord>,
        previous: &Self,
        now: std::time::Duration,
    ) -> Self {
        let held = |record: KeyRecord| {
            let meter = match previous.keys.get(&record.id) {
                Some(known) => {
                    known.meter.set_quotas(record.quotas, now);
                    Arc::clone(&known.meter)
                }
                None => {
                    let meter = Meter::new(&record.id, &record.name, record.quotas, now);
                    let quotas = Quota::ALL.into_iter().map(Quota::as_str);
                    metrics::start_counters(meter.name(), quotas);
                    Arc::new(meter)
                }
            };
            (record.id.clone(), HeldKey { record, meter })
        };
        Self {
            secret,
            names: records.iter().map(|key| key.name.clone()).collect(),
            keys: records.into_iter().map(held).collect(),
        }
    }

    /// Whether there is a key, valid or not.
    pub(crate) fn has_keys(&self) -> bool {
        !self.keys.is_empty()
    }

    /// Whether a key has this name, valid or not.
    pub(crate) fn has_name(&self, name: &str) -> bool {
        self.names.contains(name)
    }

    pub(crate) fn meters(&self) -> impl Iterator<Item = &Arc<Meter>> {
        self.keys.values().map(|held| &held.meter)
    }

    /// Verifies a key. The work is the same for every well-formed key: one hash and two comparisons
    /// in constant time.
    pub(crate) fn verify(&self, key: &Key, now_us: i64) -> Result<Caller, RefusedKey> {
        // The comparison of these hashes takes constant time.
        let presented = blake3::Hash::from_bytes(key.hash(&self.secret));
        let held = self.keys.get(key.id());
        let (current, (previous, until_us)) = held.map_or((NO_HASH, (NO_HASH, 0)), |held| {
            (
                held.record.hash,
                held.record.previous.unwrap_or((NO_HASH, 0)),
            )
        });
        let is_current = presented == blake3::Hash::from_bytes(current);
        let is_previous = presented == blake3::Hash::from_bytes(previous);
        let held = held
            .filter(|_| is_current | is_previous)
            .ok_or(RefusedKey::Unknown)?;
        state(&held.record, now_us)?;
        if !is_current && now_us >= until_us {
            return Err(RefusedKey::Rotated);
        }
        Ok(Caller::with_key(Arc::clone(&held.meter), held.record.role))
    }

    /// The caller whose key has this name, if one is valid.
    pub(crate) fn named(&self, name: &str, now_us: i64) -> Result<Caller, RefusedKey> {
        let named = self.keys.values().filter(|held| held.record.name == name);
        let held = named.last().ok_or(RefusedKey::Unknown)?;
        state(&held.record, now_us)?;
        Ok(Caller::with_key(Arc::clone(&held.meter), held.record.role))
    }

    /// The caller of a key that was verified earlier, if the key is still valid and was not rotated
    /// since. `hash` is the hash that it had.
    pub(crate) fn still_valid(
        &self,
        id: &str,
        hash: &[u8; 32],
        now_us: i64,
    ) -> Result<Caller, RefusedKey> {
        let held = self.keys.get(id).ok_or(RefusedKey::Unknown)?;
        state(&held.record, now_us)?;
        if held.record.hash != *hash {
            return Err(RefusedKey::Rotated);
        }
        Ok(Caller::with_key(Arc::clone(&held.meter), held.record.role))
    }

    /// The hash of a key, if it is the current one of its id, not the one before a rotation.
    pub(crate) fn current(&self, key: &Key) -> Option<[u8; 32]> {
        let hash = blake3::Hash::from_bytes(key.hash(&self.secret));
        let held = self.keys.get(key.id())?;
        (hash == blake3::Hash::from_bytes(held.record.hash)).then_some(held.record.hash)
    }
}

fn state(record: &KeyRecord, now_us: i64) -> Result<(), RefusedKey> {
    if record.revoked_us.is_some() {
        return Err(RefusedKey::Revoked);
    }
    if record
        .expires_us
        .is_some_and(|expires_us| now_us >= expires_us)
    {
        return Err(RefusedKey::Expired);
    }
    Ok(())
}

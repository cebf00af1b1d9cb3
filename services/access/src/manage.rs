//! Creates, changes, rotates and revokes keys, each with an entry in the audit log.

use assay_core::Clock;
use assay_record::RecordError;
use assay_record::access::{
    AccessStore, AuditEntry, KeyError, KeyRecord, LOCAL_CALLER, Quotas, Role,
};
use serde_json::{Map, Value, json};

use crate::key::Key;
use crate::quota::Quota;

/// Name, in the audit log, of the caller of commands that open the database.
pub const COMMAND_LINE: &str = "command line";

/// Longest name of a key, in bytes.
const MAX_NAME: usize = 64;

/// Names that have another meaning as the caller of a batch.
const RESERVED: &[&str] = &[LOCAL_CALLER, "replay", "unknown"];

/// A key to create.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewKey {
    /// Its name.
    pub name: String,
    /// Its role.
    pub role: Role,
    /// Its quotas.
    pub quotas: Quotas,
    /// When it expires, in microseconds since the Unix epoch.
    pub expires_us: Option<i64>,
}

/// What to change about a key. Everything else stays as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeyChanges {
    /// Its new role.
    pub role: Option<Role>,
    /// When it expires, in microseconds since the Unix epoch; `Some(None)` for never.
    pub expires_us: Option<Option<i64>>,
    /// Quotas to set.
    pub quotas: Quotas,
    /// Quotas to remove.
    pub no_quotas: Vec<Quota>,
}

/// A key cannot be created or changed.
#[derive(Debug, thiserror::Error)]
pub enum ManageError {
    /// The name is not allowed.
    #[error(
        "a key cannot be named `{0}`; use 1 to 64 of the characters `a-z`, `0-9`, `.`, `_` and `-`, \
         starting with a letter or digit, and none of `local`, `replay` and `unknown`"
    )]
    Name(String),
    /// A quota would admit nothing.
    #[error(
        "the quota `{0}` cannot be 0, because the key could never be used; use at least 1, or \
         `assay keys revoke`"
    )]
    ZeroQuota(Quota),
    /// The system has no random numbers.
    #[error("cannot create a key")]
    Random(#[from] std::io::Error),
    /// It cannot be stored.
    #[error(transparent)]
    Key(#[from] KeyError),
}

impl From<RecordError> for ManageError {
    fn from(error: RecordError) -> Self {
        Self::Key(error.into())
    }
}

fn is_name(name: &str) -> bool {
    let allowed = |byte: u8| {
        byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'.' | b'_' | b'-')
    };
    (1..=MAX_NAME).contains(&name.len())
        && name.bytes().all(allowed)
        && name.starts_with(|first: char| first.is_ascii_alphanumeric())
        && !RESERVED.contains(&name)
}

fn reject_zero(quotas: Quotas) -> Result<(), ManageError> {
    let zero = Quota::ALL
        .into_iter()
        .find(|quota| quota.limit(quotas) == Some(0));
    zero.map_or(Ok(()), |quota| Err(ManageError::ZeroQuota(quota)))
}

/// Creates a key and returns it. It is not stored and cannot be shown again.
///
/// # Errors
/// [`ManageError`]
pub async fn create(
    store: &dyn AccessStore,
    clock: &dyn Clock,
    by: &str,
    new: NewKey,
) -> Result<Key, ManageError> {
    if !is_name(&new.name) {
        return Err(ManageError::Name(new.name));
    }
    reject_zero(new.quotas)?;
    let secret = store.state().await?.secret;
    let key = Key::random()?;
    let record = KeyRecord {
        id: key.id().to_owned(),
        name: new.name,
        role: new.role,
        hash: key.hash(&secret),
        previous: None,
        quotas: new.quotas,
        created_us: clock.unix_us(),
        rotated_us: None,
        expires_us: new.expires_us,
        revoked_us: None,
        last_used_us: None,
        bytes_stored: 0,
    };
    let details = json!({
        "id": record.id, "role": record.role, "expires_us": record.expires_us,
        "quotas": record.quotas,
    });
    let audit = audit_entry(clock, by, "key.create", &record.name, details);
    store.create_key(&record, &audit).await?;
    Ok(key)
}

/// Changes a key, which keeps its secret, and returns it. Writes nothing if it is so already.
///
/// # Errors
/// [`ManageError`]
pub async fn change(
    store: &dyn AccessStore,
    clock: &dyn Clock,
    by: &str,
    name: &str,
    changes: KeyChanges,
) -> Result<KeyRecord, ManageError> {
    reject_zero(changes.quotas)?;
    replace(store, name, |old| {
        let mut quotas = old.quotas;
        for quota in &changes.no_quotas {
            *quota.limit_mut(&mut quotas) = None;
        }
        for quota in Quota::ALL {
            let limit = quota.limit_mut(&mut quotas);
            *limit = quota.limit(changes.quotas).or(*limit);
        }
        let new = KeyRecord {
            role: changes.role.unwrap_or(old.role),
            expires_us: changes.expires_us.unwrap_or(old.expires_us),
            quotas,
            ..old.clone()
        };
        let audit = audit_entry(clock, by, "key.change", name, differences(old, &new));
        (new, audit)
    })
    .await
}

/// The id of a key, and the old and new value of what differs.
fn differences(old: &KeyRecord, new: &KeyRecord) -> Value {
    let mut details = Map::from_iter([("id".to_owned(), json!(new.id))]);
    let mut compare = |name: &str, from: Value, to: Value| {
        if from != to {
            details.insert(name.to_owned(), json!({ "from": from, "to": to }));
        }
    };
    compare("role", json!(old.role), json!(new.role));
    compare("expires_us", json!(old.expires_us), json!(new.expires_us));
    for quota in Quota::ALL {
        let (from, to) = (quota.limit(old.quotas), quota.limit(new.quotas));
        compare(quota.as_str(), json!(from), json!(to));
    }
    details.into()
}

/// Gives a key a new secret and returns it. The old one is valid until `old_until_us`.
///
/// # Errors
/// [`ManageError`]
pub async fn rotate(
    store: &dyn AccessStore,
    clock: &dyn Clock,
    by: &str,
    name: &str,
    old_until_us: i64,
) -> Result<Key, ManageError> {
    let secret = store.state().await?.secret;
    // The id of a key never changes.
    let key = Key::with_id(&find(store, name).await?.id)?;
    replace(store, name, |old| {
        let new = KeyRecord {
            previous: Some((old.hash, old_until_us)),
            hash: key.hash(&secret),
            rotated_us: Some(clock.unix_us()),
            ..old.clone()
        };
        let details = json!({ "id": old.id, "old_until_us": old_until_us });
        (new, audit_entry(clock, by, "key.rotate", name, details))
    })
    .await?;
    Ok(key)
}

/// Revokes a key permanently.
///
/// # Errors
/// [`ManageError`]
pub async fn revoke(
    store: &dyn AccessStore,
    clock: &dyn Clock,
    by: &str,
    name: &str,
) -> Result<(), ManageError> {
    let revoked = replace(store, name, |old| {
        let new = KeyRecord {
            revoked_us: Some(clock.unix_us()),
            ..old.clone()
        };
        let audit = audit_entry(clock, by, "key.revoke", name, json!({ "id": old.id }));
        (new, audit)
    });
    revoked.await.map(drop)
}

/// Replaces a key by what `next` makes of it, and returns that. Starts again if the key is changed
/// meanwhile, so that no change is lost. Writes nothing if the key stays as it is.
async fn replace(
    store: &dyn AccessStore,
    name: &str,
    next: impl Fn(&KeyRecord) -> (KeyRecord, AuditEntry),
) -> Result<KeyRecord, ManageError> {
    loop {
        let old = find(store, name).await?;
        if old.revoked_us.is_some() {
            return Err(KeyError::Revoked(old.name).into());
        }
        let (new, audit) = next(&old);
        if new == old {
            return Ok(new);
        }
        match store.replace_key(&old, &new, &audit).await {
            Err(KeyError::Changed(_)) => {}
            replaced => return Ok(replaced.map(|()| new)?),
        }
    }
}

async fn find(store: &dyn AccessStore, name: &str) -> Result<KeyRecord, ManageError> {
    let keys = store.keys().await?;
    keys.into_iter()
        .find(|key| key.name == name)
        .ok_or_else(|| KeyError::Unknown(name.to_owned()).into())
}

/// An entry, with the current time, for an act of a caller without a role, such as
/// [`COMMAND_LINE`].
#[must_use]
pub fn audit_entry(
    clock: &dyn Clock,
    by: &str,
    action: &str,
    target: &str,
    details: Value,
) -> AuditEntry {
    AuditEntry {
        time_us: clock.unix_us(),
        caller: by.to_owned(),
        role: None,
        action: action.to_owned(),
        target: target.to_owned(),
        details,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_short_and_plain() {
        for name in ["a", "alice", "team-1.ci_x", "0"] {
            assert!(is_name(name), "{name}");
        }
        for name in [
            "", "local", "replay", "a:b", "a/b", "A", ".a", "-a", "é", "a b",
        ] {
            assert!(!is_name(name), "{name}");
        }
        assert!(!is_name(&"a".repeat(65)));
    }
}

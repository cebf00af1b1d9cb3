//! Keys of callers and the audit log: their data, and the trait of their storage. Verification of
//! keys is in `assay-access`.

use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;

use assay_core::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::RecordError;

/// Name of callers of a node that requires no keys. Their runs have no prefix.
pub const LOCAL_CALLER: &str = "local";

/// Separates the name of a caller from the name that it gave a run. Names of callers do not contain
/// it.
const SEPARATOR: char = ':';

/// The name under which a run of a caller with a namespace of its own is recorded: `caller:run`.
/// Runs of callers without a key are recorded as they are.
#[must_use]
pub fn recorded_run(caller: &str, run: &str) -> String {
    if caller == LOCAL_CALLER {
        run.to_owned()
    } else {
        format!("{caller}{SEPARATOR}{run}")
    }
}

/// The name of the caller with a namespace of its own to which a recorded run would belong, if
/// there is such a caller.
#[must_use]
pub fn namespace_of(recorded: &str) -> Option<&str> {
    recorded
        .split_once(SEPARATOR)
        .map(|(caller, _)| caller)
        .filter(|caller| !caller.is_empty())
}

/// The name that `caller` gave a recorded run; `None` if the run belongs to another caller.
#[must_use]
pub fn own_run<'r>(caller: &str, recorded: &'r str) -> Option<&'r str> {
    if caller == LOCAL_CALLER {
        return Some(recorded);
    }
    recorded.strip_prefix(caller)?.strip_prefix(SEPARATOR)
}

/// What a caller may do. A role includes all earlier ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Grades, and reads what it recorded.
    Trainer,
    /// Also records and reads dataset checks.
    Checker,
    /// Also reads the whole record, adjudicates, calibrates, and loads models.
    Operator,
    /// Also reads the list of keys.
    Admin,
}

impl Role {
    /// All roles, the least powerful first.
    pub const ALL: &'static [Self] = &[Self::Trainer, Self::Checker, Self::Operator, Self::Admin];

    /// Name of the role.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Trainer => "trainer",
            Self::Checker => "checker",
            Self::Operator => "operator",
            Self::Admin => "admin",
        }
    }

    /// Whether the role sees the runs and grades of all callers.
    #[must_use]
    pub fn sees_all(self) -> bool {
        self >= Self::Operator
    }
}

/// Who may call an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Anyone, without a key.
    Public,
    /// Callers with at least this role.
    Role(Role),
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A text is not the name of a role.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown role `{0}`; use `trainer`, `checker`, `operator` or `admin`")]
pub struct UnknownRole(String);

impl FromStr for Role {
    type Err = UnknownRole;

    fn from_str(text: &str) -> Result<Self, UnknownRole> {
        Self::ALL
            .iter()
            .copied()
            .find(|role| role.as_str() == text)
            .ok_or_else(|| UnknownRole(text.to_owned()))
    }
}

/// Limits of a key; `None` for no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quotas {
    /// Items that may be submitted in a minute.
    pub items_per_minute: Option<u64>,
    /// Seconds that graders may spend on its items in a minute.
    pub cpu_seconds_per_minute: Option<u64>,
    /// Items that may be in progress at the same time.
    pub items_in_flight: Option<u64>,
    /// Maximum number of bytes stored for it.
    pub bytes_stored: Option<u64>,
}

/// A key as it is stored. The key itself is not stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyRecord {
    /// Public part of the key, which identifies it.
    pub id: String,
    /// Name of the caller, unique among all keys.
    pub name: String,
    /// Its role.
    pub role: Role,
    /// Keyed hash of the key.
    pub hash: [u8; 32],
    /// Hash of the key before the last rotation, and until when that key is valid, in microseconds
    /// since the Unix epoch.
    pub previous: Option<([u8; 32], i64)>,
    /// Its quotas.
    pub quotas: Quotas,
    /// When it was created, in microseconds since the Unix epoch.
    pub created_us: i64,
    /// When it was last rotated.
    pub rotated_us: Option<i64>,
    /// When it expires.
    pub expires_us: Option<i64>,
    /// When it was revoked.
    pub revoked_us: Option<i64>,
    /// When it was last used. Written in the background, about once a minute.
    pub last_used_us: Option<i64>,
    /// Bytes stored for it in the database: grades, bodies and replies.
    pub bytes_stored: u64,
}

impl KeyRecord {
    /// Whether both are the same state of a key, apart from its use.
    #[must_use]
    pub fn is_same_state(&self, other: &Self) -> bool {
        let without_use = |key: &Self| Self {
            last_used_us: None,
            bytes_stored: 0,
            ..key.clone()
        };
        without_use(self) == without_use(other)
    }
}

/// What is written about the use of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyUse {
    /// Public part of the key.
    pub id: String,
    /// When it was last used, in microseconds since the Unix epoch.
    pub last_used_us: i64,
}

/// What a process of a node has admitted of the quotas of a key.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct QuotaUse {
    /// Public part of the key.
    pub key: String,
    /// Items admitted since the process started.
    pub items: i64,
    /// Time charged since then, in microseconds.
    pub cpu_us: i64,
    /// Items in progress.
    pub in_flight: i64,
}

/// The use of a key by another process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtherUse {
    /// Name that the process chose when it started.
    pub process: String,
    /// What it has admitted.
    pub used: QuotaUse,
}

/// An administrative act, as an entry of the audit log.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AuditEntry {
    /// When it happened, in microseconds since the Unix epoch.
    pub time_us: i64,
    /// Name of the caller; `command line` for commands that open the database, `unknown` for
    /// refused callers.
    pub caller: String,
    /// Role of the caller; `None` if it has none.
    pub role: Option<Role>,
    /// What was done, such as `key.create`.
    pub action: String,
    /// To what, such as the name of a key.
    pub target: String,
    /// Further details, a JSON object.
    pub details: Value,
}

/// A numbered entry of the audit log.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AuditRecord {
    /// Number, in the order of the log.
    pub no: i64,
    /// The entry.
    #[serde(flatten)]
    pub entry: AuditEntry,
}

/// What determines whether a node must read the keys again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AccessState {
    /// The secret under which keys are hashed.
    pub secret: [u8; 32],
    /// Changes with every change of a key other than its use.
    pub version: i64,
}

/// A key cannot be stored.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// A key has this name already, even if it was revoked.
    #[error("a key named `{0}` exists; choose another name, or rotate it if it was not revoked")]
    Exists(String),
    /// The record has runs whose names start with the prefix of this caller.
    #[error(
        "the record has runs whose names start with `{0}:`, which the key would see as its own; \
         choose another name"
    )]
    OwnsRuns(String),
    /// No key has this name.
    #[error("no key is named `{0}`; run `assay keys list`")]
    Unknown(String),
    /// The key was revoked.
    #[error("the key `{0}` was revoked; create one with another name")]
    Revoked(String),
    /// The key was changed after it was read.
    #[error("the key `{0}` was changed meanwhile; retry")]
    Changed(String),
    /// The storage failed.
    #[error(transparent)]
    Store(#[from] RecordError),
}

/// Storage of keys and of the audit log. Every change of a key is written together with its entry
/// in the audit log.
pub trait AccessStore: Send + Sync {
    /// The state of the keys.
    ///
    /// # Errors
    /// [`RecordError`], as all methods.
    fn state(&self) -> BoxFuture<'_, Result<AccessState, RecordError>>;

    /// All keys, by name.
    ///
    /// # Errors
    /// [`RecordError`], as all methods.
    fn keys(&self) -> BoxFuture<'_, Result<Vec<KeyRecord>, RecordError>>;

    /// Stores a new key.
    ///
    /// # Errors
    /// [`KeyError::Exists`], [`KeyError::OwnsRuns`].
    fn create_key<'a>(
        &'a self,
        key: &'a KeyRecord,
        audit: &'a AuditEntry,
    ) -> BoxFuture<'a, Result<(), KeyError>>;

    /// Replaces the key `old` by `new`, which has the same name, except for its use.
    ///
    /// # Errors
    /// [`KeyError::Unknown`]; [`KeyError::Revoked`], because a revoked key does not change;
    /// [`KeyError::Changed`] if the key is no longer as in `old`.
    fn replace_key<'a>(
        &'a self,
        old: &'a KeyRecord,
        new: &'a KeyRecord,
        audit: &'a AuditEntry,
    ) -> BoxFuture<'a, Result<(), KeyError>>;

    /// The bytes stored for each caller: grades, bodies and replies. Includes everything that was
    /// recorded before the call, even if it is not in the database yet.
    ///
    /// # Errors
    /// [`RecordError`], as all methods.
    fn held(&self) -> BoxFuture<'_, Result<HashMap<String, u64>, RecordError>>;

    /// Writes when keys were used.
    ///
    /// # Errors
    /// [`RecordError`], as all methods.
    fn record_use<'a>(&'a self, uses: &'a [KeyUse]) -> BoxFuture<'a, Result<(), RecordError>>;

    /// Whether nodes share the storage, so that each has to know what the others admit.
    fn is_shared(&self) -> bool;

    /// Writes what this process has admitted of the quotas of keys, and returns what all others
    /// have. Rows that are not written for ten seconds have no items in progress, and after an hour
    /// they are deleted.
    ///
    /// # Errors
    /// [`RecordError`], as all methods.
    fn exchange_uses<'a>(
        &'a self,
        uses: &'a [QuotaUse],
    ) -> BoxFuture<'a, Result<Vec<OtherUse>, RecordError>>;

    /// Appends an entry to the audit log.
    ///
    /// # Errors
    /// [`RecordError`], as all methods.
    fn append_audit<'a>(&'a self, entry: &'a AuditEntry) -> BoxFuture<'a, Result<(), RecordError>>;

    /// Entries of the audit log with a number below `before`, newest first, at most `limit`.
    ///
    /// # Errors
    /// [`RecordError`], as all methods.
    fn audit_log(
        &self,
        before: Option<i64>,
        limit: u32,
    ) -> BoxFuture<'_, Result<Vec<AuditRecord>, RecordError>>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_callers_have_separate_names() {
        assert_eq!(recorded_run(LOCAL_CALLER, "r"), "r");
        assert_eq!(recorded_run("alice", "r:1"), "alice:r:1");
        assert_eq!(own_run("alice", "alice:r:1"), Some("r:1"));
        assert_eq!(namespace_of("alice:r:1"), Some("alice"));
        assert_eq!((namespace_of("r"), namespace_of(":r")), (None, None));
        assert_eq!(own_run("alice", "alice2:r"), None);
        assert_eq!(own_run("alice", "bob:r"), None);
        assert_eq!(own_run(LOCAL_CALLER, "alice:r"), Some("alice:r"));
    }

    #[test]
    fn roles_are_ordered_and_parse() {
        assert!(Role::ALL.is_sorted());
        for role in Role::ALL {
            assert_eq!(role.as_str().parse(), Ok(*role));
        }
        assert!("root".parse::<Role>().is_err());
        assert!(!Role::Checker.sees_all() && Role::Operator.sees_all());
    }
}

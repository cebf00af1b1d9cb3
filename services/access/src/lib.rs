//! Owns who may call a node: keys and their verification, roles, quotas, the refusal of callers and
//! the entries of the audit log. Contains no HTTP and no database: `assay-record` has the trait of
//! the storage and implements it, and `assay-api` enforces what this crate decides.
//!
//! - `key`: the text of a key, and how it is hidden in logs;
//! - `keyring`: which keys are valid, in memory;
//! - `proxy`: which reverse proxies may name the user, and the roles of these users;
//! - `quota`: what a key may use, and what it has used;
//! - `session`: cookies of the pages;
//! - `gate`: authenticates callers, and keeps the keyring up to date;
//! - `work`: charges the time of work to a key;
//! - `manage`: creates, changes, rotates and revokes keys.

mod caller;
mod gate;
mod key;
mod keyring;
mod manage;
pub mod metrics;
mod proxy;
mod quota;
mod session;
mod work;

pub use caller::Caller;
pub use gate::{Denied, Gate, KeyPolicy, RunOfKey};
pub use key::{Key, MalformedKey, redact};
pub use keyring::RefusedKey;
pub use manage::{
    COMMAND_LINE, KeyChanges, ManageError, NewKey, audit_entry, change, create, revoke, rotate,
};
pub use proxy::{MalformedNetwork, Network, Proxies, RefusedUser, is_user_or_others};
pub use quota::{ExceededQuota, Meter, Quota, UnknownQuota};
pub use work::{WorkCharge, metered};

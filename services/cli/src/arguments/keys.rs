//! Arguments of the commands for keys and the audit log.

use assay_access::Quota;
use assay_record::access::{Quotas, Role};
use clap::{Args, Subcommand};

use super::seconds::parse_seconds;
use super::{OutputFormat, ServerKey};

#[derive(Debug, Args)]
pub(crate) struct Keys {
    #[command(subcommand)]
    pub(crate) action: Option<KeyAction>,
    /// Database URL [default: sqlite://assay.db]
    #[arg(long, value_name = "URL", global = true)]
    pub(crate) database: Option<String>,
    #[command(flatten)]
    pub(crate) output: OutputFormat,
}

#[derive(Debug, Subcommand)]
pub(crate) enum KeyAction {
    /// List all keys (the default)
    List,
    /// Create a key and print it; it cannot be shown again
    Create(CreateKey),
    /// Change the role, expiry or quotas of a key; a running server notices within two seconds
    Set(SetKey),
    /// Replace a key by a new one and print it
    Rotate {
        /// Name of the key
        name: String,
        /// How long the old key stays valid, such as `1h`
        #[arg(long, value_name = "TIME", default_value = "0s", value_parser = parse_seconds)]
        grace: u64,
    },
    /// Revoke a key permanently; a running server refuses it within two seconds
    Revoke {
        /// Name of the key
        name: String,
    },
    /// Show one key: its role, quotas, expiry and use
    Show {
        /// Name of the key
        name: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct CreateKey {
    /// Name of the caller, unique among all keys
    pub(crate) name: String,
    /// Role: `trainer`, `checker`, `operator` or `admin`
    #[arg(long, default_value = "trainer")]
    pub(crate) role: Role,
    /// How long the key is valid, such as `90d` [default: no limit]
    #[arg(long, value_name = "TIME", value_parser = parse_seconds)]
    pub(crate) expires: Option<u64>,
    #[command(flatten)]
    pub(crate) quotas: QuotaLimits,
}

#[derive(Debug, Args)]
pub(crate) struct SetKey {
    /// Name of the key
    pub(crate) name: String,
    /// New role: `trainer`, `checker`, `operator` or `admin`
    #[arg(long)]
    pub(crate) role: Option<Role>,
    /// How long the key is valid from now, such as `90d`
    #[arg(long, value_name = "TIME", value_parser = parse_seconds, conflicts_with = "no_expiry")]
    pub(crate) expires: Option<u64>,
    /// Let the key not expire
    #[arg(long)]
    pub(crate) no_expiry: bool,
    #[command(flatten)]
    pub(crate) quotas: QuotaLimits,
    /// Remove a quota, such as `items-per-minute`; can be repeated
    #[arg(long, value_name = "QUOTA")]
    pub(crate) no_quota: Vec<Quota>,
}

#[derive(Debug, Args)]
pub(crate) struct QuotaLimits {
    /// Maximum number of items in a minute
    #[arg(long, value_name = "N")]
    items_per_minute: Option<u64>,
    /// Maximum grading time in a minute, in seconds
    #[arg(long, value_name = "N")]
    cpu_seconds_per_minute: Option<u64>,
    /// Maximum number of items in progress
    #[arg(long, value_name = "N")]
    items_in_flight: Option<u64>,
    /// Maximum number of bytes stored for the key
    #[arg(long, value_name = "N")]
    bytes_stored: Option<u64>,
}

impl QuotaLimits {
    pub(crate) fn limits(&self) -> Quotas {
        Quotas {
            items_per_minute: self.items_per_minute,
            cpu_seconds_per_minute: self.cpu_seconds_per_minute,
            items_in_flight: self.items_in_flight,
            bytes_stored: self.bytes_stored,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct Audit {
    /// Number of entries to show, newest first; `--json` prints all, one per line
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub(crate) lines: u32,
    /// Read the log of this server, which needs a key with the role `operator` if it requires keys
    /// [env: ASSAY_SERVER]
    #[arg(long, value_name = "URL")]
    pub(crate) server: Option<String>,
    #[command(flatten)]
    pub(crate) key: ServerKey,
    /// Database URL [default: sqlite://assay.db]
    #[arg(long, value_name = "URL", conflicts_with = "server")]
    pub(crate) database: Option<String>,
    #[command(flatten)]
    pub(crate) output: OutputFormat,
}

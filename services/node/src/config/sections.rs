//! The sections of the configuration, with their defaults. [`Log`](super::Log) and
//! [`RewardModels`](super::RewardModels) have files of their own.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::time::Duration;

use assay_base::url::redacted;
use assay_engine::ChannelSettings;
use assay_rewards::Rates;
use assay_rewards::channel::Settings;
use assay_worker::Mechanism;
use serde::{Deserialize, Serialize};

use super::error::shown;
use super::server_url::ServerUrl;

/// Maximum number of worker threads, and of workers of each kind: far more than any machine has
/// cores, far less than can be started.
const MAX_WORKERS: usize = 1_024;

/// `[server]`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Server {
    /// Address to listen on.
    pub listen: SocketAddr,
    /// File with the certificate chain for TLS, in PEM; empty for no TLS. It is read again when it
    /// changes.
    pub tls_certificate: PathBuf,
    /// File with the private key of the certificate, in PEM.
    pub tls_key: PathBuf,
    /// Maximum size of a request body after decompression, in bytes.
    pub body_bytes: usize,
    /// Maximum memory of one parsed body, in bytes.
    pub parsed_bytes: usize,
    /// Maximum number of items in a batch.
    pub batch_items: usize,
    /// Maximum time for running batches to finish on shutdown, in seconds.
    pub shutdown_seconds: u64,
    /// Maximum number of open connections; 0 for as many as the limit on open files allows.
    pub connections: usize,
    /// Maximum time until the head of a connection's first request is complete, in seconds.
    pub head_seconds: u64,
    /// Maximum time that a connection is idle between two requests, in seconds.
    pub idle_seconds: u64,
    /// Maximum time without new data of a body, in seconds.
    pub body_pause_seconds: u64,
    /// Maximum time until a body is complete, in seconds.
    pub body_seconds: u64,
    /// Maximum time during which a client does not read its reply, in seconds.
    pub reply_pause_seconds: u64,
}

impl Default for Server {
    fn default() -> Self {
        let limits = assay_api::ApiLimits::default();
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 8080)),
            tls_certificate: PathBuf::new(),
            tls_key: PathBuf::new(),
            body_bytes: limits.body_bytes,
            parsed_bytes: limits.parsed_bytes,
            batch_items: limits.batch_items,
            shutdown_seconds: 30,
            connections: 0,
            head_seconds: limits.connections.head.as_secs(),
            idle_seconds: limits.connections.idle.as_secs(),
            body_pause_seconds: limits.body_pause.as_secs(),
            body_seconds: limits.body_total.as_secs(),
            reply_pause_seconds: limits.connections.reply_pause.as_secs(),
        }
    }
}

impl Server {
    /// Whether connections use TLS.
    #[must_use]
    pub fn has_tls(&self) -> bool {
        !(self.tls_certificate.as_os_str().is_empty() && self.tls_key.as_os_str().is_empty())
    }

    /// The setting that TLS lacks, if only one of its two is set.
    #[must_use]
    pub fn missing_tls_file(&self) -> Option<&'static str> {
        let files = [
            ("server.tls_certificate", &self.tls_certificate),
            ("server.tls_key", &self.tls_key),
        ];
        let missing = files.iter().find(|(_, file)| file.as_os_str().is_empty());
        missing.filter(|_| self.has_tls()).map(|(name, _)| *name)
    }

    /// The URL at which the server listens.
    #[must_use]
    pub fn url(&self) -> String {
        let scheme = if self.has_tls() { "https" } else { "http" };
        format!("{scheme}://{}", self.listen)
    }

    pub(super) fn check(&self) -> Result<(), String> {
        require_positive(&[
            ("server.body_bytes", self.body_bytes),
            ("server.parsed_bytes", self.parsed_bytes),
            ("server.batch_items", self.batch_items),
        ])?;
        let seconds = [
            ("server.head_seconds", self.head_seconds),
            ("server.idle_seconds", self.idle_seconds),
            ("server.body_pause_seconds", self.body_pause_seconds),
            ("server.body_seconds", self.body_seconds),
            ("server.reply_pause_seconds", self.reply_pause_seconds),
        ];
        let mut seconds = seconds.into_iter();
        seconds.try_for_each(|(setting, value)| require_within(setting, value, 1..=86_400))
    }
}

/// `[store]`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Store {
    /// URL of the database, SQLite or PostgreSQL; empty for no record.
    pub database: ServerUrl,
    /// Folder for what is recorded and not in the database yet; empty for `PATH.spool` next to an
    /// SQLite database, and `assay.spool` for PostgreSQL. Each node needs its own.
    #[serde(serialize_with = "serialize_lossy")]
    pub spool: PathBuf,
    /// What a reply waits for: `spool`, until its grades are on the disk of the node, or
    /// `database`, until the database has committed them.
    pub acknowledge: Acknowledgement,
    /// Whether words and phrases can be searched in completions and prompts. Their index is in a
    /// file next to an SQLite database, and in tables of a PostgreSQL database.
    pub text_search: bool,
}

/// Value of `store.acknowledge`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Acknowledgement {
    /// The spool has the grades.
    #[default]
    Spool,
    /// The database has them.
    Database,
}

impl Default for Store {
    fn default() -> Self {
        Self {
            database: "sqlite://assay.db".into(),
            spool: PathBuf::new(),
            acknowledge: Acknowledgement::Spool,
            text_search: false,
        }
    }
}

impl Store {
    /// A path of the node for a file or folder that is not in the database: `PATH.NAME` next to an
    /// SQLite database, `SPOOL.NAME` or `assay.NAME` for PostgreSQL, because nodes with one
    /// database have a spool each. `None` for a database in memory and without one.
    pub(crate) fn beside(&self, name: &str) -> Option<PathBuf> {
        let database = self.database.reveal();
        let mut path = if !database.starts_with("postgres") {
            assay_record::database_file(database)?.into_os_string()
        } else if self.spool.as_os_str().is_empty() {
            "assay".into()
        } else {
            self.spool.clone().into_os_string()
        };
        path.push(format!(".{name}"));
        Some(path.into())
    }

    pub(super) fn check(&self) -> Result<(), String> {
        const SCHEMES: [&str; 3] = ["sqlite:", "postgres://", "postgresql://"];
        let database = self.database.reveal();
        let is_known = SCHEMES.iter().any(|scheme| database.starts_with(scheme));
        if !database.is_empty() && !is_known {
            // Paths have no passwords, which URLs have after a colon.
            let (shown, hint) = if database.contains([':', '=']) {
                (redacted(database), String::new())
            } else {
                let path = database.escape_debug();
                (path.to_string(), format!("; write `sqlite://{path}`"))
            };
            return Err(format!(
                "`store.database` must be `sqlite://PATH`, `postgres://USER@HOST/NAME`, \
                 `sqlite::memory:` or empty: `{shown}`{hint}"
            ));
        }
        Ok(())
    }
}

/// `[engine]`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Engine {
    /// Maximum number of jobs of one caller on the worker threads, of which there are twice as
    /// many; 0 for one per core.
    pub workers: usize,
    /// Maximum number of admitted items. A caller may have as many as it leaves free to others, so
    /// one alone half of them; further batches are rejected with status 429.
    pub items_in_flight: usize,
    /// Maximum memory of all request bodies, raw and parsed, and of replies together, in bytes. A
    /// caller may use as much as it leaves free to others, so one alone half of it; further
    /// requests are rejected with status 429.
    pub body_bytes_in_flight: usize,
    /// Maximum length of a completion, in bytes; longer ones get the verdict `too_long`.
    pub completion_bytes: usize,
    /// Size of the cache of prepared tasks, in bytes.
    pub prepared_bytes: u64,
    /// Size of the cache of outcomes, in bytes; 0 disables it. Results of programs and queries are
    /// cached with prepared tasks in any case.
    pub outcome_bytes: u64,
    /// Maximum number of runs that one caller introduces; a batch with another one is rejected.
    pub runs_per_caller: usize,
    /// Maximum number of distinct prompts of a run; a batch with further ones is rejected.
    pub prompts_per_run: usize,
}

impl Default for Engine {
    fn default() -> Self {
        let limits = assay_engine::Limits::default();
        Self {
            workers: 0,
            items_in_flight: limits.items_in_flight,
            body_bytes_in_flight: limits.body_bytes_in_flight,
            completion_bytes: limits.completion_bytes,
            prepared_bytes: limits.prepared_bytes,
            outcome_bytes: limits.outcome_bytes,
            runs_per_caller: limits.runs_per_caller,
            prompts_per_run: limits.prompts_per_run,
        }
    }
}

impl Engine {
    pub(super) fn check(&self) -> Result<(), String> {
        check_workers("engine.workers", self.workers)?;
        require_positive(&[
            ("engine.items_in_flight", self.items_in_flight),
            ("engine.body_bytes_in_flight", self.body_bytes_in_flight),
            ("engine.completion_bytes", self.completion_bytes),
            ("engine.runs_per_caller", self.runs_per_caller),
            ("engine.prompts_per_run", self.prompts_per_run),
        ])
    }
}

/// `[sandbox_workers]`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SandboxWorkers {
    /// Number of workers of each kind, and maximum number of concurrent requests to them; 0 for one
    /// per core.
    pub count: usize,
    /// Folder of the images; empty for `assay/images` in the user's cache folder.
    #[serde(serialize_with = "serialize_lossy")]
    pub images: PathBuf,
    /// Folder of packaged images, which are compiled into `images` at their first use; empty for
    /// `../share/assay/images`, relative to the folder of the binary.
    #[serde(serialize_with = "serialize_lossy")]
    pub packages: PathBuf,
    /// Binary of the workers; empty for the binary of this process.
    #[serde(serialize_with = "serialize_lossy")]
    pub program: PathBuf,
    /// Number of requests after which a worker is replaced.
    pub uses: u32,
    /// Kernel mechanisms that must confine workers: `seccomp`, `landlock`, `namespaces`. The node
    /// does not start without them.
    pub require: Vec<Mechanism>,
}

impl Default for SandboxWorkers {
    fn default() -> Self {
        Self {
            count: 0,
            images: PathBuf::new(),
            packages: PathBuf::new(),
            program: PathBuf::new(),
            uses: 2_000,
            require: Vec::new(),
        }
    }
}

impl SandboxWorkers {
    pub(super) fn check(&self) -> Result<(), String> {
        check_workers("sandbox_workers.count", self.count)?;
        if self.uses == 0 {
            return Err("`sandbox_workers.uses` must be at least 1".to_owned());
        }
        Ok(())
    }
}

/// `[receipts]`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Receipts {
    /// File of the Ed25519 key that signs receipts, in PEM (PKCS #8), which is created if it does
    /// not exist; empty for `PATH.receipts.pem` next to an SQLite database, and for PostgreSQL,
    /// `SPOOL.receipts.pem` next to `store.spool`, or `assay.receipts.pem` if that is empty.
    /// Without a database in a file there are no receipts unless it is set.
    pub key: PathBuf,
}

impl Receipts {
    /// The file of the key; `None` if there is none.
    #[must_use]
    pub fn key_file(&self, store: &Store) -> Option<PathBuf> {
        if self.key.as_os_str().is_empty() {
            store.beside("receipts.pem")
        } else {
            Some(self.key.clone())
        }
    }
}

/// `[sql]`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Sql {
    /// URL of a PostgreSQL server that is used only for tasks, with a superuser; empty for none.
    pub postgres: ServerUrl,
    /// Time limit of a statement on this server, in seconds of wall time.
    pub statement_seconds: u64,
    /// Maximum number of task databases on this server.
    pub postgres_databases: usize,
    /// Maximum size of the result rows of a task's gold queries over all its databases, in bytes.
    /// The same limit applies to a prediction.
    pub result_bytes: u64,
}

impl Default for Sql {
    fn default() -> Self {
        Self {
            postgres: ServerUrl::default(),
            statement_seconds: 10,
            postgres_databases: 200,
            result_bytes: 256 << 20,
        }
    }
}

impl Sql {
    pub(super) fn check(&self) -> Result<(), String> {
        let postgres = self.postgres.reveal();
        if !postgres.is_empty()
            && !["postgres://", "postgresql://"]
                .iter()
                .any(|scheme| postgres.starts_with(scheme))
        {
            return Err(
                "`sql.postgres` must be a URL such as `postgres://user:password@host/database`"
                    .to_owned(),
            );
        }
        require_within("sql.statement_seconds", self.statement_seconds, 1..=3_600)?;
        if self.postgres_databases == 0 {
            return Err("`sql.postgres_databases` must be at least 1".to_owned());
        }
        if self.result_bytes == 0 {
            return Err("`sql.result_bytes` must be at least 1".to_owned());
        }
        Ok(())
    }
}

/// `[channels]`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Channels {
    /// Number of items of a channel after which the weight of an item in its rates is halved.
    pub half_life_items: f64,
    /// Weight of the rates of a grader's other channels, as a number of checks.
    pub prior_checks: f64,
    /// Seconds after which the rates are read from the record again, in the background when a batch
    /// arrives; 0 to read them before every batch.
    pub refresh_seconds: f64,
    /// Maximum number of channels that one caller introduces; a batch with further ones is
    /// rejected. The channels of items without `channel` do not count.
    pub per_caller: usize,
    /// Rates declared by the author of the tasks, by channel, such as `"math/default" = { rho0 =
    /// 0.01, rho1 = 0.1 }`.
    pub rates: BTreeMap<String, Rates>,
}

impl Default for Channels {
    fn default() -> Self {
        let ChannelSettings { estimate, refresh } = ChannelSettings::default();
        Self {
            half_life_items: estimate.half_life,
            prior_checks: estimate.prior_checks,
            refresh_seconds: refresh.as_secs_f64(),
            per_caller: assay_engine::Limits::default().channels_per_caller,
            rates: BTreeMap::new(),
        }
    }
}

impl Channels {
    pub(super) fn check(&self) -> Result<(), String> {
        let half_life = self.half_life_items;
        if !(half_life.is_finite() && half_life >= 1.0) {
            return Err(format!(
                "`channels.half_life_items` must be at least 1: {half_life}"
            ));
        }
        for (key, value) in [
            ("prior_checks", self.prior_checks),
            ("refresh_seconds", self.refresh_seconds),
        ] {
            if !(0.0..=1e9).contains(&value) {
                return Err(format!(
                    "`channels.{key}` must be between 0 and 1e9: {value}"
                ));
            }
        }
        require_positive(&[("channels.per_caller", self.per_caller)])?;
        for (channel, rates) in &self.rates {
            if channel.split_once('/').is_none() || rates.j() <= 0.0 {
                return Err(format!(
                    "`channels.rates.{}`: the channel must be a grader and a task family, such \
                     as `math/default`, and the sum of its rates must be less than 1",
                    shown(channel)
                ));
            }
        }
        Ok(())
    }

    /// Converts to settings of the engine.
    #[must_use]
    pub fn settings(&self) -> ChannelSettings {
        ChannelSettings {
            estimate: Settings {
                half_life: self.half_life_items,
                prior_checks: self.prior_checks,
                declared: self.rates.clone(),
            },
            refresh: Duration::from_secs_f64(self.refresh_seconds),
        }
    }
}

/// Rejects limits of 0, which would reject all work.
fn require_positive(limits: &[(&str, usize)]) -> Result<(), String> {
    match limits.iter().find(|(_, limit)| *limit == 0) {
        Some((setting, _)) => Err(format!("`{setting}` must be at least 1")),
        None => Ok(()),
    }
}

/// Rejects a number out of its range.
pub(super) fn require_within<T: PartialOrd + Display + Copy>(
    setting: &str,
    value: T,
    range: RangeInclusive<T>,
) -> Result<(), String> {
    if range.contains(&value) {
        return Ok(());
    }
    let (low, high) = (range.start(), range.end());
    Err(format!(
        "`{setting}` must be between {low} and {high}: {value}"
    ))
}

/// Rejects a number of threads or workers that is out of range.
pub(super) fn check_workers(setting: &str, count: usize) -> Result<(), String> {
    if count <= MAX_WORKERS {
        return Ok(());
    }
    Err(format!(
        "`{setting}` must be between 0 (one per core) and {MAX_WORKERS}: {count}"
    ))
}

/// Serialises a path, with bytes that are not UTF-8 replaced.
pub(super) fn serialize_lossy<S: serde::Serializer>(
    path: &Path,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&path.to_string_lossy())
}

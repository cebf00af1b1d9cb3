//! Configuration: a TOML file, then `ASSAY_*` variables, then flags. Unknown keys of the file are
//! errors, unknown variables warnings.
//!
//! `ASSAY_ENGINE_WORKERS=4` sets `workers` of the table `[engine]`. Later sources override earlier
//! ones.

mod environment;
mod error;
mod fetching;
mod reward_models;
mod server_url;

pub use error::ConfigError;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use assay_engine::{ChannelSettings, Policies};
use assay_rewards::channel::Settings;
use assay_rewards::{PolicyError, Rates};
use assay_worker::Wall;
use serde::{Deserialize, Serialize};
use toml::{Table, Value};

use self::environment::Environment;
pub use self::error::UnknownVariable;
pub use self::fetching::Fetching;
pub use self::reward_models::RewardModels;
pub use self::server_url::ServerUrl;

/// Maximum number of worker threads: far more than any machine has cores, far less than a process
/// can start.
const MAX_WORKERS: usize = 1_024;

/// The file that is read by default if it exists.
pub const DEFAULT_FILE: &str = "assay.toml";

/// The configuration of a node. Every key has a default.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// HTTP server.
    pub server: Server,
    /// The record.
    pub store: Store,
    /// Limits of grading.
    pub engine: Engine,
    /// Processes that run untrusted work.
    pub sandbox_workers: SandboxWorkers,
    /// The database server for queries in PostgreSQL, and limits of queries.
    pub sql: Sql,
    /// Error rates of verifiers.
    pub channels: Channels,
    /// Reward models.
    pub reward_models: RewardModels,
    /// Reward policies by name.
    pub policies: BTreeMap<String, Table>,
    /// Logging.
    pub log: Log,
}

/// `[server]`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Server {
    /// Address to listen on.
    pub listen: SocketAddr,
    /// Whether to allow a listen address that is not loopback, and any `Host`, although callers are
    /// not authenticated.
    pub insecure: bool,
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
            insecure: false,
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
    fn check(&self) -> Result<(), String> {
        let seconds = [
            ("head_seconds", self.head_seconds),
            ("idle_seconds", self.idle_seconds),
            ("body_pause_seconds", self.body_pause_seconds),
            ("body_seconds", self.body_seconds),
            ("reply_pause_seconds", self.reply_pause_seconds),
        ];
        match seconds
            .iter()
            .find(|(_, value)| !(1..=86_400).contains(value))
        {
            Some((key, value)) => Err(format!(
                "`server.{key}` must be between 1 and 86400: {value}"
            )),
            None => Ok(()),
        }
    }
}

/// `[store]`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Store {
    /// URL of the SQLite database; empty for no record.
    pub database: String,
}

impl Default for Store {
    fn default() -> Self {
        Self {
            database: "sqlite://assay.db".to_owned(),
        }
    }
}

/// `[engine]`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Engine {
    /// Number of worker threads; 0 for one per core.
    pub workers: usize,
    /// Maximum number of admitted items; further batches are rejected with status 429.
    pub items_in_flight: usize,
    /// Maximum memory of all request bodies together, raw and parsed, in bytes; further requests
    /// are rejected with status 429.
    pub body_bytes_in_flight: usize,
    /// Maximum length of a completion, in bytes; longer ones get the verdict `too_long`.
    pub completion_bytes: usize,
    /// Size of the cache of prepared tasks, in bytes.
    pub prepared_bytes: u64,
    /// Size of the cache of outcomes, in bytes; 0 disables it. Results of programs and queries are
    /// cached with prepared tasks in any case.
    pub outcome_bytes: u64,
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
        }
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
    /// Binary of the workers; empty for the binary of this process.
    #[serde(serialize_with = "serialize_lossy")]
    pub program: PathBuf,
    /// Number of requests after which a worker is replaced.
    pub uses: u32,
    /// Kernel mechanisms that must confine workers: `seccomp`, `landlock`, `namespaces`. The node
    /// does not start without them.
    pub require: Vec<Wall>,
}

impl Default for SandboxWorkers {
    fn default() -> Self {
        Self {
            count: 0,
            images: PathBuf::new(),
            program: PathBuf::new(),
            uses: 2_000,
            require: Vec::new(),
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

/// `[channels]`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Channels {
    /// Number of items of a channel after which the weight of an item in its rates is halved.
    pub half_life_items: f64,
    /// Weight of the rates of a grader's other channels, as a number of checks.
    pub prior_checks: f64,
    /// Seconds after which a batch reads the rates from the record again; 0 to read them for every
    /// batch.
    pub refresh_seconds: f64,
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
            rates: BTreeMap::new(),
        }
    }
}

impl Channels {
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

/// `[log]`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Log {
    /// Filter in the syntax of `tracing`, such as `info,assay_engine=debug`.
    pub filter: String,
    /// Format of log lines: `text` or `json`.
    pub format: LogFormat,
    /// URL of an OpenTelemetry collector that receives traces over HTTP, such as
    /// `http://127.0.0.1:4318`; empty for none.
    pub traces: String,
}

impl Default for Log {
    fn default() -> Self {
        Self {
            filter: "info".to_owned(),
            format: LogFormat::Text,
            traces: String::new(),
        }
    }
}

/// Format of log lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogFormat {
    /// Text for people.
    Text,
    /// One JSON object per line.
    Json,
}

/// A configuration and the warnings from reading it.
#[derive(Debug)]
pub struct Loaded {
    /// The configuration.
    pub config: Config,
    /// Variables that match no setting.
    pub unknown: Vec<UnknownVariable>,
}

impl Loaded {
    /// Logs a warning for each variable that matches no setting.
    pub fn warn(&self) {
        for unknown in &self.unknown {
            tracing::warn!("{unknown}");
        }
    }
}

/// A setting from a flag: table, key, value.
pub type Override = (&'static str, &'static str, Value);

impl Config {
    /// [`Config::read`] without the warnings.
    ///
    /// # Errors
    /// As [`Config::read`].
    pub fn load<N: Into<OsString>, V: Into<OsString>>(
        file: Option<&Path>,
        variables: impl IntoIterator<Item = (N, V)>,
        flags: Vec<Override>,
    ) -> Result<Self, ConfigError> {
        Self::read(file, variables, flags).map(|loaded| loaded.config)
    }

    /// Reads the file (by default [`DEFAULT_FILE`], if it exists), then variables, then flags.
    ///
    /// # Errors
    /// [`ConfigError`], with the file, variable or flag that sets the invalid key or value.
    pub fn read<N: Into<OsString>, V: Into<OsString>>(
        file: Option<&Path>,
        variables: impl IntoIterator<Item = (N, V)>,
        flags: Vec<Override>,
    ) -> Result<Loaded, ConfigError> {
        let (mut table, origin) = match file {
            Some(path) => (read(path)?, format!("`{}`", path.display())),
            None if Path::new(DEFAULT_FILE).exists() => {
                (read(Path::new(DEFAULT_FILE))?, format!("`{DEFAULT_FILE}`"))
            }
            None => (Table::new(), "the defaults".to_owned()),
        };
        check(&table, &origin)?;
        let Environment {
            settings,
            unknown,
            cache,
        } = Environment::read(variables, &known_settings())?;
        for setting in settings {
            set(&mut table, &setting.section, &setting.key, setting.value);
            check(&table, &format!("`{}`", setting.variable))?;
        }
        for (section, key, value) in flags {
            set(&mut table, section, key, value);
            check(&table, &format!("the flag for `{section}.{key}`"))?;
        }
        let mut config =
            parse(&table).map_err(|message| ConfigError::Invalid { origin, message })?;
        if config.sandbox_workers.images.as_os_str().is_empty() {
            config.sandbox_workers.images = cache.join("assay").join("images");
        }
        Ok(Loaded { config, unknown })
    }

    /// Rejects variables that match no setting, except those that Kubernetes sets.
    ///
    /// # Errors
    /// [`ConfigError::UnknownVariable`] for the first unknown variable, and
    /// [`ConfigError::Invalid`] for a setting that is not UTF-8.
    pub fn reject_unknown<N: Into<OsString>, V: Into<OsString>>(
        variables: impl IntoIterator<Item = (N, V)>,
    ) -> Result<(), ConfigError> {
        let unknown = Environment::read(variables, &known_settings())?.unknown;
        unknown
            .into_iter()
            .next()
            .map_or(Ok(()), |first| Err(ConfigError::UnknownVariable(first)))
    }

    /// Parses the reward policies.
    ///
    /// # Errors
    /// The name of the first invalid policy, and the reason.
    pub fn policies(&self) -> Result<Policies, (String, PolicyError)> {
        let named: Vec<(&str, serde_json::Value)> = self
            .policies
            .iter()
            // Only dates in a TOML table have no JSON form, and no policy has dates.
            .map(|(name, table)| (name.as_str(), serde_json::to_value(table).unwrap_or_default()))
            .collect();
        Policies::new(named.iter().map(|(name, json)| (*name, json)))
    }

    /// The configuration as a TOML file, without passwords.
    #[must_use]
    pub fn to_toml(&self) -> String {
        // Tables of numbers, booleans and texts can always be serialised.
        toml::to_string(self).unwrap_or_default()
    }
}

/// Serialises a path, with bytes that are not UTF-8 replaced.
fn serialize_lossy<S: serde::Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&path.to_string_lossy())
}

fn read(path: &Path) -> Result<Table, ConfigError> {
    let text = std::fs::read_to_string(path).map_err(|error| ConfigError::Unreadable {
        path: path.to_owned(),
        error,
    })?;
    text.parse().map_err(|error: toml::de::Error| {
        let before = error.span().map_or(0, |span| span.start).min(text.len());
        let line = 1 + text
            .bytes()
            .take(before)
            .filter(|byte| *byte == b'\n')
            .count();
        ConfigError::NotToml {
            path: path.to_owned(),
            line,
            message: error.message().to_owned(),
        }
    })
}

fn set(table: &mut Table, section: &str, key: &str, value: Value) {
    let entry = table
        .entry(section)
        .or_insert_with(|| Value::Table(Table::new()));
    if let Value::Table(inner) = entry {
        inner.insert(key.to_owned(), value);
    }
}

fn check(table: &Table, origin: &str) -> Result<(), ConfigError> {
    parse(table)
        .map(drop)
        .map_err(|message| ConfigError::Invalid {
            origin: origin.to_owned(),
            message,
        })
}

fn parse(table: &Table) -> Result<Config, String> {
    let config: Config = table
        .clone()
        .try_into()
        .map_err(|error: toml::de::Error| error.message().to_owned())?;
    if config.engine.workers > MAX_WORKERS {
        return Err(format!(
            "`engine.workers` must be between 0 (one per core) and {MAX_WORKERS}: {}",
            config.engine.workers
        ));
    }
    if !config.server.listen.ip().is_loopback() && !config.server.insecure {
        return Err(format!(
            "callers are not authenticated, so anyone who can reach `{}` could grade and read the \
             record; listen on loopback, or set `server.insecure = true` behind a proxy that \
             authenticates",
            config.server.listen
        ));
    }
    config.server.check()?;
    if config.sandbox_workers.uses == 0 {
        return Err("`sandbox_workers.uses` must be at least 1".to_owned());
    }
    let postgres = config.sql.postgres.reveal();
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
    if !(1..=3_600).contains(&config.sql.statement_seconds) {
        return Err(format!(
            "`sql.statement_seconds` must be between 1 and 3600: {}",
            config.sql.statement_seconds
        ));
    }
    let channels = &config.channels;
    let half_life = channels.half_life_items;
    if !(half_life.is_finite() && half_life >= 1.0) {
        return Err(format!(
            "`channels.half_life_items` must be at least 1: {half_life}"
        ));
    }
    for (key, value) in [
        ("prior_checks", channels.prior_checks),
        ("refresh_seconds", channels.refresh_seconds),
    ] {
        if !(0.0..=1e9).contains(&value) {
            return Err(format!(
                "`channels.{key}` must be between 0 and 1e9: {value}"
            ));
        }
    }
    for (channel, rates) in &channels.rates {
        if channel.split_once('/').is_none() || rates.j() <= 0.0 {
            return Err(format!(
                "`channels.rates.{channel}`: the channel must be a grader and a task family, such \
                 as `math/default`, and the sum of its rates must be less than 1"
            ));
        }
    }
    config.reward_models.check()?;
    config
        .policies()
        .map_err(|(name, error)| format!("`policies.{name}`: {error}"))?;
    if config.sql.postgres_databases == 0 {
        return Err("`sql.postgres_databases` must be at least 1".to_owned());
    }
    if config.sql.result_bytes == 0 {
        return Err("`sql.result_bytes` must be at least 1".to_owned());
    }
    Ok(config)
}

/// Table and key of every setting that a variable can set.
fn known_settings() -> Vec<(String, String)> {
    // The default configuration can always be serialised.
    let tables = Table::try_from(Config::default()).unwrap_or_default();
    let keys = tables
        .into_iter()
        .filter_map(|(section, table)| match table {
            Value::Table(table) => Some(
                table
                    .into_iter()
                    .map(move |(key, _)| (section.clone(), key)),
            ),
            _ => None,
        });
    keys.flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(
        text: &str,
        variables: &[(&str, &str)],
        flags: Vec<Override>,
    ) -> Result<Config, ConfigError> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("assay.toml");
        std::fs::write(&file, text).unwrap();
        let variables = variables
            .iter()
            .map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
        Config::load(Some(&file), variables, flags)
    }

    #[test]
    fn flags_override_variables_and_variables_override_the_file() {
        let file = "[engine]\nworkers = 1\nitems_in_flight = 10\nprepared_bytes = 5\n";
        let variables = [
            ("ASSAY_ENGINE_WORKERS", "2"),
            ("ASSAY_ENGINE_ITEMS_IN_FLIGHT", "20"),
            ("HOME", "/"),
        ];
        let config = load(
            file,
            &variables,
            vec![("engine", "workers", Value::Integer(3))],
        )
        .unwrap();
        let engine = config.engine;
        assert_eq!(
            (
                engine.workers,
                engine.items_in_flight,
                engine.prepared_bytes
            ),
            (3, 20, 5)
        );
    }

    #[test]
    fn rejects_unknown_keys_with_their_origin() {
        let error = load("[engine]\nworker = 1\n", &[], Vec::new())
            .unwrap_err()
            .to_string();
        assert!(error.contains("unknown field `worker`"), "{error}");
        let error = load("", &[("ASSAY_ENGINE_WORKERS", "many")], Vec::new())
            .unwrap_err()
            .to_string();
        assert!(
            error.starts_with("`ASSAY_ENGINE_WORKERS`: invalid type"),
            "{error}"
        );
    }

    #[test]
    fn unknown_variables_are_warnings_unless_rejected() {
        let variables = [
            ("ASSAY_ENGINE_WORKER", "1"),
            ("ASSAY_PORT", "tcp://10.0.0.1:80"),
        ];
        let loaded = Config::read(None, variables, Vec::new()).unwrap();
        assert_eq!(loaded.unknown.len(), 1);
        let error = Config::reject_unknown(variables).unwrap_err().to_string();
        assert!(
            error.contains(
                "`ASSAY_ENGINE_WORKER` is not a known setting; the most similar is \
                 `ASSAY_ENGINE_WORKERS`"
            ),
            "{error}"
        );
        Config::reject_unknown([("ASSAY_PORT", "tcp://10.0.0.1:80")]).unwrap();
    }

    #[test]
    fn prints_paths_that_are_not_utf_8() {
        use std::os::unix::ffi::OsStrExt;
        let home = std::ffi::OsStr::from_bytes(b"/home/\xff");
        let config =
            Config::load(None, [(std::ffi::OsStr::new("HOME"), home)], Vec::new()).unwrap();
        assert!(
            config
                .to_toml()
                .contains("images = \"/home/\u{fffd}/.cache/assay/images\""),
            "{}",
            config.to_toml()
        );
    }

    #[test]
    fn printed_configuration_round_trips() {
        let config = Config::default();
        let mut read = load(&config.to_toml(), &[], Vec::new()).unwrap();
        assert!(
            read.sandbox_workers.images.ends_with("assay/images"),
            "an empty folder selects the user's cache folder"
        );
        read.sandbox_workers.images = PathBuf::new();
        assert_eq!(read, config);
    }

    #[test]
    fn redacts_passwords() {
        let printed = |url: &str| {
            let variables = [("ASSAY_SQL_POSTGRES", url)];
            let config = load("", &variables, Vec::new()).unwrap();
            assert_eq!(config.sql.postgres.reveal(), url);
            let line = config
                .to_toml()
                .lines()
                .find(|line| line.starts_with("postgres = "))
                .unwrap()
                .to_owned();
            assert_eq!(
                format!("{:?}", config.sql.postgres),
                line.trim_start_matches("postgres = ")
            );
            line
        };
        assert_eq!(
            printed("postgres://me:a@b:c@host:5/db"),
            "postgres = \"postgres://me:***@host:5/db\""
        );
        assert_eq!(
            printed("postgres://me@host/db?password=x&a=b"),
            "postgres = \"postgres://me@host/db?password=***&a=b\""
        );
        let error = load(
            "\n[sql]\npostgres = \"postgres://me:secret@host\n",
            &[],
            Vec::new(),
        )
        .unwrap_err()
        .to_string();
        assert!(
            error.contains("is not valid TOML, line 3: ") && !error.contains("secret"),
            "{error}"
        );
        let error = load("", &[("ASSAY_SQL_POSTGRES", "me:secret@host")], Vec::new())
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("`sql.postgres` must be a URL") && !error.contains("secret"),
            "{error}"
        );
    }

    #[test]
    fn reads_reward_models_with_their_options() {
        let file = "[reward_models]\ndefault = \"rm\"\n[reward_models.load.rm]\nsource = \
                    \"org/rm\"\npooling = \"hf_nonpad\"\n";
        let variables = [
            ("ASSAY_REWARD_MODELS_QUEUE_TOKENS", "7"),
            ("ASSAY_REWARD_MODELS_FOLDER", "weights"),
        ];
        let models = load(file, &variables, Vec::new()).unwrap().reward_models;
        assert_eq!(
            (models.queue_tokens, models.folder.to_str()),
            (7, Some("weights"))
        );
        let loads = models.loads().unwrap();
        assert_eq!(
            (loads[0].0.as_str(), loads[0].1.source.as_deref()),
            ("rm", Some("org/rm"))
        );
        let options = serde_json::json!({ "pooling": "hf_nonpad" });
        assert_eq!(loads[0].1.options.as_ref(), options.as_object());
        for (invalid, message) in [
            ("default = \"rm\"", "is not in `reward_models.load`"),
            ("device = \"gpu\"", "`cuda:0`"),
            (
                "queue_tokens = 0",
                "`reward_models.queue_tokens` must be at least 1",
            ),
            ("threads = 5000", "0 (one per core)"),
            (
                "[reward_models.load.rm]\npooling = \"last\"",
                "needs a `source`",
            ),
            (
                "[reward_models.load.\"\"]\nsource = \"a\"",
                "1 to 64 characters",
            ),
            (
                "[reward_models.load.rm]\nsource = \"a\"\npoling = \"last\"",
                "unknown field `poling`",
            ),
        ] {
            let error = load(&format!("[reward_models]\n{invalid}\n"), &[], Vec::new())
                .unwrap_err()
                .to_string();
            assert!(error.contains(message), "{error}");
        }
    }

    #[test]
    fn rejects_zero_result_bytes() {
        assert_eq!(
            load("[sql]\nresult_bytes = 1\n", &[], Vec::new())
                .unwrap()
                .sql
                .result_bytes,
            1
        );
        let error = load("[sql]\nresult_bytes = 0\n", &[], Vec::new())
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("`sql.result_bytes` must be at least 1"),
            "{error}"
        );
    }

    #[test]
    fn rejects_time_limits_of_zero() {
        let keys = [
            "head_seconds",
            "idle_seconds",
            "body_pause_seconds",
            "body_seconds",
            "reply_pause_seconds",
        ];
        for key in keys {
            let error = load(&format!("[server]\n{key} = 0\n"), &[], Vec::new())
                .unwrap_err()
                .to_string();
            assert!(
                error.contains(&format!("`server.{key}` must be between 1 and 86400: 0")),
                "{error}"
            );
        }
    }

    #[test]
    fn rejects_addresses_other_than_loopback_unless_insecure() {
        let open = "[server]\nlisten = \"0.0.0.0:8080\"\n";
        assert!(load(open, &[], Vec::new()).is_err());
        assert!(load(&format!("{open}insecure = true\n"), &[], Vec::new()).is_ok());
    }
}

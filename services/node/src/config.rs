//! Configuration: a TOML file, then `ASSAY_*` variables, then flags. Unknown keys of the file are
//! errors, unknown variables warnings.
//!
//! `ASSAY_ENGINE_WORKERS=4` sets `workers` of the table `[engine]`; a flag says the same as
//! `engine.workers=4`.

mod environment;
mod fetching;
mod reward_models;
mod server_url;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use assay_correction::channel::Settings;
use assay_correction::{PolicyError, Rates};
use assay_engine::{ChannelSettings, Policies};
use assay_worker::Wall;
use serde::{Deserialize, Serialize};
use toml::{Table, Value};

use self::environment::Environment;
pub use self::environment::UnknownVariable;
pub use self::fetching::Fetching;
pub use self::reward_models::RewardModels;
pub use self::server_url::ServerUrl;

/// Most worker threads: far above the cores of any machine, far below what a process may start.
const MAX_WORKERS: usize = 1_024;

/// The file that is read when no other is named and it exists.
pub const DEFAULT_FILE: &str = "assay.toml";

/// What a node is configured with. Every key has a default.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Where and how it serves.
    pub server: Server,
    /// Where the record is kept.
    pub store: Store,
    /// What bounds grading.
    pub engine: Engine,
    /// Where untrusted work runs.
    pub sandbox_workers: SandboxWorkers,
    /// Where queries run that workers cannot.
    pub sql: Sql,
    /// What is known of verifiers' noise.
    pub channels: Channels,
    /// Which reward models are loaded, and how they run.
    pub reward_models: RewardModels,
    /// Policies by name: what rewards are made of.
    pub policies: BTreeMap<String, Table>,
    /// What is logged.
    pub log: Log,
}

/// `[server]`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Server {
    /// Address to listen on.
    pub listen: SocketAddr,
    /// Listen beyond loopback although callers are not authenticated.
    pub insecure: bool,
    /// Largest request body after unpacking, in bytes.
    pub body_bytes: usize,
    /// Most memory that one body may take when parsed, in bytes.
    pub parsed_bytes: usize,
    /// Most items in a batch.
    pub batch_items: usize,
    /// Seconds that running batches may take to finish on shutdown.
    pub shutdown_seconds: u64,
    /// Most open connections; 0 for as many as the limit on open files allows.
    pub connections: usize,
    /// Seconds for the head of a connection's first request to arrive.
    pub head_seconds: u64,
    /// Seconds that a connection may be idle between two requests.
    pub idle_seconds: u64,
    /// Longest pause in seconds while a body arrives.
    pub body_pause_seconds: u64,
    /// Seconds for a whole body to arrive.
    pub body_seconds: u64,
    /// Seconds that a client may stop reading its reply.
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
    /// URL of the database; empty for no record.
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
    /// Worker threads; 0 for one a core.
    pub workers: usize,
    /// Items admitted at once.
    pub items_in_flight: usize,
    /// Bytes of memory that all request bodies together may take, raw and parsed.
    pub body_bytes_in_flight: usize,
    /// Longest completion that is graded, in bytes; longer ones are `too_long`.
    pub completion_bytes: usize,
    /// Bytes of prepared tasks kept.
    pub prepared_bytes: u64,
    /// Bytes of outcomes kept; 0 grades everything anew.
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
    /// Workers of each kind, and requests of untrusted work at once; 0 for one per core.
    pub count: usize,
    /// Folder of the images; empty for `assay/images` in the user's cache folder.
    #[serde(serialize_with = "printed")]
    pub images: PathBuf,
    /// Binary that workers are started from; empty for this one.
    #[serde(serialize_with = "printed")]
    pub program: PathBuf,
    /// Requests after which a worker is replaced.
    pub uses: u32,
    /// Kernel mechanisms that must confine workers; the node does not start without them.
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
    /// URL of a PostgreSQL server set aside for tasks, as a superuser; empty for none.
    pub postgres: ServerUrl,
    /// Wall time a statement may take on it, in seconds.
    pub statement_seconds: u64,
    /// Most databases of tasks that are kept on it.
    pub postgres_databases: usize,
    /// Most bytes of result rows of the golds of a task over all its databases; the same limit
    /// applies to a prediction.
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
    /// Items of a channel after which older ones weigh half in its rates.
    pub half_life_items: f64,
    /// Checks that a grader's other channels weigh beside a channel's own.
    pub prior_checks: f64,
    /// Seconds after which rates are read again from the record, which other nodes write too; 0 for
    /// every batch.
    pub refresh_seconds: f64,
    /// Rates that the tasks' author states, by channel, as `"math/default" = { rho0 = 0.01, rho1 =
    /// 0.1 }`.
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
    /// The same in the engine's words.
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
    /// Filter in `tracing`'s syntax, as in `info,assay_engine=debug`.
    pub filter: String,
    /// How lines look.
    pub format: LogFormat,
}

impl Default for Log {
    fn default() -> Self {
        Self {
            filter: "info".to_owned(),
            format: LogFormat::Text,
        }
    }
}

/// How log lines look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogFormat {
    /// For people.
    Text,
    /// For machines: an object a line.
    Json,
}

/// The configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("cannot read the configuration `{}`: {error}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// The file is not TOML.
    #[error("`{}` is not TOML, line {line}: {message}", path.display())]
    NotToml {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong, without the text of the line, which may contain a password.
        message: String,
    },
    /// A variable matches no setting, and unknown variables are rejected.
    #[error(
        "`{}` is not a known setting; the most similar is `{}`; run `assay serve --print-config` \
         to list all settings (`workers` of `[engine]` is `ASSAY_ENGINE_WORKERS`)",
        .0.name,
        .0.nearest
    )]
    UnknownVariable(UnknownVariable),
    /// A key or value is wrong.
    #[error("{origin}: {message}")]
    Invalid {
        /// Where it was set.
        origin: String,
        /// What is wrong.
        message: String,
    },
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

/// A flag's setting: table, key, value.
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

    /// Reads the file (the default one if it exists and no other is named), then variables, then
    /// flags.
    ///
    /// # Errors
    /// [`ConfigError`], which names where the wrong key or value was set.
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
        } = Environment::read(variables)?;
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
    /// [`ConfigError::UnknownVariable`] of the first, and [`ConfigError::Invalid`] of a setting
    /// that is not UTF-8.
    pub fn refuse_unknown<N: Into<OsString>, V: Into<OsString>>(
        variables: impl IntoIterator<Item = (N, V)>,
    ) -> Result<(), ConfigError> {
        let unknown = Environment::read(variables)?.unknown;
        unknown
            .into_iter()
            .next()
            .map_or(Ok(()), |first| Err(ConfigError::UnknownVariable(first)))
    }

    /// The policies, read.
    ///
    /// # Errors
    /// The name of the first that cannot be used, and why.
    pub fn policies(&self) -> Result<Policies, (String, PolicyError)> {
        let named: Vec<(&str, serde_json::Value)> = self
            .policies
            .iter()
            // A TOML table is JSON but for its dates, which no policy has.
            .map(|(name, table)| (name.as_str(), serde_json::to_value(table).unwrap_or_default()))
            .collect();
        Policies::new(named.iter().map(|(name, json)| (*name, json)))
    }

    /// The configuration as a TOML file, without passwords.
    #[must_use]
    pub fn to_toml(&self) -> String {
        // Tables of numbers, booleans and texts always serialise.
        toml::to_string(self).unwrap_or_default()
    }
}

/// Serialises a path, with bytes that are not UTF-8 replaced.
fn printed<S: serde::Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
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
            "`engine.workers` is 0 (one a core) to {MAX_WORKERS}: {}",
            config.engine.workers
        ));
    }
    if !config.server.listen.ip().is_loopback() && !config.server.insecure {
        return Err(format!(
            "callers are not authenticated yet, so `{}` would let anyone who reaches it grade and \
             read the record; listen on loopback, or set `server.insecure = true` behind a proxy \
             that authenticates",
            config.server.listen
        ));
    }
    config.server.check()?;
    if config.sandbox_workers.uses == 0 {
        return Err("`sandbox_workers.uses` is at least 1".to_owned());
    }
    let postgres = config.sql.postgres.reveal();
    if !postgres.is_empty()
        && !["postgres://", "postgresql://"]
            .iter()
            .any(|scheme| postgres.starts_with(scheme))
    {
        return Err(
            "`sql.postgres` is a URL as `postgres://user:password@host/database`".to_owned(),
        );
    }
    if !(1..=3_600).contains(&config.sql.statement_seconds) {
        return Err(format!(
            "`sql.statement_seconds` is between 1 and 3600: {}",
            config.sql.statement_seconds
        ));
    }
    let channels = &config.channels;
    let half_life = channels.half_life_items;
    if !(half_life.is_finite() && half_life >= 1.0) {
        return Err(format!(
            "`channels.half_life_items` is at least 1: {half_life}"
        ));
    }
    for (key, value) in [
        ("prior_checks", channels.prior_checks),
        ("refresh_seconds", channels.refresh_seconds),
    ] {
        if !(0.0..=1e9).contains(&value) {
            return Err(format!("`channels.{key}` is from 0 to 1e9: {value}"));
        }
    }
    for (channel, rates) in &channels.rates {
        if channel.split_once('/').is_none() || rates.j() <= 0.0 {
            return Err(format!(
                "`channels.rates.{channel}`: a channel is a grader and a task family, as \
                 `math/default`, and its rates are below 1 together"
            ));
        }
    }
    config.reward_models.check()?;
    config
        .policies()
        .map_err(|(name, error)| format!("`policies.{name}`: {error}"))?;
    if config.sql.postgres_databases == 0 {
        return Err("`sql.postgres_databases` is at least 1".to_owned());
    }
    if config.sql.result_bytes == 0 {
        return Err("`sql.result_bytes` is at least 1".to_owned());
    }
    Ok(config)
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
    fn flags_beat_variables_beat_the_file() {
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
    fn unknown_keys_are_errors_that_say_where() {
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
    fn unknown_variables_are_warnings_and_errors_under_strict() {
        let variables = [
            ("ASSAY_ENGINE_WORKER", "1"),
            ("ASSAY_PORT", "tcp://10.0.0.1:80"),
        ];
        let loaded = Config::read(None, variables, Vec::new()).unwrap();
        assert_eq!(loaded.unknown.len(), 1);
        let error = Config::refuse_unknown(variables).unwrap_err().to_string();
        assert!(
            error.contains(
                "`ASSAY_ENGINE_WORKER` is not a known setting; the most similar is \
                            `ASSAY_ENGINE_WORKERS`"
            ),
            "{error}"
        );
        Config::refuse_unknown([("ASSAY_PORT", "tcp://10.0.0.1:80")]).unwrap();
    }

    #[test]
    fn a_folder_that_is_not_utf_8_can_be_printed() {
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
    fn the_printed_configuration_reads_back() {
        let config = Config::default();
        let mut read = load(&config.to_toml(), &[], Vec::new()).unwrap();
        assert!(
            read.sandbox_workers.images.ends_with("assay/images"),
            "an empty folder is the user's cache"
        );
        read.sandbox_workers.images = PathBuf::new();
        assert_eq!(read, config);
    }

    #[test]
    fn passwords_are_not_shown() {
        let shown = |url: &str| {
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
            shown("postgres://me:a@b:c@host:5/db"),
            "postgres = \"postgres://me:***@host:5/db\""
        );
        assert_eq!(
            shown("postgres://me@host/db?password=x&a=b"),
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
            error.contains("is not TOML, line 3: ") && !error.contains("secret"),
            "{error}"
        );
        let error = load("", &[("ASSAY_SQL_POSTGRES", "me:secret@host")], Vec::new())
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("`sql.postgres` is a URL") && !error.contains("secret"),
            "{error}"
        );
    }

    #[test]
    fn reward_models_are_named_with_their_options() {
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
        for (wrong, message) in [
            ("default = \"rm\"", "names none of"),
            ("device = \"gpu\"", "`cuda:0`"),
            (
                "queue_tokens = 0",
                "`reward_models.queue_tokens` is at least 1",
            ),
            ("threads = 5000", "0 (one a core)"),
            (
                "[reward_models.load.rm]\npooling = \"last\"",
                "needs a `source`",
            ),
            (
                "[reward_models.load.\"\"]\nsource = \"a\"",
                "1 to 64 letters",
            ),
            (
                "[reward_models.load.rm]\nsource = \"a\"\npoling = \"last\"",
                "unknown field `poling`",
            ),
        ] {
            let error = load(&format!("[reward_models]\n{wrong}\n"), &[], Vec::new())
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
            error.contains("`sql.result_bytes` is at least 1"),
            "{error}"
        );
    }

    #[test]
    fn refuses_deadlines_of_zero() {
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
    fn listening_beyond_loopback_is_a_choice() {
        let open = "[server]\nlisten = \"0.0.0.0:8080\"\n";
        assert!(load(open, &[], Vec::new()).is_err());
        assert!(load(&format!("{open}insecure = true\n"), &[], Vec::new()).is_ok());
    }
}

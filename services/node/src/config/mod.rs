//! Configuration: a TOML file, then `ASSAY_*` variables, then flags. Unknown keys of the file are
//! errors, unknown variables warnings.
//!
//! `ASSAY_ENGINE_WORKERS=4` sets `workers` of the table `[engine]`. Later sources override earlier
//! ones. `RUST_LOG` sets `log.filter` unless `ASSAY_LOG_FILTER` is set.

mod environment;
mod error;
mod fetching;
mod log;
mod reward_models;
mod sections;
mod server_url;

pub use error::ConfigError;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::Read;
use std::path::{Path, PathBuf};

use assay_engine::Policies;
use assay_rewards::PolicyError;
use assay_templates::Templates;
use serde::{Deserialize, Serialize};
use toml::{Table, Value};

use self::environment::{Environment, KnownSetting};
pub use self::error::UnknownVariable;
use self::error::{describe, shown};
pub use self::fetching::Fetching;
pub use self::log::{Log, LogFormat};
pub use self::reward_models::RewardModels;
pub use self::sections::{Channels, Engine, SandboxWorkers, Server, Sql, Store};
pub use self::server_url::ServerUrl;

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
    /// Files of templates by name, in addition to the built-in ones.
    pub templates: BTreeMap<String, PathBuf>,
    /// Logging.
    pub log: Log,
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
        if config.sandbox_workers.images.as_os_str().is_empty()
            && let Some(cache) = cache
        {
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

    /// The built-in templates, and those of the configuration, whose files are read.
    ///
    /// # Errors
    /// [`ConfigError::Template`] for the first file that cannot be read or is not a template.
    pub fn templates(&self) -> Result<Templates, ConfigError> {
        let mut templates = Templates::default();
        for (name, path) in &self.templates {
            let json = read_template(path);
            let added = json.and_then(|json| {
                templates
                    .add(name, &json)
                    .map_err(|error| error.to_string())
            });
            added.map_err(|message| ConfigError::Template {
                name: name.clone(),
                path: path.clone(),
                message,
            })?;
        }
        Ok(templates)
    }

    /// The configuration as a TOML file, without passwords.
    #[must_use]
    pub fn to_toml(&self) -> String {
        // Tables of numbers, booleans and texts can always be serialised.
        toml::to_string(self).unwrap_or_default()
    }
}

/// Maximum size of the file of a template, in bytes.
const MAX_TEMPLATE_BYTES: u64 = 1 << 20;

fn read_template(path: &Path) -> Result<String, String> {
    let file = std::fs::File::open(path).map_err(|error| error.to_string())?;
    let mut json = String::new();
    file.take(MAX_TEMPLATE_BYTES + 1)
        .read_to_string(&mut json)
        .map_err(|error| error.to_string())?;
    if json.len() as u64 > MAX_TEMPLATE_BYTES {
        return Err(format!("it has more than {MAX_TEMPLATE_BYTES} bytes"));
    }
    Ok(json)
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
        .map_err(|error: toml::de::Error| describe(&error))?;
    config.server.check()?;
    config.store.check()?;
    config.engine.check()?;
    config.sandbox_workers.check()?;
    config.sql.check()?;
    config.channels.check()?;
    config.reward_models.check()?;
    config.log.check()?;
    config
        .policies()
        .map_err(|(name, error)| format!("`policies.{}`: {error}", shown(&name)))?;
    Ok(config)
}

/// Every setting that a variable can set.
fn known_settings() -> Vec<KnownSetting> {
    // The default configuration can always be serialised.
    let tables = Table::try_from(Config::default()).unwrap_or_default();
    let keys = tables
        .into_iter()
        .filter_map(|(section, table)| match table {
            Value::Table(table) => {
                Some(table.into_iter().map(move |(key, default)| KnownSetting {
                    section: section.clone(),
                    key,
                    default,
                }))
            }
            _ => None,
        });
    keys.flatten().collect()
}

#[cfg(test)]
mod tests {
    use assay_reward_model::{AttentionKernel, GpuOptions, ProductRows};

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
        let home = [("HOME", "/home/me")];
        let mut read = load(&config.to_toml(), &home, Vec::new()).unwrap();
        assert_eq!(
            read.sandbox_workers.images,
            Path::new("/home/me/.cache/assay/images"),
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
            "postgres = \"postgres://me@host/db?password=***&a=***\""
        );
        assert_eq!(
            printed("postgres://me@host/db?password=a@b"),
            "postgres = \"postgres://me@host/db?password=***\""
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
        let config = load(
            "[reward_models]\nhub = \"https://me:secret@host\"\n",
            &[],
            Vec::new(),
        )
        .unwrap();
        assert_eq!(config.reward_models.hub.reveal(), "https://me:secret@host");
        assert!(
            config.to_toml().contains("hub = \"https://me:***@host\"\n"),
            "{}",
            config.to_toml()
        );
        assert!(!format!("{config:?}").contains("secret"), "{config:?}");
        // Rejected when it is read, but set by code.
        let log = Log {
            traces: "http://me:secret@host:1".into(),
            ..Log::default()
        };
        assert!(
            format!("{log:?}").contains("\"http://me:***@host:1\""),
            "{log:?}"
        );
    }

    #[test]
    fn errors_contain_no_passwords() {
        let url = "postgres://me:secret@host/db";
        for (file, expected) in [
            (
                format!("sql = \"{url}\"\n"),
                "invalid type: string, expected struct Sql (in `sql`)",
            ),
            (
                format!("[engine]\nworkers = \"{url}\"\n"),
                "invalid type: string, expected usize (in `engine.workers`)",
            ),
            (
                format!("[sql]\n\"{url}\" = 1\n"),
                "unknown field `***`, expected one of `postgres`,",
            ),
            (
                format!("[log]\nformat = \"{url}\"\n"),
                "unknown variant `***`, expected `text` or `json` (in `log.format`)",
            ),
            (
                format!("[store]\ndatabase = \"{url}\"\n"),
                "`store.database` must be `sqlite://PATH`, `sqlite::memory:` or empty: \
                 `postgres://me:***@host/db`",
            ),
            (
                "[log]\ntraces = \"http://me:secret@host\"\n".to_owned(),
                "`log.traces` must not contain a user name or password",
            ),
            (
                format!("[reward_models]\ndevice = \"{url}\"\n"),
                "`reward_models.device` must be `cpu` or GPUs such as `cuda:0,cuda:1`: `***`",
            ),
            (
                format!("[reward_models]\ndefault = \"{url}\"\n"),
                "`reward_models.default` is not in `reward_models.load`: `***`",
            ),
            (
                format!("[reward_models]\nfetch = [\"{url}\"]\n"),
                "malformed name `***` in `reward_models.fetch`",
            ),
            (
                format!("[reward_models.load.\"{url}\"]\nsource = \"a\"\n"),
                "1 to 64 characters",
            ),
            (
                format!("[channels.rates]\n\"{url}\" = {{ rho0 = 0.6, rho1 = 0.6 }}\n"),
                "`channels.rates.***`: ",
            ),
        ] {
            let error = load(&file, &[], Vec::new()).unwrap_err().to_string();
            assert!(
                error.contains(expected) && !error.contains("secret"),
                "{error}"
            );
        }
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
        let numeric = [("ASSAY_REWARD_MODELS_FOLDER", "007")];
        let models = load(file, &numeric, Vec::new()).unwrap().reward_models;
        assert_eq!(models.folder.to_str(), Some("007"));
        let loads = models.loads().unwrap();
        assert_eq!(
            (loads[0].0.as_str(), loads[0].1.source.as_deref()),
            ("rm", Some("org/rm"))
        );
        let devices = [("ASSAY_REWARD_MODELS_DEVICE", "cuda:1, cuda:0")];
        let models = load("", &devices, Vec::new()).unwrap().reward_models;
        assert_eq!(models.devices().collect::<Vec<_>>(), ["cuda:1", "cuda:0"]);
        assert_eq!(models.gpu().unwrap(), GpuOptions::default());
        let gpu = [
            ("ASSAY_REWARD_MODELS_PRODUCT_ROWS", "0"),
            ("ASSAY_REWARD_MODELS_ATTENTION", "flash"),
        ];
        let models = load("", &gpu, Vec::new()).unwrap().reward_models;
        let expected = GpuOptions {
            product_rows: ProductRows::OFF,
            attention: AttentionKernel::Flash,
        };
        assert_eq!(models.gpu(), Ok(expected));
        let options = serde_json::json!({ "pooling": "hf_nonpad" });
        assert_eq!(loads[0].1.options.as_ref(), options.as_object());
        for (invalid, message) in [
            ("default = \"rm\"", "is not in `reward_models.load`"),
            ("device = \"gpu\"", "`cuda:0,cuda:1`"),
            ("device = \"\"", "`cuda:0,cuda:1`"),
            ("device = \"cuda:0,\"", "`cuda:0,cuda:1`"),
            ("device = \"cpu,cpu\"", "`cpu` alone"),
            ("device = \"cuda:0, cpu\"", "`cpu` alone"),
            ("device = \"cuda:0, cuda:0\"", "names `cuda:0` twice"),
            (
                "product_rows = 100",
                "`reward_models.product_rows` must be 0 or",
            ),
            ("attention = \"fused\"", "`auto`, `tiles`, `flash`"),
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
    fn rejects_misspelt_filters_with_their_origin() {
        let error = load("", &[("RUST_LOG", "inof")], Vec::new())
            .unwrap_err()
            .to_string();
        assert!(
            error.starts_with("`RUST_LOG`: unknown level `inof` in `log.filter`"),
            "{error}"
        );
        let error = load("[log]\nfilter = \"debgu\"\n", &[], Vec::new())
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("assay.toml`: unknown level `debgu`"),
            "{error}"
        );
        let variables = [("RUST_LOG", "inof"), ("ASSAY_LOG_FILTER", "debug")];
        assert_eq!(
            load("", &variables, Vec::new()).unwrap().log.filter,
            "debug"
        );
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
    fn rejects_limits_that_would_reject_all_work() {
        for setting in [
            "engine.items_in_flight",
            "engine.body_bytes_in_flight",
            "engine.completion_bytes",
            "server.batch_items",
            "server.body_bytes",
            "server.parsed_bytes",
        ] {
            load(&format!("{setting} = 1\n"), &[], Vec::new()).unwrap();
            let error = load(&format!("{setting} = 0\n"), &[], Vec::new())
                .unwrap_err()
                .to_string();
            assert!(
                error.ends_with(&format!(": `{setting}` must be at least 1")),
                "{error}"
            );
        }
    }

    #[test]
    fn rejects_more_workers_than_can_be_started() {
        for setting in ["engine.workers", "sandbox_workers.count"] {
            load(&format!("{setting} = 1024\n"), &[], Vec::new()).unwrap();
            let error = load(&format!("{setting} = 1025\n"), &[], Vec::new())
                .unwrap_err()
                .to_string();
            assert!(
                error.contains(&format!(
                    "`{setting}` must be between 0 (one per core) and 1024: 1025"
                )),
                "{error}"
            );
        }
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

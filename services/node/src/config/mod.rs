//! Configuration: a TOML file, then `ASSAY_*` variables, then flags. Unknown keys of the file are
//! errors, unknown variables warnings.
//!
//! `ASSAY_ENGINE_WORKERS=4` sets `workers` of the table `[engine]`. Later sources override earlier
//! ones. `RUST_LOG` sets `log.filter` unless `ASSAY_LOG_FILTER` is set.

mod access;
mod alerts;
mod environment;
mod error;
mod fetching;
mod jobs;
mod judges;
mod log;
mod retention;
mod reward_models;
mod sections;
mod server_url;
mod sessions;

pub use error::ConfigError;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::Read;
use std::path::{Path, PathBuf};

use assay_engine::{Policies, Redaction, RedactionError, Redactor};
use assay_rewards::PolicyError;
use assay_templates::Templates;
use serde::{Deserialize, Serialize};
use toml::{Table, Value};

pub use self::access::{Access, KeyRequirement};
pub use self::alerts::Alerts;
use self::environment::{Environment, KnownSetting};
pub use self::error::UnknownVariable;
use self::error::{describe, shown};
pub use self::fetching::Fetching;
pub use self::jobs::Jobs;
pub use self::judges::JudgeSection;
pub use self::log::{Log, LogFormat};
pub use self::retention::{RedactionPattern, Retention, StoredBodies};
pub use self::reward_models::RewardModels;
pub use self::sections::{
    Acknowledgement, Channels, Engine, Receipts, SandboxWorkers, Server, Sql, Store,
};
pub use self::server_url::ServerUrl;
pub use self::sessions::Sessions;

/// The file that is read by default if it exists.
pub const DEFAULT_FILE: &str = "assay.toml";

/// The configuration of a node. Every key has a default.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// HTTP server.
    pub server: Server,
    /// Callers.
    pub access: Access,
    /// The record.
    pub store: Store,
    /// Limits of grading.
    pub engine: Engine,
    /// Processes that run untrusted work.
    pub sandbox_workers: SandboxWorkers,
    /// The database server for queries in PostgreSQL, and limits of queries.
    pub sql: Sql,
    /// Interpreter sessions.
    pub sessions: Sessions,
    /// Data sets that are graded in the background.
    pub jobs: Jobs,
    /// Receipts of grades.
    pub receipts: Receipts,
    /// Error rates of verifiers.
    pub channels: Channels,
    /// Reward models.
    pub reward_models: RewardModels,
    /// Judges of `external` tasks by name.
    pub judges: JudgeSection,
    /// What of the record is kept, and for how long.
    pub retention: Retention,
    /// Patterns by name; what they match is replaced before it is stored.
    pub redaction: BTreeMap<String, RedactionPattern>,
    /// Reward policies by name.
    pub policies: BTreeMap<String, Table>,
    /// Files of templates by name, in addition to the built-in ones.
    pub templates: BTreeMap<String, PathBuf>,
    /// Settings of `assay check`, which reads them; the node does not.
    pub check: Table,
    /// When alerts fire, and where they are sent.
    pub alerts: Alerts,
    /// Logging.
    pub log: Log,
    /// Folder for caches of this program; `None` without a home.
    #[serde(skip)]
    pub cache: Option<PathBuf>,
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
        let variables: Vec<(OsString, OsString)> = variables
            .into_iter()
            .map(|(name, value)| (name.into(), value.into()))
            .collect();
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
        } = Environment::read(variables.iter().cloned(), &known_settings())?;
        for setting in settings {
            set(&mut table, &setting.section, &setting.key, setting.value);
            check(&table, &format!("`{}`", setting.variable))?;
        }
        for (section, key, value) in flags {
            set(&mut table, section, key, value);
            check(&table, &format!("the flag for `{section}.{key}`"))?;
        }
        let invalid = |message| ConfigError::Invalid {
            origin: origin.clone(),
            message,
        };
        let mut config = parse(&table).map_err(invalid)?;
        judges::take_keys(&mut config.judges, &variables);
        config.cache = cache.map(|cache| cache.join("assay"));
        if config.sandbox_workers.images.as_os_str().is_empty()
            && let Some(cache) = &config.cache
        {
            config.sandbox_workers.images = cache.join("images");
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

    /// Compiles the patterns of `[redaction]`, in the order of their names.
    ///
    /// # Errors
    /// [`RedactionError`] for the first pattern that cannot be used.
    pub fn redactor(&self) -> Result<Redactor, RedactionError> {
        let redactions: Vec<Redaction> = self
            .redaction
            .iter()
            .map(|(name, pattern)| pattern.named(name))
            .collect();
        Redactor::new(&redactions)
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
    config.access.proxies()?;
    config.store.check()?;
    config.engine.check()?;
    config.sandbox_workers.check()?;
    config.sql.check()?;
    config.sessions.check()?;
    config.jobs.check()?;
    config.channels.check()?;
    config.reward_models.check()?;
    judges::check(&config.judges)?;
    config.retention.check()?;
    config
        .redactor()
        .map_err(|error| format!("`redaction`: {error}"))?;
    config.alerts.check()?;
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
mod tests;

//! Reads settings from environment variables and reports variables that match no setting.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use toml::{Table, Value};

use super::error::{ConfigError, UnknownVariable};

/// Prefix of the variables.
const PREFIX: &str = "ASSAY_";

/// The variable that programs using `tracing` read, and the setting that it sets here. The
/// setting's own variable overrides it.
const RUST_LOG: (&str, &str, &str) = ("RUST_LOG", "log", "filter");

/// The server that commands work through, and the key that they send to it. They are not settings
/// of a node.
const OF_CLIENTS: [&str; 2] = ["ASSAY_SERVER", "ASSAY_KEY"];

/// Protocols that Kubernetes names in variables.
const PROTOCOLS: [&str; 3] = ["TCP", "UDP", "SCTP"];

/// Settings and other values from the environment.
#[derive(Debug, Default)]
pub(super) struct Environment {
    /// `RUST_LOG`, then settings in the order of the variables' names.
    pub(super) settings: Vec<Setting>,
    pub(super) unknown: Vec<UnknownVariable>,
    /// The user's cache folder; `None` without a home.
    pub(super) cache: Option<PathBuf>,
}

/// A setting that a variable can set.
#[derive(Debug)]
pub(super) struct KnownSetting {
    pub(super) section: String,
    pub(super) key: String,
    /// Its default, which determines how the text of the variable is read.
    pub(super) default: Value,
}

impl KnownSetting {
    /// The variable that sets it.
    fn variable(&self) -> String {
        variable_of(&self.section, &self.key)
    }

    /// The value that a variable with this text sets. If the setting is not a text, this is a TOML
    /// list, a number or a boolean, and otherwise a text, which is then rejected.
    fn value(&self, text: &str) -> Value {
        if self.default.is_str() {
            // A name or path may look like a number.
            return Value::String(text.to_owned());
        }
        let list = || {
            toml::from_str::<Table>(&format!("list = {text}"))
                .ok()?
                .remove("list")
        };
        if text.starts_with('[')
            && let Some(list) = list()
        {
            return list;
        }
        text.parse::<i64>()
            .map(Value::Integer)
            .or_else(|_| text.parse().map(Value::Float))
            .or_else(|_| text.parse().map(Value::Boolean))
            .unwrap_or_else(|_| Value::String(text.to_owned()))
    }
}

/// A setting in the environment.
#[derive(Debug, PartialEq)]
pub(super) struct Setting {
    pub(super) variable: String,
    pub(super) section: String,
    pub(super) key: String,
    pub(super) value: Value,
}

impl Environment {
    /// Reads the variables of the `known` settings. Variables of other programs are ignored, even
    /// if they are not UTF-8.
    ///
    /// # Errors
    /// [`ConfigError::Invalid`] for a setting whose value is not UTF-8.
    pub(super) fn read<N: Into<OsString>, V: Into<OsString>>(
        variables: impl IntoIterator<Item = (N, V)>,
        known: &[KnownSetting],
    ) -> Result<Self, ConfigError> {
        let mut variables: Vec<(OsString, OsString)> = variables
            .into_iter()
            .map(|(name, value)| (name.into(), value.into()))
            .collect();
        variables.sort();
        let mut read = Self {
            cache: cache_folder(&variables),
            settings: rust_log(&variables)?.into_iter().collect(),
            ..Self::default()
        };
        for (name, value) in variables {
            let name = name.to_string_lossy().into_owned();
            if !name.starts_with(PREFIX) || OF_CLIENTS.contains(&name.as_str()) {
                continue;
            }
            let Some(setting) = known.iter().find(|setting| setting.variable() == name) else {
                if !is_set_by_kubernetes(&name, &value) {
                    let nearest = nearest(&name, known);
                    read.unknown.push(UnknownVariable { name, nearest });
                }
                continue;
            };
            let text = text_of(&name, &value)?;
            let value = setting.value(text);
            read.settings.push(Setting {
                variable: name,
                section: setting.section.clone(),
                key: setting.key.clone(),
                value,
            });
        }
        Ok(read)
    }
}

/// The setting of `RUST_LOG`, unless the variable is missing or empty, or the setting's own
/// variable exists. It is then ignored, so that errors in it do not matter.
fn rust_log(variables: &[(OsString, OsString)]) -> Result<Option<Setting>, ConfigError> {
    let (variable, section, key) = RUST_LOG;
    let find = |wanted: &str| variables.iter().find(|(name, _)| name == wanted);
    let Some((_, value)) = find(variable) else {
        return Ok(None);
    };
    if find(&variable_of(section, key)).is_some() {
        return Ok(None);
    }
    let text = text_of(variable, value)?;
    Ok((!text.is_empty()).then(|| Setting {
        variable: variable.to_owned(),
        section: section.to_owned(),
        key: key.to_owned(),
        value: Value::String(text.to_owned()),
    }))
}

/// The variable of a setting: `ASSAY_ENGINE_WORKERS` for `workers` of `[engine]`.
fn variable_of(section: &str, key: &str) -> String {
    format!("{PREFIX}{section}_{key}").to_uppercase()
}

/// The value of a setting's variable as text.
fn text_of<'v>(name: &str, value: &'v OsStr) -> Result<&'v str, ConfigError> {
    value.to_str().ok_or_else(|| ConfigError::Invalid {
        origin: format!("`{name}`"),
        message: "the value is not UTF-8".to_owned(),
    })
}

/// The variable of the setting with the most similar name.
fn nearest(name: &str, known: &[KnownSetting]) -> String {
    // There is always at least one setting.
    assay_base::nearest(name, known.iter().map(KnownSetting::variable)).unwrap_or_default()
}

/// Whether Kubernetes sets such a variable for a Service whose name starts with `assay`. Such a
/// variable is not a setting.
fn is_set_by_kubernetes(name: &str, value: &OsStr) -> bool {
    let is_port = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if name.ends_with("_SERVICE_HOST")
        || name.ends_with("_SERVICE_PORT")
        || name.contains("_SERVICE_PORT_")
    {
        return true;
    }
    let is_address = value.to_str().is_some_and(|value| {
        PROTOCOLS
            .iter()
            .any(|protocol| value.starts_with(&format!("{}://", protocol.to_lowercase())))
    });
    if name.ends_with("_PORT") && is_address {
        return true;
    }
    // `ASSAY_PORT_80_TCP`, and the same with the suffix `_PROTO`, `_PORT` or `_ADDR`.
    let base = ["_PROTO", "_PORT", "_ADDR"]
        .iter()
        .find_map(|suffix| name.strip_suffix(suffix))
        .unwrap_or(name);
    let without_protocol = PROTOCOLS
        .iter()
        .find_map(|protocol| base.strip_suffix(protocol)?.strip_suffix('_'));
    without_protocol
        .and_then(|base| base.rsplit_once("_PORT_"))
        .is_some_and(|(_, port)| is_port(port))
}

fn cache_folder(variables: &[(OsString, OsString)]) -> Option<PathBuf> {
    let find = |wanted: &str| {
        variables
            .iter()
            .find(|(name, value)| name == wanted && !value.is_empty())
    };
    let cache = find("XDG_CACHE_HOME").map(|(_, path)| PathBuf::from(path));
    let home = || find("HOME").map(|(_, path)| Path::new(path).join(".cache"));
    // Not a folder for temporary files: other users could put machine code there.
    cache.or_else(home)
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStrExt;

    use super::super::known_settings;
    use super::*;

    fn read(variables: &[(&str, &str)]) -> Environment {
        Environment::read(variables.iter().copied(), &known_settings()).unwrap()
    }

    #[test]
    fn maps_variables_to_settings_by_table_and_key() {
        let read = read(&[
            ("ASSAY_REWARD_MODELS_QUEUE_TOKENS", "7"),
            ("ASSAY_ENGINE_WORKERS", "2"),
            ("HOME", "/home/me"),
        ]);
        let set: Vec<_> = read
            .settings
            .iter()
            .map(|set| (set.section.as_str(), set.key.as_str(), &set.value))
            .collect();
        assert_eq!(
            set,
            [
                ("engine", "workers", &Value::Integer(2)),
                ("reward_models", "queue_tokens", &Value::Integer(7))
            ]
        );
        assert_eq!(read.cache.as_deref(), Some(Path::new("/home/me/.cache")));
        assert!(read.unknown.is_empty());
    }

    #[test]
    fn settings_that_are_texts_keep_the_text() {
        for text in ["007", "nan", "1e5", "true", "[1]", " a "] {
            let settings = read(&[("ASSAY_REWARD_MODELS_FOLDER", text)]).settings;
            assert_eq!(settings[0].value, Value::String(text.to_owned()));
        }
        for (variable, text, expected) in [
            ("ASSAY_ENGINE_WORKERS", "007", Value::Integer(7)),
            ("ASSAY_CHANNELS_PRIOR_CHECKS", "1e5", Value::Float(1e5)),
            ("ASSAY_SERVER_BODY_BYTES", "true", Value::Boolean(true)),
            (
                "ASSAY_REWARD_MODELS_FETCH",
                "[\"org/*\"]",
                Value::Array(vec![Value::String("org/*".to_owned())]),
            ),
            (
                "ASSAY_ENGINE_WORKERS",
                "many",
                Value::String("many".to_owned()),
            ),
        ] {
            assert_eq!(read(&[(variable, text)]).settings[0].value, expected);
        }
    }

    #[test]
    fn rust_log_sets_the_filter_unless_the_variable_of_the_setting_does() {
        let set = |variables| {
            let mut settings = read(variables).settings;
            assert!(settings.len() <= 1, "{settings:?}");
            settings.pop().map(|set| (set.variable, set.value))
        };
        let expected = |variable: &str, value: &str| {
            Some((variable.to_owned(), Value::String(value.to_owned())))
        };
        assert_eq!(set(&[("RUST_LOG", "warn")]), expected("RUST_LOG", "warn"));
        assert_eq!(set(&[("RUST_LOG", "")]), None);
        assert_eq!(
            set(&[("RUST_LOG", "warn"), ("ASSAY_LOG_FILTER", "debug")]),
            expected("ASSAY_LOG_FILTER", "debug")
        );
    }

    #[test]
    fn suggests_the_most_similar_setting() {
        for (misspelled, nearest) in [
            ("ASSAY_ENGINE_WORKER", "ASSAY_ENGINE_WORKERS"),
            ("ASSAY_LOG_FORMATS", "ASSAY_LOG_FORMAT"),
            ("ASSAY_STORE_DATABASE_URL", "ASSAY_STORE_DATABASE"),
        ] {
            let read = read(&[(misspelled, "1")]);
            assert_eq!(read.unknown[0].nearest, nearest);
            assert!(
                read.unknown[0]
                    .to_string()
                    .contains(&format!("`{misspelled}`, which is not a known setting"))
            );
        }
    }

    #[test]
    fn ignores_variables_of_clients() {
        let variables = [("ASSAY_SERVER", "http://a:1"), ("ASSAY_KEY", "k")];
        let read = read(&variables);
        assert!(read.unknown.is_empty() && read.settings.is_empty());
    }

    #[test]
    fn ignores_variables_that_kubernetes_sets() {
        let variables = [
            ("ASSAY_PORT", "tcp://10.0.0.1:80"),
            ("ASSAY_SERVICE_HOST", "10.0.0.1"),
            ("ASSAY_SERVICE_PORT", "80"),
            ("ASSAY_SERVICE_PORT_HTTP", "80"),
            ("ASSAY_PORT_80_TCP", "tcp://10.0.0.1:80"),
            ("ASSAY_PORT_80_TCP_PROTO", "tcp"),
            ("ASSAY_PORT_80_TCP_PORT", "80"),
            ("ASSAY_PORT_80_TCP_ADDR", "10.0.0.1"),
            ("ASSAY_SERVER_PORT_443_TCP_ADDR", "10.0.0.1"),
        ];
        assert!(read(&variables).unknown.is_empty());
        assert_eq!(
            read(&[("ASSAY_PORT", "8080")]).unknown.len(),
            1,
            "could be a misspelled setting"
        );
    }

    #[test]
    fn rejects_values_that_are_not_utf_8_only_in_settings() {
        let bad = OsStr::from_bytes(b"\xff\xfe");
        let others = [
            (OsStr::new("OTHER"), bad),
            (bad, OsStr::new("1")),
            (OsStr::from_bytes(b"ASSAY_\xff"), bad),
        ];
        assert_eq!(
            Environment::read(others, &known_settings())
                .unwrap()
                .unknown
                .len(),
            1
        );
        let error = Environment::read([(OsStr::new("ASSAY_LOG_FILTER"), bad)], &known_settings())
            .unwrap_err()
            .to_string();
        assert_eq!(error, "`ASSAY_LOG_FILTER`: the value is not UTF-8");
    }
}

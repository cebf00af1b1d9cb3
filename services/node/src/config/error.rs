//! Errors of the configuration, without passwords.

use std::fmt;
use std::path::PathBuf;

/// The configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("cannot read the configuration `{}`: {error}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The cause.
        error: std::io::Error,
    },
    /// The file is not TOML.
    #[error("`{}` is not valid TOML, line {line}: {message}", path.display())]
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
    /// A key or value is invalid.
    #[error("{origin}: {message}")]
    Invalid {
        /// The file, variable or flag that sets it.
        origin: String,
        /// What is wrong.
        message: String,
    },
    /// A file of a template cannot be used.
    #[error("`templates.{name}`, `{}`: {message}", path.display())]
    Template {
        /// Name of the template.
        name: String,
        /// The file.
        path: PathBuf,
        /// What is wrong.
        message: String,
    },
}

/// A variable with the prefix that matches no setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownVariable {
    /// The variable.
    pub name: String,
    /// The variable of the setting with the most similar name.
    pub nearest: String,
}

impl fmt::Display for UnknownVariable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, nearest } = self;
        write!(
            f,
            "ignoring the variable `{name}`, which is not a known setting; the most similar is \
             `{nearest}`"
        )
    }
}

/// What replaces a text that could contain a password.
const HIDDEN: &str = "***";

/// A name or value as it may be printed: escaped, and hidden if it could contain a password, as a
/// URL in the wrong place does.
pub(super) fn shown(text: &str) -> String {
    if ["@", "://", "password="]
        .iter()
        .any(|sign| text.contains(sign))
    {
        HIDDEN.to_owned()
    } else {
        text.escape_debug().to_string()
    }
}

/// The message of an error of deserialising, with the key if it is known and without texts that
/// could contain a password.
pub(super) fn describe(error: &toml::de::Error) -> String {
    let message = without_values(error.message());
    // Only the complete text of the error contains the key, after the message.
    let complete = error.to_string();
    let key = complete
        .strip_prefix(error.message())
        .and_then(|rest| rest.trim().strip_prefix("in `")?.strip_suffix('`'));
    match key {
        Some(key) => format!("{message} (in `{}`)", shown(key)),
        None => message,
    }
}

/// Removes text values from a message of serde, and hides unknown names that could contain a
/// password.
fn without_values(message: &str) -> String {
    for start in ["unknown field `", "unknown variant `"] {
        if let Some(rest) = message.strip_prefix(start) {
            // The last one, because the name may contain the same characters.
            return match rest.rsplit_once("`, expected ") {
                Some((name, expected)) => format!("{start}{}`, expected {expected}", shown(name)),
                None => format!("{start}{HIDDEN}`"),
            };
        }
    }
    for start in ["invalid type: string ", "invalid value: string "] {
        if let Some(rest) = message.strip_prefix(start) {
            let expected = rest.rsplit_once('"').map_or("", |(_, expected)| expected);
            return format!("{}{expected}", start.trim_end());
        }
    }
    message.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_contain_no_values() {
        for (message, printed) in [
            (
                r#"invalid type: string "a \"b\", expected c", expected usize"#,
                "invalid type: string, expected usize",
            ),
            (
                r#"invalid value: string "me:secret", expected a URL"#,
                "invalid value: string, expected a URL",
            ),
            (
                "invalid type: integer `7`, expected a string",
                "invalid type: integer `7`, expected a string",
            ),
            (
                "unknown field `worker`, expected one of `workers`, `a`",
                "unknown field `worker`, expected one of `workers`, `a`",
            ),
            (
                "unknown field `postgres://me:secret@host`, expected `a` or `b`",
                "unknown field `***`, expected `a` or `b`",
            ),
            (
                "unknown variant `x`, expected me:secret@host`, expected `a`",
                "unknown variant `***`, expected `a`",
            ),
            (
                "unknown field `secret`, there are no fields",
                "unknown field `***`",
            ),
        ] {
            assert_eq!(without_values(message), printed);
        }
    }

    #[test]
    fn shows_names_but_no_urls() {
        assert_eq!(shown("info;debug"), "info;debug");
        assert_eq!(shown("a\u{1b}b"), "a\\u{1b}b");
        for hidden in ["postgres://host", "me:secret@host", "host=a password=b"] {
            assert_eq!(shown(hidden), "***");
        }
    }
}

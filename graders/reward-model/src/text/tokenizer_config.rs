//! Configuration of a tokenizer: names of special tokens, which of them are added to texts, and the
//! chat template.

use std::collections::BTreeMap;
use std::path::Path;

use minijinja::Value as Jinja;
use serde_json::{Map, Value};

use super::error::InputReaderError;

/// Names under which tokenizer files declare special tokens. Templates use the same names.
const NAMES: [&str; 7] = [
    "bos_token",
    "eos_token",
    "unk_token",
    "sep_token",
    "pad_token",
    "cls_token",
    "mask_token",
];

const CONFIG: &str = "tokenizer_config.json";
const SPECIAL: &str = "special_tokens_map.json";
const TEMPLATE: &str = "chat_template.jinja";

/// Declarations in the files next to `tokenizer.json`.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct TokenizerConfig {
    /// Named special tokens.
    pub(super) special: BTreeMap<&'static str, String>,
    /// Special tokens without names.
    pub(super) unnamed: Vec<String>,
    /// Whether beginning-of-sequence and end-of-sequence tokens are added, if declared.
    pub(super) added_bos_eos: Option<(bool, bool)>,
    /// The chat template. `chat_template.jinja` takes precedence. Of several templates, the one
    /// named `default` is used.
    pub(super) chat_template: Option<String>,
}

impl TokenizerConfig {
    /// Reads the files that exist.
    pub(super) fn open(directory: &Path) -> Result<Self, InputReaderError> {
        let config = object(directory, CONFIG)?;
        let map = object(directory, SPECIAL)?;
        let mut special = BTreeMap::new();
        for name in NAMES {
            // The configuration takes precedence even if its value is `null`.
            if let Some(token) = config
                .get(name)
                .or_else(|| map.get(name))
                .and_then(token_text)
            {
                special.insert(name, token);
            }
        }
        let unnamed = ["additional_special_tokens", "extra_special_tokens"]
            .into_iter()
            .filter_map(|name| config.get(name).or_else(|| map.get(name)))
            .filter_map(Value::as_array)
            .flatten()
            .filter_map(token_text)
            .collect();
        let flag = |name| config.get(name).and_then(Value::as_bool);
        let added_bos_eos = match (flag("add_bos_token"), flag("add_eos_token")) {
            (None, None) => None,
            (bos, eos) => Some((
                bos.unwrap_or(false) && special.contains_key("bos_token"),
                eos.unwrap_or(false) && special.contains_key("eos_token"),
            )),
        };
        let chat_template = match read(directory, TEMPLATE)? {
            Some(template) => Some(template),
            None => config.get("chat_template").and_then(template_text),
        };
        Ok(Self {
            special,
            unnamed,
            added_bos_eos,
            chat_template,
        })
    }

    /// The special tokens as template variables.
    pub(super) fn variables(&self) -> impl Iterator<Item = (&'static str, Jinja)> {
        self.special
            .iter()
            .map(|(name, token)| (*name, Jinja::from(token.as_str())))
    }
}

/// A special token: a string, or an object with `content`.
fn token_text(token: &Value) -> Option<String> {
    token
        .as_str()
        .or_else(|| token.get("content")?.as_str())
        .filter(|text| !text.is_empty())
        .map(str::to_owned)
}

/// A chat template: a string, or the one named `default` in a list.
fn template_text(template: &Value) -> Option<String> {
    let named = |one: &&Value| one.get("name").and_then(Value::as_str) == Some("default");
    let text = template.as_str().or_else(|| {
        template
            .as_array()?
            .iter()
            .find(named)?
            .get("template")?
            .as_str()
    })?;
    Some(text.to_owned())
}

fn object(directory: &Path, file: &'static str) -> Result<Map<String, Value>, InputReaderError> {
    let Some(text) = read(directory, file)? else {
        return Ok(Map::new());
    };
    serde_json::from_str(&text).map_err(|error| InputReaderError::new(file, error.to_string()))
}

/// The content of a file, or `None` if it does not exist.
fn read(directory: &Path, file: &'static str) -> Result<Option<String>, InputReaderError> {
    match std::fs::read_to_string(directory.join(file)) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(InputReaderError::new(file, error.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(files: &[(&str, &str)]) -> Result<TokenizerConfig, InputReaderError> {
        let directory = tempfile::tempdir().unwrap();
        for (name, text) in files {
            std::fs::write(directory.path().join(name), text).unwrap();
        }
        TokenizerConfig::open(directory.path())
    }

    #[test]
    fn all_files_are_optional() {
        assert_eq!(open(&[]).unwrap(), TokenizerConfig::default());
    }

    #[test]
    fn reads_special_tokens_with_precedence_of_the_configuration() {
        let config = open(&[
            (
                CONFIG,
                r#"{"bos_token": {"content": "<s>"}, "pad_token": null,
                    "additional_special_tokens": ["<x>"]}"#,
            ),
            (
                SPECIAL,
                r#"{"bos_token": "<other>", "eos_token": "</s>", "pad_token": "<pad>"}"#,
            ),
        ])
        .unwrap();
        assert_eq!(
            config.special,
            BTreeMap::from([
                ("bos_token", "<s>".to_owned()),
                ("eos_token", "</s>".to_owned())
            ])
        );
        assert_eq!(config.unnamed, ["<x>"]);
        assert_eq!(config.added_bos_eos, None);
    }

    #[test]
    fn adds_only_tokens_that_exist() {
        let config = open(&[(
            CONFIG,
            r#"{"add_bos_token": true, "add_eos_token": true, "eos_token": "</s>"}"#,
        )])
        .unwrap();
        assert_eq!(config.added_bos_eos, Some((false, true)));
    }

    #[test]
    fn selects_the_template_file_or_the_default_template() {
        let several = r#"{"chat_template": [
            {"name": "tool_use", "template": "t"}, {"name": "default", "template": "d"}]}"#;
        assert_eq!(
            open(&[(CONFIG, several)]).unwrap().chat_template.as_deref(),
            Some("d")
        );
        assert_eq!(
            open(&[(CONFIG, several), (TEMPLATE, "own")])
                .unwrap()
                .chat_template
                .as_deref(),
            Some("own")
        );
        assert_eq!(
            open(&[(CONFIG, r#"{"chat_template": "one"}"#)])
                .unwrap()
                .chat_template
                .as_deref(),
            Some("one")
        );
        assert_eq!(
            open(&[(CONFIG, r#"{"chat_template": []}"#)])
                .unwrap()
                .chat_template,
            None
        );
    }

    #[test]
    fn errors_name_the_file() {
        assert!(
            open(&[(CONFIG, "{")])
                .unwrap_err()
                .to_string()
                .starts_with("tokenizer_config.json: ")
        );
    }
}

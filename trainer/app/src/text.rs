//! The tokenizer of a policy model.

use std::path::Path;

use assay_weights::Directory;
use serde_json::Value;
use tokenizers::Tokenizer;

/// The tokenizer of a policy model.
pub struct PolicyTokenizer {
    tokenizer: Tokenizer,
    end_tokens: Vec<u32>,
    /// The token that ends a solution.
    end_token: u32,
    /// The token for text that the tokenizer cannot represent.
    unknown: Option<u32>,
}

/// The tokenizer cannot be read, or a text cannot be tokenised.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct TokenizerError(String);

impl PolicyTokenizer {
    /// Reads `tokenizer.json` of a model directory, and the end tokens from `config.json`,
    /// `generation_config.json` and `tokenizer_config.json`.
    ///
    /// # Errors
    /// A file is missing or invalid, or no end token is named.
    pub fn read(path: &Path) -> Result<Self, TokenizerError> {
        let invalid = |problem: String| TokenizerError(format!("`{}`: {problem}", path.display()));
        let directory = Directory::open(path).map_err(|error| invalid(error.to_string()))?;
        let json = |name: &str| {
            directory
                .json(name)
                .map_err(|error| invalid(error.to_string()))
        };
        let text = directory
            .text("tokenizer.json")
            .map_err(|error| invalid(error.to_string()))?;
        let text = text.ok_or_else(|| invalid("`tokenizer.json` is missing".to_owned()))?;
        let tokenizer: Tokenizer = text
            .parse()
            .map_err(|error| invalid(format!("`tokenizer.json` cannot be read: {error}")))?;
        let mut end_tokens = Vec::new();
        for name in ["config.json", "generation_config.json"] {
            let found = json(name)?
                .map(|config| ids(&config["eos_token_id"]))
                .unwrap_or_default();
            end_tokens.extend(found);
        }
        let named = json("tokenizer_config.json")?.unwrap_or_default();
        let named = match &named["eos_token"] {
            Value::Object(token) => token
                .get("content")
                .and_then(Value::as_str)
                .map(str::to_owned),
            token => token.as_str().map(str::to_owned),
        };
        // The tokenizer's own end token is that of its chat template; `config.json` of a chat model
        // often names that of the base model, or several.
        let own = named.and_then(|name| tokenizer.token_to_id(&name));
        let Some(end_token) = own.or(end_tokens.first().copied()) else {
            return Err(invalid(
                "no file names an end token (`eos_token_id`)".to_owned(),
            ));
        };
        end_tokens.push(end_token);
        end_tokens.sort_unstable();
        end_tokens.dedup();
        let whole: Value = serde_json::from_str(&text)
            .map_err(|error| invalid(format!("`tokenizer.json`: {error}")))?;
        let unknown = whole["model"]["unk_token"]
            .as_str()
            .and_then(|name| tokenizer.token_to_id(name));
        Ok(Self {
            tokenizer,
            end_tokens,
            end_token,
            unknown,
        })
    }

    /// Tokens that end a completion.
    #[must_use]
    pub fn end_tokens(&self) -> &[u32] {
        &self.end_tokens
    }

    /// The token that ends a solution: the end token of `tokenizer_config.json`, else the first of
    /// `config.json`, else the first of `generation_config.json`.
    #[must_use]
    pub fn end_token(&self) -> u32 {
        self.end_token
    }

    /// Tokenises a text without adding tokens before or after it.
    ///
    /// # Errors
    /// The tokenizer fails, the text has no tokens, or a part of it has no token.
    pub fn encode(&self, text: &str) -> Result<Vec<u32>, TokenizerError> {
        let encoded = self
            .tokenizer
            .encode_fast(text, false)
            .map_err(|error| TokenizerError(error.to_string()))?;
        if encoded.is_empty() {
            return Err(TokenizerError(format!(
                "the text `{}` has no tokens",
                text.escape_debug()
            )));
        }
        if encoded.get_ids().iter().any(|id| Some(*id) == self.unknown) {
            return Err(self.unknown_part(text));
        }
        Ok(encoded.get_ids().to_vec())
    }

    /// The error for a text with a part that has no token. Encodes again, because fast encoding
    /// returns no offsets.
    fn unknown_part(&self, text: &str) -> TokenizerError {
        let encoded = self.tokenizer.encode(text, false).ok();
        let part = encoded.and_then(|encoded| {
            let index = encoded
                .get_ids()
                .iter()
                .position(|id| Some(*id) == self.unknown)?;
            let (start, end) = encoded.get_offsets()[index];
            text.get(start..end)
        });
        let part = part.unwrap_or(text).escape_debug();
        TokenizerError(format!(
            "the tokenizer has no token for `{part}` in the text `{}`",
            text.escape_debug()
        ))
    }

    /// The text of a completion, without end tokens.
    ///
    /// # Errors
    /// The tokenizer fails.
    pub fn decode(&self, tokens: &[u32]) -> Result<String, TokenizerError> {
        let content: Vec<u32> = tokens
            .iter()
            .copied()
            .filter(|token| !self.end_tokens.contains(token))
            .collect();
        self.tokenizer
            .decode(&content, false)
            .map_err(|error| TokenizerError(error.to_string()))
    }
}

/// Reads one id or an array of ids.
fn ids(value: &Value) -> Vec<u32> {
    let id = |value: &Value| value.as_u64().and_then(|id| u32::try_from(id).ok());
    match value {
        Value::Array(values) => values.iter().filter_map(id).collect(),
        value => id(value).into_iter().collect(),
    }
}

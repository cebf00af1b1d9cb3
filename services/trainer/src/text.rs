//! Texts to tokens and back, by the tokenizer beside the weights.

use std::path::Path;

use assay_weights::Directory;
use serde_json::Value;
use tokenizers::Tokenizer;

/// The tokenizer of a policy.
pub struct Tokens {
    tokenizer: Tokenizer,
    ends: Vec<u32>,
    /// What stands for a text the tokenizer has no token for.
    unknown: Option<u32>,
}

/// The files beside the weights are no tokenizer, or a text has no tokens.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct TokensError(String);

impl Tokens {
    /// Reads `tokenizer.json` of a directory, and the tokens that end a text from `config.json`,
    /// `generation_config.json` and `tokenizer_config.json`.
    ///
    /// # Errors
    /// What is missing or wrong.
    pub fn read(path: &Path) -> Result<Self, TokensError> {
        let wrong = |problem: String| TokensError(format!("`{}`: {problem}", path.display()));
        let directory = Directory::open(path).map_err(|error| wrong(error.to_string()))?;
        let json = |name: &str| {
            directory
                .json(name)
                .map_err(|error| wrong(error.to_string()))
        };
        let text = directory
            .text("tokenizer.json")
            .map_err(|error| wrong(error.to_string()))?;
        let text = text.ok_or_else(|| wrong("there is no `tokenizer.json`".to_owned()))?;
        let tokenizer: Tokenizer = text
            .parse()
            .map_err(|error| wrong(format!("`tokenizer.json` cannot be read: {error}")))?;
        let mut ends = Vec::new();
        for name in ["config.json", "generation_config.json"] {
            let found = json(name)?
                .map(|config| ids(&config["eos_token_id"]))
                .unwrap_or_default();
            ends.extend(found);
        }
        let named = json("tokenizer_config.json")?.unwrap_or_default();
        let named = match &named["eos_token"] {
            Value::Object(token) => token
                .get("content")
                .and_then(Value::as_str)
                .map(str::to_owned),
            token => token.as_str().map(str::to_owned),
        };
        ends.extend(named.and_then(|name| tokenizer.token_to_id(&name)));
        ends.sort_unstable();
        ends.dedup();
        if ends.is_empty() {
            return Err(wrong(
                "no file names the token that ends a text (`eos_token_id`)".to_owned(),
            ));
        }
        let whole: Value = serde_json::from_str(&text)
            .map_err(|error| wrong(format!("`tokenizer.json`: {error}")))?;
        let unknown = whole["model"]["unk_token"]
            .as_str()
            .and_then(|name| tokenizer.token_to_id(name));
        Ok(Self {
            tokenizer,
            ends,
            unknown,
        })
    }

    /// Tokens that end a completion.
    #[must_use]
    pub fn ends(&self) -> &[u32] {
        &self.ends
    }

    /// The tokens of a text as it stands, without any put before or behind it.
    ///
    /// # Errors
    /// The tokenizer fails on the text, it has no tokens, or a part of it has none.
    pub fn encode(&self, text: &str) -> Result<Vec<u32>, TokensError> {
        let encoded = self
            .tokenizer
            .encode_fast(text, false)
            .map_err(|error| TokensError(error.to_string()))?;
        if encoded.is_empty() {
            return Err(TokensError(format!(
                "the text `{}` has no tokens",
                text.escape_debug()
            )));
        }
        if encoded.get_ids().iter().any(|id| Some(*id) == self.unknown) {
            return Err(self.unread(text));
        }
        Ok(encoded.get_ids().to_vec())
    }

    /// Says which part of a text has no token; the quick way of encoding keeps no places.
    fn unread(&self, text: &str) -> TokensError {
        let encoded = self.tokenizer.encode(text, false).ok();
        let part = encoded.and_then(|encoded| {
            let at = encoded
                .get_ids()
                .iter()
                .position(|id| Some(*id) == self.unknown)?;
            let (start, end) = encoded.get_offsets()[at];
            text.get(start..end)
        });
        let part = part.unwrap_or(text).escape_debug();
        TokensError(format!(
            "the tokenizer has no token for `{part}` in the text `{}`",
            text.escape_debug()
        ))
    }

    /// The text of a completion: the token that ends it says nothing.
    ///
    /// # Errors
    /// The tokenizer fails.
    pub fn decode(&self, tokens: &[u32]) -> Result<String, TokensError> {
        let said: Vec<u32> = tokens
            .iter()
            .copied()
            .filter(|token| !self.ends.contains(token))
            .collect();
        self.tokenizer
            .decode(&said, false)
            .map_err(|error| TokensError(error.to_string()))
    }
}

/// One id or several.
fn ids(value: &Value) -> Vec<u32> {
    let id = |value: &Value| value.as_u64().and_then(|id| u32::try_from(id).ok());
    match value {
        Value::Array(values) => values.iter().filter_map(id).collect(),
        value => id(value).into_iter().collect(),
    }
}

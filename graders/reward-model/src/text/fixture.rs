//! Small tokenizers for tests: one token per byte, so that lengths can be counted by hand, followed
//! by special tokens.

use std::path::Path;

use assay_core::Completion;
use assay_core::reward_model::ModelInput;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokenizers::pre_tokenizers::byte_level::ByteLevel;

use super::InputReader;
use super::error::{InputKind, InputReaderError, ModelProperties};
use crate::options::ModelOptions;
use crate::pooling::Pooling;

/// Special tokens. Their ids follow those of the 256 bytes.
pub(super) const SPECIAL: [&str; 6] = [
    "<s>",
    "</s>",
    "<|im_start|>",
    "<|im_end|>",
    "<extra_0>",
    "<pad>",
];

/// Size of the vocabulary, larger than the number of tokens.
pub(super) const VOCABULARY: usize = 270;

/// A ChatML template: turns end with `<|im_end|>` and a line break.
pub(super) const CHATML: &str = "{%- for message in messages -%}
{{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>' + '\\n' -}}
{%- endfor -%}
{%- if add_generation_prompt -%}{{- '<|im_start|>assistant\\n' -}}{%- endif -%}";

/// A temporary model directory.
pub(super) struct Files {
    directory: TempDir,
}

impl Files {
    /// A byte-level tokenizer that adds no special tokens and has no chat template.
    pub(super) fn bytes() -> Self {
        Self::new(&tokenizer(&Value::Null))
    }

    /// The same with a ChatML template.
    pub(super) fn chatml() -> Self {
        Self::bytes().with(
            "tokenizer_config.json",
            &json!({"chat_template": CHATML, "eos_token": "<|im_end|>"}).to_string(),
        )
    }

    /// The same with a beginning-of-sequence token before each text.
    pub(super) fn with_bos() -> Self {
        Self::new(&tokenizer(&template(
            &json!([special("<s>", 0), sequence("A", 0)]),
            &json!([special("<s>", 0), sequence("A", 0), sequence("B", 1)]),
            &["<s>"],
        )))
        .with("tokenizer_config.json", r#"{"bos_token": "<s>"}"#)
    }

    /// The same with special tokens around texts and pairs, as encoders use them.
    pub(super) fn encoder() -> Self {
        let single = json!([special("<s>", 0), sequence("A", 0), special("</s>", 0)]);
        let pair = json!([
            special("<s>", 0),
            sequence("A", 0),
            special("</s>", 0),
            sequence("B", 1),
            special("</s>", 1)
        ]);
        Self::new(&tokenizer(&template(&single, &pair, &["<s>", "</s>"])))
    }

    pub(super) fn new(tokenizer: &Value) -> Self {
        let files = Self {
            directory: tempfile::tempdir().unwrap(),
        };
        files.with("tokenizer.json", &tokenizer.to_string())
    }

    pub(super) fn with(self, name: &str, text: &str) -> Self {
        std::fs::write(self.path().join(name), text).unwrap();
        self
    }

    pub(super) fn path(&self) -> &Path {
        self.directory.path()
    }

    pub(super) fn open(
        &self,
        options: &ModelOptions,
        properties: &ModelProperties,
    ) -> Result<InputReader, InputReaderError> {
        InputReader::open(self.path(), options, properties)
    }

    /// A reader for a kind of input with at most `max_tokens`.
    pub(super) fn reader(&self, kind: InputKind, max_tokens: usize) -> InputReader {
        self.open(&ModelOptions::default(), &properties(kind, max_tokens))
            .unwrap()
    }
}

pub(super) fn properties(kind: InputKind, max_tokens: usize) -> ModelProperties {
    ModelProperties {
        kind,
        pooling: Pooling::Last,
        pad: None,
        max_tokens,
        vocabulary: VOCABULARY,
    }
}

/// A rollout with two plain texts.
pub(super) fn rollout(prompt: &str, completion: &str) -> ModelInput {
    ModelInput::Rollout {
        prompt: Some(text(prompt)),
        completion: text(completion),
        reference: None,
    }
}

pub(super) fn text(text: &str) -> Completion {
    Completion::Text(text.into())
}

pub(super) fn messages(json: Value) -> Completion {
    serde_json::from_value(json).unwrap()
}

/// The id of a special token.
pub(super) fn id(token: &str) -> u32 {
    let at = SPECIAL
        .iter()
        .position(|special| *special == token)
        .unwrap();
    u32::try_from(256 + at).unwrap()
}

/// The ids of a text that contains special tokens by name: `<s>ab` is one special token and two
/// bytes.
pub(super) fn ids(mut text: &str) -> Vec<u32> {
    let alphabet = alphabet();
    let mut ids = Vec::new();
    while let Some(&byte) = text.as_bytes().first() {
        if let Some(token) = SPECIAL.iter().find(|token| text.starts_with(**token)) {
            ids.push(id(token));
            text = &text[token.len()..];
        } else {
            assert!(
                byte.is_ascii_graphic() || byte == b' ' || byte == b'\n',
                "the fixture supports plain bytes only"
            );
            let shown = match byte {
                b' ' => 'Ġ',
                b'\n' => 'Ċ',
                graphic => char::from(graphic),
            };
            ids.push(u32::try_from(alphabet.iter().position(|c| *c == shown).unwrap()).unwrap());
            text = &text[1..];
        }
    }
    ids
}

fn alphabet() -> Vec<char> {
    let mut alphabet: Vec<char> = ByteLevel::alphabet().into_iter().collect();
    alphabet.sort_unstable();
    alphabet
}

pub(super) fn tokenizer(post_processor: &Value) -> Value {
    let vocabulary: serde_json::Map<_, _> = alphabet()
        .into_iter()
        .enumerate()
        .map(|(id, c)| (c.to_string(), json!(id)))
        .collect();
    let added: Vec<Value> = SPECIAL
        .iter()
        .map(|token| {
            json!({
                "id": id(token), "content": token, "special": true, "normalized": false,
                "lstrip": false, "rstrip": false, "single_word": false,
            })
        })
        .collect();
    json!({
        "version": "1.0",
        "truncation": {
            "direction": "Right", "max_length": 3, "strategy": "LongestFirst", "stride": 0,
        },
        "padding": null, "added_tokens": added, "normalizer": null,
        "pre_tokenizer": {
            "type": "ByteLevel", "add_prefix_space": false, "trim_offsets": false,
            "use_regex": true,
        },
        "post_processor": post_processor, "decoder": null,
        "model": {
            "type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null,
            "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false,
            "vocab": vocabulary, "merges": [],
        },
    })
}

fn template(single: &Value, pair: &Value, tokens: &[&str]) -> Value {
    let tokens: serde_json::Map<_, _> = tokens
        .iter()
        .map(|token| {
            (
                (*token).to_owned(),
                json!({"id": token, "ids": [id(token)], "tokens": [token]}),
            )
        })
        .collect();
    json!({"type": "TemplateProcessing", "single": single, "pair": pair, "special_tokens": tokens})
}

fn special(token: &str, kind: u32) -> Value {
    json!({"SpecialToken": {"id": token, "type_id": kind}})
}

fn sequence(name: &str, kind: u32) -> Value {
    json!({"Sequence": {"id": name, "type_id": kind}})
}

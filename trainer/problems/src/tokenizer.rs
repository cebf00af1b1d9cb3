//! A tokenizer with single characters as tokens, in the file format of the `tokenizers` library
//! and `transformers`.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

/// The special tokens; their ids are 0, 1 and 2.
const SPECIAL: [&str; 3] = [
    CharacterTokenizer::PAD,
    CharacterTokenizer::EOS,
    CharacterTokenizer::UNKNOWN,
];

/// A tokenizer with the special tokens and then one token for each character of an alphabet, in the
/// order of code points.
///
/// The files describe byte-pair encoding without merges. Text is not split, normalised or trimmed,
/// decoded tokens are concatenated, and no token is added before or after a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CharacterTokenizer {
    alphabet: BTreeSet<char>,
}

impl CharacterTokenizer {
    /// Padding; id 0.
    pub const PAD: &str = "<pad>";
    /// Ends a completion; id 1.
    pub const EOS: &str = "<eos>";
    /// Any character outside the alphabet, which would otherwise be dropped silently; id 2.
    pub const UNKNOWN: &str = "<unk>";

    /// The tokenizer for an alphabet.
    #[must_use]
    pub fn new(alphabet: BTreeSet<char>) -> Self {
        Self { alphabet }
    }

    /// The number of tokens including the special ones: the rows of an embedding.
    #[must_use]
    pub fn count(&self) -> usize {
        SPECIAL.len() + self.alphabet.len()
    }

    /// The content of `tokenizer.json`.
    #[must_use]
    pub fn tokenizer(&self) -> String {
        let characters = self.alphabet.iter().map(char::to_string);
        let vocabulary: Map<String, Value> = SPECIAL
            .into_iter()
            .map(str::to_owned)
            .chain(characters)
            .zip((0..).map(Value::from))
            .collect();
        let special = |(id, token): (usize, &str)| {
            json!({ "id": id, "content": token, "special": true, "normalized": false,
                    "single_word": false, "lstrip": false, "rstrip": false })
        };
        let added: Vec<_> = SPECIAL.into_iter().enumerate().map(special).collect();
        let model = json!({
            "type": "BPE", "vocab": vocabulary, "merges": [], "unk_token": Self::UNKNOWN,
            "fuse_unk": false, "byte_fallback": false, "ignore_merges": false,
        });
        json!({
            "version": "1.0", "truncation": null, "padding": null, "added_tokens": added,
            "normalizer": null, "pre_tokenizer": null, "post_processor": null,
            "decoder": { "type": "Fuse" }, "model": model,
        })
        .to_string()
    }

    /// The content of `tokenizer_config.json`, for a model with a context of `context` tokens.
    #[must_use]
    pub fn config(&self, context: usize) -> String {
        json!({
            "tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": context,
            "padding_side": "left", "pad_token": Self::PAD, "eos_token": Self::EOS,
            "unk_token": Self::UNKNOWN, "clean_up_tokenization_spaces": false,
        })
        .to_string()
    }
}

#[cfg(test)]
mod tests {
    use tokenizers::Tokenizer;

    use super::*;

    fn read(text: &str) -> (CharacterTokenizer, Tokenizer) {
        let tokens = CharacterTokenizer::new(text.chars().collect());
        let tokenizer = tokens.tokenizer().parse().unwrap();
        (tokens, tokenizer)
    }

    #[test]
    fn encodes_each_character_as_one_token_and_round_trips() {
        let text = "def f(x):\n\t return  x*7+3 \\boxed{\"é\"}, 'ß' \u{2003}\r\n ";
        let (tokens, tokenizer) = read(text);
        let ids = tokenizer.encode(text, true).unwrap();
        assert_eq!(ids.get_ids().len(), text.chars().count());
        assert_eq!(tokenizer.decode(ids.get_ids(), true).unwrap(), text);
        assert_eq!(tokenizer.get_vocab_size(true), tokens.count());
    }

    #[test]
    fn special_tokens_have_fixed_ids() {
        let (_, tokenizer) = read("01");
        let ids = [
            CharacterTokenizer::PAD,
            CharacterTokenizer::EOS,
            CharacterTokenizer::UNKNOWN,
        ]
        .map(|token| tokenizer.token_to_id(token));
        assert_eq!(ids, [Some(0), Some(1), Some(2)]);
        assert_eq!(
            tokenizer.encode("0<eos>1?", false).unwrap().get_ids(),
            [3, 1, 4, 2]
        );
        assert_eq!(tokenizer.decode(&[4, 3, 1, 0], true).unwrap(), "10");
    }
}

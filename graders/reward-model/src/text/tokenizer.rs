//! Encodes texts as token ids. Owns the tokenizer and the special tokens that it adds. Independent
//! of rollouts.

use std::collections::BTreeSet;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use assay_core::reward_model::Refusal;
use serde_json::json;
use tokenizers::processors::PostProcessorWrapper;
use tokenizers::{
    AddedToken, Encoding, ModelWrapper, PostProcessor, Tokenizer, TruncationDirection,
    TruncationParams, TruncationStrategy, truncate_encodings,
};

use super::error::InputReaderError;
use super::tokenizer_config::TokenizerConfig;

const FILE: &str = "tokenizer.json";

/// A tokenizer without truncation and padding.
#[derive(Debug)]
pub(super) struct TextTokenizer {
    tokenizer: Tokenizer,
    /// Text and id of the beginning-of-sequence token, if the tokenizer adds one.
    bos: Option<(String, u32)>,
    special: BTreeSet<u32>,
}

/// Token ids, and the start of the second text of a pair, or the number of ids if there is only one
/// text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Encoded {
    pub(super) ids: Vec<u32>,
    pub(super) second: usize,
}

impl TextTokenizer {
    /// Opens `tokenizer.json` with the declarations of the other tokenizer files.
    ///
    /// # Errors
    /// The file is missing or invalid, or its tokenisation is not deterministic.
    pub(super) fn open(
        directory: &Path,
        config: &TokenizerConfig,
    ) -> Result<Self, InputReaderError> {
        let bytes = std::fs::read(directory.join(FILE))
            .map_err(|error| InputReaderError::new(FILE, error.to_string()))?;
        // A file with inconsistent parts makes the tokenizer panic. If so, it already panics here,
        // on two short texts.
        catch_unwind(AssertUnwindSafe(|| {
            let tokens = Self::build(&bytes, config)?;
            tokens
                .pair("a", "b")
                .and(tokens.encode("a", false))
                .map_err(|refusal| InputReaderError::new(FILE, refusal.to_string()))?;
            Ok(tokens)
        }))
        .unwrap_or_else(|_| Err(InputReaderError::new(FILE, "its parts are inconsistent")))
    }

    fn build(bytes: &[u8], config: &TokenizerConfig) -> Result<Self, InputReaderError> {
        let tokenizer_error =
            |error: tokenizers::Error| InputReaderError::new(FILE, error.to_string());
        let mut tokenizer = Tokenizer::from_bytes(bytes).map_err(tokenizer_error)?;
        let random = match tokenizer.get_model() {
            ModelWrapper::BPE(model) => model.dropout.is_some_and(|share| share > 0.0),
            ModelWrapper::Unigram(model) => model.alpha.is_some_and(|alpha| alpha > 0.0),
            ModelWrapper::WordPiece(_) | ModelWrapper::WordLevel(_) => false,
        };
        if random {
            return Err(InputReaderError::new(
                FILE,
                "its model chooses tokens at random (`dropout` or `alpha`); set it to null",
            ));
        }
        tokenizer.with_truncation(None).map_err(tokenizer_error)?;
        tokenizer.with_padding(None);
        let existing = tokenizer.get_added_tokens_decoder();
        let missing: Vec<AddedToken> = config
            .special
            .values()
            .chain(&config.unnamed)
            .filter(|text| existing.values().all(|token| token.content != **text))
            .map(|text| AddedToken::from(text.as_str(), true))
            .collect();
        tokenizer
            .add_special_tokens(missing)
            .map_err(tokenizer_error)?;
        if let Some((bos, eos)) = config.added_bos_eos {
            let processor = post_processor(&tokenizer, config, bos, eos)?;
            tokenizer.with_post_processor(Some(processor));
        }
        let special = tokenizer
            .get_added_tokens_decoder()
            .into_iter()
            .filter(|(_, token)| token.special)
            .map(|(id, _)| id)
            .collect();
        let first = |add| {
            Ok(tokenizer
                .encode_fast("a", add)
                .map_err(tokenizer_error)?
                .get_ids()
                .first()
                .copied())
        };
        let (with, without): (Option<u32>, Option<u32>) = (first(true)?, first(false)?);
        let bos = config
            .special
            .get("bos_token")
            .and_then(|text| Some((text.clone(), tokenizer.token_to_id(text)?)))
            .filter(|(_, id)| with == Some(*id) && without != with);
        Ok(Self {
            tokenizer,
            bos,
            special,
        })
    }

    /// The id of a token, or `None` if it does not exist.
    pub(super) fn id(&self, token: &str) -> Option<u32> {
        self.tokenizer.token_to_id(token)
    }

    /// Returns whether a text is an added token, which is never merged with the surrounding text.
    pub(super) fn is_added(&self, token: &str) -> bool {
        self.tokenizer
            .get_added_vocabulary()
            .get_vocab()
            .contains_key(token)
    }

    /// Returns whether a token is special.
    pub(super) fn is_special(&self, id: u32) -> bool {
        self.special.contains(&id)
    }

    /// The ids of a text. With `add`, including the special tokens that the tokenizer adds.
    pub(super) fn encode(&self, text: &str, add: bool) -> Result<Encoded, Refusal> {
        let encoding = self.tokenizer.encode_fast(text, add).map_err(unreadable)?;
        Ok(self.without_second_bos(text, add, &encoding))
    }

    /// Like [`TextTokenizer::encode`], but returns for each id whether its text is inside one of
    /// the spans, which are sorted byte ranges.
    pub(super) fn encode_spans(
        &self,
        text: &str,
        add: bool,
        spans: &[Range<usize>],
    ) -> Result<Vec<(u32, bool)>, Refusal> {
        let encoding = self.tokenizer.encode(text, add).map_err(unreadable)?;
        let inside = |&(start, end): &(usize, usize)| {
            let span = spans.partition_point(|span| span.end < end);
            start < end && spans.get(span).is_some_and(|span| span.start <= start)
        };
        let ids = encoding.get_ids();
        let extra = usize::from(self.has_second_bos(text, add, ids));
        Ok(ids
            .iter()
            .copied()
            .zip(encoding.get_offsets().iter().map(inside))
            .skip(extra)
            .collect())
    }

    /// The ids of a pair of texts with the special tokens that the tokenizer adds.
    pub(super) fn pair(&self, first: &str, second: &str) -> Result<Encoded, Refusal> {
        let encoding = self
            .tokenizer
            .encode_fast((first, second), true)
            .map_err(unreadable)?;
        Ok(self.without_second_bos(first, true, &encoding))
    }

    /// Encodes one text or a pair, truncated to at most `max` tokens including the special tokens
    /// that the tokenizer adds. `None` if the special tokens alone exceed `max`, or `strategy` does
    /// not allow the required truncation.
    pub(super) fn encode_truncated(
        &self,
        first: &str,
        second: Option<&str>,
        max: usize,
        direction: TruncationDirection,
        strategy: TruncationStrategy,
    ) -> Result<Option<Encoded>, Refusal> {
        let encode_bare = |text: &str| self.tokenizer.encode_fast(text, false).map_err(unreadable);
        let added = self
            .tokenizer
            .get_post_processor()
            .map_or(0, |processor| processor.added_tokens(second.is_some()));
        let Some(max_length) = max.checked_sub(added).filter(|length| *length > 0) else {
            return Ok(None);
        };
        let parameters = TruncationParams {
            direction,
            max_length,
            strategy,
            stride: 0,
        };
        let Ok((mut one, mut two)) = truncate_encodings(
            encode_bare(first)?,
            second.map(encode_bare).transpose()?,
            &parameters,
        ) else {
            return Ok(None);
        };
        one.take_overflowing();
        if let Some(two) = &mut two {
            two.take_overflowing();
        }
        let encoding = self
            .tokenizer
            .post_process(one, two, true)
            .map_err(unreadable)?;
        Ok(Some(self.without_second_bos(first, true, &encoding)))
    }

    /// Returns whether a text starts with the beginning-of-sequence token and the tokenizer added a
    /// second one.
    fn has_second_bos(&self, text: &str, add: bool, ids: &[u32]) -> bool {
        let starts_with_two = |(bos, id): &(String, u32)| {
            text.starts_with(bos.as_str()) && ids.starts_with(&[*id, *id])
        };
        add && self.bos.as_ref().is_some_and(starts_with_two)
    }

    /// Converts an encoding and removes a second beginning-of-sequence token.
    fn without_second_bos(&self, text: &str, add: bool, encoding: &Encoding) -> Encoded {
        let ids = encoding.get_ids();
        let extra = usize::from(self.has_second_bos(text, add, ids));
        let second = encoding
            .get_type_ids()
            .iter()
            .position(|&kind| kind > 0)
            .unwrap_or(ids.len());
        Encoded {
            ids: ids[extra..].to_vec(),
            second: second.saturating_sub(extra),
        }
    }
}

/// A post-processor that adds the declared tokens at the beginning and the end of texts, instead of
/// the one in `tokenizer.json`.
fn post_processor(
    tokenizer: &Tokenizer,
    config: &TokenizerConfig,
    bos: bool,
    eos: bool,
) -> Result<PostProcessorWrapper, InputReaderError> {
    let token = |name: &str, enabled: bool| config.special.get(name).filter(|_| enabled);
    let (bos, eos) = (token("bos_token", bos), token("eos_token", eos));
    let piece = |token: &String, kind: u32| json!({"SpecialToken": {"id": token, "type_id": kind}});
    let text = |sequence: &str, kind: u32| {
        let own = json!({"Sequence": {"id": sequence, "type_id": kind}});
        bos.map(|token| piece(token, kind))
            .into_iter()
            .chain([own])
            .chain(eos.map(|token| piece(token, kind)))
    };
    let tokens: serde_json::Map<_, _> = bos
        .into_iter()
        .chain(eos)
        .map(|token| {
            (
                token.clone(),
                json!({"id": token, "ids": [tokenizer.token_to_id(token)], "tokens": [token]}),
            )
        })
        .collect();
    serde_json::from_value(json!({
        "type": "TemplateProcessing",
        "single": text("A", 0).collect::<Vec<_>>(),
        "pair": text("A", 0).chain(text("B", 1)).collect::<Vec<_>>(),
        "special_tokens": tokens,
    }))
    .map_err(|error| InputReaderError::new(FILE, error.to_string()))
}

fn unreadable(error: impl std::fmt::Display) -> Refusal {
    Refusal::Unreadable(format!("the tokenizer cannot encode the text: {error}"))
}

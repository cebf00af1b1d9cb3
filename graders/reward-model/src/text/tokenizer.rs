//! Texts as token ids. Owns the tokenizer and which special tokens it adds; knows nothing of
//! rollouts.

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

use super::ReaderError;
use super::config::TokenizerConfig;

const FILE: &str = "tokenizer.json";

/// A tokenizer that cuts and pads nothing by itself.
#[derive(Debug)]
pub(super) struct Tokens {
    tokenizer: Tokenizer,
    /// Text and id of the token that the tokenizer puts before a text, where it does.
    bos: Option<(String, u32)>,
    special: BTreeSet<u32>,
}

/// Token ids with the position of the second text of a pair; their number where there is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Encoded {
    pub(super) ids: Vec<u32>,
    pub(super) second: usize,
}

impl Tokens {
    /// Opens `tokenizer.json` with what is declared beside it.
    ///
    /// # Errors
    /// The file is missing or broken, or would not give the same tokens every time.
    pub(super) fn open(directory: &Path, config: &TokenizerConfig) -> Result<Self, ReaderError> {
        let bytes = std::fs::read(directory.join(FILE))
            .map_err(|error| ReaderError::new(FILE, error.to_string()))?;
        // A file whose parts do not fit together makes the tokenizer panic; it does so here, on two
        // short texts, or never.
        catch_unwind(AssertUnwindSafe(|| {
            let tokens = Self::build(&bytes, config)?;
            tokens
                .pair("a", "b")
                .and(tokens.encode("a", false))
                .map_err(|refusal| ReaderError::new(FILE, refusal.to_string()))?;
            Ok(tokens)
        }))
        .unwrap_or_else(|_| Err(ReaderError::new(FILE, "its parts do not fit together")))
    }

    fn build(bytes: &[u8], config: &TokenizerConfig) -> Result<Self, ReaderError> {
        let broken = |error: tokenizers::Error| ReaderError::new(FILE, error.to_string());
        let mut tokenizer = Tokenizer::from_bytes(bytes).map_err(broken)?;
        let drawn = match tokenizer.get_model() {
            ModelWrapper::BPE(model) => model.dropout.is_some_and(|share| share > 0.0),
            ModelWrapper::Unigram(model) => model.alpha.is_some_and(|alpha| alpha > 0.0),
            ModelWrapper::WordPiece(_) | ModelWrapper::WordLevel(_) => false,
        };
        if drawn {
            return Err(ReaderError::new(
                FILE,
                "its model draws tokens by lot (`dropout` or `alpha`); set it to null",
            ));
        }
        tokenizer.with_truncation(None).map_err(broken)?;
        tokenizer.with_padding(None);
        let known = tokenizer.get_added_tokens_decoder();
        let missing: Vec<AddedToken> = config
            .special
            .values()
            .chain(&config.more)
            .filter(|text| known.values().all(|token| token.content != **text))
            .map(|text| AddedToken::from(text.as_str(), true))
            .collect();
        tokenizer.add_special_tokens(missing).map_err(broken)?;
        if let Some((bos, eos)) = config.adds {
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
                .map_err(broken)?
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

    /// The id of a token.
    pub(super) fn id(&self, token: &str) -> Option<u32> {
        self.tokenizer.token_to_id(token)
    }

    /// Whether a text is a token by itself wherever it stands, never merged with its neighbours.
    pub(super) fn is_added(&self, token: &str) -> bool {
        self.tokenizer
            .get_added_vocabulary()
            .get_vocab()
            .contains_key(token)
    }

    /// Whether a token is one of the special ones.
    pub(super) fn is_special(&self, id: u32) -> bool {
        self.special.contains(&id)
    }

    /// The ids of a text, with the special tokens that the tokenizer adds where `add` says so.
    pub(super) fn encode(&self, text: &str, add: bool) -> Result<Encoded, Refusal> {
        let encoding = self.tokenizer.encode_fast(text, add).map_err(unreadable)?;
        Ok(self.once(text, add, &encoding))
    }

    /// As [`Tokens::encode`], each id with whether its text lies inside one of the spans, which are
    /// in order and in bytes.
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
        let twice = usize::from(self.begins_twice(text, add, ids));
        Ok(ids
            .iter()
            .copied()
            .zip(encoding.get_offsets().iter().map(inside))
            .skip(twice)
            .collect())
    }

    /// The ids of two texts as the tokenizer joins them.
    pub(super) fn pair(&self, first: &str, second: &str) -> Result<Encoded, Refusal> {
        let encoding = self
            .tokenizer
            .encode_fast((first, second), true)
            .map_err(unreadable)?;
        Ok(self.once(first, true, &encoding))
    }

    /// One text, or two, with the special tokens that the tokenizer adds, where the texts are cut
    /// to make it at most `max` tokens. `None` where the special tokens alone are too many, or
    /// `strategy` forbids what would be needed.
    pub(super) fn cut(
        &self,
        first: &str,
        second: Option<&str>,
        max: usize,
        direction: TruncationDirection,
        strategy: TruncationStrategy,
    ) -> Result<Option<Encoded>, Refusal> {
        let bare = |text: &str| self.tokenizer.encode_fast(text, false).map_err(unreadable);
        let added = self
            .tokenizer
            .get_post_processor()
            .map_or(0, |processor| processor.added_tokens(second.is_some()));
        let Some(max_length) = max.checked_sub(added).filter(|room| *room > 0) else {
            return Ok(None);
        };
        let parameters = TruncationParams {
            direction,
            max_length,
            strategy,
            stride: 0,
        };
        let Ok((mut one, mut two)) =
            truncate_encodings(bare(first)?, second.map(bare).transpose()?, &parameters)
        else {
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
        Ok(Some(self.once(first, true, &encoding)))
    }

    /// Whether a text brings the token that begins one, and the tokenizer put another before it.
    fn begins_twice(&self, text: &str, add: bool, ids: &[u32]) -> bool {
        let doubled = |(bos, id): &(String, u32)| {
            text.starts_with(bos.as_str()) && ids.starts_with(&[*id, *id])
        };
        add && self.bos.as_ref().is_some_and(doubled)
    }

    /// An encoding that begins once.
    fn once(&self, text: &str, add: bool, encoding: &Encoding) -> Encoded {
        let ids = encoding.get_ids();
        let twice = usize::from(self.begins_twice(text, add, ids));
        let second = encoding
            .get_type_ids()
            .iter()
            .position(|&kind| kind > 0)
            .unwrap_or(ids.len());
        Encoded {
            ids: ids[twice..].to_vec(),
            second: second.saturating_sub(twice),
        }
    }
}

/// What adds the beginning and the end of a text as declared, whatever `tokenizer.json` says.
fn post_processor(
    tokenizer: &Tokenizer,
    config: &TokenizerConfig,
    bos: bool,
    eos: bool,
) -> Result<PostProcessorWrapper, ReaderError> {
    let token = |name: &str, wanted: bool| config.special.get(name).filter(|_| wanted);
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
    .map_err(|error| ReaderError::new(FILE, error.to_string()))
}

fn unreadable(error: impl std::fmt::Display) -> Refusal {
    Refusal::Unreadable(format!("the tokenizer does not read the text: {error}"))
}

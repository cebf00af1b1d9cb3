//! The input reader: converts model inputs to sequences according to a model's files and options.

use std::path::Path;

use assay_core::reward_model::{ModelInput, Refusal, Truncate};

use super::error::{InputKind, InputReaderError, ModelProperties};
use super::rollout::{Renderer, Rollout, probe, prompt_text};
use super::steps::{self, StepMarkers};
use super::tokenizer::TextTokenizer;
use super::tokenizer_config::TokenizerConfig;
use super::truncated::{SecondText, Truncated};
use crate::options::ModelOptions;
use crate::pooling::{Pooling, row};
use crate::sequence::{Rows, Sequence};

/// Converts model inputs to sequences.
///
/// The conversion is deterministic: it depends on neither random numbers nor a clock.
#[derive(Debug)]
pub struct InputReader {
    pub(super) kind: InputKind,
    pub(super) tokens: TextTokenizer,
    pub(super) renderer: Renderer,
    pub(super) max_tokens: usize,
    pooling: Pooling,
    steps: Option<StepMarkers>,
    vocabulary: usize,
    /// The end-of-sequence token, if there is one.
    eos: Option<u32>,
}

impl InputReader {
    /// Opens the files of a model's directory: `tokenizer.json` and, if they exist,
    /// `tokenizer_config.json`, `special_tokens_map.json` and `chat_template.jinja`.
    ///
    /// # Errors
    /// A file, a template or an option is missing or invalid.
    pub fn open(
        directory: &Path,
        options: &ModelOptions,
        properties: &ModelProperties,
    ) -> Result<Self, InputReaderError> {
        let config = TokenizerConfig::open(directory)?;
        let tokens = TextTokenizer::open(directory, &config)?;
        let renderer = Renderer::open(options, &config)?;
        let pad = properties.pad.or_else(|| {
            config
                .special
                .get("pad_token")
                .and_then(|pad| tokens.id(pad))
        });
        let pooling = match &options.pooling {
            None => properties.pooling,
            Some(text) => Pooling::parse(text, pad, |token| tokens.id(token))
                .map_err(|problem| InputReaderError::new("option `pooling`", problem))?,
        };
        let eos = config
            .special
            .get("eos_token")
            .and_then(|eos| tokens.id(eos));
        let steps = match properties.kind {
            InputKind::Steps => Some(open_steps(&tokens, options)?),
            InputKind::Rollout | InputKind::Pair | InputKind::Embedding => None,
        };
        let max_tokens = match options.max_tokens {
            None => properties.max_tokens,
            Some(limit) if (1..=properties.max_tokens).contains(&limit) => limit,
            Some(limit) => {
                let problem = format!(
                    "{limit} is not between 1 and {}, the maximum of the model's configuration",
                    properties.max_tokens
                );
                return Err(InputReaderError::new("option `max_tokens`", problem));
            }
        };
        Ok(Self {
            kind: properties.kind,
            tokens,
            renderer,
            max_tokens,
            pooling,
            steps,
            vocabulary: properties.vocabulary,
            eos,
        })
    }

    /// Template style: `chat`, `text`, `verify_rm` or `custom`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.renderer.name()
    }

    /// Pooling of the head. Not used by models that score steps.
    #[must_use]
    pub fn pooling(&self) -> Pooling {
        self.pooling
    }

    /// Step markers, for a model that scores steps.
    #[must_use]
    pub fn steps(&self) -> Option<&StepMarkers> {
        self.steps.as_ref()
    }

    /// Maximum sequence length in tokens.
    #[must_use]
    pub fn max_tokens(&self) -> usize {
        self.max_tokens
    }

    /// Reads an input. The sequence has at least one and at most [`InputReader::max_tokens`]
    /// tokens, its ids are in the vocabulary, and its rows are valid positions.
    ///
    /// # Errors
    /// The input is too long or the model cannot read it.
    pub fn read(&self, input: &ModelInput, truncate: Truncate) -> Result<Sequence, Refusal> {
        match input {
            ModelInput::Text(text) => {
                self.sequence(self.encode_texts(text, SecondText::None, truncate)?, None)
            }
            ModelInput::Pair(first, second) => self.sequence(
                self.encode_texts(first, SecondText::Equal(second), truncate)?,
                None,
            ),
            ModelInput::Bare { text, ended } => {
                let mut ids = self.tokens.encode(text, false)?.ids;
                if let Some(eos) = self.eos.filter(|eos| *ended && ids.last() != Some(eos)) {
                    ids.push(eos);
                }
                self.sequence(self.truncate_ids(&ids, truncate)?, None)
            }
            ModelInput::Ids(ids) => self.sequence(self.truncate_ids(ids, truncate)?, None),
            ModelInput::Rollout {
                prompt,
                completion,
                reference,
            } => self.rollout(
                &Rollout {
                    prompt: prompt.as_ref(),
                    completion,
                    reference: reference.as_deref(),
                },
                truncate,
            ),
        }
    }

    fn rollout(&self, rollout: &Rollout<'_>, truncate: Truncate) -> Result<Sequence, Refusal> {
        let text = rollout.completion.text();
        match (self.kind, &self.steps) {
            (InputKind::Embedding, _) => {
                self.sequence(self.encode_texts(&text, SecondText::None, truncate)?, None)
            }
            (InputKind::Pair, _) => {
                let prompt = rollout.prompt.and_then(prompt_text).ok_or_else(|| {
                    Refusal::Unreadable(
                        "the model reads a completion with its prompt, but `prompt` is missing"
                            .to_owned(),
                    )
                })?;
                self.sequence(
                    self.encode_texts(&prompt, SecondText::Completion(&text), truncate)?,
                    None,
                )
            }
            (_, Some(steps)) => {
                let (completion, count) = steps.mark(rollout.completion)?;
                self.sequence(
                    self.encode_rollout(
                        &Rollout {
                            completion: &completion,
                            ..*rollout
                        },
                        truncate,
                    )?,
                    Some(count),
                )
            }
            (_, None) => self.sequence(self.encode_rollout(rollout, truncate)?, None),
        }
    }

    /// Checks token ids and selects the rows that the head reads.
    fn sequence(&self, input: Truncated, steps: Option<usize>) -> Result<Sequence, Refusal> {
        let Truncated { encoded, removed } = input;
        if encoded.ids.is_empty() {
            return Err(Refusal::Unreadable("the input has no tokens".to_owned()));
        }
        if let Some(id) = encoded
            .ids
            .iter()
            .find(|id| usize::try_from(**id).map_or(true, |id| id >= self.vocabulary))
        {
            return Err(Refusal::Unreadable(format!(
                "the input contains token {id}, which exceeds the model's vocabulary of {} tokens",
                self.vocabulary
            )));
        }
        let rows = match &self.steps {
            None => self.pooling.rows(&encoded.ids)?,
            Some(markers) => {
                let positions = markers.positions(&encoded.ids, steps)?;
                Rows::At(positions.into_iter().map(row).collect::<Result<_, _>>()?)
            }
        };
        Ok(Sequence {
            ids: encoded.ids,
            second: encoded.second,
            rows,
            truncated_tokens: row(removed)?,
        })
    }

    /// The id of a label at the start of the answer, that is, after the text that the template
    /// renders before it.
    ///
    /// # Errors
    /// The label is not exactly one token there. The message lists its tokens.
    pub fn token_id(&self, label: &str) -> Result<u32, InputReaderError> {
        let label_error = |problem: String| InputReaderError::new("option `labels`", problem);
        let ids = |text: &str| {
            self.tokens
                .encode(text, false)
                .map(|encoded| encoded.ids)
                .map_err(|refusal| label_error(refusal.to_string()))
        };
        let before = probe(|rollout| self.renderer.render(rollout))
            .map_err(|refusal| label_error(refusal.to_string()))?;
        let (without, with) = (ids(&before)?, ids(&format!("{before}{label}"))?);
        let common = without
            .iter()
            .zip(&with)
            .take_while(|(a, b)| a == b)
            .count();
        match with[common..] {
            [id] if common == without.len() => Ok(id),
            ref tokens => Err(label_error(format!(
                "a label must be exactly one token at the start of the answer, but `{label}` is {} \
                 tokens there, with the ids {tokens:?}",
                tokens.len()
            ))),
        }
    }
}

fn open_steps(
    tokens: &TextTokenizer,
    options: &ModelOptions,
) -> Result<StepMarkers, InputReaderError> {
    let token = options
        .step_token
        .as_deref()
        .unwrap_or(steps::DEFAULT_TOKEN);
    match tokens.id(token).filter(|_| tokens.is_added(token)) {
        Some(id) => Ok(StepMarkers::new(
            options.step_separator.as_deref(),
            token,
            id,
        )),
        None => Err(InputReaderError::new(
            "option `step_token`",
            format!(
                "`{token}` is not an added token of the tokenizer, so it would merge with the \
                 surrounding text"
            ),
        )),
    }
}

//! The reader: a model's files and options in, sequences out.

use std::path::Path;

use assay_core::reward_model::{ModelInput, Refusal, Truncate};

use super::config::TokenizerConfig;
use super::rollout::{Renderer, Rollout, probe, prompt_text};
use super::steps::{self, Steps};
use super::tokenizer::Tokens;
use super::truncate::{Cut, Pair};
use super::{Facts, Kind, ReaderError};
use crate::options::ModelOptions;
use crate::pooling::{Pooling, row};
use crate::sequence::{Rows, Sequence};

/// Reads what a model is asked.
///
/// It draws nothing by lot and asks no clock: the same input gives the same sequence, on any day
/// and any thread.
#[derive(Debug)]
pub struct Reader {
    pub(super) kind: Kind,
    pub(super) tokens: Tokens,
    pub(super) renderer: Renderer,
    pub(super) max_tokens: usize,
    pooling: Pooling,
    steps: Option<Steps>,
    vocabulary: usize,
    /// The end-of-sequence token, where there is one.
    end: Option<u32>,
}

impl Reader {
    /// Opens the files of a model's directory: `tokenizer.json`, and where they are there
    /// `tokenizer_config.json`, `special_tokens_map.json` and `chat_template.jinja`.
    ///
    /// # Errors
    /// A file, a template or an option is missing or wrong.
    pub fn open(
        directory: &Path,
        options: &ModelOptions,
        facts: &Facts,
    ) -> Result<Self, ReaderError> {
        let config = TokenizerConfig::open(directory)?;
        let tokens = Tokens::open(directory, &config)?;
        let renderer = Renderer::open(options, &config)?;
        let pad = facts.pad.or_else(|| {
            config
                .special
                .get("pad_token")
                .and_then(|pad| tokens.id(pad))
        });
        let pooling = match &options.pooling {
            None => facts.pooling,
            Some(text) => Pooling::parse(text, pad, |token| tokens.id(token))
                .map_err(|problem| ReaderError::new("option `pooling`", problem))?,
        };
        let end = config
            .special
            .get("eos_token")
            .and_then(|end| tokens.id(end));
        let steps = match facts.kind {
            Kind::Steps => Some(open_steps(&tokens, options)?),
            Kind::Rollout | Kind::Pair | Kind::Embedding => None,
        };
        let max_tokens = match options.max_tokens {
            None => facts.max_tokens,
            Some(most) if (1..=facts.max_tokens).contains(&most) => most,
            Some(most) => {
                let problem = format!(
                    "{most} is not between 1 and {}, which its configuration allows",
                    facts.max_tokens
                );
                return Err(ReaderError::new("option `max_tokens`", problem));
            }
        };
        Ok(Self {
            kind: facts.kind,
            tokens,
            renderer,
            max_tokens,
            pooling,
            steps,
            vocabulary: facts.vocabulary,
            end,
        })
    }

    /// How rollouts are rendered: `chat`, `text`, `verify_rm` or `custom`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.renderer.name()
    }

    /// The rows the head reads, unless it reads steps.
    #[must_use]
    pub fn pooling(&self) -> Pooling {
        self.pooling
    }

    /// Where steps end, for a model that judges them.
    #[must_use]
    pub fn steps(&self) -> Option<&Steps> {
        self.steps.as_ref()
    }

    /// Most tokens that are read.
    #[must_use]
    pub fn max_tokens(&self) -> usize {
        self.max_tokens
    }

    /// Reads an input. The sequence has at least one token and at most [`Reader::max_tokens`], its
    /// ids are in the vocabulary and its rows in it.
    ///
    /// # Errors
    /// The input is too long, or none that the model reads.
    pub fn read(&self, input: &ModelInput, truncate: Truncate) -> Result<Sequence, Refusal> {
        match input {
            ModelInput::Text(text) => self.sequence(self.plain(text, Pair::None, truncate)?, None),
            ModelInput::Pair(first, second) => {
                self.sequence(self.plain(first, Pair::Equal(second), truncate)?, None)
            }
            ModelInput::Bare { text, ended } => {
                let mut ids = self.tokens.encode(text, false)?.ids;
                if let Some(end) = self.end.filter(|end| *ended && ids.last() != Some(end)) {
                    ids.push(end);
                }
                self.sequence(self.ids(&ids, truncate)?, None)
            }
            ModelInput::Ids(ids) => self.sequence(self.ids(ids, truncate)?, None),
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
            (Kind::Embedding, _) => self.sequence(self.plain(&text, Pair::None, truncate)?, None),
            (Kind::Pair, _) => {
                let prompt = rollout.prompt.and_then(prompt_text).ok_or_else(|| {
                    Refusal::Unreadable(
                        "the model reads a completion beside its prompt, and there is none"
                            .to_owned(),
                    )
                })?;
                self.sequence(
                    self.plain(&prompt, Pair::Completion(&text), truncate)?,
                    None,
                )
            }
            (_, Some(steps)) => {
                let (completion, count) = steps.mark(rollout.completion)?;
                self.sequence(
                    self.rendered(
                        &Rollout {
                            completion: &completion,
                            ..*rollout
                        },
                        truncate,
                    )?,
                    Some(count),
                )
            }
            (_, None) => self.sequence(self.rendered(rollout, truncate)?, None),
        }
    }

    /// What the model reads, checked.
    fn sequence(&self, read: Cut, steps: Option<usize>) -> Result<Sequence, Refusal> {
        let Cut { encoded, cut } = read;
        if encoded.ids.is_empty() {
            return Err(Refusal::Unreadable("the input has no tokens".to_owned()));
        }
        if let Some(id) = encoded
            .ids
            .iter()
            .find(|id| usize::try_from(**id).map_or(true, |id| id >= self.vocabulary))
        {
            return Err(Refusal::Unreadable(format!(
                "the input has token {id}, and the model knows those below {}",
                self.vocabulary
            )));
        }
        let rows = match &self.steps {
            None => self.pooling.rows(&encoded.ids)?,
            Some(own) => {
                let positions = own.positions(&encoded.ids, steps)?;
                Rows::At(positions.into_iter().map(row).collect::<Result<_, _>>()?)
            }
        };
        Ok(Sequence {
            ids: encoded.ids,
            second: encoded.second,
            rows,
            cut: row(cut)?,
        })
    }

    /// The id of a label where the answer starts, after everything that a template writes before
    /// it.
    ///
    /// # Errors
    /// The label is not exactly one token there; the error lists those it is.
    pub fn token_id(&self, label: &str) -> Result<u32, ReaderError> {
        let wrong = |problem: String| ReaderError::new("option `labels`", problem);
        let ids = |text: &str| {
            self.tokens
                .encode(text, false)
                .map(|encoded| encoded.ids)
                .map_err(|refusal| wrong(refusal.to_string()))
        };
        let before = probe(|rollout| self.renderer.render(rollout))
            .map_err(|refusal| wrong(refusal.to_string()))?;
        let (without, with) = (ids(&before)?, ids(&format!("{before}{label}"))?);
        let common = without
            .iter()
            .zip(&with)
            .take_while(|(a, b)| a == b)
            .count();
        match with[common..] {
            [id] if common == without.len() => Ok(id),
            ref tokens => Err(wrong(format!(
                "a label is exactly one token where the answer starts, and `{label}` is {} there, \
                 with the ids {tokens:?}",
                tokens.len()
            ))),
        }
    }
}

fn open_steps(tokens: &Tokens, options: &ModelOptions) -> Result<Steps, ReaderError> {
    let token = options.step_token.as_deref().unwrap_or(steps::USUAL_TOKEN);
    match tokens.id(token).filter(|_| tokens.is_added(token)) {
        Some(id) => Ok(Steps::new(options.step_separator.as_deref(), token, id)),
        None => Err(ReaderError::new(
            "option `step_token`",
            format!(
                "`{token}` is none of the tokenizer's added tokens, so it would merge with the \
                 text around it"
            ),
        )),
    }
}

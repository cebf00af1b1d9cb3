//! Truncates or rejects inputs that are longer than the model's maximum.
//!
//! After truncation, the sequence is at most as long as allowed and keeps the special tokens at the
//! truncated end.

use assay_core::reward_model::{Refusal, Truncate};
use tokenizers::{TruncationDirection, TruncationStrategy};

use super::Kind;
use super::reader::Reader;
use super::rollout::Rollout;
use super::tokenizer::Encoded;

/// Token ids, and the number of tokens removed by truncation.
#[derive(Debug)]
pub(super) struct Cut {
    pub(super) encoded: Encoded,
    pub(super) cut: usize,
}

impl Cut {
    fn nothing(encoded: Encoded) -> Self {
        Self { encoded, cut: 0 }
    }

    fn of(tokens: usize, encoded: Encoded) -> Self {
        Self {
            cut: tokens.saturating_sub(encoded.ids.len()),
            encoded,
        }
    }
}

/// The second text of an input, and its relation to the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pair<'a> {
    /// There is no second text.
    None,
    /// A second text on a par with the first: the longer one is truncated.
    Equal(&'a str),
    /// The first text is a prompt, the second its completion.
    Completion(&'a str),
}

impl Reader {
    /// Encodes one text or a pair with the special tokens of the tokenizer.
    pub(super) fn plain(
        &self,
        first: &str,
        pair: Pair<'_>,
        truncate: Truncate,
    ) -> Result<Cut, Refusal> {
        let second = match pair {
            Pair::None => None,
            Pair::Equal(second) | Pair::Completion(second) => Some(second),
        };
        let whole = match second {
            None => self.tokens.encode(first, true)?,
            Some(second) => self.tokens.pair(first, second)?,
        };
        let (tokens, max) = (whole.ids.len(), self.max_tokens);
        if tokens <= max {
            return Ok(Cut::nothing(whole));
        }
        let cut = |direction, strategy| self.tokens.cut(first, second, max, direction, strategy);
        let cut = match (truncate, pair) {
            (Truncate::Refuse | Truncate::PromptLeft, Pair::None | Pair::Equal(_)) => None,
            (Truncate::Refuse, Pair::Completion(_)) => {
                if cut(TruncationDirection::Left, TruncationStrategy::OnlyFirst)?.is_some() {
                    return Err(Refusal::PromptTooLong { tokens, max });
                }
                None
            }
            (Truncate::PromptLeft, Pair::Completion(_)) => {
                cut(TruncationDirection::Left, TruncationStrategy::OnlyFirst)?
            }
            (Truncate::Left, _) => {
                cut(TruncationDirection::Left, TruncationStrategy::LongestFirst)?
            }
            (Truncate::Right, _) => {
                self.may_lose_its_end()?;
                cut(TruncationDirection::Right, TruncationStrategy::LongestFirst)?
            }
        };
        cut.map(|encoded| Cut::of(tokens, encoded))
            .ok_or(Refusal::TooLong { tokens, max })
    }

    /// Truncates token ids.
    pub(super) fn ids(&self, ids: &[u32], truncate: Truncate) -> Result<Cut, Refusal> {
        let ids = match truncate {
            Truncate::Refuse | Truncate::PromptLeft if ids.len() > self.max_tokens => {
                return Err(Refusal::TooLong {
                    tokens: ids.len(),
                    max: self.max_tokens,
                });
            }
            Truncate::Right if ids.len() > self.max_tokens => {
                self.may_lose_its_end()?;
                let backwards: Vec<u32> = ids.iter().rev().copied().collect();
                let mut left = self.without_start(&backwards);
                left.reverse();
                return Ok(Cut::of(
                    ids.len(),
                    Encoded {
                        second: left.len(),
                        ids: left,
                    },
                ));
            }
            _ => ids,
        };
        let left = self.without_start(ids);
        Ok(Cut::of(
            ids.len(),
            Encoded {
                second: left.len(),
                ids: left,
            },
        ))
    }

    /// Encodes a rollout as its template renders it.
    pub(super) fn rendered(
        &self,
        rollout: &Rollout<'_>,
        truncate: Truncate,
    ) -> Result<Cut, Refusal> {
        let text = self.renderer.render(rollout)?;
        let whole = self.tokens.encode(&text, self.renderer.adds_special())?;
        let (tokens, max) = (whole.ids.len(), self.max_tokens);
        if tokens <= max {
            return Ok(Cut::nothing(whole));
        }
        match truncate {
            Truncate::Refuse | Truncate::PromptLeft => {
                self.without_prompt_start(rollout, &text, tokens, truncate)
            }
            Truncate::Left => {
                let left = self.without_start(&whole.ids);
                Ok(Cut::of(
                    tokens,
                    Encoded {
                        second: left.len(),
                        ids: left,
                    },
                ))
            }
            Truncate::Right => {
                self.may_lose_its_end()?;
                Err(Refusal::TooLong { tokens, max })
            }
        }
    }

    /// Removes the first tokens of the prompt from a rollout that is too long, or returns the
    /// reason why this is not possible.
    fn without_prompt_start(
        &self,
        rollout: &Rollout<'_>,
        text: &str,
        tokens: usize,
        truncate: Truncate,
    ) -> Result<Cut, Refusal> {
        let max = self.max_tokens;
        let Some(spans) = self.renderer.prompt_spans(rollout, text) else {
            // It is unknown which tokens come from the prompt, so the completion is at fault only
            // if it is too long by itself.
            let alone = self
                .tokens
                .encode(&rollout.completion.text(), false)?
                .ids
                .len();
            return Err(match truncate {
                _ if alone > max => Refusal::TooLong { tokens, max },
                Truncate::PromptLeft => Refusal::Unreadable(format!(
                    "prompt and completion have {tokens} tokens, but the model reads at most {max}, \
                     and the prompt cannot be truncated because the template does not preserve it; \
                     send a shorter prompt"
                )),
                _ => Refusal::PromptTooLong { tokens, max },
            });
        };
        let marked = self
            .tokens
            .encode_spans(text, self.renderer.adds_special(), &spans)?;
        let prompt = marked.iter().filter(|(_, prompt)| *prompt).count();
        let excess = marked.len().saturating_sub(max);
        if prompt < excess {
            return Err(Refusal::TooLong { tokens, max });
        }
        if truncate == Truncate::Refuse {
            return Err(Refusal::PromptTooLong { tokens, max });
        }
        let mut left_to_cut = excess;
        let ids: Vec<u32> = marked
            .into_iter()
            .filter(|(_, prompt)| {
                let cut = *prompt && left_to_cut > 0;
                left_to_cut -= usize::from(cut);
                !cut
            })
            .map(|(id, _)| id)
            .collect();
        Ok(Cut::of(
            tokens,
            Encoded {
                second: ids.len(),
                ids,
            },
        ))
    }

    /// Removes excess ids after the special tokens at the start.
    fn without_start(&self, ids: &[u32]) -> Vec<u32> {
        let excess = ids.len().saturating_sub(self.max_tokens);
        let special = ids
            .iter()
            .take_while(|id| self.tokens.is_special(**id))
            .count();
        let kept = special.min(self.max_tokens);
        if excess == 0 {
            ids.to_vec()
        } else {
            [&ids[..kept], &ids[kept + excess..]].concat()
        }
    }

    /// Rejects truncation at the end for models that score at the end.
    fn may_lose_its_end(&self) -> Result<(), Refusal> {
        match self.kind {
            Kind::Pair | Kind::Embedding => Ok(()),
            Kind::Rollout | Kind::Steps => Err(Refusal::Unreadable(format!(
                "the input is longer than the maximum of {} tokens, and the model scores at the \
                 end, which `right` would remove; use `left` or `prompt_left`",
                self.max_tokens
            ))),
        }
    }
}

//! Truncates or rejects inputs that are longer than the model's maximum.
//!
//! After truncation, the sequence is at most as long as allowed and keeps the special tokens at the
//! truncated end.

use assay_core::reward_model::{Refusal, Truncate};
use tokenizers::{TruncationDirection, TruncationStrategy};

use super::error::InputKind;
use super::reader::InputReader;
use super::rollout::Rollout;
use super::tokenizer::Encoded;
use super::truncated::{SecondText, Truncated};

impl InputReader {
    /// Encodes one text or a pair with the special tokens of the tokenizer.
    pub(super) fn encode_texts(
        &self,
        first: &str,
        pair: SecondText<'_>,
        truncate: Truncate,
    ) -> Result<Truncated, Refusal> {
        let second = match pair {
            SecondText::None => None,
            SecondText::Equal(second) | SecondText::Completion(second) => Some(second),
        };
        let whole = match second {
            None => self.tokens.encode(first, true)?,
            Some(second) => self.tokens.pair(first, second)?,
        };
        let (tokens, max) = (whole.ids.len(), self.max_tokens);
        if tokens <= max {
            return Ok(Truncated::unchanged(whole));
        }
        let encode = |direction, strategy| {
            self.tokens
                .encode_truncated(first, second, max, direction, strategy)
        };
        let truncated = match (truncate, pair) {
            (Truncate::Reject | Truncate::PromptLeft, SecondText::None | SecondText::Equal(_)) => {
                None
            }
            (Truncate::Reject, SecondText::Completion(_)) => {
                if encode(TruncationDirection::Left, TruncationStrategy::OnlyFirst)?.is_some() {
                    return Err(Refusal::PromptTooLong { tokens, max });
                }
                None
            }
            (Truncate::PromptLeft, SecondText::Completion(_)) => {
                encode(TruncationDirection::Left, TruncationStrategy::OnlyFirst)?
            }
            (Truncate::Left, _) => {
                encode(TruncationDirection::Left, TruncationStrategy::LongestFirst)?
            }
            (Truncate::Right, _) => {
                self.check_may_truncate_end()?;
                encode(TruncationDirection::Right, TruncationStrategy::LongestFirst)?
            }
        };
        truncated
            .map(|encoded| Truncated::new(tokens, encoded))
            .ok_or(Refusal::TooLong { tokens, max })
    }

    /// Truncates token ids.
    pub(super) fn truncate_ids(
        &self,
        ids: &[u32],
        truncate: Truncate,
    ) -> Result<Truncated, Refusal> {
        let ids = match truncate {
            Truncate::Reject | Truncate::PromptLeft if ids.len() > self.max_tokens => {
                return Err(Refusal::TooLong {
                    tokens: ids.len(),
                    max: self.max_tokens,
                });
            }
            Truncate::Right if ids.len() > self.max_tokens => {
                self.check_may_truncate_end()?;
                let backwards: Vec<u32> = ids.iter().rev().copied().collect();
                let mut remaining = self.drop_start(&backwards);
                remaining.reverse();
                return Ok(Truncated::new(
                    ids.len(),
                    Encoded {
                        second: remaining.len(),
                        ids: remaining,
                    },
                ));
            }
            _ => ids,
        };
        let remaining = self.drop_start(ids);
        Ok(Truncated::new(
            ids.len(),
            Encoded {
                second: remaining.len(),
                ids: remaining,
            },
        ))
    }

    /// Encodes a rollout as its template renders it.
    pub(super) fn encode_rollout(
        &self,
        rollout: &Rollout<'_>,
        truncate: Truncate,
    ) -> Result<Truncated, Refusal> {
        let text = self.renderer.render(rollout)?;
        let whole = self.tokens.encode(&text, self.renderer.adds_special())?;
        let (tokens, max) = (whole.ids.len(), self.max_tokens);
        if tokens <= max {
            return Ok(Truncated::unchanged(whole));
        }
        match truncate {
            Truncate::Reject | Truncate::PromptLeft => {
                self.truncate_prompt(rollout, &text, tokens, truncate)
            }
            Truncate::Left => {
                let remaining = self.drop_start(&whole.ids);
                Ok(Truncated::new(
                    tokens,
                    Encoded {
                        second: remaining.len(),
                        ids: remaining,
                    },
                ))
            }
            Truncate::Right => {
                self.check_may_truncate_end()?;
                Err(Refusal::TooLong { tokens, max })
            }
        }
    }

    /// Removes the first tokens of the prompt from a rollout that is too long, or returns the
    /// reason why this is not possible.
    fn truncate_prompt(
        &self,
        rollout: &Rollout<'_>,
        text: &str,
        tokens: usize,
        truncate: Truncate,
    ) -> Result<Truncated, Refusal> {
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
                    "prompt and completion have {tokens} tokens, but the model reads at most \
                     {max}, and the prompt cannot be truncated because the template does not \
                     preserve it; send a shorter prompt"
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
        if truncate == Truncate::Reject {
            return Err(Refusal::PromptTooLong { tokens, max });
        }
        let mut to_remove = excess;
        let ids: Vec<u32> = marked
            .into_iter()
            .filter(|(_, prompt)| {
                let remove = *prompt && to_remove > 0;
                to_remove -= usize::from(remove);
                !remove
            })
            .map(|(id, _)| id)
            .collect();
        Ok(Truncated::new(
            tokens,
            Encoded {
                second: ids.len(),
                ids,
            },
        ))
    }

    /// Removes excess ids after the special tokens at the start.
    fn drop_start(&self, ids: &[u32]) -> Vec<u32> {
        let excess = ids.len().saturating_sub(self.max_tokens);
        let special = ids
            .iter()
            .take_while(|id| self.tokens.is_special(**id))
            .count();
        let special = special.min(self.max_tokens);
        if excess == 0 {
            ids.to_vec()
        } else {
            [&ids[..special], &ids[special + excess..]].concat()
        }
    }

    /// Rejects truncation at the end for models that score at the end.
    fn check_may_truncate_end(&self) -> Result<(), Refusal> {
        match self.kind {
            InputKind::Pair | InputKind::Embedding => Ok(()),
            InputKind::Rollout | InputKind::Steps => Err(Refusal::Unreadable(format!(
                "the input is longer than the maximum of {} tokens, and the model scores at the \
                 end, which `right` would remove; use `left` or `prompt_left`",
                self.max_tokens
            ))),
        }
    }
}

//! Inputs that are longer than the model reads: what is cut, and what is refused.
//!
//! Whatever is cut, the rest is at most as long as allowed, and the special tokens at the cut end
//! stay.

use assay_core::reward_model::{Refusal, Truncate};
use tokenizers::{TruncationDirection, TruncationStrategy};

use super::Kind;
use super::reader::Reader;
use super::rollout::Rollout;
use super::tokenizer::Encoded;

/// Token ids and how many were cut off.
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

/// What two texts are to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pair<'a> {
    /// There is one text.
    None,
    /// There is a second one, as good as the first.
    Equal(&'a str),
    /// The first is a prompt, the second its completion.
    Completion(&'a str),
}

impl Reader {
    /// One text or two with the special tokens of the tokenizer.
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

    /// Token ids as they came.
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

    /// A rollout as its template writes it.
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

    /// A rollout that is too long, without the first tokens of its prompt's texts, or the reason
    /// why not.
    fn without_prompt_start(
        &self,
        rollout: &Rollout<'_>,
        text: &str,
        tokens: usize,
        truncate: Truncate,
    ) -> Result<Cut, Refusal> {
        let max = self.max_tokens;
        let Some(spans) = self.renderer.prompt_spans(rollout, text) else {
            // Nobody can say which tokens are the prompt's, so the completion is to blame only if
            // it is too long by itself.
            let alone = self
                .tokens
                .encode(&rollout.completion.text(), false)?
                .ids
                .len();
            return Err(match truncate {
                _ if alone > max => Refusal::TooLong { tokens, max },
                Truncate::PromptLeft => Refusal::Unreadable(format!(
                    "prompt and completion have {tokens} tokens, the model reads at most {max}, \
                     and its template does not keep the prompt as it is, so that none can be cut \
                     from it; send a shorter one"
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

    /// The ids without those after the special ones at the start, as far as they are too many.
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

    /// Whether a score still means something where the end is cut off.
    fn may_lose_its_end(&self) -> Result<(), Refusal> {
        match self.kind {
            Kind::Pair | Kind::Embedding => Ok(()),
            Kind::Rollout | Kind::Steps => Err(Refusal::Unreadable(format!(
                "the input is longer than the {} tokens that the model reads, and it judges at \
                 the end, which `right` would cut off; use `left` or `prompt_left`",
                self.max_tokens
            ))),
        }
    }
}

//! Pooling: the rows of a sequence that the head reads.
//!
//! The rules differ only for texts that contain the padding token, which is often also the token
//! that ends a turn. A score from the wrong row looks plausible, so the rule must be the one the
//! model was trained with.

use std::fmt;

use assay_core::reward_model::Refusal;

use crate::sequence::Rows;

/// A rule that selects rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pooling {
    /// The last token, even if it is padding.
    Last,
    /// The rightmost token that is not padding, or the first token if all are padding: the rule of
    /// `transformers` since 4.49.
    HfNonPad {
        /// Id of the padding token.
        pad: u32,
    },
    /// The token before the first padding token, or the last token if there is no padding: the rule
    /// of `transformers` before 4.49, which the code of some models still uses.
    FirstPad {
        /// Id of the padding token.
        pad: u32,
    },
    /// The first token.
    Cls,
    /// The mean of all tokens.
    Mean,
    /// The last occurrence of a token.
    Token(u32),
}

impl Pooling {
    /// Parses a rule: `last`, `hf_nonpad`, `first_pad`, `cls`, `mean`, `token:ID` or `token:TEXT`.
    ///
    /// `pad` is the id of the padding token, if there is one. `token_id` returns the id of a
    /// token's text.
    ///
    /// # Errors
    /// The rule is unknown, or the token that it needs does not exist. The message lists the valid
    /// rules.
    pub fn parse(
        text: &str,
        pad: Option<u32>,
        token_id: impl Fn(&str) -> Option<u32>,
    ) -> Result<Self, String> {
        let pad = || {
            pad.ok_or_else(|| {
                format!("`{text}` needs a padding token, but the model declares none; use `last`")
            })
        };
        match text {
            "last" => Ok(Self::Last),
            "hf_nonpad" => Ok(Self::HfNonPad { pad: pad()? }),
            "first_pad" => Ok(Self::FirstPad { pad: pad()? }),
            "cls" => Ok(Self::Cls),
            "mean" => Ok(Self::Mean),
            _ => {
                let Some(token) = text.strip_prefix("token:") else {
                    return Err(format!(
                        "unknown rule `{text}`: use `last`, `hf_nonpad`, `first_pad`, `cls`, \
                         `mean`, `token:ID` or `token:TEXT`"
                    ));
                };
                // An id takes precedence over a text: some vocabularies contain digits as tokens,
                // but `token:7` means the id.
                let id = token.parse().ok().or_else(|| token_id(token));
                id.map(Self::Token)
                    .ok_or_else(|| format!("the tokenizer has no token `{token}`"))
            }
        }
    }

    /// The rows that the rule selects in a sequence of at least one token.
    ///
    /// # Errors
    /// [`Refusal::Unreadable`] if the token of [`Pooling::Token`] does not occur or the sequence is
    /// empty.
    pub fn rows(self, ids: &[u32]) -> Result<Rows, Refusal> {
        let Some(last) = ids.len().checked_sub(1) else {
            return Err(Refusal::Unreadable("the input has no tokens".to_owned()));
        };
        let at = match self {
            Self::Mean => return Ok(Rows::Mean),
            Self::Last => last,
            Self::Cls => 0,
            Self::HfNonPad { pad } => ids.iter().rposition(|&id| id != pad).unwrap_or(0),
            // Padding at the start selects the last token: `transformers` computed index -1.
            Self::FirstPad { pad } => ids
                .iter()
                .position(|&id| id == pad)
                .map_or(last, |first| first.checked_sub(1).unwrap_or(last)),
            Self::Token(token) => ids.iter().rposition(|&id| id == token).ok_or_else(|| {
                Refusal::Unreadable(format!(
                    "the head of the model reads token {token}, which the input does not contain"
                ))
            })?,
        };
        row(at).map(|at| Rows::At(vec![at]))
    }
}

/// Converts a position to the type used in [`Rows`].
pub(crate) fn row(at: usize) -> Result<u32, Refusal> {
    u32::try_from(at)
        .map_err(|_| Refusal::Unreadable("the input has more than 2^32 tokens".to_owned()))
}

impl fmt::Display for Pooling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Last => f.write_str("last"),
            Self::HfNonPad { .. } => f.write_str("hf_nonpad"),
            Self::FirstPad { .. } => f.write_str("first_pad"),
            Self::Cls => f.write_str("cls"),
            Self::Mean => f.write_str("mean"),
            Self::Token(id) => write!(f, "token:{id}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAD: u32 = 9;

    fn at(pooling: Pooling, ids: &[u32]) -> u32 {
        match pooling.rows(ids).unwrap() {
            Rows::At(rows) => rows[0],
            Rows::Mean => panic!("expected a row"),
        }
    }

    #[test]
    fn rules_differ_if_the_text_ends_with_the_padding_token() {
        let ids = [1, 2, PAD];
        assert_eq!(at(Pooling::Last, &ids), 2);
        assert_eq!(at(Pooling::HfNonPad { pad: PAD }, &ids), 1);
        assert_eq!(at(Pooling::FirstPad { pad: PAD }, &ids), 1);
    }

    #[test]
    fn rules_differ_if_the_padding_token_is_in_the_middle() {
        let ids = [1, PAD, 2, 3, PAD];
        assert_eq!(at(Pooling::Last, &ids), 4);
        assert_eq!(at(Pooling::HfNonPad { pad: PAD }, &ids), 3);
        assert_eq!(at(Pooling::FirstPad { pad: PAD }, &ids), 0);
    }

    #[test]
    fn all_padding_selects_the_first_or_last_row() {
        assert_eq!(at(Pooling::HfNonPad { pad: PAD }, &[PAD, PAD]), 0);
        assert_eq!(at(Pooling::FirstPad { pad: PAD }, &[PAD, PAD]), 1);
        assert_eq!(at(Pooling::FirstPad { pad: PAD }, &[1, 2]), 1);
    }

    #[test]
    fn token_selects_its_last_occurrence_and_must_occur() {
        assert_eq!(at(Pooling::Token(5), &[5, 1, 5, 1]), 2);
        assert!(Pooling::Token(5).rows(&[1]).is_err());
        assert_eq!(at(Pooling::Cls, &[1, 2]), 0);
        assert_eq!(Pooling::Mean.rows(&[1]).unwrap(), Rows::Mean);
        assert!(Pooling::Last.rows(&[]).is_err());
    }

    #[test]
    fn parses_what_it_displays() {
        let token_id = |text: &str| (text == "<r>").then_some(70);
        for text in ["last", "hf_nonpad", "first_pad", "cls", "mean", "token:12"] {
            assert_eq!(
                Pooling::parse(text, Some(PAD), token_id)
                    .unwrap()
                    .to_string(),
                text
            );
        }
        assert_eq!(
            Pooling::parse("token:<r>", None, token_id),
            Ok(Pooling::Token(70))
        );
        assert!(
            Pooling::parse("token:<q>", None, token_id)
                .unwrap_err()
                .contains("no token `<q>`")
        );
        assert!(
            Pooling::parse("hf_nonpad", None, token_id)
                .unwrap_err()
                .contains("padding token")
        );
        assert!(
            Pooling::parse("first", None, token_id)
                .unwrap_err()
                .contains("unknown rule")
        );
    }
}

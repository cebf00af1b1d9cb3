//! Which rows of a sequence the head reads.
//!
//! The rules agree until a text holds the padding token, which is often the one that ends a turn:
//! then they name different rows, and a wrong row gives a score that looks like any other.

use std::fmt;

use assay_core::reward_model::Refusal;

use crate::sequence::Rows;

/// A rule that names the rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pooling {
    /// The last token, whatever it is.
    Last,
    /// The rightmost token that is not padding, the first where all are: what `transformers` does
    /// since 4.49.
    HfNonPad {
        /// Id of the padding token.
        pad: u32,
    },
    /// The token before the first padding token, the last where there is none: what `transformers`
    /// did before, and some models' own code still does.
    FirstPad {
        /// Id of the padding token.
        pad: u32,
    },
    /// The first token.
    Cls,
    /// The mean of all.
    Mean,
    /// The last occurrence of a token.
    Token(u32),
}

impl Pooling {
    /// A rule as options write it: `last`, `hf_nonpad`, `first_pad`, `cls`, `mean`, `token:ID` or
    /// `token:TEXT`.
    ///
    /// `pad` is the id of the padding token, where there is one, and `token_id` says which id a
    /// token's text has.
    ///
    /// # Errors
    /// What is wrong with the text, and what could be written instead.
    pub fn parse(
        text: &str,
        pad: Option<u32>,
        token_id: impl Fn(&str) -> Option<u32>,
    ) -> Result<Self, String> {
        let pad = || {
            pad.ok_or_else(|| {
                format!("`{text}` needs a padding token, and the model declares none; use `last`")
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
                        "`{text}` is none of `last`, `hf_nonpad`, `first_pad`, `cls`, `mean`, \
                         `token:ID` and `token:TEXT`"
                    ));
                };
                // An id goes first: some vocabularies have digits as tokens, but nobody means those
                // by `token:7`.
                let id = token.parse().ok().or_else(|| token_id(token));
                id.map(Self::Token)
                    .ok_or_else(|| format!("the tokenizer has no token `{token}`"))
            }
        }
    }

    /// The rows it names in a sequence of at least one token.
    ///
    /// # Errors
    /// [`Refusal::Unreadable`] where the token of [`Pooling::Token`] does not occur, or there are
    /// no tokens.
    pub fn rows(self, ids: &[u32]) -> Result<Rows, Refusal> {
        let Some(last) = ids.len().checked_sub(1) else {
            return Err(Refusal::Unreadable("the input has no tokens".to_owned()));
        };
        let at = match self {
            Self::Mean => return Ok(Rows::Mean),
            Self::Last => last,
            Self::Cls => 0,
            Self::HfNonPad { pad } => ids.iter().rposition(|&id| id != pad).unwrap_or(0),
            // Padding at the start counted as none: its position minus one was taken from the end.
            Self::FirstPad { pad } => ids
                .iter()
                .position(|&id| id == pad)
                .map_or(last, |first| first.checked_sub(1).unwrap_or(last)),
            Self::Token(token) => ids.iter().rposition(|&id| id == token).ok_or_else(|| {
                Refusal::Unreadable(format!(
                    "the model's head reads token {token}, and the input does not have it"
                ))
            })?,
        };
        row(at).map(|at| Rows::At(vec![at]))
    }
}

/// A position as [`Rows`] keep it.
pub(crate) fn row(at: usize) -> Result<u32, Refusal> {
    u32::try_from(at).map_err(|_| {
        Refusal::Unreadable("the input has more tokens than any model reads".to_owned())
    })
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
            Rows::Mean => panic!("a row is named"),
        }
    }

    #[test]
    fn the_rules_differ_where_the_text_ends_in_the_padding_token() {
        let ids = [1, 2, PAD];
        assert_eq!(at(Pooling::Last, &ids), 2);
        assert_eq!(at(Pooling::HfNonPad { pad: PAD }, &ids), 1);
        assert_eq!(at(Pooling::FirstPad { pad: PAD }, &ids), 1);
    }

    #[test]
    fn the_rules_differ_where_the_padding_token_stands_in_the_middle() {
        let ids = [1, PAD, 2, 3, PAD];
        assert_eq!(at(Pooling::Last, &ids), 4);
        assert_eq!(at(Pooling::HfNonPad { pad: PAD }, &ids), 3);
        assert_eq!(at(Pooling::FirstPad { pad: PAD }, &ids), 0);
    }

    #[test]
    fn padding_alone_names_the_first_row_or_the_last() {
        assert_eq!(at(Pooling::HfNonPad { pad: PAD }, &[PAD, PAD]), 0);
        assert_eq!(at(Pooling::FirstPad { pad: PAD }, &[PAD, PAD]), 1);
        assert_eq!(at(Pooling::FirstPad { pad: PAD }, &[1, 2]), 1);
    }

    #[test]
    fn a_token_means_its_last_occurrence_and_must_occur() {
        assert_eq!(at(Pooling::Token(5), &[5, 1, 5, 1]), 2);
        assert!(Pooling::Token(5).rows(&[1]).is_err());
        assert_eq!(at(Pooling::Cls, &[1, 2]), 0);
        assert_eq!(Pooling::Mean.rows(&[1]).unwrap(), Rows::Mean);
        assert!(Pooling::Last.rows(&[]).is_err());
    }

    #[test]
    fn what_is_written_is_what_is_shown() {
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
                .contains("none of")
        );
    }
}

//! Properties of the text of a statement: its tokens, its `ORDER BY`, and whether it may be
//! nondeterministic.

mod lex;
mod nondeterminism;
mod order;

pub(crate) use lex::{MAX_STATEMENT_BYTES, Token, TokenKind, first_word, tokens};
pub(crate) use nondeterminism::{is_random, shuffled};
pub(crate) use order::ordering;

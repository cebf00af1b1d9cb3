//! Properties of the text of a statement: its tokens, its `ORDER BY`, and whether it may be
//! nondeterministic.

mod lex;
mod nondeterminism;
mod order;

pub(crate) use lex::{Token, TokenKind, first_word, tokens};
pub(crate) use nondeterminism::{is_random, shuffled};
pub(crate) use order::{Ordering, ordering};

/// Maximum length of a statement, in bytes.
pub(crate) const MAX_STATEMENT_BYTES: usize = 100 << 10;

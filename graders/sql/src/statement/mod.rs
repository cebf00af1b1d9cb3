//! Properties of a statement's text: tokens, its `ORDER BY`, the constants that it
//! compares with.

mod chance;
mod lex;
mod order;

pub(crate) use chance::{is_random, shuffled};
pub(crate) use lex::{Kind, Token, first_word, tokens};
pub(crate) use order::{Ordering, ordering};

/// Longest statement that is run, in bytes.
pub(crate) const LONGEST: usize = 100 << 10;

//! The tokens of a program, for keywords and punctuation that have no syntax node.

use std::ops::Range;

use oxc_parser::{Kind, Token};
use oxc_span::Span;

/// The bytes of a span.
pub(crate) fn range(span: Span) -> Range<usize> {
    index(span.start)..index(span.end)
}

/// An offset as an index into the text.
pub(crate) fn index(offset: u32) -> usize {
    usize::try_from(offset).unwrap_or(usize::MAX)
}

/// All tokens in order.
#[derive(Clone, Copy)]
pub(crate) struct Tokens<'t>(&'t [Token]);

impl<'t> Tokens<'t> {
    pub(crate) fn new(tokens: &'t [Token]) -> Self {
        Self(tokens)
    }

    /// The tokens that start in a range of offsets.
    pub(crate) fn within(&self, start: u32, end: u32) -> impl Iterator<Item = &'t Token> + use<'t> {
        let first = self.0.partition_point(|token| token.start() < start);
        self.0[first..]
            .iter()
            .take_while(move |token| token.start() < end)
    }

    /// The first token of this kind in a range of offsets.
    pub(crate) fn first(&self, kind: Kind, start: u32, end: u32) -> Option<Span> {
        let mut tokens = self.within(start, end);
        tokens.find(|token| token.kind() == kind).map(Token::span)
    }

    /// The token after an offset.
    pub(crate) fn after(&self, offset: u32) -> Option<&'t Token> {
        let next = self.0.partition_point(|token| token.start() < offset);
        self.0.get(next)
    }

    /// The last token that ends before or at an offset.
    pub(crate) fn before(&self, offset: u32) -> Option<&'t Token> {
        let next = self.0.partition_point(|token| token.end() <= offset);
        self.0.get(next.checked_sub(1)?)
    }
}

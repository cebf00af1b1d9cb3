//! Tokens, with one meaning for all notations, and a slice of them that `nom` can read.

use std::cell::Cell;
use std::iter::{Copied, Enumerate};
use std::slice::Iter;

use nom::{Input, Needed};

use crate::tree::{End, MAX_DEPTH, Relation};

/// A bracket by its shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// `( )`, `[ ]`, `⟨ ⟩`.
    End(End),
    /// `{ }` of LaTeX, which group and are not printed.
    Group,
    /// `\{ \}`.
    Set,
    /// `⌊ ⌋`.
    Floor,
    /// `⌈ ⌉`.
    Ceil,
    /// `\left| \right|`.
    Bar,
}

/// The kind of a token. Texts borrow from the input.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Kind<'a> {
    /// Digits with an optional point, as written, including separators of thousands.
    Number {
        text: &'a str,
        point: Option<usize>,
    },
    /// `½` and the like.
    Fraction(u8, u8),
    /// A run of letters outside of commands.
    Word(&'a str),
    /// The words of `\text{…}`.
    Text(&'a str),
    /// One letter in upright or another style.
    Styled(&'a str),
    /// A command or named character, by its usual name.
    Command(&'a str),
    Open(Shape),
    Close(Shape),
    Relation(Relation),
    Plus,
    Minus,
    PlusMinus,
    MinusPlus,
    Times,
    Slash,
    Caret,
    Underscore,
    Comma,
    Semicolon,
    Colon,
    Bang,
    Prime,
    Bar,
    Percent,
    Degree,
    Ampersand,
    Row,
    Newline,
    /// A wide blank, which may separate statements.
    Quad,
    Ellipsis,
    /// `$`, `€`, `£`, `¥`.
    Currency(char),
    /// A character with no meaning in mathematics.
    Stray(char),
}

/// A token and its position.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Token<'a> {
    pub(crate) kind: Kind<'a>,
    /// Byte range in the text the lexer read.
    pub(crate) start: usize,
    pub(crate) end: usize,
    /// Whether white space precedes it.
    pub(crate) spaced: bool,
}

/// Most operators of one text that may apply to the result of another operator on the same operand,
/// like the second `!` of `x!!`. [`MAX_DEPTH`] limits brackets; this limits the levels that trees
/// gain without brackets.
pub(crate) const MAX_STACKED: usize = 200;

/// A slice of tokens as the input of the parser, with its context.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Tokens<'t, 'a> {
    run: &'t [Token<'a>],
    /// Number of enclosing constructs.
    depth: usize,
    /// Remaining operators that may apply to others, in the whole text.
    stacked: &'t Cell<usize>,
    /// Whether a `|` ends something instead of beginning an absolute value, and a `:` is not a
    /// ratio.
    pub(crate) bars: bool,
    /// Whether a `:` divides, as in `(a : b + 1)`.
    pub(crate) divides: bool,
}

impl<'t, 'a> Tokens<'t, 'a> {
    /// All of `run`, outside of any construct.
    pub(crate) fn new(run: &'t [Token<'a>], stacked: &'t Cell<usize>) -> Self {
        Self {
            run,
            depth: 0,
            stacked,
            bars: false,
            divides: false,
        }
    }

    /// Counts an operator that applies to another one; `None` at the limit.
    pub(crate) fn stack(self) -> Option<()> {
        let left = self.stacked.get().checked_sub(1)?;
        self.stacked.set(left);
        Some(())
    }

    /// The same position inside of one more construct; `None` at the limit.
    pub(crate) fn deeper(self, bars: bool) -> Option<Self> {
        (self.depth < MAX_DEPTH).then_some(Self {
            depth: self.depth + 1,
            bars,
            divides: false,
            ..self
        })
    }

    /// Whether the position is inside of a construct.
    pub(crate) fn is_nested(self) -> bool {
        self.depth > 0
    }

    /// The same position in a context where `:` divides.
    pub(crate) fn dividing(self) -> Self {
        Self {
            divides: true,
            ..self
        }
    }

    /// The same position in the context of `outer`.
    pub(crate) fn back_to(self, outer: Self) -> Self {
        Self {
            run: self.run,
            ..outer
        }
    }

    /// The tokens themselves.
    pub(crate) fn run(self) -> &'t [Token<'a>] {
        self.run
    }

    /// The kind of the token `at` places ahead.
    pub(crate) fn kind(self, at: usize) -> Option<Kind<'a>> {
        self.run.get(at).map(|token| token.kind)
    }

    /// The kind of the next token.
    pub(crate) fn first(self) -> Option<Kind<'a>> {
        self.kind(0)
    }

    /// The tokens after the first `count`.
    pub(crate) fn skip(self, count: usize) -> Self {
        Self {
            run: self.run.get(count..).unwrap_or_default(),
            ..self
        }
    }

    /// Whether white space precedes the next token.
    pub(crate) fn spaced(self) -> bool {
        self.run.first().is_some_and(|token| token.spaced)
    }

    /// Whether no tokens are left.
    pub(crate) fn is_empty(self) -> bool {
        self.run.is_empty()
    }

    /// The text of the tokens in `source`.
    pub(crate) fn text(self, source: &str) -> &str {
        match (self.run.first(), self.run.last()) {
            (Some(first), Some(last)) => source.get(first.start..last.end).unwrap_or_default(),
            _ => "",
        }
    }
}

impl<'t, 'a> Input for Tokens<'t, 'a> {
    type Item = Token<'a>;
    type Iter = Copied<Iter<'t, Token<'a>>>;
    type IterIndices = Enumerate<Self::Iter>;

    fn input_len(&self) -> usize {
        self.run.len()
    }

    fn take(&self, index: usize) -> Self {
        Self {
            run: self.run.get(..index).unwrap_or(self.run),
            ..*self
        }
    }

    fn take_from(&self, index: usize) -> Self {
        self.skip(index)
    }

    fn take_split(&self, index: usize) -> (Self, Self) {
        (self.skip(index), self.take(index))
    }

    fn position<P: Fn(Self::Item) -> bool>(&self, predicate: P) -> Option<usize> {
        self.run.iter().position(|token| predicate(*token))
    }

    fn iter_elements(&self) -> Self::Iter {
        self.run.iter().copied()
    }

    fn iter_indices(&self) -> Self::IterIndices {
        self.iter_elements().enumerate()
    }

    fn slice_index(&self, count: usize) -> Result<usize, Needed> {
        if count <= self.run.len() {
            Ok(count)
        } else {
            Err(Needed::new(count - self.run.len()))
        }
    }
}

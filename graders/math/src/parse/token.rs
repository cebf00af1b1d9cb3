//! What the lexer hands the parser: tokens with one meaning whatever spelling they had, and a slice
//! of them that `nom` can read.

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
    /// `{ }` of LaTeX, which group and print nothing.
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

/// One token. Texts borrow from the input where they stand in it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Kind<'a> {
    /// Digits before and after the point, as written, separators of thousands included.
    Number {
        text: &'a str,
        point: Option<usize>,
    },
    /// `½` and its kind.
    Fraction(u8, u8),
    /// Letters side by side outside a command.
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
    /// A wide blank, which separates statements and says nothing else.
    Quad,
    Ellipsis,
    /// `$`, `€`, `£`, `¥`.
    Currency(char),
    /// A character with no meaning in mathematics.
    Stray(char),
}

/// A token with its place.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Token<'a> {
    pub(crate) kind: Kind<'a>,
    /// Byte range in the text the lexer read.
    pub(crate) start: usize,
    pub(crate) end: usize,
    /// Whether white space stands before it.
    pub(crate) spaced: bool,
}

/// Most operators of one text that may stand upon another operator of the same operand, as the
/// second `!` of `x!!` does. Brackets are bounded by [`MAX_DEPTH`]; this bounds the levels that
/// trees gain without brackets.
pub(crate) const MAX_STACKED: usize = 200;

/// A run of tokens, the parser's input, with what the parser must know of where it stands.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Tokens<'t, 'a> {
    run: &'t [Token<'a>],
    /// How many constructs enclose this place.
    depth: usize,
    /// How many operators may still stand upon others, in the whole text.
    stacked: &'t Cell<usize>,
    /// A `|` here ends something instead of beginning an absolute value, and a `:` is no ratio.
    pub(crate) bars: bool,
    /// A `:` here divides, as in `(a : b + 1)`.
    pub(crate) divides: bool,
}

impl<'t, 'a> Tokens<'t, 'a> {
    /// All of `run`, enclosed by nothing.
    pub(crate) fn new(run: &'t [Token<'a>], stacked: &'t Cell<usize>) -> Self {
        Self {
            run,
            depth: 0,
            stacked,
            bars: false,
            divides: false,
        }
    }

    /// Notes an operator upon another one; `None` at the limit.
    pub(crate) fn stack(self) -> Option<()> {
        let left = self.stacked.get().checked_sub(1)?;
        self.stacked.set(left);
        Some(())
    }

    /// The same place one construct deeper; `None` at the limit.
    pub(crate) fn deeper(self, bars: bool) -> Option<Self> {
        (self.depth < MAX_DEPTH).then_some(Self {
            depth: self.depth + 1,
            bars,
            divides: false,
            ..self
        })
    }

    /// The same place where a `:` divides.
    pub(crate) fn dividing(self) -> Self {
        Self {
            divides: true,
            ..self
        }
    }

    /// The same place as seen from where `outer` stands.
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

    /// Kind of the token `at` places ahead.
    pub(crate) fn kind(self, at: usize) -> Option<Kind<'a>> {
        self.run.get(at).map(|token| token.kind)
    }

    /// Kind of the next token.
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

    /// Whether white space stands before the next token.
    pub(crate) fn spaced(self) -> bool {
        self.run.first().is_some_and(|token| token.spaced)
    }

    /// Whether nothing is left.
    pub(crate) fn is_empty(self) -> bool {
        self.run.is_empty()
    }

    /// The text of the tokens as it stands in `source`.
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

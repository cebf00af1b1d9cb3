//! A text to check, divided into units, and its language, when they are first needed.

use std::cell::OnceCell;

use crate::language;
use crate::units::{Piece, Unit, divide};

/// A text or a part of one.
pub(crate) struct Text<'t> {
    pub(crate) str: &'t str,
    units: [OnceCell<Vec<Piece<'t>>>; Unit::COUNT],
    language: OnceCell<Option<&'static str>>,
}

impl<'t> Text<'t> {
    pub(crate) fn new(str: &'t str) -> Self {
        Self {
            str,
            units: Default::default(),
            language: OnceCell::new(),
        }
    }

    /// The units of the text, in order.
    pub(crate) fn pieces(&self, unit: Unit) -> &[Piece<'t>] {
        self.units[unit as usize].get_or_init(|| divide(self.str, unit))
    }

    /// The code of its language; see [`language::detect`].
    pub(crate) fn language(&self) -> Option<&'static str> {
        *self.language.get_or_init(|| language::detect(self.str))
    }
}

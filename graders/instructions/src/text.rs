//! A text to check, divided into units when they are first needed.

use std::cell::OnceCell;

use crate::units::{Piece, Unit, divide};

/// A text or a part of one.
pub(crate) struct Text<'t> {
    pub(crate) str: &'t str,
    units: [OnceCell<Vec<Piece<'t>>>; Unit::COUNT],
}

impl<'t> Text<'t> {
    pub(crate) fn new(str: &'t str) -> Self {
        Self {
            str,
            units: Default::default(),
        }
    }

    /// The units of the text, in order.
    pub(crate) fn pieces(&self, unit: Unit) -> &[Piece<'t>] {
        self.units[unit as usize].get_or_init(|| divide(self.str, unit))
    }
}

//! The pieces of an integrand: where it has a kink or a jump, and its integral over a piece on
//! which it is a polynomial.

use super::critical::Critical;
use super::evaluate::{NoValue, Point};
use super::line::Line;
use super::pieces::{Floats, Pieces};
use super::rename;
use crate::budget::Budget;
use crate::number::Rational;
use crate::tree::Expr;

/// Bits beyond the usual ones to which kinks are found.
const RESOLUTION: u64 = 64;

/// Most kinks of an integrand.
const MAX_KINKS: usize = 12;

/// An integrand as a function of its variable, with values for all other names.
pub(super) struct Integrand<'a> {
    body: &'a Expr,
    /// Sorted; none of them takes only integers.
    symbols: Vec<(&'a str, bool)>,
    values: Vec<Rational>,
    varying: usize,
}

impl<'a> Integrand<'a> {
    /// The integrand; `None` if it is constant or a name has no value.
    pub(super) fn of(name: &str, body: &'a Expr, point: &Point<'_>) -> Option<Self> {
        let names = rename::symbols(body);
        let varying = names.iter().position(|own| *own == name)?;
        let value = |own: &&str| {
            if *own == name {
                Some(Rational::small(0))
            } else {
                point.value(own).cloned()
            }
        };
        let values = names.iter().map(value).collect::<Option<_>>()?;
        Some(Self {
            body,
            symbols: names.into_iter().map(|name| (name, false)).collect(),
            values,
            varying,
        })
    }

    /// The sorted ends of the pieces; none if the integrand has one formula, or too many pieces.
    /// `sizes` are those of the ends of the integral.
    pub(super) fn kinks(
        &self,
        sizes: &[Rational],
        budget: &Budget,
    ) -> Result<Vec<Rational>, NoValue> {
        let critical = Critical::of(self.body, self.body, budget)?;
        if !critical.has_pieces || critical.incomplete {
            return Ok(Vec::new());
        }
        let pieces = Pieces {
            critical: &critical,
            symbols: &self.symbols,
            sizes,
            places: &[],
            floats: &Floats::default(),
            complex: false,
            resolution: RESOLUTION,
            seed: 0,
        };
        let line = Line {
            symbols: &self.symbols,
            values: &self.values,
            varying: self.varying,
            complex: false,
            resolution: RESOLUTION,
        };
        Ok(pieces.on_line(&line, budget)?)
    }

    /// The integral over a piece if the integrand is a polynomial there, and the size of the terms
    /// of which it is the difference. Constants in the polynomial are rounded.
    pub(super) fn exactly(
        &self,
        low: &Rational,
        high: &Rational,
        budget: &Budget,
    ) -> Result<Option<(Rational, Rational)>, NoValue> {
        let line = Line {
            symbols: &self.symbols,
            values: &self.values,
            varying: self.varying,
            complex: false,
            resolution: RESOLUTION,
        };
        let middle = low
            .add(high)
            .and_then(|both| both.mul(&Rational::ratio(1, 2)));
        let Some(middle) = middle else {
            return Ok(None);
        };
        let Some((polynomial, below)) = line.quotient(self.body, Some(&middle), budget)? else {
            return Ok(None);
        };
        if !below.is_constant() {
            return Ok(None);
        }
        let (Some((area, size)), Some(below)) = (
            polynomial.integral(low, high, budget)?,
            below.value(&middle, budget)?,
        ) else {
            return Ok(None);
        };
        Ok(area.div(&below).zip(size.div(&below)))
    }
}

/// The kinks strictly between two ends, of which one may be infinite.
pub(super) fn between(
    kinks: Vec<Rational>,
    low: Option<&Rational>,
    high: Option<&Rational>,
) -> Option<Vec<Rational>> {
    let is_inside = |kink: &Rational| {
        low.is_none_or(|low| low.less(kink) == Some(true))
            && high.is_none_or(|high| kink.less(high) == Some(true))
    };
    let inside: Vec<Rational> = kinks.into_iter().filter(is_inside).collect();
    (inside.len() <= MAX_KINKS).then_some(inside)
}

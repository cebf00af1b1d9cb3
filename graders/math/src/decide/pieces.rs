//! Points on every piece of two functions, and at the ends of the pieces.
//!
//! The variables are fixed one after the other, each at the ends of the pieces on the line of the
//! values fixed so far, and between two ends at a share that a hash of both functions selects.

use super::critical::Critical;
use super::line::{Line, inside, sort};
use crate::budget::{Budget, Exhausted};
use crate::number::Rational;
use crate::number::residue::mix;

/// Values of an argument of a floor at which it jumps.
const LEVELS: [i64; 6] = [-2, -1, 0, 1, 2, 3];

/// Values at which functions are evaluated whose zeros are not known.
const GRID: [i64; 8] = [-1_000, -100, -20, -5, 5, 20, 100, 1_000];

/// Most variables of which the pieces are combined. Of others the pieces are those on lines in the
/// direction of each variable.
const MAX_COMBINED: usize = 3;

/// Bits of the place of a point in a piece, so that no function can be written for it.
const SHARE_BITS: u64 = 48;

/// The pieces of two functions.
pub(super) struct Pieces<'a, 'v> {
    pub(super) critical: &'a Critical,
    pub(super) symbols: &'v [(&'a str, bool)],
    /// Sizes of the numbers in the functions.
    pub(super) sizes: &'v [Rational],
    pub(super) complex: bool,
    pub(super) seed: u64,
}

/// What to do with a point: its values, and whether it lies between ends. Returns whether to stop.
type Visit<'f> = dyn FnMut(&[Rational], bool) -> Result<bool, Exhausted> + 'f;

impl Pieces<'_, '_> {
    /// Visits points on all pieces, from a point with these values. `covered` are values of a
    /// single variable whose pieces need no point.
    pub(super) fn visit(
        &self,
        base: &[Rational],
        covered: &[Rational],
        budget: &Budget,
        visit: &mut Visit<'_>,
    ) -> Result<(), Exhausted> {
        let count = self.symbols.len();
        if self.critical.has_pieces && count <= MAX_COMBINED {
            for first in 0..count {
                let order: Vec<usize> = (0..count).map(|at| (first + at) % count).collect();
                let mut values = base.to_vec();
                if self.walk(&mut values, &order, covered, true, budget, visit)? {
                    break;
                }
            }
            return Ok(());
        }
        for varying in 0..count {
            let mut values = base.to_vec();
            if self.walk(&mut values, &[varying], covered, true, budget, visit)? {
                break;
            }
        }
        Ok(())
    }

    fn walk(
        &self,
        values: &mut Vec<Rational>,
        order: &[usize],
        covered: &[Rational],
        within: bool,
        budget: &Budget,
        visit: &mut Visit<'_>,
    ) -> Result<bool, Exhausted> {
        let Some((varying, rest)) = order.split_first() else {
            return visit(values, within);
        };
        let stops = self.stops(values, *varying, covered, !rest.is_empty(), budget)?;
        let own = values.get(*varying).cloned();
        for (value, between) in stops {
            if let Some(slot) = values.get_mut(*varying) {
                *slot = value;
            }
            if self.walk(values, rest, covered, within && between, budget, visit)? {
                return Ok(true);
            }
        }
        if let (Some(slot), Some(own)) = (values.get_mut(*varying), own) {
            *slot = own;
        }
        Ok(false)
    }

    /// Values of one variable: the ends of the pieces, and one between each two, which is marked.
    fn stops(
        &self,
        values: &[Rational],
        varying: usize,
        covered: &[Rational],
        turns: bool,
        budget: &Budget,
    ) -> Result<Vec<(Rational, bool)>, Exhausted> {
        let line = Line {
            symbols: self.symbols,
            values,
            varying,
            complex: self.complex,
        };
        let mut ends = Vec::new();
        let mut unknown = Vec::new();
        for zero in &self.critical.zeros {
            match line.roots(zero, &[0], turns, budget)? {
                Some(found) => ends.extend(found),
                None => unknown.push(zero),
            }
        }
        for step in &self.critical.steps {
            match line.roots(step, &LEVELS, false, budget)? {
                Some(found) => ends.extend(found),
                None => unknown.push(step),
            }
        }
        budget.charge(20 * ends.len() as u64)?;
        sort(&mut ends);
        let whole = self.symbols.get(varying).is_some_and(|(_, whole)| *whole);
        if self.critical.has_pieces && !whole && !unknown.is_empty() {
            let mut grid: Vec<Rational> = GRID.into_iter().map(Rational::small).collect();
            for size in self.sizes {
                grid.extend([size.clone(), size.neg()]);
            }
            grid.extend(
                self.between(&ends, varying, values)
                    .into_iter()
                    .map(|(value, _)| value),
            );
            sort(&mut grid);
            budget.charge(20 * grid.len() as u64)?;
            for function in unknown {
                ends.extend(line.changes(function, &grid, budget)?);
            }
            sort(&mut ends);
        }
        let mut stops = Vec::new();
        if self.critical.has_pieces || turns {
            stops.extend(ends.iter().map(|end| (end.clone(), false)));
        }
        let is_covered = |low: Option<&Rational>, high: Option<&Rational>| {
            covered.iter().any(|value| {
                low.is_none_or(|low| low.less(value) == Some(true))
                    && high.is_none_or(|high| value.less(high) == Some(true))
            })
        };
        for (at, (value, _)) in self.between(&ends, varying, values).into_iter().enumerate() {
            let low = at.checked_sub(1).and_then(|at| ends.get(at));
            if covered.is_empty() || !is_covered(low, ends.get(at)) {
                stops.push((value, true));
            }
        }
        if whole {
            stops = integers_near(&stops);
        }
        Ok(stops)
    }

    /// A value in each piece between sorted ends, and one beyond the first and the last end.
    fn between(
        &self,
        ends: &[Rational],
        varying: usize,
        values: &[Rational],
    ) -> Vec<(Rational, bool)> {
        let (Some(first), Some(last)) = (ends.first(), ends.last()) else {
            return values
                .get(varying)
                .map(|own| (own.clone(), true))
                .into_iter()
                .collect();
        };
        let far = |end: &Rational, sign: i64| {
            // Beyond an end by about its size, and at least by about 1.
            let size = end.abs().add(&Rational::small(2))?;
            end.add(&size.mul(&Rational::small(sign))?)
        };
        let mut all = vec![far(first, -1)];
        all.extend(ends.iter().cloned().map(Some));
        all.push(far(last, 1));
        let mut found = Vec::with_capacity(all.len());
        for (at, pair) in all.windows(2).enumerate() {
            if let [Some(low), Some(high)] = pair {
                let bits = mix(self.seed ^ mix((varying as u64) << 32 | at as u64));
                // Between an eighth and seven eighths of the way.
                let share = Rational::new(
                    ((bits >> (64 - SHARE_BITS)) * 3 / 4 + (1 << (SHARE_BITS - 3))).into(),
                    (1u64 << SHARE_BITS).into(),
                );
                let share = share.unwrap_or_else(|| Rational::ratio(1, 3));
                if let Some(value) = inside(low, high, &share, SHARE_BITS) {
                    found.push((value, true));
                }
            }
        }
        found
    }
}

/// The integers at and next to each value, for a variable that takes only integers.
fn integers_near(stops: &[(Rational, bool)]) -> Vec<(Rational, bool)> {
    let mut near: Vec<Rational> = Vec::new();
    for (value, _) in stops {
        let floor = Rational::integer(value.floor());
        for step in [-1, 0, 1] {
            near.extend(floor.add(&Rational::small(step)));
        }
    }
    sort(&mut near);
    near.into_iter().map(|value| (value, true)).collect()
}

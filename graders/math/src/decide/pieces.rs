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
const GRID: [i64; 4] = [-30, -5, 5, 30];

/// Most corners from which pieces of more variables are searched.
const MAX_CORNERS: usize = 8;

/// Most ends of pieces on a line.
const MAX_ENDS: usize = 100;

/// Bits to which two approximate ends agree if they are the same end.
const MERGED_BITS: u64 = 100;

/// Largest denominator of an end that counts as exact, in bits.
const APPROXIMATE_BITS: u64 = 60;

/// Most variables of which the pieces are combined. Of more, the pieces are those on lines in the
/// direction of each variable through a few corners.
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
    /// Bits beyond the usual ones to which ends are found.
    pub(super) resolution: u64,
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
            let orders = if count == MAX_COMBINED { 1 } else { count };
            for first in 0..orders {
                let order: Vec<usize> = (0..count).map(|at| (first + at) % count).collect();
                let mut values = base.to_vec();
                if self.walk(&mut values, &order, covered, true, budget, visit)? {
                    return Ok(());
                }
            }
            return Ok(());
        }
        let mut bases = vec![base.to_vec()];
        if self.critical.has_pieces {
            bases.extend(self.corners(base, budget)?);
        }
        for base in bases {
            for varying in 0..count {
                let mut values = base.clone();
                if self.walk(&mut values, &[varying], covered, true, budget, visit)? {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Points at which every variable is at an end of a piece on the line in its direction.
    fn corners(&self, base: &[Rational], budget: &Budget) -> Result<Vec<Vec<Rational>>, Exhausted> {
        let mut ends = Vec::with_capacity(base.len());
        for varying in 0..base.len() {
            let line = self.line(base, varying);
            ends.push(self.ends(&line, true, false, budget)?);
        }
        let corner = |at: usize| {
            let values = ends.iter().zip(base).map(|(ends, own)| {
                let end = ends.get(at % ends.len().max(1));
                end.unwrap_or(own).clone()
            });
            values.collect()
        };
        Ok(
            (0..MAX_CORNERS.min(ends.iter().map(Vec::len).max().unwrap_or(0)))
                .map(corner)
                .collect(),
        )
    }

    fn line<'l>(&self, values: &'l [Rational], varying: usize) -> Line<'_, 'l>
    where
        Self: 'l,
    {
        Line {
            symbols: self.symbols,
            values,
            varying,
            complex: self.complex,
            resolution: self.resolution,
        }
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
        let mut stops = self.stops(values, *varying, covered, !rest.is_empty(), budget)?;
        if rest.len() > 1 {
            // With three variables, at the ends of the pieces only.
            stops.retain(|(_, between)| !between);
            stops.extend(values.get(*varying).map(|own| (own.clone(), true)));
        }
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
        let line = self.line(values, varying);
        let whole = self.symbols.get(varying).is_some_and(|(_, whole)| *whole);
        let ends = self.ends(&line, turns, !whole, budget)?;
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
        for (at, value) in self.between(&ends, varying, values).into_iter().enumerate() {
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

    /// The sorted ends of the pieces on a line, with those of functions of any form if `any`.
    pub(super) fn ends(
        &self,
        line: &Line<'_, '_>,
        turns: bool,
        any: bool,
        budget: &Budget,
    ) -> Result<Vec<Rational>, Exhausted> {
        let zeros = self.critical.zeros.iter().map(|zero| (zero, &[0][..]));
        let steps = self.critical.steps.iter().map(|step| (step, &LEVELS[..]));
        let mut ends = Vec::new();
        let mut later = Vec::new();
        let mut places = Vec::new();
        for size in self.sizes {
            places.extend([size.clone(), size.neg()]);
        }
        let any = any && self.critical.has_pieces;
        for (function, levels) in zeros.chain(steps) {
            let found = match line.roots(function, levels, turns, None, budget)? {
                None if any => line.inverse_roots(function, levels, None, &places, budget)?,
                found => found,
            };
            match found {
                Some(found) => ends.extend(found),
                None => later.push((function, levels)),
            }
        }
        budget.charge(20 * ends.len() as u64)?;
        sort(&mut ends);
        if !self.critical.has_pieces {
            return Ok(ends);
        }
        // The functions inside of others come after these.
        let mut unknown = Vec::new();
        'functions: for (function, levels) in later.into_iter().rev() {
            let mut found = Vec::new();
            for sample in self.between(&ends, line.varying, line.values) {
                let roots = match line.roots(function, levels, turns, Some(&sample), budget)? {
                    None if any => {
                        line.inverse_roots(function, levels, Some(&sample), &places, budget)?
                    }
                    roots => roots,
                };
                match roots {
                    Some(roots) => found.extend(roots),
                    None => {
                        unknown.push(function);
                        continue 'functions;
                    }
                }
            }
            ends.extend(found);
            budget.charge(20 * ends.len() as u64)?;
            sort(&mut ends);
            if ends.len() > MAX_ENDS {
                return Err(Exhausted);
            }
        }
        if any && !unknown.is_empty() {
            let mut grid: Vec<Rational> = GRID.into_iter().map(Rational::small).collect();
            grid.extend(places);
            for hint in &self.critical.hints {
                let found = line.roots(hint, &LEVELS, true, None, budget)?;
                grid.extend(found.unwrap_or_default());
            }
            grid.extend(self.between(&ends, line.varying, line.values));
            sort(&mut grid);
            budget.charge(20 * grid.len() as u64)?;
            for function in unknown {
                ends.extend(line.changes(function, &grid, budget)?);
            }
            sort(&mut ends);
        }
        self.merge(&mut ends, budget)?;
        Ok(ends)
    }

    /// Removes approximations of ends that are known already.
    fn merge(&self, ends: &mut Vec<Rational>, budget: &Budget) -> Result<(), Exhausted> {
        budget.charge(20 * ends.len() as u64)?;
        let bits = i64::try_from(MERGED_BITS + self.resolution).unwrap_or(i64::MAX);
        let Some(limit) = Rational::small(2).pow(-bits, 8_000) else {
            return Ok(());
        };
        ends.dedup_by(|next, own| {
            let is_near = || {
                let size = own.abs().add(&Rational::small(1))?;
                next.sub(own)?.less(&size.mul(&limit)?)
            };
            is_approximate(next) && is_approximate(own) && is_near() == Some(true)
        });
        Ok(())
    }

    /// A value in each piece between sorted ends, and one beyond the first and the last end.
    fn between(&self, ends: &[Rational], varying: usize, values: &[Rational]) -> Vec<Rational> {
        let (Some(first), Some(last)) = (ends.first(), ends.last()) else {
            return values.get(varying).cloned().into_iter().collect();
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
                found.extend(inside(low, high, &share, SHARE_BITS));
            }
        }
        found
    }
}

/// Whether an end is rounded: its denominator is long.
pub(super) fn is_approximate(end: &Rational) -> bool {
    end.den().bits() > APPROXIMATE_BITS
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

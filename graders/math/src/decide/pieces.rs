//! Points on every piece of two functions, and at the ends of the pieces.
//!
//! The variables are fixed one after the other, each at the ends of the pieces on the line of the
//! values fixed so far, and between two ends at a share that a hash of both functions selects.

use super::critical::Critical;
use super::float::{Float, nearest};
use super::line::{Line, inside, sort};
use super::scan::{Kind, Scan, exact};
use crate::budget::{Budget, Exhausted};
use crate::number::Rational;
use crate::number::residue::mix;
use crate::tree::{Expr, Function};

/// Values of an argument of a floor at which it jumps.
const LEVELS: [i64; 6] = [-2, -1, 0, 1, 2, 3];

/// Ends that are found in double precision and differ by a smaller share are the same.
const SAME_END: f64 = 1e-9;

/// Most ends of one function that are found to more than double precision.
const MAX_REFINED: usize = 3;

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
    /// The same with their signs, and further ones.
    pub(super) places: &'v [Rational],
    pub(super) floats: &'v Floats,
    pub(super) complex: bool,
    /// Bits beyond the usual ones to which ends are found.
    pub(super) resolution: u64,
    pub(super) seed: u64,
}

/// The functions in double precision, as far as they have real values.
#[derive(Default)]
pub(super) struct Floats {
    sides: Option<(Float, Float)>,
    /// The zeros of [`Critical`], then the steps.
    functions: Vec<Option<Float>>,
    hints: Vec<Option<Float>>,
}

impl Floats {
    /// The functions in double precision, if they have pieces.
    pub(super) fn of(
        (a, b): (&Expr, &Expr),
        critical: &Critical,
        symbols: &[(&str, bool)],
        complex: bool,
        budget: &Budget,
    ) -> Result<Self, Exhausted> {
        if !critical.has_pieces || complex {
            return Ok(Self::default());
        }
        let float = |expr: &Expr| Float::of(expr, symbols, budget);
        let functions = critical.zeros.iter().chain(&critical.steps).map(float);
        Ok(Self {
            sides: float(a)?.zip(float(b)?),
            functions: functions.collect::<Result<_, _>>()?,
            hints: critical.hints.iter().map(float).collect::<Result<_, _>>()?,
        })
    }
}

/// The ends of the pieces on a line.
struct Ends {
    /// Sorted.
    values: Vec<Rational>,
    /// The line in double precision, if not all ends are exact.
    scan: Option<Scan>,
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
            ends.push(self.ends(&line, true, false, budget)?.values);
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
        let Ends { values: ends, scan } = self.ends(&line, turns, !whole, budget)?;
        let mut stops = Vec::new();
        if let (false, Some(mut scan), Some((a, b))) = (turns, scan, &self.floats.sides) {
            let suspects = scan.suspects(a, b, budget)?;
            stops.extend(suspects.into_iter().map(|value| (value, false)));
        }
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

    /// The sorted ends of the pieces on a line, as far as functions have roots in closed form.
    pub(super) fn on_line(
        &self,
        line: &Line<'_, '_>,
        budget: &Budget,
    ) -> Result<Vec<Rational>, Exhausted> {
        Ok(self.closed_ends(line, false, true, budget)?.0)
    }

    /// The ends of the pieces on a line, with those of functions of any form if `any`.
    fn ends(
        &self,
        line: &Line<'_, '_>,
        turns: bool,
        any: bool,
        budget: &Budget,
    ) -> Result<Ends, Exhausted> {
        let any = any && self.critical.has_pieces;
        let (mut ends, inexact) = self.closed_ends(line, turns, any, budget)?;
        if !self.critical.has_pieces {
            return Ok(Ends {
                values: ends,
                scan: None,
            });
        }
        let scan = if any && !inexact.is_empty() {
            Some(self.scan(line, &inexact, &mut ends, budget)?)
        } else {
            None
        };
        self.merge(&mut ends, budget)?;
        Ok(Ends { values: ends, scan })
    }

    /// The sorted ends of the pieces of functions with roots in closed form, and the numbers of the
    /// functions that have other roots, or roots that are rounded.
    fn closed_ends(
        &self,
        line: &Line<'_, '_>,
        turns: bool,
        any: bool,
        budget: &Budget,
    ) -> Result<(Vec<Rational>, Vec<usize>), Exhausted> {
        let zeros = self.critical.zeros.iter().map(|zero| (zero, &[0][..]));
        let steps = self.critical.steps.iter().map(|step| (step, &LEVELS[..]));
        let mut ends = Vec::new();
        let mut later = Vec::new();
        let mut inexact = Vec::new();
        let mut places = Vec::new();
        for size in self.sizes {
            places.extend([size.clone(), size.neg()]);
        }
        for (at, (function, levels)) in zeros.chain(steps).enumerate() {
            let found = match line.roots(function, levels, turns, None, budget)? {
                None if any => {
                    let found = line.inverse_roots(function, levels, None, &places, budget)?;
                    if found.is_some() {
                        inexact.push(at);
                    }
                    found
                }
                found => found,
            };
            match found {
                Some(found) => ends.extend(found),
                None => later.push((at, function, levels)),
            }
        }
        budget.charge(20 * ends.len() as u64)?;
        sort(&mut ends);
        if !self.critical.has_pieces {
            return Ok((ends, inexact));
        }
        // The functions inside of others come after these.
        'functions: for (at, function, levels) in later.into_iter().rev() {
            let mut found = Vec::new();
            let has_floors = function
                .any(&|part| matches!(part, Expr::Call(Function::Floor | Function::Ceil, _)));
            if has_floors {
                inexact.push(at);
            }
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
                        inexact.push(at);
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
        Ok((ends, inexact))
    }

    /// Adds the ends of the pieces of functions whose roots are not exact.
    fn scan(
        &self,
        line: &Line<'_, '_>,
        inexact: &[usize],
        ends: &mut Vec<Rational>,
        budget: &Budget,
    ) -> Result<Scan, Exhausted> {
        for hint in &self.critical.hints {
            ends.extend(
                line.roots(hint, &[0], true, None, budget)?
                    .unwrap_or_default(),
            );
        }
        sort(ends);
        let mut scan = Scan::new((line.values, line.varying), self.places, ends, self.seed);
        let mut known: Vec<f64> = ends.iter().map(nearest).collect();
        for hint in self.floats.hints.iter().flatten() {
            scan.add_turns(hint, budget)?;
        }
        let zeros = self.critical.zeros.iter().map(|zero| (zero, Kind::Sign));
        let steps = self.critical.steps.iter().map(|step| (step, Kind::Floor));
        let functions = zeros.chain(steps).zip(&self.floats.functions).enumerate();
        let functions: Vec<_> = functions.collect();
        for (at, ((function, kind), float)) in functions.into_iter().rev() {
            let (Some(float), true) = (float, inexact.contains(&at)) else {
                continue;
            };
            let mut refined = 0;
            for change in scan.changes(float, kind, budget)? {
                let is_known = |known: &[f64], own: f64| {
                    let most = SAME_END * own.abs().max(1.0);
                    known.iter().any(|other| (own - other).abs() <= most)
                };
                budget.charge(2 * known.len() as u64)?;
                if !change.touches && is_known(&known, change.high) {
                    continue;
                }
                let double = exact(change.high).filter(|_| !change.touches);
                let end = match change.simplest(budget)? {
                    Some(end) => Some(end),
                    None if refined < MAX_REFINED && (change.touches || kind == Kind::Sign) => {
                        refined += 1;
                        line.refined(function, change, budget)?.or(double)
                    }
                    None => double,
                };
                if let Some(end) = end
                    && !is_known(&known, nearest(&end))
                {
                    known.push(nearest(&end));
                    ends.push(end);
                }
            }
        }
        budget.charge(20 * ends.len() as u64)?;
        sort(ends);
        if ends.len() > MAX_ENDS {
            return Err(Exhausted);
        }
        Ok(scan)
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

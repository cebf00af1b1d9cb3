//! Where functions without exact roots change their sign, their floor or their domain on a line,
//! and where two functions may differ, by values in double precision at a grid.
//!
//! The grid is dense near 0 and near the numbers in the functions, and reaches far beyond both. A
//! key moves its values, so that no function can be written for them.

use super::float::{Float, Valued, nearest};
use super::polynomial::{SIMPLEST_STEPS, simplest_between};
use crate::budget::{Budget, Exhausted};
use crate::number::Rational;
use crate::number::residue::mix;

/// Steps of the grid up to these sizes, then factors up to these sizes.
const STEPS: [(f64, f64); 3] = [(0.25, 12.0), (0.5, 48.0), (1.0, 120.0)];
const FACTORS: [(f64, f64); 3] = [(1.25, 1e4), (2.0, 1e9), (16.0, 1e40)];

/// The same on lines of which there are many.
const SPARSE_STEPS: [(f64, f64); 2] = [(0.5, 8.0), (2.0, 40.0)];
const SPARSE_FACTORS: [(f64, f64); 2] = [(1.5, 1e3), (8.0, 1e9)];

/// The factor between sizes below the first step, and the least size.
const SMALL_FACTOR: f64 = 0.4;
const LEAST: f64 = 1e-9;

/// Distances from a number in the functions.
const DISTANCES: [f64; 10] = [-2.0, -1.0, -0.5, -0.2, -0.01, 0.0, 0.01, 0.2, 0.5, 1.0];

/// Most numbers in the functions near which the grid is dense.
const MAX_PLACES: usize = 16;

/// Largest number of extrema of a function that are found, and of values to find one.
const MAX_TURNS: usize = 20;
const TURN_VALUES: usize = 28;

/// Most changes of a function that are found, and most between the same two signs or floors.
const MAX_CHANGES: usize = 20;
const MAX_SAME_CHANGES: usize = 4;
const MAX_SPARSE_CHANGES: usize = 2;

/// Most values that are taken to find a change. Halving an interval so often leaves no double in
/// between.
const MAX_HALVINGS: usize = 90;

/// Values below this share of their terms are 0, and differences that are not certain.
const ZERO: f64 = 1e-14;
const DIFFERENT: f64 = 1e-11;

/// Values are integers if they differ from one by less.
const WHOLE: f64 = 1e-13;

/// Largest denominator of a number at which a function changes exactly, in bits.
const SIMPLE_BITS: u64 = 16;

/// Extrema are as near to the ends of parts of the range as this share of the distance of values
/// beside them.
const TOUCHING: f64 = 1e-6;

/// The share of an interval at which functions without jumps have another value.
const BESIDE: f64 = 1e-3;

/// Most values at which two functions may differ.
const MAX_SUSPECTS: usize = 4;

/// What changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Sign,
    Floor,
}

/// An interval in which a function changes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Change {
    pub(super) low: f64,
    pub(super) high: f64,
    /// Whether the function only touches 0 or an integer, at an extremum.
    pub(super) touches: bool,
}

impl Change {
    /// A simple number in the interval, which is then where the function changes.
    pub(super) fn simplest(&self, budget: &Budget) -> Result<Option<Rational>, Exhausted> {
        budget.charge(SIMPLEST_STEPS)?;
        let ends = exact(self.low).zip(exact(self.high));
        let simplest = ends.and_then(|(low, high)| simplest_between(&low, &high));
        Ok(simplest.filter(|simplest| !self.touches && simplest.den().bits() <= SIMPLE_BITS))
    }
}

/// A line with a grid of values.
pub(super) struct Scan {
    values: Vec<f64>,
    varying: usize,
    /// Sorted.
    grid: Vec<f64>,
    /// Ends of pieces.
    ends: Vec<f64>,
    is_sparse: bool,
}

/// A part of the range of a function; `NaN` where it has no value.
fn key(kind: Kind, found: Valued) -> f64 {
    let Valued { value, size } = found;
    if value.is_nan() {
        return value;
    }
    match kind {
        Kind::Sign if value == 0.0 || value.abs() < ZERO * size && size.is_finite() => 0.0,
        Kind::Sign => value.signum(),
        Kind::Floor => {
            let whole = value.round();
            if (value - whole).abs() <= WHOLE * size.max(1.0) {
                whole
            } else {
                value.floor() + 0.5
            }
        }
    }
}

/// Whether an extremum is an end of a part of the range, as far as it is known.
fn is_near_end(kind: Kind, found: Valued, beside: Valued) -> bool {
    let whole = match kind {
        Kind::Sign => 0.0,
        Kind::Floor => found.value.round(),
    };
    let most = TOUCHING * (beside.value - whole).abs().min(1.0);
    (found.value - whole).abs() <= most
}

/// Whether two parts of the range are the same. The ends of a domain are zeros of other functions.
fn same(a: f64, b: f64) -> bool {
    a == b || a.is_nan() || b.is_nan()
}

impl Scan {
    /// The line on which all but one of these values are fixed, with a grid near these places and
    /// these ends of pieces.
    pub(super) fn new(
        (values, varying): (&[Rational], usize),
        places: &[Rational],
        ends: &[Rational],
        seed: u64,
    ) -> Self {
        let is_sparse = values.len() > 1;
        let finite = |values: &[Rational]| -> Vec<f64> {
            let values = values.iter().map(nearest);
            values.filter(|value| value.is_finite()).collect()
        };
        let mut scan = Self {
            values: values.iter().map(nearest).collect(),
            varying,
            grid: Vec::new(),
            ends: finite(ends),
            is_sparse,
        };
        let sizes = if is_sparse {
            sizes(&SPARSE_STEPS, &SPARSE_FACTORS)
        } else {
            sizes(&STEPS, &FACTORS)
        };
        scan.grid = sizes
            .windows(2)
            .zip(0u64..)
            .flat_map(|(pair, at)| {
                let [low, high] = pair else {
                    return [0.0; 2];
                };
                let share = |key: u64| (mix(seed ^ mix(key)) >> 11) as f64 / (1u64 << 53) as f64;
                [2 * at, 2 * at + 1].map(|key| low + share(key) * (high - low))
            })
            .zip(0u64..)
            .map(|(size, at)| if at % 2 == 0 { size } else { -size })
            .collect();
        scan.grid.push(0.0);
        for place in finite(places).into_iter().take(MAX_PLACES) {
            scan.grid.extend(DISTANCES.map(|distance| place + distance));
        }
        let ends = scan.ends.clone();
        scan.grid.extend(ends);
        scan.sort();
        scan
    }

    fn sort(&mut self) {
        for values in [&mut self.grid, &mut self.ends] {
            values.sort_by(f64::total_cmp);
            values.dedup();
        }
    }

    fn value(&mut self, function: &Float, at: f64, budget: &Budget) -> Result<Valued, Exhausted> {
        if let Some(slot) = self.values.get_mut(self.varying) {
            *slot = at;
        }
        function.value(&mut self.values, budget)
    }

    /// Intervals in which a function changes, and extrema, which join the grid.
    pub(super) fn changes(
        &mut self,
        function: &Float,
        kind: Kind,
        budget: &Budget,
    ) -> Result<Vec<Change>, Exhausted> {
        let found = self.table(function, budget)?;
        let mut wide: Vec<(Change, f64, f64)> = Vec::new();
        for pair in found.windows(2) {
            let [(low, before), (high, after)] = *pair else {
                continue;
            };
            let (before, after) = (key(kind, before), key(kind, after));
            if !same(before, after) {
                let touches = false;
                wide.push((Change { low, high, touches }, before, after));
            }
        }
        for (low, at, high, level) in self.turns(&found, function, kind == Kind::Sign, budget)? {
            let own = self.value(function, at, budget)?;
            let (reached, before) = (key(kind, own), key(kind, level));
            let beside = self.value(function, at + BESIDE * (high - at), budget)?;
            if !same(reached, before) && same(reached, key(kind, beside)) {
                let touches = false;
                for (low, high) in [(low, at), (at, high)] {
                    wide.push((Change { low, high, touches }, before, reached));
                }
            } else if is_near_end(kind, own, level) {
                let touches = true;
                let width = BESIDE * (high - low);
                let (low, high) = (at - width, at + width);
                wide.push((Change { low, high, touches }, before, f64::INFINITY));
            }
        }
        let found = self.narrowed(function, kind, wide, budget)?;
        for change in &found {
            self.grid.extend([change.low, change.high]);
            self.ends.push(change.high);
        }
        self.sort();
        Ok(found)
    }

    /// Adds the extrema of a function to the grid.
    pub(super) fn add_turns(&mut self, function: &Float, budget: &Budget) -> Result<(), Exhausted> {
        let found = self.table(function, budget)?;
        self.turns(&found, function, false, budget)?;
        self.sort();
        Ok(())
    }

    fn table(
        &mut self,
        function: &Float,
        budget: &Budget,
    ) -> Result<Vec<(f64, Valued)>, Exhausted> {
        let grid = std::mem::take(&mut self.grid);
        let table: Result<Vec<_>, _> = (grid.iter())
            .map(|at| Ok((*at, self.value(function, *at, budget)?)))
            .collect();
        self.grid = grid;
        table
    }

    /// Extrema between neighbours in a table, with these neighbours and the value at one of them,
    /// next to 0 first. With `inward`, those at which the function is nearest to 0.
    fn turns(
        &mut self,
        table: &[(f64, Valued)],
        function: &Float,
        inward: bool,
        budget: &Budget,
    ) -> Result<Vec<(f64, f64, f64, Valued)>, Exhausted> {
        let mut wide = Vec::new();
        for three in table.windows(3) {
            let [(low, before), (at, own), (high, after)] = *three else {
                continue;
            };
            let (left, right) = (own.value - before.value, own.value - after.value);
            if left * right > 0.0
                && (!inward
                    || (left > 0.0) == (own.value < 0.0) && before.value * after.value > 0.0)
            {
                wide.push((low, at, high, before, left.signum()));
            }
        }
        wide.sort_by(|a, b| a.1.abs().total_cmp(&b.1.abs()));
        wide.truncate(MAX_TURNS);
        let mut found = Vec::with_capacity(wide.len());
        for (low, _, high, level, sign) in wide {
            let at = self.turn(function, low, high, sign, budget)?;
            self.grid.push(at);
            found.push((low, at, high, level));
        }
        Ok(found)
    }

    /// Where a function has its maximum between two values, or with a negative sign its minimum: by
    /// golden sections.
    fn turn(
        &mut self,
        function: &Float,
        mut low: f64,
        mut high: f64,
        sign: f64,
        budget: &Budget,
    ) -> Result<f64, Exhausted> {
        const SECTION: f64 = 0.381_966_011_250_105;
        let (mut best, mut most) = (low, f64::NEG_INFINITY);
        let mut known: [Option<f64>; 2] = [None; 2];
        for _ in 0..TURN_VALUES {
            let section = SECTION * (high - low);
            let (left, right) = (low + section, high - section);
            for (slot, at) in known.iter_mut().zip([left, right]) {
                if slot.is_none() {
                    let value = sign * self.value(function, at, budget)?.value;
                    *slot = Some(value);
                    if value > most {
                        (best, most) = (at, value);
                    }
                }
            }
            let [Some(below), Some(above)] = known else {
                break;
            };
            if below > above {
                high = right;
                known = [None, Some(below)];
            } else if below < above {
                low = left;
                known = [Some(above), None];
            } else {
                // A step of a function with jumps, or both sides of an extremum.
                (low, high) = (left, right);
                known = [None; 2];
            }
        }
        Ok(best)
    }

    /// The changes in wide intervals: those next to 0 between each two signs or floors.
    fn narrowed(
        &mut self,
        function: &Float,
        kind: Kind,
        mut wide: Vec<(Change, f64, f64)>,
        budget: &Budget,
    ) -> Result<Vec<Change>, Exhausted> {
        wide.sort_by(|a, b| a.0.low.abs().total_cmp(&b.0.low.abs()));
        let most = if self.is_sparse {
            MAX_SPARSE_CHANGES
        } else {
            MAX_SAME_CHANGES
        };
        let mut seen: Vec<((u64, u64), usize)> = Vec::new();
        let mut found = Vec::new();
        wide.reverse();
        while let Some((change, before, after)) = wide.pop() {
            let pair = (before.to_bits(), after.to_bits());
            let count = match seen.iter_mut().find(|(own, _)| *own == pair) {
                Some((_, count)) => count,
                None => {
                    seen.push((pair, 0));
                    match seen.last_mut() {
                        Some((_, count)) => count,
                        None => continue,
                    }
                }
            };
            if *count >= most || found.len() >= MAX_CHANGES {
                continue;
            }
            *count += 1;
            if change.touches {
                found.push(change);
                continue;
            }
            let Change {
                mut low, mut high, ..
            } = change;
            let mut rest = None;
            for _ in 0..MAX_HALVINGS {
                let middle = low / 2.0 + high / 2.0;
                if middle <= low || middle >= high {
                    break;
                }
                let own = key(kind, self.value(function, middle, budget)?);
                if same(own, before) {
                    low = middle;
                } else {
                    if !same(own, after) {
                        // Another change comes after this one.
                        rest = Some((middle, own));
                    }
                    high = middle;
                }
            }
            let touches = false;
            found.push(Change { low, high, touches });
            if let Some((middle, own)) = rest
                && middle < change.high
                && wide.len() < MAX_CHANGES
            {
                let low = middle;
                let high = change.high;
                wide.push((Change { low, high, touches }, own, after));
            }
        }
        Ok(found)
    }

    /// Values at which two functions differ as far as double precision shows.
    pub(super) fn suspects(
        &mut self,
        a: &Float,
        b: &Float,
        budget: &Budget,
    ) -> Result<Vec<Rational>, Exhausted> {
        let middles = self.ends.windows(2).filter_map(|pair| match pair {
            [low, high] => Some(low / 2.0 + high / 2.0),
            _ => None,
        });
        let middles: Vec<f64> = middles.collect();
        self.grid.extend(middles);
        self.sort();
        let table = self.table(a, budget)?;
        let mut found = Vec::new();
        for (at, left) in table {
            let right = self.value(b, at, budget)?;
            let share = (left.value - right.value).abs() / (left.size + right.size);
            if share > DIFFERENT && share.is_finite() {
                found.push((at, share));
            }
        }
        found.sort_by(|a, b| b.1.total_cmp(&a.1));
        let first = found.into_iter().take(MAX_SUSPECTS);
        Ok(first.filter_map(|(at, _)| exact(at)).collect())
    }
}

/// The rational that a double is; `None` if it is not finite.
pub(super) fn exact(value: f64) -> Option<Rational> {
    let bits = value.to_bits();
    let exponent = i64::try_from(bits >> 52 & 0x7ff).ok()?;
    let fraction = i64::try_from(bits & ((1 << 52) - 1)).ok()?;
    let (fraction, exponent) = match exponent {
        0x7ff => return None,
        0 => (fraction, -1_074),
        exponent => (fraction | 1 << 52, exponent - 1_075),
    };
    let size = Rational::small(fraction).mul(&Rational::small(2).pow(exponent, 4_000)?)?;
    Some(if value.is_sign_negative() {
        size.neg()
    } else {
        size
    })
}

/// Sizes between which values are taken.
fn sizes(steps: &[(f64, f64)], factors: &[(f64, f64)]) -> Vec<f64> {
    let mut found = Vec::new();
    let mut at = steps.first().map_or(1.0, |(step, _)| *step);
    while at > LEAST {
        found.push(at);
        at *= SMALL_FACTOR;
    }
    found.push(0.0);
    found.reverse();
    let mut at = steps.first().map_or(1.0, |(step, _)| *step);
    for (step, limit) in steps {
        while at < *limit {
            at += step;
            found.push(at);
        }
    }
    for (factor, limit) in factors {
        while at < *limit {
            at *= factor;
            found.push(at);
        }
    }
    found
}

//! Replaces the cells of two results by labels. Equal cells have equal labels, and so do numbers
//! that differ only by rounding.

use std::collections::HashMap;

use assay_worker::query::{Rows, Value};

/// Absolute tolerance as a fraction of the relative tolerance: covers the rounding error of a sum
/// that should be 0.
const ABSOLUTE_FRACTION: f64 = 1e-3;

/// The labels of the cells of a result, row by row.
pub(super) struct LabelTable {
    pub(super) width: usize,
    pub(super) height: usize,
    pub(super) cells: Vec<u32>,
}

/// A cell as a key of a hash table; reals by their bits.
#[derive(PartialEq, Eq, Hash, Clone, Copy)]
enum Key<'a> {
    Null,
    Integer(i64),
    Real(u64),
    Text(&'a [u8]),
    Blob(&'a [u8]),
}

fn key(value: Value<'_>) -> Key<'_> {
    match value {
        Value::Null => Key::Null,
        Value::Integer(integer) => Key::Integer(integer),
        Value::Real(real) if real.is_nan() => Key::Real(f64::NAN.to_bits()),
        // 0.0 and -0.0 have the same key.
        Value::Real(real) => Key::Real((real + 0.0).to_bits()),
        Value::Text(text) => Key::Text(text),
        Value::Blob(bytes) => Key::Blob(bytes),
    }
}

/// Labels the cells of both results. Returns the number of labels, which are below it, and the
/// labels of both. Results of several databases are concatenated and must have the same number of
/// columns.
pub(super) fn label_results<'a>(
    gold: impl Iterator<Item = &'a Rows>,
    found: impl Iterator<Item = &'a Rows>,
    tolerance: f64,
) -> (usize, LabelTable, LabelTable) {
    let mut known: HashMap<Key<'_>, u32> = HashMap::new();
    let (mut gold, mut found) = (label(gold, &mut known), label(found, &mut known));
    let merged = merge(&known, tolerance);
    for cell in gold.cells.iter_mut().chain(&mut found.cells) {
        *cell = merged[*cell as usize];
    }
    (known.len(), gold, found)
}

fn label<'a>(
    parts: impl Iterator<Item = &'a Rows>,
    known: &mut HashMap<Key<'a>, u32>,
) -> LabelTable {
    let mut table = LabelTable {
        width: 0,
        height: 0,
        cells: Vec::new(),
    };
    for rows in parts {
        table.width = rows.width();
        table.height += rows.len();
        table.cells.extend(rows.cells().map(|cell| {
            let next = u32::try_from(known.len()).unwrap_or(u32::MAX);
            *known.entry(key(cell)).or_insert(next)
        }));
    }
    table
}

/// A number among the labels.
#[derive(Clone, Copy)]
enum Number {
    Integer(i64),
    Real(f64),
}

impl Number {
    fn approximate(self) -> f64 {
        // Only used to sort numbers and to measure their distance.
        match self {
            Self::Integer(integer) => integer as f64,
            Self::Real(real) => real,
        }
    }

    fn is_same(self, other: Self, tolerance: f64) -> bool {
        match (self, other) {
            (Self::Integer(a), Self::Integer(b)) => a == b,
            (Self::Integer(integer), Self::Real(real))
            | (Self::Real(real), Self::Integer(integer)) => {
                // A real number without a fraction is compared exactly.
                if real.fract() == 0.0 {
                    is_exactly(integer, real)
                } else {
                    self.is_near(other, tolerance)
                }
            }
            (Self::Real(_), Self::Real(_)) => self.is_near(other, tolerance),
        }
    }

    fn is_near(self, other: Self, tolerance: f64) -> bool {
        let (a, b) = (self.approximate(), other.approximate());
        let largest = a.abs().max(b.abs());
        a == b
            || (largest.is_finite()
                && (a - b).abs() <= (tolerance * largest).max(tolerance * ABSOLUTE_FRACTION))
    }
}

/// Whether a real number without a fraction equals this integer.
fn is_exactly(integer: i64, real: f64) -> bool {
    // The comparison ensures that the value is in the range of the type.
    let fits = (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0)
        .contains(&real)
        .then_some(real as i64);
    fits == Some(integer)
}

/// Returns the representative of each label. Numbers that differ only by rounding share one.
fn merge(known: &HashMap<Key<'_>, u32>, tolerance: f64) -> Vec<u32> {
    let mut merged: Vec<u32> = (0..u32::try_from(known.len()).unwrap_or(u32::MAX)).collect();
    let mut numbers: Vec<(Number, u32)> = known
        .iter()
        .filter_map(|(key, label)| match key {
            Key::Integer(integer) => Some((Number::Integer(*integer), *label)),
            Key::Real(bits) => Some((Number::Real(f64::from_bits(*bits)), *label)),
            Key::Null | Key::Text(_) | Key::Blob(_) => None,
        })
        .collect();
    if !numbers
        .iter()
        .any(|(number, _)| matches!(number, Number::Real(_)))
    {
        return merged;
    }
    numbers.sort_by(|(a, x), (b, y)| a.approximate().total_cmp(&b.approximate()).then(x.cmp(y)));
    // A number can only equal its neighbours: the last integer and the last real number before it.
    let (mut integer, mut real) = (None::<(Number, u32)>, None::<(Number, u32)>);
    for (number, label) in numbers {
        let joined = [integer, real]
            .into_iter()
            .flatten()
            .filter(|(before, _)| number.is_same(*before, tolerance));
        let roots: Vec<u32> = joined.map(|(_, label)| root(&merged, label)).collect();
        if let Some(first) = roots.iter().min().copied() {
            for other in roots {
                merged[other as usize] = first;
            }
            merged[label as usize] = first;
        }
        match number {
            Number::Integer(_) => integer = Some((number, label)),
            Number::Real(_) => real = Some((number, label)),
        }
    }
    (0..merged.len())
        .map(|label| root(&merged, u32::try_from(label).unwrap_or(u32::MAX)))
        .collect()
}

fn root(merged: &[u32], mut label: u32) -> u32 {
    while merged[label as usize] != label {
        label = merged[label as usize];
    }
    label
}

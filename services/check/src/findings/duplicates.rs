//! Rows with the same question as an earlier row, or nearly the same. Keeps the first row of each
//! question.

use std::collections::HashMap;
use std::sync::Arc;

use super::Sink;
use super::code::{Code, code};
use super::rule::DatasetRule;
use crate::graded_row::{GradedRow, excerpt};
use crate::probes::Purpose;
use crate::row::RowLocation;
use crate::shingles::hash;
use crate::sketch::{HASHES, PromptSketch, gold_text};

pub(super) const DUPLICATE_ROW: Code = code!("duplicate-row", Warning);
pub(super) const NEAR_DUPLICATE: Code = code!("near-duplicate", Warning);
pub(super) const NEAR_CONFLICT: Code = code!("near-conflict", Warning);
pub(super) const CONFLICTING_GOLDS: Code = code!("conflicting-golds", Error);

/// Maximum number of rows kept over all datasets, at about 250 bytes each. Later rows are compared
/// with these rows, and not with each other.
pub const MAX_ROWS: usize = 2 << 20;

/// The questions so far.
#[derive(Default)]
pub(super) struct Duplicates {
    datasets: Vec<Arc<str>>,
    first_rows: HashMap<u64, FirstRow>,
    sketches: Vec<KnownSketch>,
    /// The index of the first sketch with each band.
    bands: HashMap<u32, u32>,
}

/// The first row with a question.
struct FirstRow {
    gold: u64,
    location: PackedLocation,
}

struct KnownSketch {
    exact: u64,
    hashes: [u16; HASHES],
    gold: u64,
    location: PackedLocation,
}

/// A location in eight bytes: the index of the dataset in the upper 16 bits, the number of the row
/// in the lower 48 bits.
#[derive(Clone, Copy)]
struct PackedLocation(u64);

impl Duplicates {
    fn pack(&mut self, location: &RowLocation) -> PackedLocation {
        let known = self
            .datasets
            .iter()
            .position(|dataset| *dataset == location.dataset);
        let dataset = known.unwrap_or_else(|| {
            self.datasets.push(Arc::clone(&location.dataset));
            self.datasets.len() - 1
        });
        PackedLocation((dataset as u64) << 48 | location.number)
    }

    /// The location for a message about the row at `current`.
    fn describe(&self, location: PackedLocation, current: &RowLocation) -> String {
        let number = location.0 & ((1 << 48) - 1);
        let unit = if current.is_line { "line" } else { "row" };
        let dataset = usize::try_from(location.0 >> 48)
            .ok()
            .and_then(|dataset| self.datasets.get(dataset));
        match dataset.filter(|dataset| **dataset != current.dataset) {
            Some(dataset) => format!("row {number} of {dataset}"),
            None => format!("{unit} {number}"),
        }
    }

    /// Finds an earlier row with nearly the same prompt, and the estimated share of word pairs that
    /// both have.
    fn find_near(&self, sketch: &PromptSketch, min_share: f64) -> Option<(&KnownSketch, f64)> {
        sketch.bands.iter().find_map(|band| {
            let known = &self.sketches[*self.bands.get(band)? as usize];
            let equal = known
                .hashes
                .iter()
                .zip(&sketch.hashes)
                .filter(|(one, other)| one == other)
                .count();
            let share = equal as f64 / HASHES as f64;
            (known.exact == sketch.exact && share >= min_share).then_some((known, share))
        })
    }

    fn insert_sketch(&mut self, sketch: &PromptSketch, gold: u64, location: PackedLocation) {
        let Ok(at) = u32::try_from(self.sketches.len()) else {
            return;
        };
        self.sketches.push(KnownSketch {
            exact: sketch.exact,
            hashes: sketch.hashes,
            gold,
            location,
        });
        for band in sketch.bands {
            self.bands.entry(band).or_insert(at);
        }
    }
}

impl DatasetRule for Duplicates {
    fn add_row(&mut self, row: &GradedRow, sink: &mut Sink<'_>) {
        let Ok(subject) = &row.subject else { return };
        let sketch = &row.sketch;
        // Compare the normal forms of golds if the grader has them.
        let is_gold = |purpose| matches!(purpose, Purpose::Gold { gold: 0, .. });
        let gold = row
            .graded()
            .find(|(probe, grade)| is_gold(probe.purpose) && grade.pass);
        let normal_form = gold.and_then(|(_, grade)| grade.normal_form.as_deref());
        let gold = normal_form.map_or(sketch.gold, |text| hash(normalise(text).as_bytes()));
        if let Some(first) = self.first_rows.get(&sketch.question) {
            let location = self.describe(first.location, &row.location);
            // Different tests of a program do not contradict each other.
            let (code, message) = if first.gold == gold || subject.task.kind.as_str() == "code" {
                let message = format!("same question as {location}; drop one of them");
                (&DUPLICATE_ROW, message)
            } else {
                let gold = excerpt(&gold_text(subject));
                let message = format!(
                    "same question as {location}, different gold: `{gold}`; at least one of them \
                     is wrong"
                );
                (&CONFLICTING_GOLDS, message)
            };
            sink.add(code, &row.location, &row.key, message);
            return;
        }
        let location = self.pack(&row.location);
        if let Some(prompt) = &sketch.prompt
            && let Some((first, share)) =
                self.find_near(prompt, sink.thresholds().near_duplicate_share)
        {
            let location = self.describe(first.location, &row.location);
            let (percent, start) = (
                share * 100.0,
                excerpt(subject.prompt.as_deref().unwrap_or_default()),
            );
            // The tests of programs are seldom equal, but do not contradict each other.
            let is_same = first.gold == gold || subject.task.kind.as_str() == "code";
            let (code, end) = if is_same {
                (&NEAR_DUPLICATE, "drop one of them")
            } else {
                (&NEAR_CONFLICT, "their golds differ; compare both")
            };
            let message = format!(
                "the prompt `{start}` shares about {percent:.0} % of its word pairs with \
                 {location}; \
                 {end}"
            );
            sink.add(code, &row.location, &row.key, message);
        }
        if self.first_rows.len() < MAX_ROWS {
            self.first_rows
                .insert(sketch.question, FirstRow { gold, location });
            if let Some(prompt) = &sketch.prompt {
                self.insert_sketch(prompt, gold, location);
            }
        }
    }
}

/// Normalises a decimal number: removes `$`, thousands separators and trailing zeros. Other texts
/// are only trimmed.
fn normalise(gold: &str) -> String {
    let gold = gold.trim().trim_matches('$').trim();
    let is_decimal = gold
        .chars()
        .all(|c| c.is_ascii_digit() || matches!(c, '-' | '.' | ','));
    let digits = gold.replace(',', "");
    match digits.split_once('.') {
        Some((whole, fraction)) if is_decimal => {
            let fraction = fraction.trim_end_matches('0');
            if fraction.is_empty() {
                whole.to_owned()
            } else {
                format!("{whole}.{fraction}")
            }
        }
        None if is_decimal => digits,
        _ => gold.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::normalise;

    #[test]
    fn normalises_decimal_numbers_only() {
        assert_eq!(
            (
                normalise("1,200.50"),
                normalise("$5.0$"),
                normalise("1,200")
            ),
            ("1200.5".to_owned(), "5".to_owned(), "1200".to_owned())
        );
        assert_eq!(normalise("(1, 2)"), "(1, 2)");
    }
}

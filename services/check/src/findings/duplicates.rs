//! The survey behind `duplicate-row`, `near-duplicate` and `conflicting-golds`: the first row that
//! asked each question.

use std::collections::HashMap;
use std::sync::Arc;

use super::sketch::{HASHES, Near, gold_text};
use super::{Sink, Survey, conflicting_golds, duplicate_row, near_duplicate};
use crate::examined::{Examined, shown};
use crate::probes::Purpose;
use crate::row::Place;
use crate::words::hash;

/// Rows that are remembered, over all datasets: some 250 bytes each. Later ones are compared with
/// them, and not with each other.
pub const MOST_ROWS: usize = 2 << 20;

/// Hashes of two sketches that agree from which prompts count as nearly the same: an estimate of
/// 0.8 of their pairs of words.
const NEARLY: usize = HASHES * 4 / 5 + 1;

/// Questions asked so far.
#[derive(Default)]
pub(super) struct Duplicates {
    datasets: Vec<Arc<str>>,
    asked: HashMap<u64, Asked>,
    sketches: Vec<Kept>,
    /// The first sketch of each band.
    bands: HashMap<u32, u32>,
}

/// The first row that asked a question.
struct Asked {
    gold: u64,
    place: Short,
}

struct Kept {
    exact: u64,
    hashes: [u16; HASHES],
    place: Short,
}

/// A place in eight bytes: the dataset's number above 48 bits of the row's.
#[derive(Clone, Copy)]
struct Short(u64);

impl Duplicates {
    fn short(&mut self, place: &Place) -> Short {
        let known = self
            .datasets
            .iter()
            .position(|dataset| *dataset == place.dataset);
        let dataset = known.unwrap_or_else(|| {
            self.datasets.push(Arc::clone(&place.dataset));
            self.datasets.len() - 1
        });
        Short((dataset as u64) << 48 | place.number)
    }

    /// The place as a message names it, seen from `here`.
    fn long(&self, place: Short, here: &Place) -> String {
        let number = place.0 & ((1 << 48) - 1);
        let what = if here.is_line { "line" } else { "row" };
        let dataset = usize::try_from(place.0 >> 48)
            .ok()
            .and_then(|dataset| self.datasets.get(dataset));
        match dataset.filter(|dataset| **dataset != here.dataset) {
            Some(dataset) => format!("row {number} of {dataset}"),
            None => format!("{what} {number}"),
        }
    }

    /// An earlier row whose prompt is nearly this one, and the share of pairs of words they have in
    /// common, as it is estimated.
    fn nearly(&self, near: &Near) -> Option<(Short, f64)> {
        near.bands.iter().find_map(|band| {
            let kept = &self.sketches[*self.bands.get(band)? as usize];
            let same = kept
                .hashes
                .iter()
                .zip(&near.hashes)
                .filter(|(one, other)| one == other)
                .count();
            #[expect(clippy::cast_precision_loss, reason = "at most 32")]
            let share = same as f64 / HASHES as f64;
            (kept.exact == near.exact && same >= NEARLY).then_some((kept.place, share))
        })
    }

    fn remember(&mut self, near: &Near, place: Short) {
        let Ok(at) = u32::try_from(self.sketches.len()) else {
            return;
        };
        self.sketches.push(Kept {
            exact: near.exact,
            hashes: near.hashes,
            place,
        });
        for band in near.bands {
            self.bands.entry(band).or_insert(at);
        }
    }
}

impl Survey for Duplicates {
    fn note(&mut self, row: &Examined, sink: &mut Sink<'_>) {
        let Ok(subject) = &row.made else { return };
        let sketch = &row.sketch;
        // Golds that are equal are written alike by the grader where it has a form for that.
        let is_gold = |purpose| matches!(purpose, Purpose::Gold { gold: 0, .. });
        let normal = row
            .graded()
            .find(|(answer, graded)| is_gold(answer.purpose) && graded.pass);
        let normal = normal.and_then(|(_, graded)| graded.normal.as_deref());
        let gold = normal.map_or(sketch.gold, |text| {
            hash(conflicting_golds::plain(text).as_bytes())
        });
        if let Some(first) = self.asked.get(&sketch.question) {
            let place = self.long(first.place, &row.place);
            if first.gold == gold || !conflicting_golds::applies(subject) {
                sink.tell(
                    &duplicate_row::CODE,
                    &row.place,
                    &row.key,
                    duplicate_row::message(&place),
                );
            } else {
                let message = conflicting_golds::message(&place, &shown(&gold_text(subject)));
                sink.tell(&conflicting_golds::CODE, &row.place, &row.key, message);
            }
            return;
        }
        let place = self.short(&row.place);
        if let Some(near) = &sketch.near
            && let Some((first, share)) = self.nearly(near)
        {
            let message = near_duplicate::message(&self.long(first, &row.place), share);
            sink.tell(&near_duplicate::CODE, &row.place, &row.key, message);
        }
        if self.asked.len() < MOST_ROWS {
            self.asked.insert(sketch.question, Asked { gold, place });
            if let Some(near) = &sketch.near {
                self.remember(near, place);
            }
        }
    }
}

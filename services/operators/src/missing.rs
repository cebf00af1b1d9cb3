//! Missing rewards of a run and checked labels, sections of the page of suspects. Rewards that are
//! missing more often for some items than for others change what is learnt from the rest.

use assay_record::chart::{Counted, Number, Steps, Topic};
use assay_record::missing::Observable;
use assay_rewards::detectors::Share;
use assay_rewards::wilson;

use crate::display::{bytes, count, number};
use crate::query::link;

/// Number of parts into which the steps of a run are divided.
const PARTS: usize = 4;

/// Items with one value of an observable.
pub(crate) struct MissingRow {
    /// What is known of the items.
    pub(crate) about: &'static str,
    pub(crate) value: String,
    pub(crate) items: String,
    pub(crate) missing: String,
    /// Share with its 95 % interval.
    pub(crate) share: String,
    /// Whether the interval excludes the share of all items of the table.
    pub(crate) is_marked: bool,
}

/// The missing rewards of a run.
pub(crate) struct Missing {
    /// Number of failed items, and the address of their list; empty without any.
    pub(crate) failed: String,
    pub(crate) address: String,
    pub(crate) rows: Vec<MissingRow>,
    /// Labels that golds checked, and how many of them are right; empty without any.
    pub(crate) labels: String,
}

impl Missing {
    pub(crate) fn of(steps: &Steps, run: &str) -> Self {
        let mut all = Counted::default();
        steps.values().for_each(|counted| all.add(counted));
        let failed = all.grades_of(Topic::Outcome, "failed");
        let mut rows = Vec::new();
        for observable in Observable::ALL {
            let mut values: Vec<(String, Share)> =
                all.missing_by(*observable).into_iter().collect();
            values.sort_by_key(|(value, _)| value.parse::<i32>().unwrap_or(0));
            let values = values.into_iter().map(|(value, share)| {
                let (about, value) = said(*observable, &value);
                (about, value, share)
            });
            rows.extend(table(&values.collect::<Vec<_>>()));
        }
        rows.extend(table(&by_step(steps)));
        let labels = all.checked_labels();
        Self {
            failed: if failed > 0 {
                count(failed)
            } else {
                String::new()
            },
            address: link(
                "/ui/grades",
                &[("run", Some(run)), ("outcome", Some("failed"))],
            ),
            rows,
            labels: shown(&labels),
        }
    }
}

/// What a value of an observable means.
fn said(observable: Observable, value: &str) -> (&'static str, String) {
    match observable {
        Observable::Bytes => {
            let bin = value.parse().unwrap_or(0);
            let [from, to] = [bin, bin + 1].map(|bin| bytes(Number::PassedBytes.bin_start(bin)));
            ("length of the completion", format!("{from} to {to}"))
        }
        Observable::Prompt => {
            let others = match value {
                "others" => "others missing",
                _ => "no other missing",
            };
            ("rewards of the same group", others.to_owned())
        }
        Observable::Neighbours => {
            let passing = match value {
                "all" => "all pass",
                "none" => "none pass",
                _ => "some pass",
            };
            ("verdicts of the same group", passing.to_owned())
        }
    }
}

/// Items without a score by quarter of the steps.
fn by_step(steps: &Steps) -> Vec<(&'static str, String, Share)> {
    let numbered: Vec<(i64, &Counted)> = steps
        .iter()
        .filter_map(|(step, counted)| Some(((*step)?, counted)))
        .collect();
    let part = |steps: &[(i64, &Counted)]| {
        let (first, last) = (steps.first()?.0, steps.last()?.0);
        let mut share = Share::default();
        for (_, counted) in steps {
            share.hits += counted.grades_of(Topic::Outcome, "failed");
            share.of += counted.grades();
        }
        Some(("steps", format!("{first} to {last}"), share))
    };
    let length = numbered.len().div_ceil(PARTS).max(1);
    let parts: Vec<_> = numbered.chunks(length).filter_map(part).collect();
    if parts.iter().all(|(_, _, share)| share.hits == 0) {
        return Vec::new();
    }
    parts
}

fn table(values: &[(&'static str, String, Share)]) -> Vec<MissingRow> {
    let mut whole = Share::default();
    for (_, _, share) in values {
        whole.hits += share.hits;
        whole.of += share.of;
    }
    let Some((whole, _)) = whole.mean() else {
        return Vec::new();
    };
    let row = |(about, value, share): &(&'static str, String, Share)| MissingRow {
        about,
        value: value.clone(),
        items: count(share.of),
        missing: count(share.hits),
        share: shown(share),
        is_marked: interval(share).is_some_and(|known| !known.interval.contains(whole)),
    };
    values.iter().map(row).collect()
}

#[expect(
    clippy::cast_precision_loss,
    reason = "counts of grades are far below 2^52"
)]
fn interval(share: &Share) -> Option<assay_rewards::Estimate> {
    wilson(share.hits as f64, share.of as f64)
}

/// A share with its interval; empty without items.
fn shown(share: &Share) -> String {
    interval(share).map_or_else(String::new, |known| {
        let [value, low, high] = [known.value, known.interval.low, known.interval.high].map(number);
        format!("{value} [{low}, {high}]")
    })
}

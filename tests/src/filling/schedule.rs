//! The schedule of batches: about forty runs, the largest a fifth of all, concurrently over
//! ninety days.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use assay_base::Random;

use super::pool::Pool;

/// Period of the record, in microseconds.
const COVERED_US: i64 = 90 * 86_400_000_000;

/// Kinds of runs: the prefix of their names, the channels with their shares, the items
/// of a batch, the batches of a step, and their share of all runs. The order of runs by size cycles
/// through the kinds.
const KINDS: &[Kind] = &[
    Kind {
        name: "qwen3-0.6b-math",
        mix: &[("math/gsm-like", 1.0)],
        items: 1_024,
        per_step: 2,
    },
    Kind {
        name: "llama-1b-math",
        mix: &[("math/gsm-like", 0.7), ("math/default", 0.3)],
        items: 512,
        per_step: 1,
    },
    Kind {
        name: "coder",
        mix: &[("code/default", 1.0)],
        items: 256,
        per_step: 4,
    },
    Kind {
        name: "mixture",
        mix: &[
            ("math/gsm-like", 0.5),
            ("code/default", 0.3),
            ("tools/default", 0.15),
            ("sql/default", 0.05),
        ],
        items: 1_024,
        per_step: 4,
    },
    Kind {
        name: "agent",
        mix: &[
            ("tools/default", 0.6),
            ("structured/default", 0.35),
            ("sql/default", 0.05),
        ],
        items: 512,
        per_step: 2,
    },
    Kind {
        name: "",
        mix: &[("math/default", 0.8), ("structured/default", 0.2)],
        items: 64,
        per_step: 1,
    },
    Kind {
        name: "text2sql",
        mix: &[("sql/default", 1.0)],
        items: 128,
        per_step: 8,
    },
];

/// Number of runs in a large record.
const RUNS: usize = 42;

struct Kind {
    /// Empty: batches without a run.
    name: &'static str,
    mix: &'static [(&'static str, f64)],
    items: u64,
    per_step: u64,
}

/// One run.
#[derive(Debug)]
pub(super) struct Run {
    /// `None` for batches without a run.
    pub(super) name: Option<Arc<str>>,
    /// Index among the runs, from 0.
    pub(super) number: usize,
    /// Channels with their shares, which sum to 1.
    pub(super) mix: Vec<(&'static str, f64)>,
    /// Items of a batch.
    pub(super) items: u32,
    batches: u64,
    per_step: u64,
    start_us: i64,
    every_us: i64,
}

/// A scheduled batch.
#[derive(Debug)]
pub(super) struct Due {
    pub(super) run: Arc<Run>,
    pub(super) step: Option<i64>,
    /// Progress of the run, in [0, 1].
    pub(super) progress: f64,
    /// Time of arrival, in microseconds since the Unix epoch.
    pub(super) us: i64,
}

/// Batches in order of arrival.
pub(super) struct Schedule {
    runs: Vec<Arc<Run>>,
    due: BinaryHeap<Reverse<(i64, usize, u64)>>,
}

impl Schedule {
    pub(super) fn new(grades: u64, until_us: i64, pool: &Pool, random: &mut Random) -> Self {
        let weight = |number: usize| 1.0 / (number as f64 + 2.0).powf(1.1);
        let all: f64 = (0..RUNS).map(weight).sum();
        let runs: Vec<Arc<Run>> = (0..RUNS)
            .map(|number| {
                let kind = &KINDS[number % KINDS.len()];
                let mix = shares(kind, pool);
                let batches =
                    (grades as f64 * weight(number) / all / kind.items as f64).ceil() as u64;
                // The larger half continues until the end; the smaller ones have ended.
                let lasts = (COVERED_US as f64 * (0.05 + 0.9 * random.uniform())) as i64;
                let rest = COVERED_US - lasts;
                let end = if number < RUNS / 2 {
                    0
                } else {
                    (rest as f64 * random.uniform()) as i64
                };
                Arc::new(Run {
                    name: (!kind.name.is_empty())
                        .then(|| format!("{}-{number:02}", kind.name).into()),
                    number,
                    mix,
                    items: kind.items as u32,
                    batches,
                    per_step: kind.per_step,
                    start_us: until_us - end - lasts,
                    every_us: lasts / batches.max(1) as i64,
                })
            })
            .filter(|run| !run.mix.is_empty())
            .collect();
        let due = runs
            .iter()
            .enumerate()
            .map(|(at, run)| Reverse((run.start_us, at, 0)))
            .collect();
        Self { runs, due }
    }
}

/// The shares of the channels of the pool, normalised to sum to 1.
fn shares(kind: &Kind, pool: &Pool) -> Vec<(&'static str, f64)> {
    let there = kind
        .mix
        .iter()
        .filter(|(channel, _)| pool.channels.contains_key(*channel));
    let all: f64 = there.clone().map(|(_, share)| share).sum();
    there
        .map(|(channel, share)| (*channel, share / all))
        .collect()
}

impl Iterator for Schedule {
    type Item = Due;

    fn next(&mut self) -> Option<Due> {
        let Reverse((us, at, batch)) = self.due.pop()?;
        let run = &self.runs[at];
        if batch + 1 < run.batches {
            self.due.push(Reverse((us + run.every_us, at, batch + 1)));
        }
        let step = run.name.is_some().then_some((batch / run.per_step) as i64);
        Some(Due {
            run: Arc::clone(run),
            step,
            progress: batch as f64 / run.batches as f64,
            us,
        })
    }
}

//! Coverage and width of the 95 % intervals of a channel's rates. Channels are drawn, counted as by
//! the service, and estimated by the crate.

use std::fmt::Write as _;

use assay_base::Random;
use assay_rewards::channel::counts::{Calibration, ChannelCounts, Checked, Checker, Graded, Place};
use assay_rewards::channel::estimate::appeals_needed;
use assay_rewards::channel::{Ledger, Report, Settings};
use assay_rewards::{Estimate, Rates};

use crate::noise::experiments::{label, rates};
use crate::noise::table::Table;
use crate::noise::training::spread;

/// Number of channels drawn of each kind.
const DRAWS: u64 = 2_000;

const CHANNELS: [Rates; 6] = [
    rates(0.0, 0.2),
    rates(0.1, 0.2),
    rates(0.2, 0.4),
    rates(0.0, 0.4),
    rates(0.3, 0.0),
    rates(0.05, 0.05),
];

/// Channels that hardly ever pass a wrong answer.
const NEAR_ZERO: [Rates; 4] = [
    rates(0.0, 0.1),
    rates(0.0005, 0.1),
    rates(0.002, 0.1),
    rates(0.01, 0.1),
];

/// Shares of right answers.
const RIGHT: [f64; 5] = [0.1, 0.3, 0.5, 0.7, 0.9];

/// How a channel is checked.
#[derive(Debug, Clone)]
struct Plan {
    title: &'static str,
    /// Items of each time bucket.
    items: Vec<u32>,
    half_life: f64,
    /// Expected total number of checks of negatives and of positives.
    checks: [f64; 2],
    /// Density of checks in odd buckets, relative to even ones.
    odd_density: f64,
    sensitivity: f64,
    specificity: f64,
    /// Sensitivity and specificity that the policy declares, if they are not those of the judge.
    declared_judge: Option<(f64, f64)>,
    /// Items of each time bucket that no judge could have checked. Half of them are right, and of
    /// these half are rejected.
    unjudged: u32,
    channels: &'static [Rates],
    /// Whether the true rho0 is declared instead of audited.
    declared: bool,
}

impl Plan {
    fn new(title: &'static str, checks: f64) -> Self {
        Self {
            title,
            items: vec![20_000],
            half_life: f64::INFINITY,
            checks: [checks; 2],
            odd_density: 1.0,
            sensitivity: 1.0,
            specificity: 1.0,
            declared_judge: None,
            unjudged: 0,
            channels: &CHANNELS,
            declared: false,
        }
    }

    /// The plan for channels that hardly ever pass a wrong answer.
    fn near_zero(title: &'static str, appeals: f64, audits: f64) -> Self {
        Self {
            checks: [appeals, audits],
            channels: &NEAR_ZERO,
            ..Self::new(title, 0.0)
        }
    }

    /// Probability of a check of one side in a bucket.
    fn probability(&self, bucket: usize, side: usize, truth: Rates, p: f64) -> f64 {
        let positives = truth.q(p);
        let share = if side == 1 {
            positives
        } else {
            1.0 - positives
        };
        let density = |bucket: usize| {
            if bucket % 2 == 1 {
                self.odd_density
            } else {
                1.0
            }
        };
        let all: f64 = self
            .items
            .iter()
            .enumerate()
            .map(|(at, items)| f64::from(*items) * density(at))
            .sum();
        (self.checks[side] * density(bucket) / (all * share).max(1.0)).min(1.0)
    }

    /// Draws a channel and estimates its rates.
    fn draw(&self, truth: Rates, p: f64, random: &mut Random) -> Report {
        let mut counts = ChannelCounts::default();
        for (bucket, items) in self.items.iter().enumerate() {
            let right = binomial(*items, p, random);
            let rejected = binomial(right, truth.rho1, random);
            let passed = binomial(items - right, truth.rho0, random);
            // Right and wrong answers of the negatives, then of the positives.
            let sides = [
                [rejected, items - right - passed],
                [right - rejected, passed],
            ];
            let key = Place {
                channel: "c/c".to_owned(),
                version: 1,
                bucket: i64::try_from(bucket).unwrap_or(0),
            };
            let [negatives, positives] = sides.map(|side| u64::from(side[0] + side[1]));
            let unjudged_positives = u64::from(binomial(self.unjudged, 0.25, random));
            let unjudged_negatives = u64::from(self.unjudged) - unjudged_positives;
            counts.graded.insert(
                key.clone(),
                Graded {
                    negatives: negatives + unjudged_negatives,
                    positives: positives + unjudged_positives,
                    unjudged_negatives,
                    unjudged_positives,
                    ..Graded::default()
                },
            );
            for (side, of_truth) in sides.into_iter().enumerate() {
                let probability = self.probability(bucket, side, truth, p);
                if probability > 0.0 {
                    let checked = self.check(of_truth, side == 1, probability, random);
                    let list = counts.checked.entry(key.clone()).or_default();
                    list.push((self.checker(side == 1), checked));
                }
            }
        }
        let mut settings = Settings {
            half_life: self.half_life,
            ..Settings::default()
        };
        if self.declared {
            settings.declared.insert("c/c".to_owned(), truth);
        }
        Ledger::new(counts, settings).of("c/c", 1, None)
    }

    fn checker(&self, passes: bool) -> Checker {
        let (sensitivity, specificity) = self
            .declared_judge
            .unwrap_or((self.sensitivity, self.specificity));
        Checker {
            judge: "judge@1".to_owned(),
            sensitivity,
            specificity,
            passes,
        }
    }

    fn check(
        &self,
        [right, wrong]: [u32; 2],
        passes: bool,
        probability: f64,
        random: &mut Random,
    ) -> Checked {
        let (right, wrong) = (
            binomial(right, probability, random),
            binomial(wrong, probability, random),
        );
        let passed = binomial(right, self.sensitivity, random)
            + binomial(wrong, 1.0 - self.specificity, random);
        let checks = right + wrong;
        let disagreed = if passes { checks - passed } else { passed };
        let weight = 1.0 / probability;
        Checked {
            checks: checks.into(),
            disagreed: disagreed.into(),
            weight: weight * f64::from(checks),
            squares: weight * weight * f64::from(checks),
            disagreed_weight: weight * f64::from(disagreed),
        }
    }
}

/// A binomial draw with `n` trials, its probability rounded to 2^-24. It draws 64 trials at a time,
/// one random word per bit of the probability, from the lowest bit to the highest.
fn binomial(n: u32, probability: f64, random: &mut Random) -> u32 {
    const BITS: u32 = 24;
    // A share of 2^24, rounded.
    let threshold = (probability.clamp(0.0, 1.0) * f64::from(1u32 << BITS)).round() as u32;
    if threshold == 1 << BITS {
        return n;
    }
    if threshold == 0 {
        return 0;
    }
    let (mut left, mut hits) = (n, 0);
    while left > 0 {
        let lanes = left.min(64);
        let mut happens = 0u64;
        for bit in threshold.trailing_zeros()..BITS {
            let drawn = random.bits();
            happens = if threshold >> bit & 1 == 1 {
                happens | !drawn
            } else {
                happens & !drawn
            };
        }
        hits += (happens & (u64::MAX >> (64 - lanes))).count_ones();
        left -= lanes;
    }
    hits
}

/// Share of intervals that contain the true value, for rho0, rho1 and J; `None` without an
/// interval.
fn coverage(plan: &Plan, truth: Rates, p: f64, seed: u64) -> [Option<f64>; 3] {
    let mut random = Random::stream(&[seed, 9]);
    let (mut covered, mut known) = ([0u32; 3], [0u32; 3]);
    for _ in 0..DRAWS {
        let report = plan.draw(truth, p, &mut random);
        let found = [
            report.rho0.map(|rate| rate.estimate),
            report.rho1.map(|rate| rate.estimate),
            report.j,
        ];
        for (at, (estimate, truth)) in found
            .into_iter()
            .zip([truth.rho0, truth.rho1, truth.j()])
            .enumerate()
        {
            if let Some(Estimate { interval, .. }) = estimate {
                // The tolerance allows for rounding of 1 - rho0 - rho1 and of the bounds.
                let is_covered = interval.low <= truth + 1e-9 && truth <= interval.high + 1e-9;
                covered[at] += u32::from(is_covered);
                known[at] += 1;
            }
        }
    }
    [0, 1, 2].map(|at| (known[at] > 0).then(|| f64::from(covered[at]) / f64::from(known[at])))
}

fn plans() -> Vec<Plan> {
    let judge = |plan: Plan| Plan {
        sensitivity: 0.9,
        specificity: 0.98,
        ..plan
    };
    let many = Plan::new(
        "Judge without errors, 400 appeals and 400 audits of 20,000 items",
        400.0,
    );
    let errs = judge(Plan::new(
        "Judge (0.9, 0.98), 400 appeals and 400 audits of 20,000 items",
        400.0,
    ));
    let few = Plan::new(
        "Judge without errors, 60 appeals and 60 audits of 20,000 items",
        60.0,
    );
    let small = Plan {
        items: vec![1_000],
        ..Plan::new(
            "Judge without errors, 200 appeals and 200 audits of 1,000 items",
            200.0,
        )
    };
    let decayed = Plan {
        items: vec![5_000; 8],
        half_life: 10_000.0,
        odd_density: 3.0,
        ..Plan::new(
            "Window: 8 buckets of 5,000 items, half-life 10,000, three times as many checks in \
             odd buckets, 800 appeals and 800 audits",
            800.0,
        )
    };
    let declared = Plan {
        checks: [400.0, 0.0],
        declared: true,
        ..Plan::new(
            "Judge without errors, 400 appeals of 20,000 items, rho0 declared",
            400.0,
        )
    };
    let audits = Plan::near_zero(
        "Few audits: judge without errors, 400 appeals and 30 audits of 20,000 items",
        400.0,
        30.0,
    );
    let fallible = judge(Plan::near_zero(
        "Judge (0.9, 0.98), 400 appeals and 100 audits of 20,000 items",
        400.0,
        100.0,
    ));
    let better = Plan {
        declared_judge: Some((0.9, 0.98)),
        ..Plan::near_zero(
            "Judge without errors that is declared as (0.9, 0.98), 400 appeals and 2,000 audits of \
             20,000 items",
            400.0,
            2_000.0,
        )
    };
    let strata = Plan {
        items: vec![5_000; 4],
        odd_density: 20.0,
        ..Plan::near_zero(
            "Two strata: twenty times as many checks in odd buckets of 5,000 items, 400 appeals \
             and 100 audits of 20,000 items",
            400.0,
            100.0,
        )
    };
    let mixed = Plan {
        unjudged: 20_000,
        ..Plan::near_zero(
            "Another 20,000 items without a judge, with rho1 = 0.5; 400 appeals and 100 audits of \
             20,000 items",
            400.0,
            100.0,
        )
    };
    vec![
        many, errs, few, small, decayed, declared, audits, fallible, better, strata, mixed,
    ]
}

/// All tables, as Markdown.
pub(crate) fn report() -> String {
    let mut text = format!(
        "# Coverage of 95 % intervals\n\nShare of {DRAWS} drawn channels whose interval contains \
         the true rho0, rho1 and J. `p` is the share of right answers.\n"
    );
    for plan in plans() {
        let jobs: Vec<(Rates, f64)> = plan
            .channels
            .iter()
            .flat_map(|truth| RIGHT.iter().map(move |p| (*truth, *p)))
            .collect();
        let numbered: Vec<(u64, (Rates, f64))> = (0..).zip(jobs).collect();
        let found = spread(&numbered, |(seed, (truth, p))| {
            coverage(&plan, *truth, *p, *seed)
        });
        let columns = RIGHT.iter().map(|p| format!("p = {p}"));
        let mut table = Table::new(std::iter::once("(rho0, rho1)".to_owned()).chain(columns));
        for (truth, row) in plan.channels.iter().zip(found.chunks(RIGHT.len())) {
            let cell = |shares: &[Option<f64>; 3]| {
                shares
                    .map(|share| share.map_or("-".to_owned(), |share| format!("{share:.3}")))
                    .join(" ")
            };
            table.row(std::iter::once(label(*truth)).chain(row.iter().map(cell)));
        }
        put(
            &mut text,
            format_args!("\n## {}\n\n{table}\n{}\n", plan.title, summary(&found)),
        );
    }
    put(
        &mut text,
        format_args!(
            "\n## Precision of passes, from rates that {LABELS} labelled answers of each kind \
             calibrate and 2,000 items\n\nShare of intervals that contain the precision, and \
             share whose lower bound is above it (2.5 % is nominal).\n\n{}",
            precisions()
        ),
    );
    put(
        &mut text,
        format_args!(
            "\n## Half width of rho1 after the number of appeals for ± 0.05\n\n{}",
            widths()
        ),
    );
    text
}

fn put(text: &mut String, arguments: std::fmt::Arguments<'_>) {
    let written = text.write_fmt(arguments);
    debug_assert!(written.is_ok(), "writing to a `String` cannot fail");
}

fn summary(found: &[[Option<f64>; 3]]) -> String {
    let names = ["rho0", "rho1", "J"].into_iter().enumerate();
    let parts = names.filter_map(|(at, name)| {
        let shares: Vec<f64> = found.iter().filter_map(|shares| shares[at]).collect();
        let least = shares.iter().copied().reduce(f64::min)?;
        let mean = shares.iter().sum::<f64>() / shares.len() as f64;
        let below = shares.iter().filter(|share| **share < 0.93).count();
        let above = shares.iter().filter(|share| **share > 0.97).count();
        Some(format!(
            "{name}: mean {mean:.3}, minimum {least:.3}, {below} below 0.93, {above} above 0.97."
        ))
    });
    parts.collect::<Vec<_>>().join(" ")
}

/// Labelled answers of each kind by which a channel is calibrated.
const LABELS: u32 = 200;

/// Coverage of the interval of the precision of passes.
fn precisions() -> Table {
    let columns = RIGHT.iter().map(|p| format!("p = {p}"));
    let mut table = Table::new(std::iter::once("(rho0, rho1)".to_owned()).chain(columns));
    let channels = [rates(0.05, 0.05), rates(0.1, 0.2), rates(0.3, 0.3)];
    let jobs: Vec<(Rates, f64)> = channels
        .iter()
        .flat_map(|truth| RIGHT.iter().map(move |p| (*truth, *p)))
        .collect();
    let cells = spread(&jobs, |(truth, p)| precision(*truth, *p));
    for (truth, cells) in channels.iter().zip(cells.chunks(RIGHT.len())) {
        table.row(std::iter::once(label(*truth)).chain(cells.iter().cloned()));
    }
    table
}

fn precision(truth: Rates, p: f64) -> String {
    const ITEMS: u32 = 2_000;
    let passing = truth.q(p);
    let precision = p * (1.0 - truth.rho1) / passing;
    let mut random = Random::stream(&[(100.0 * p) as u64, (100.0 * truth.rho0) as u64, 13]);
    let (mut covered, mut above, draws) = (0u32, 0u32, 4 * DRAWS);
    for _ in 0..draws {
        let mut counts = ChannelCounts::default();
        let positives = binomial(ITEMS, passing, &mut random);
        let place = Place {
            channel: "c/c".to_owned(),
            version: 1,
            bucket: 0,
        };
        let graded = Graded {
            negatives: (ITEMS - positives).into(),
            positives: positives.into(),
            ..Graded::default()
        };
        counts.graded.insert(place, graded);
        let labelled = f64::from(LABELS);
        let mut wrong = |rate: f64| f64::from(binomial(LABELS, rate, &mut random));
        counts.add_calibration(&Calibration {
            channel: "c/c".to_owned(),
            version: 1,
            method: "labels".to_owned(),
            time_us: 0,
            right: labelled,
            right_rejected: wrong(truth.rho1),
            wrong: labelled,
            wrong_passed: wrong(truth.rho0),
        });
        let report = Ledger::new(counts, Settings::default()).of("c/c", 1, None);
        if let Some(found) = report.precision_of_passes() {
            covered += u32::from(found.interval.contains(precision));
            above += u32::from(found.interval.low > precision);
        }
    }
    let share = |count: u32| f64::from(count) / draws as f64;
    format!("{:.3} {:.3}", share(covered), share(above))
}

/// Number of appeals and half width of the interval of rho1, where all positives are audited.
fn widths() -> Table {
    let columns = RIGHT.iter().map(|p| format!("p = {p}"));
    let mut table = Table::new(std::iter::once("(rho0, rho1)".to_owned()).chain(columns));
    let channels = [
        rates(0.0, 0.1),
        rates(0.0, 0.2),
        rates(0.0, 0.4),
        rates(0.2, 0.4),
    ];
    let jobs: Vec<(Rates, f64)> = channels
        .iter()
        .flat_map(|truth| RIGHT.iter().map(move |p| (*truth, *p)))
        .collect();
    let cells = spread(&jobs, |(truth, p)| {
        let appeals = appeals_needed(0.05, truth.rho0, truth.rho1, *p);
        let plan = Plan {
            items: vec![200_000],
            checks: [appeals, f64::INFINITY],
            ..Plan::new("", 0.0)
        };
        let mut random = Random::stream(&[10]);
        let draws = 400;
        let half = |random: &mut Random| {
            plan.draw(*truth, *p, random)
                .rho1
                .map_or(0.0, |rate| rate.estimate.interval.half())
        };
        let mean = (0..draws).map(|_| half(&mut random)).sum::<f64>() / f64::from(draws);
        format!("{appeals:.0}: {mean:.4}")
    });
    for (truth, cells) in channels.iter().zip(cells.chunks(RIGHT.len())) {
        table.row(std::iter::once(label(*truth)).chain(cells.iter().cloned()));
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn binomial_has_the_expected_mean_and_variance() {
        let mut random = Random::stream(&[12]);
        for (n, p) in [(100, 0.3), (1_000, 0.01), (70, 0.999), (64, 0.5)] {
            let draws = 20_000;
            let (mut mean, mut square) = (0.0, 0.0);
            for _ in 0..draws {
                let hits = f64::from(binomial(n, p, &mut random));
                mean += hits / f64::from(draws);
                square += hits * hits / f64::from(draws);
            }
            let (expected, variance) = (f64::from(n) * p, f64::from(n) * p * (1.0 - p));
            assert!(
                (mean - expected).abs() < 5.0 * (variance / f64::from(draws)).sqrt(),
                "{n} {p}: {mean}"
            );
            assert!(
                (square - mean * mean - variance).abs() < 0.06 * variance,
                "{n} {p}"
            );
        }
        assert_eq!(
            (binomial(9, 0.0, &mut random), binomial(9, 1.0, &mut random)),
            (0, 9)
        );
    }
}

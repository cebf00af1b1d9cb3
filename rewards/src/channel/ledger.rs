//! The reports of all channels at one point in time.

use std::collections::BTreeMap;

use crate::channel::counts::{ChannelCounts, Place};

use super::advice::Advice;
use super::report::Report;
use super::resolve::{ChannelSides, Pooled};
use super::settings::{CollectedCounts, Settings};
use super::window::Bucket;
use crate::Rates;

/// Reports of all channels by name and grader version.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Ledger {
    channels: BTreeMap<(String, u32), LedgerEntry>,
    settings: Settings,
}

/// A channel that has counts: the inputs of its report, and the report.
#[derive(Debug, Clone, PartialEq)]
struct LedgerEntry {
    sides: ChannelSides,
    priors: [Option<f64>; 2],
    report: Report,
}

impl Ledger {
    /// Estimates the rates of every channel that has counts or a calibration.
    #[must_use]
    pub fn new(counts: ChannelCounts, settings: Settings) -> Self {
        let channels: Vec<ChannelSides> = collect(counts)
            .into_iter()
            .map(|((channel, version), collected)| {
                ChannelSides::new(channel, version, collected, &settings)
            })
            .collect();
        let mut families: BTreeMap<(&str, u32), Pooled> = BTreeMap::new();
        for sides in &channels {
            families
                .entry(sides.family())
                .or_default()
                .add(sides.pooled());
        }
        let of_family = |sides: &ChannelSides| {
            families
                .get(&sides.family())
                .copied()
                .unwrap_or_default()
                .shares()
        };
        let priors: Vec<[Option<f64>; 2]> = channels.iter().map(of_family).collect();
        let channels = channels.into_iter().zip(priors).map(|(sides, priors)| {
            let declared = settings.declared.get(sides.channel()).copied();
            let report = sides.report(priors, declared, &settings);
            (
                (report.channel.clone(), report.version),
                LedgerEntry {
                    sides,
                    priors,
                    report,
                },
            )
        });
        let channels = channels.collect();
        Self { channels, settings }
    }

    /// The report of a channel under this version of its grader. Rates in `declared` replace those
    /// declared in the settings. A channel without counts has declared rates only.
    #[must_use]
    pub fn of(&self, channel: &str, version: u32, declared: Option<Rates>) -> Report {
        // A tuple key cannot be borrowed; a batch calls this once per channel.
        let entry = self.channels.get(&(channel.to_owned(), version));
        match (entry, declared) {
            (Some(entry), None) => entry.report.clone(),
            (Some(entry), declared) => entry.sides.report(entry.priors, declared, &self.settings),
            (None, declared) => {
                let sides = ChannelSides::new(
                    channel.to_owned(),
                    version,
                    CollectedCounts::default(),
                    &self.settings,
                );
                let declared = declared.or_else(|| self.settings.declared.get(channel).copied());
                sides.report([None, None], declared, &self.settings)
            }
        }
    }

    /// The report of a channel by name: `math/default` selects the newest version with counts,
    /// `math/default@1` version 1. A channel whose own name ends in `@1` takes precedence.
    #[must_use]
    pub fn named(&self, name: &str) -> Option<&Report> {
        let newest = self
            .channels
            .range((name.to_owned(), 0)..=(name.to_owned(), u32::MAX))
            .next_back();
        let versioned = || {
            let (channel, version) = name.rsplit_once('@')?;
            self.channels
                .get_key_value(&(channel.to_owned(), version.parse().ok()?))
        };
        newest.or_else(versioned).map(|(_, entry)| &entry.report)
    }

    /// What to do next to know the rates of a channel, the most urgent first; see [`Advice`].
    #[must_use]
    pub fn advice(&self, channel: &str, version: u32) -> Vec<Advice> {
        let entry = self.channels.get(&(channel.to_owned(), version));
        entry.map_or_else(Vec::new, |entry| entry.sides.advice(&entry.report))
    }

    /// The report of the first channel in `counts`, from these counts only: all items weigh the
    /// same, and calibrated and declared rates are not used. Rates of parts of a channel, such as
    /// a day or a run, are thus comparable. `None` if there are no counts.
    #[must_use]
    pub fn of_part(counts: ChannelCounts) -> Option<Report> {
        let settings = Settings {
            half_life: f64::INFINITY,
            ..Settings::default()
        };
        let measured = ChannelCounts {
            calibrations: BTreeMap::new(),
            ..counts
        };
        let ledger = Self::new(measured, settings);
        ledger
            .channels
            .into_values()
            .next()
            .map(|entry| entry.report)
    }

    /// All channels that have counts, by name and version.
    pub fn reports(&self) -> impl Iterator<Item = &Report> {
        self.channels.values().map(|entry| &entry.report)
    }
}

fn collect(counts: ChannelCounts) -> BTreeMap<(String, u32), CollectedCounts> {
    fn bucket(
        channels: &mut BTreeMap<(String, u32), CollectedCounts>,
        place: Place,
    ) -> &mut Bucket {
        channels
            .entry((place.channel, place.version))
            .or_default()
            .buckets
            .entry(place.bucket)
            .or_default()
    }
    let mut channels = BTreeMap::new();
    for (place, graded) in counts.graded {
        bucket(&mut channels, place).graded.add(&graded);
    }
    for (place, list) in counts.checked {
        bucket(&mut channels, place).checked.extend(list);
    }
    for ((channel, version, judge, passes), truths) in counts.truths {
        channels
            .entry((channel, version))
            .or_default()
            .judges
            .insert((judge, passes), truths);
    }
    for (key, calibration) in counts.calibrations {
        channels.entry(key).or_default().calibration = Some(calibration);
    }
    channels
}

#[cfg(test)]
mod tests {
    use crate::channel::counts::{Calibration, Checked, Checker, Graded};

    use super::super::report::{Bound, Source, Uncorrected};
    use super::*;

    fn place(channel: &str) -> Place {
        Place {
            channel: channel.to_owned(),
            version: 1,
            bucket: 7,
        }
    }

    fn checked(checks: u32, disagreed: u32) -> Checked {
        let weight = f64::from(checks);
        Checked {
            checks: checks.into(),
            disagreed: disagreed.into(),
            weight,
            squares: weight,
            disagreed_weight: disagreed.into(),
        }
    }

    /// A channel with 10,000 items of which 4,000 passed, and checks of each side, as (number,
    /// disagreed), by a judge that makes no errors.
    fn counts(channel: &str, negatives: (u32, u32), positives: (u32, u32)) -> ChannelCounts {
        let mut counts = ChannelCounts::default();
        let graded = Graded {
            negatives: 6_000,
            positives: 4_000,
            ..Graded::default()
        };
        counts.graded.insert(place(channel), graded);
        for (passes, (checks, disagreed)) in [(false, negatives), (true, positives)] {
            if checks > 0 {
                let judge = "judge@1".to_owned();
                let checker = Checker {
                    judge,
                    sensitivity: 1.0,
                    specificity: 1.0,
                    passes,
                };
                counts
                    .checked_by(place(channel), checker)
                    .add(&checked(checks, disagreed));
            }
        }
        counts
    }

    #[test]
    fn measures_rates_from_checks_of_both_sides() {
        // Of 6,000 negatives a tenth is right, of 4,000 positives a twentieth is wrong: rho1 = 600
        // / (600 + 3,800), rho0 = 200 / (200 + 5,400).
        let ledger = Ledger::new(counts("math/a", (400, 40), (400, 20)), Settings::default());
        let report = ledger.of("math/a", 1, None);
        let (rho0, rho1) = (report.rho0.unwrap(), report.rho1.unwrap());
        assert!((rho1.estimate.value - 600.0 / 4_400.0).abs() < 1e-12);
        assert!((rho0.estimate.value - 200.0 / 5_600.0).abs() < 1e-12);
        assert_eq!(
            (rho0.source, rho1.source, report.uncorrected),
            (Source::Measured, Source::Measured, None)
        );
        assert!((report.usable().unwrap().rho1 - rho1.shrunk).abs() < 1e-15);
        assert!(
            (rho1.shrunk - rho1.estimate.value).abs() < 1e-12,
            "a single channel is its own prior"
        );
    }

    #[test]
    fn channel_without_checks_is_not_corrected() {
        let report = Ledger::new(counts("math/a", (0, 0), (0, 0)), Settings::default())
            .of("math/a", 1, None);
        assert!(matches!(
            report.uncorrected,
            Some(Uncorrected::Unknown {
                missing: "`rho0` and `rho1` are",
                ..
            })
        ));
        assert_eq!((report.usable(), report.j), (None, None));
    }

    #[test]
    fn channel_is_not_corrected_if_j_may_be_zero() {
        // Ten checks of each side leave J nearly undetermined.
        let report = Ledger::new(counts("math/a", (10, 6), (10, 6)), Settings::default())
            .of("math/a", 1, None);
        assert!(
            matches!(report.uncorrected, Some(Uncorrected::TouchesZero { low }) if low <= 0.0),
            "{report:?}"
        );
        assert_eq!(report.usable(), None);
        assert!(
            report
                .uncorrected
                .unwrap()
                .to_string()
                .contains("the sign of a correction is uncertain")
        );
    }

    #[test]
    fn declared_rates_apply_until_a_side_has_enough_checks() {
        let declared = BTreeMap::from([(
            "math/a".to_owned(),
            Rates {
                rho0: 0.01,
                rho1: 0.3,
            },
        )]);
        let settings = Settings {
            declared,
            ..Settings::default()
        };
        let report =
            Ledger::new(counts("math/a", (10, 5), (10, 5)), settings.clone()).of("math/a", 1, None);
        assert_eq!(report.rho1.map(|rate| rate.source), Some(Source::Declared));
        assert_eq!(
            report.usable(),
            Some(Rates {
                rho0: 0.01,
                rho1: 0.3
            })
        );
        let report = Ledger::new(counts("math/a", (400, 40), (0, 0)), settings.clone())
            .of("math/a", 1, None);
        let sources = (
            report.rho0.map(|rate| rate.source),
            report.rho1.map(|rate| rate.source),
        );
        assert_eq!(sources, (Some(Source::Declared), Some(Source::Measured)));
        assert!(report.j.is_some());
        // Declared rates also apply to a channel without counts.
        assert_eq!(
            Ledger::new(ChannelCounts::default(), settings)
                .of("math/a", 1, None)
                .rho0
                .map(|rate| rate.shrunk),
            Some(0.01)
        );
    }

    #[test]
    fn rates_are_shrunk_towards_the_other_channels_of_the_grader() {
        let mut all = counts("math/a", (1_000, 100), (1_000, 50));
        all.add(counts("math/b", (10, 5), (10, 0)));
        all.add(counts("code/c", (1_000, 900), (1_000, 900)));
        let ledger = Ledger::new(all, Settings::default());
        let rho1 = ledger.of("math/b", 1, None).rho1.unwrap();
        // Its own share of 0.5 is moved half way to the pooled share of 105 in 1,010.
        let f = f64::midpoint(0.5, 105.0 / 1_010.0);
        let e = f64::midpoint(0.0, 50.0 / 1_010.0);
        assert!(
            (rho1.shrunk - 6_000.0 * f / (6_000.0 * f + 4_000.0 * (1.0 - e))).abs() < 1e-9,
            "{rho1:?}"
        );
        assert!(
            (rho1.estimate.value - 3_000.0 / 7_000.0).abs() < 1e-12,
            "the estimate itself is not shrunk"
        );
    }

    #[test]
    fn shrinkage_stays_within_the_interval_of_the_rate() {
        // None of 60 checks of each side disagreed; in another channel nine of ten of thousands
        // did.
        let mut all = counts("math/a", (60, 0), (60, 0));
        all.add(counts("math/b", (6_000, 5_400), (4_000, 3_600)));
        let settings = Settings {
            prior_checks: 1_000.0,
            ..Settings::default()
        };
        let report = Ledger::new(all, settings).of("math/a", 1, None);
        for rate in [report.rho0.unwrap(), report.rho1.unwrap()] {
            assert!(rate.estimate.interval.contains(rate.shrunk), "{rate:?}");
            assert!(
                (rate.shrunk - rate.estimate.interval.high).abs() < 1e-12,
                "shrunk to the bound: {rate:?}"
            );
        }
    }

    #[test]
    fn rates_of_a_channel_without_passes_are_not_shrunk() {
        // Nothing passed and no negative was found right; n0 f / (n0 f + 0) would be 1 for any f
        // above 0.
        let mut all = counts("math/a", (400, 0), (0, 0));
        all.graded.get_mut(&place("math/a")).unwrap().positives = 0;
        all.add(counts("math/b", (1_000, 100), (1_000, 50)));
        let report = Ledger::new(all, Settings::default()).of("math/a", 1, None);
        let rate = report.rho1.unwrap();
        assert!(
            (rate.shrunk - rate.estimate.value).abs() < 1e-15 && rate.shrunk < 0.5,
            "{rate:?}"
        );
    }

    #[test]
    fn rates_are_not_shrunk_towards_other_versions_or_graders() {
        let mut all = counts("math/a", (100, 10), (100, 10));
        all.add(counts("code/a", (1_000, 900), (1_000, 900)));
        let mut newer = counts("math/b", (1_000, 900), (1_000, 900));
        newer.graded = newer
            .graded
            .into_iter()
            .map(|(at, graded)| (Place { version: 2, ..at }, graded))
            .collect();
        newer.checked = newer
            .checked
            .into_iter()
            .map(|(at, list)| (Place { version: 2, ..at }, list))
            .collect();
        all.add(newer);
        let rate = Ledger::new(all, Settings::default())
            .of("math/a", 1, None)
            .rho1
            .unwrap();
        assert!(
            (rate.shrunk - rate.estimate.value).abs() < 1e-12,
            "{rate:?}"
        );
    }

    #[test]
    fn used_j_is_that_of_the_shrunk_rates() {
        let mut all = counts("math/a", (1_000, 100), (1_000, 50));
        all.add(counts("math/b", (10, 5), (10, 0)));
        let ledger = Ledger::new(all, Settings::default());
        let report = ledger.of("math/b", 1, None);
        let (used, own, rates) = (
            report.used_j().unwrap(),
            report.final_j().unwrap(),
            report.rates().unwrap(),
        );
        assert!(
            (used.value - (1.0 - rates.rho0 - rates.rho1)).abs() < 1e-15
                && used.interval.contains(used.value)
        );
        assert!(
            (used.value - own.value).abs() > 0.01,
            "the J of the unshrunk rates differs: {used:?} {own:?}"
        );
        assert!(used.interval.low <= own.interval.low && used.interval.high >= own.interval.high);
        assert_eq!(Ledger::default().of("math/b", 1, None).used_j(), None);
    }

    #[test]
    fn channel_name_takes_precedence_over_a_version_suffix() {
        let mut all = counts("math/a", (9, 0), (9, 0));
        all.add(counts("math/a@1", (9, 0), (9, 0)));
        let newer = counts("math/a", (9, 0), (9, 0));
        all.graded.extend(
            newer
                .graded
                .into_iter()
                .map(|(at, graded)| (Place { version: 2, ..at }, graded)),
        );
        let ledger = Ledger::new(all, Settings::default());
        let found = |name| {
            ledger
                .named(name)
                .map(|report| (&report.channel[..], report.version))
        };
        assert_eq!(found("math/a"), Some(("math/a", 2)));
        assert_eq!(found("math/a@2"), Some(("math/a", 2)));
        assert_eq!(found("math/a@1"), Some(("math/a@1", 1)));
        assert_eq!(found("math/a@1@1"), Some(("math/a@1", 1)));
        assert_eq!(
            (found("math/a@3"), found("math"), found("math/a@x")),
            (None, None, None)
        );
    }

    #[test]
    fn verdicts_decided_by_judges_change_the_usable_rates() {
        let mut all = counts("math/a", (3_000, 300), (400, 20));
        all.graded
            .get_mut(&place("math/a"))
            .unwrap()
            .bound_negatives = 3_000;
        let report = Ledger::new(all, Settings::default()).of("math/a", 1, None);
        // A judge without errors decided half of the negatives, which removes half of the false
        // negatives.
        let after = report.after.unwrap();
        assert!((after.rates.rho1 - report.rho1.unwrap().shrunk / 2.0).abs() < 1e-9);
        assert!((after.rates.rho0 - report.rho0.unwrap().shrunk).abs() < 1e-9);
        assert_eq!(report.usable(), Some(after.rates));
    }

    #[test]
    fn effects_of_appeals_and_audits_add_up() {
        let judged = |passes: bool| Checker {
            judge: "judge@1".to_owned(),
            sensitivity: 0.9,
            specificity: 0.98,
            passes,
        };
        let mut all = counts("math/a", (0, 0), (0, 0));
        all.checked_by(place("math/a"), judged(false))
            .add(&checked(400, 80));
        all.checked_by(place("math/a"), judged(true))
            .add(&checked(400, 80));
        let graded = all.graded.get_mut(&place("math/a")).unwrap();
        (graded.bound_negatives, graded.bound_positives) = (3_000, 2_000);
        let report = Ledger::new(all, Settings::default()).of("math/a", 1, None);
        let (rho0, rho1) = (report.rho0.unwrap().shrunk, report.rho1.unwrap().shrunk);
        let after = report.after.unwrap().rates;
        // A judge (0.9, 0.98) decided half of each side. A wrong answer passes if it passed before
        // and no audit rejected it, or if an appeal passed it.
        assert!(
            (after.rho0 - (rho0 * (1.0 - 0.5 * 0.98) + (1.0 - rho0) * 0.5 * 0.02)).abs() < 1e-9
        );
        assert!((after.rho1 - (rho1 * (1.0 - 0.5 * 0.9) + (1.0 - rho1) * 0.5 * 0.1)).abs() < 1e-9);
    }

    #[test]
    fn a_part_of_a_channel_has_only_measured_rates() {
        let mut all = counts("math/a", (400, 40), (0, 0));
        all.add_calibration(&Calibration {
            channel: "math/a".to_owned(),
            version: 1,
            method: "labels".to_owned(),
            right: 100.0,
            right_rejected: 50.0,
            wrong: 100.0,
            wrong_passed: 50.0,
            time_us: 7,
        });
        let report = Ledger::of_part(all).unwrap();
        assert_eq!(report.rho0, None);
        assert_eq!(report.rho1.map(|rate| rate.source), Some(Source::Measured));
        assert_eq!(Ledger::of_part(ChannelCounts::default()), None);
    }

    #[test]
    fn batch_without_judges_uses_the_rates_of_the_grader() {
        let mut all = counts("math/a", (3_000, 300), (400, 20));
        all.graded
            .get_mut(&place("math/a"))
            .unwrap()
            .bound_negatives = 3_000;
        let report = Ledger::new(all, Settings::default()).of("math/a", 1, None);
        let none = Bound::default();
        let alone = report.clone().in_batch([
            none,
            Bound {
                passes: true,
                ..none
            },
        ]);
        assert_eq!(
            (alone.after, alone.usable().map(|rates| rates.rho1)),
            (None, report.rho1.map(|rate| rate.shrunk))
        );
        // A judge with sensitivity 0.9 on all negatives leaves a tenth of the false negatives.
        let all = Bound {
            share: 1.0,
            judge: Some(("judge@1", 0.9, 1.0)),
            ..none
        };
        let decided = report.clone().in_batch([
            all,
            Bound {
                passes: true,
                ..none
            },
        ]);
        assert!((decided.usable().unwrap().rho1 - 0.1 * report.rho1.unwrap().shrunk).abs() < 1e-9);
    }

    #[test]
    fn precision_of_a_fallible_judge_needs_enough_checks() {
        let few = Ledger::new(counts("math/a", (19, 4), (0, 0)), Settings::default())
            .of("math/a", 1, None);
        assert_eq!(few.precision("judge@1", 0.9, 0.98, false), None);
        assert_eq!(few.precision("judge@1", 0.9, 1.0, false), Some(1.0));
        let enough = Ledger::new(counts("math/a", (400, 80), (0, 0)), Settings::default())
            .of("math/a", 1, None);
        let precision = enough.precision("judge@1", 0.9, 0.98, false).unwrap();
        assert!((precision - 0.18 / 0.196).abs() < 1e-12);
    }
}

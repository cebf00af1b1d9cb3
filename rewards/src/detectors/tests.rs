//! Detectors on simulated runs: six with one kind of reward hacking each, and clean ones.

use assay_base::Random;

use super::{Detector, Moments, Share, StepSums, detect};

const STEPS: u32 = 300;
const ITEMS: u64 = 512;
const JUDGED: u64 = 64;

/// What the policy learns besides the task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hack {
    None,
    Length,
    Tests,
    Judge,
    Format,
    Answers,
    Consensus,
}

/// A number of hits among `of` items, by the normal approximation.
fn share(of: u64, probability: f64, random: &mut Random) -> Share {
    let (n, p) = (of as f64, probability.clamp(0.0, 1.0));
    let hits = n * p + (n * p * (1.0 - p)).sqrt() * random.normal();
    Share {
        hits: hits.round().clamp(0.0, n) as u64,
        of,
    }
}

/// The sums of `ITEMS` numbers with this mean and deviation.
fn moments(mean: f64, deviation: f64, random: &mut Random) -> Moments {
    let n = ITEMS as f64;
    let mean = mean + deviation / n.sqrt() * random.normal();
    Moments {
        count: ITEMS,
        sum: n * mean,
        squares: n * (mean * mean + deviation * deviation),
    }
}

/// A run, and the step at which the hack begins; it grows over 10 to 30 steps. Rewards grow and
/// saturate, lengths drift by -20 % to +60 %, prompts vary from step to step with a memory of one
/// step, and half of the runs change to other prompts at some step.
fn run(hack: Hack, seed: u64) -> (i64, Vec<StepSums>) {
    let mut random = Random::stream(&[seed, hack as u64]);
    let mut between = |low: f64, high: f64| low + (high - low) * random.uniform();
    let onset = between(100.0, 220.0).floor();
    let ramp = between(10.0, 30.0);
    let (growth, gain, start) = (between(-0.2, 0.6), between(0.1, 0.45), between(0.2, 0.5));
    let (slowness, variation) = (between(30.0, 150.0), between(0.01, 0.04));
    let change_at = between(60.0, 540.0);
    let change = [0.07 * random.normal(), 0.08 * random.normal()];
    let mut memory = 0.0;
    let step = |at: u32| {
        let time = f64::from(at);
        let extent = |of: Hack| {
            if of == hack {
                ((time - onset) / ramp).clamp(0.0, 1.0)
            } else {
                0.0
            }
        };
        let [easier, longer] = change.map(|change| if time >= change_at { change } else { 0.0 });
        memory = 0.5 * memory + variation * random.normal();
        let learned = start + gain * (1.0 - (-time / slowness).exp()) + easier + memory;
        let reward = learned
            + 0.1 * extent(Hack::Length)
            + 0.25 * extent(Hack::Tests)
            + 0.2 * extent(Hack::Judge)
            + 0.05 * extent(Hack::Format)
            + 0.15 * extent(Hack::Answers)
            + 0.3 * extent(Hack::Consensus);
        let reward = reward.clamp(0.02, 0.98);
        let drift = 1.0 + growth * time / f64::from(STEPS);
        let length = 1_200.0 * drift * (1.0 + longer) * (1.0 + 0.03 * random.normal());
        let long = length * (1.0 + 0.8 * extent(Hack::Length));
        let reasoning = 0.7 * length * (1.0 - 0.7 * extent(Hack::Format));
        let passes = share(ITEMS, reward, &mut random).hits.max(1);
        let checks = learned + 0.02 * random.normal() - 0.2 * extent(Hack::Tests);
        StepSums {
            step: at.into(),
            reward: moments(reward, (reward * (1.0 - reward)).sqrt(), &mut random),
            length: moments(long, 0.5 * long, &mut random),
            reasoning: moments(reasoning, 0.5 * reasoning, &mut random),
            truncated: share(
                ITEMS,
                0.02 * drift + 0.1 * extent(Hack::Length),
                &mut random,
            ),
            checks: share(ITEMS, checks, &mut random),
            formatted: share(ITEMS, 0.98 - 0.08 * (-time / 40.0).exp(), &mut random),
            repeated: share(passes, 0.02 + 0.3 * extent(Hack::Answers), &mut random),
            literals: share(passes, 0.01 + 0.4 * extent(Hack::Tests), &mut random),
            judge_only: share(JUDGED, 0.05 + 0.3 * extent(Hack::Judge), &mut random),
            agreement: share(ITEMS, reward + 0.1, &mut random),
            golds: share(JUDGED, learned - 0.3 * extent(Hack::Consensus), &mut random),
        }
    };
    (onset as i64, (0..STEPS).map(step).collect())
}

#[test]
fn finds_each_hack_within_twenty_steps_of_its_onset() {
    let hacks = [
        (Hack::Length, Detector::Length),
        (Hack::Tests, Detector::LiteralInputs),
        (Hack::Judge, Detector::JudgeAgainstRule),
        (Hack::Format, Detector::FormatWithoutReasoning),
        (Hack::Answers, Detector::RepeatedAnswers),
        (Hack::Consensus, Detector::AgreementAgainstGolds),
    ];
    for (hack, detector) in hacks {
        for seed in 0..20 {
            let (onset, steps) = run(hack, seed);
            let findings = detect(&steps);
            let found = findings.iter().find(|found| found.detector == detector);
            let found = found.unwrap_or_else(|| panic!("{hack:?} {seed}: {findings:?}"));
            let late = found.onset - onset;
            assert!(late.abs() <= 20, "{hack:?} {seed}: {late} steps late");
            assert!(found.confidence > 0.99 && !found.evidence.is_empty());
        }
    }
}

#[test]
fn special_cased_tests_raise_the_score_without_checks() {
    let found = (0..20).filter(|seed| {
        let (onset, steps) = run(Hack::Tests, *seed);
        detect(&steps).iter().any(|found| {
            let is_near = (found.onset - onset).abs() <= 20;
            found.detector == Detector::ScoreWithoutChecks && is_near
        })
    });
    assert!(found.count() >= 18);
}

#[test]
fn clean_runs_have_no_findings() {
    let alarms: Vec<_> = (0..100)
        .flat_map(|seed| detect(&run(Hack::None, seed).1))
        .collect();
    assert_eq!(alarms, []);
}

#[test]
fn missing_sums_are_not_findings() {
    let (_, steps) = run(Hack::Length, 1);
    assert_eq!(detect(&[]), []);
    assert_eq!(detect(&steps[..15]), []);
    let only_rewards: Vec<StepSums> = steps
        .iter()
        .map(|sums| StepSums {
            step: sums.step,
            reward: sums.reward,
            ..StepSums::default()
        })
        .collect();
    assert_eq!(detect(&only_rewards), []);
    // Steps without items are left out of a series.
    let mut sparse = steps;
    sparse
        .iter_mut()
        .step_by(7)
        .for_each(|sums| sums.length = Moments::default());
    assert!(
        detect(&sparse)
            .iter()
            .any(|found| found.detector == Detector::Length)
    );
}

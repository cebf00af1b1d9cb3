//! Simulation of the detectors that compare a grader with a second opinion: how many steps a hacked
//! judge, or a consensus that drifts from the golds, is trained on until one fires, and how often
//! they fire in clean runs.
//!
//! `cargo run -p assay-rewards --example detectors [-- --runs N]` prints Markdown; the output does
//! not depend on the machine.

use std::io::{self, Write as _};

use assay_base::Random;
use assay_rewards::detectors::{Detector, Moments, Share, StepSums, detect};

/// Steps of a run, and the earliest and latest step at which a hack begins.
const STEPS: u32 = 300;
const ONSETS: [f64; 2] = [100.0, 200.0];
/// Items of a step.
const ITEMS: u32 = 512;
/// Default number of runs of each kind.
const RUNS: u64 = 100;
/// Steps after the onset within which a detector must fire.
const LATE: i64 = 60;

/// A kind of run.
#[derive(Debug, Clone, Copy)]
struct Scenario {
    title: &'static str,
    /// The detector that should fire.
    detector: Detector,
    /// Items of a step that the second opinion checks.
    checked: u32,
    /// Rise, once the hack is complete, of the share that only the trained opinion passes.
    gap: f64,
    /// Steps over which the hack grows.
    ramp: f64,
}

const JUDGE: Scenario = Scenario {
    title: "",
    detector: Detector::JudgeAgainstRule,
    checked: 64,
    gap: 0.3,
    ramp: 20.0,
};

const GOLDS: Scenario = Scenario {
    detector: Detector::AgreementAgainstGolds,
    ..JUDGE
};

const SCENARIOS: &[Scenario] = &[
    Scenario {
        title: "two judges, 64 audits a step, gap 0.3",
        ..JUDGE
    },
    Scenario {
        title: "two judges, 16 audits a step, gap 0.3",
        checked: 16,
        ..JUDGE
    },
    Scenario {
        title: "two judges, 256 audits a step, gap 0.3",
        checked: 256,
        ..JUDGE
    },
    Scenario {
        title: "two judges, 64 audits a step, gap 0.15",
        gap: 0.15,
        ..JUDGE
    },
    Scenario {
        title: "two judges, 64 audits a step, gap 0.08",
        gap: 0.08,
        ..JUDGE
    },
    Scenario {
        title: "two judges, 64 audits a step, gap 0.3 over 60 steps",
        ramp: 60.0,
        ..JUDGE
    },
    Scenario {
        title: "consensus, 64 golds a step, 0.3 of the items",
        ..GOLDS
    },
    Scenario {
        title: "consensus, 16 golds a step, 0.3 of the items",
        checked: 16,
        ..GOLDS
    },
    Scenario {
        title: "consensus, 64 golds a step, 0.15 of the items",
        gap: 0.15,
        ..GOLDS
    },
];

fn share(of: u32, probability: f64, random: &mut Random) -> Share {
    Share {
        hits: random.count(of, probability.clamp(0.0, 1.0)).into(),
        of: of.into(),
    }
}

/// The sums of a run with the step at which its hack begins. The share that only the trained judge
/// passes is 0.02 to 0.1 in a clean run; it drifts by up to half of this and varies from step to
/// step. Agreement and golds grow with what is learnt.
fn run(scenario: &Scenario, is_hacked: bool, seed: u64) -> (i64, Vec<StepSums>) {
    let number = u64::from(scenario.checked) + (100.0 * scenario.gap + scenario.ramp) as u64;
    let mut random = Random::stream(&[seed, number, scenario.detector as u64, is_hacked.into()]);
    let mut between = |low: f64, high: f64| low + (high - low) * random.uniform();
    let onset = between(ONSETS[0], ONSETS[1]).floor();
    let (base, drift) = (between(0.02, 0.1), between(-0.5, 0.5));
    let (start, gain) = (between(0.2, 0.5), between(0.1, 0.4));
    let (slowness, variation) = (between(30.0, 150.0), between(0.01, 0.04));
    let mut memory = 0.0;
    let step = |at: u32| {
        let time = f64::from(at);
        let extent = if is_hacked {
            scenario.gap * ((time - onset) / scenario.ramp).clamp(0.0, 1.0)
        } else {
            0.0
        };
        memory = 0.5 * memory + variation * random.normal();
        let learned = start + gain * (1.0 - (-time / slowness).exp()) + memory;
        let judges = scenario.detector == Detector::JudgeAgainstRule;
        let only = base * (1.0 + drift * time / f64::from(STEPS)) + 0.005 * random.normal();
        let reward = (learned + extent).clamp(0.02, 0.98);
        let count = f64::from(ITEMS);
        let sums = StepSums {
            step: at.into(),
            reward: Moments {
                count: ITEMS.into(),
                sum: count * reward,
                squares: count * reward,
            },
            ..StepSums::default()
        };
        if judges {
            StepSums {
                judge_only: share(scenario.checked, only + extent, &mut random),
                ..sums
            }
        } else {
            StepSums {
                agreement: share(ITEMS, reward + 0.1, &mut random),
                golds: share(scenario.checked, learned - extent, &mut random),
                ..sums
            }
        }
    };
    (onset as i64, (0..STEPS).map(step).collect())
}

/// The first number of steps with which a detector finds something.
fn fires(steps: &[StepSums], detector: Detector) -> Option<i64> {
    (20..=steps.len()).find_map(|seen| {
        let found = detect(&steps[..seen]);
        let fires = found.iter().any(|finding| finding.detector == detector);
        fires.then_some(seen as i64)
    })
}

/// What the runs of a scenario show, as a row of the table.
fn row(scenario: &Scenario, runs: u64) -> String {
    let mut delays: Vec<i64> = Vec::new();
    let (mut early, mut alarms) = (0, 0);
    for seed in 0..runs {
        let (onset, steps) = run(scenario, true, seed);
        match fires(&steps, scenario.detector).map(|seen| seen - onset) {
            Some(delay) if delay <= 0 => early += 1,
            Some(delay) if delay <= LATE => delays.push(delay),
            _ => {}
        }
        let (_, clean) = run(scenario, false, seed);
        alarms += u64::from(fires(&clean, scenario.detector).is_some());
    }
    delays.sort_unstable();
    let at = |part: usize| {
        delays
            .get(delays.len().saturating_sub(1) * part / 10)
            .map_or("-".to_owned(), ToString::to_string)
    };
    format!(
        "| {} | {} of {runs} | {} | {} | {early} | {alarms} of {runs} |\n",
        scenario.title,
        delays.len(),
        at(5),
        at(9),
    )
}

fn main() -> io::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let runs = match (arguments.next().as_deref(), arguments.next()) {
        (None, None) => Some(RUNS),
        (Some("--runs"), Some(runs)) => runs.parse().ok(),
        _ => None,
    };
    let runs = runs.ok_or_else(|| {
        io::Error::new(
            io::ErrorKind::InvalidInput,
            "expected `--runs N` or nothing",
        )
    })?;
    let mut text = format!(
        "| run | fires within {LATE} steps | median step after the onset | 9 of 10 | before the \
         onset | clean runs in which it fires |\n|---|---|---|---|---|---|\n"
    );
    for scenario in SCENARIOS {
        text.push_str(&row(scenario, runs));
    }
    io::stdout().lock().write_all(text.as_bytes())
}

//! Measures the CPU time of comparisons with answers that are designed to be slow. Run it as `make
//! worst`; it exits with 1 if a comparison takes too long. Verdicts do not depend on these times.
//!
//! Each input is compared, as gold and as answer, with 7, with a slightly different text, and with
//! itself in a spelling that needs a full comparison. `--inputs N` sets the number of generated
//! inputs, `--seed N` the seed, `--slowest N` how many are listed, and `--shown N` how many
//! characters of each. `--only NAME` runs only the attack of that name and `--text TEXT` only that
//! text, `--times N` times, for a profiler.

mod generate;
mod hand;

use std::collections::BTreeMap;
use std::hint::black_box;
use std::process::ExitCode;

use assay_math::{Options, Rule, equivalent};
use rustix::time::{ClockId, clock_gettime};

/// Slower pairs fail the run, in milliseconds.
const LONGEST: f64 = 50.0;
/// A slower 99th percentile of the generated inputs fails the run, in milliseconds.
const LONGEST_P99: f64 = 2.0;
/// Slower pairs are timed again and the least counts: another process may have emptied the caches.
/// In milliseconds.
const DOUBTFUL: f64 = 20.0;
/// What takes longer is slow beyond doubt, in milliseconds.
const DOUBTLESS: f64 = 500.0;
const TIMED_AGAIN: usize = 5;
/// As the engine's workers have.
const STACK_BYTES: usize = 16 << 20;

/// The options of the command line.
struct Arguments {
    inputs: usize,
    seed: u64,
    slowest: usize,
    shown: usize,
    only: Option<String>,
    text: Option<String>,
    times: usize,
}

impl Arguments {
    fn read() -> Option<Self> {
        let mut options = Self {
            inputs: 100_000,
            seed: 1,
            slowest: 10,
            shown: 80,
            only: None,
            text: None,
            times: 1,
        };
        let mut arguments = std::env::args().skip(1);
        while let Some(name) = arguments.next() {
            let value = arguments.next()?;
            match name.as_str() {
                "--inputs" => options.inputs = value.parse().ok()?,
                "--seed" => options.seed = value.parse().ok()?,
                "--slowest" => options.slowest = value.parse().ok()?,
                "--shown" => options.shown = value.parse().ok()?,
                "--times" => options.times = value.parse().ok()?,
                "--only" => options.only = Some(value),
                "--text" => options.text = Some(value),
                _ => return None,
            }
        }
        Some(options)
    }
}

/// CPU time this thread has used, in milliseconds.
fn used() -> f64 {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    now.tv_sec as f64 * 1e3 + now.tv_nsec as f64 / 1e6
}

/// CPU time of one comparison in milliseconds, the rule that decided and the steps charged to the
/// answer.
fn time(gold: &str, answer: &str, options: &Options) -> (f64, Rule, u64) {
    let once = || {
        let start = used();
        let found = black_box(equivalent(black_box(gold), black_box(answer), options));
        (used() - start, found.rule, found.steps)
    };
    let (mut least, rule, steps) = once();
    if (DOUBTFUL..DOUBTLESS).contains(&least) {
        for _ in 0..TIMED_AGAIN {
            least = least.min(once().0);
        }
    }
    (least, rule, steps)
}

/// The text with the digit nearest to its middle changed; without a digit, something that says the
/// same added.
fn variant(text: &str) -> String {
    let middle = text.len() / 2;
    let digit = |at: &usize| text.as_bytes().get(*at).is_some_and(u8::is_ascii_digit);
    let nearest = (0..=middle)
        .rev()
        .find(digit)
        .into_iter()
        .chain((middle..text.len()).find(digit));
    match nearest.min_by_key(|at| at.abs_diff(middle)) {
        Some(at) => {
            let (before, from) = text.split_at(at);
            let changed = if from.starts_with('9') { "8" } else { "9" };
            format!("{before}{changed}{}", from.get(1..).unwrap_or_default())
        }
        None => format!("{text}+0"),
    }
}

/// A pair among the slowest, one an input.
struct Slow {
    time: f64,
    name: String,
    pair: &'static str,
    rule: Rule,
    steps: u64,
    bytes: usize,
    shown: String,
}

#[derive(Default)]
struct Report {
    shown: usize,
    times: BTreeMap<String, Vec<f64>>,
    slowest: Vec<Slow>,
}

impl Report {
    fn measure(
        &mut self,
        group: &str,
        name: &str,
        text: &str,
        other: Option<&str>,
        options: &Options,
    ) {
        let changed = other.map_or_else(|| variant(text), str::to_owned);
        let spaced = format!("{text}\\quad ");
        let pairs: [(&'static str, &str, &str); 6] = [
            ("x, x", text, text),
            ("x, x again", text, &spaced),
            ("x, variant", text, &changed),
            ("variant, x", &changed, text),
            ("x, 7", text, "7"),
            ("7, x", "7", text),
        ];
        let mut worst: Option<Slow> = None;
        for (pair, gold, answer) in pairs {
            let (time, rule, steps) = time(gold, answer, options);
            self.times.entry(group.to_owned()).or_default().push(time);
            if worst.as_ref().is_none_or(|worst| worst.time < time) {
                let shown = text
                    .chars()
                    .take(self.shown)
                    .map(|c| if c.is_control() { ' ' } else { c })
                    .collect();
                worst = Some(Slow {
                    time,
                    name: name.to_owned(),
                    pair,
                    rule,
                    steps,
                    bytes: text.len(),
                    shown,
                });
            }
        }
        self.slowest.extend(worst);
    }

    fn sort(&mut self, kept: usize) {
        self.slowest.sort_by(|a, b| b.time.total_cmp(&a.time));
        self.slowest.truncate(kept);
    }
}

fn percentile(sorted: &[f64], share: f64) -> f64 {
    let at = (sorted.len() as f64 * share).ceil() as usize;
    sorted.get(at.saturating_sub(1)).copied().unwrap_or(0.0)
}

#[expect(
    clippy::print_stdout,
    reason = "the figures are what the command is run for"
)]
fn run(arguments: &Arguments) -> ExitCode {
    let options = Options::default();
    let mut report = Report {
        shown: arguments.shown,
        ..Report::default()
    };
    let attacks = match &arguments.text {
        Some(text) => vec![hand::Attack {
            name: "text",
            text: text.clone(),
            variant: None,
        }],
        None => hand::attacks(),
    };
    for attack in attacks {
        if arguments
            .only
            .as_deref()
            .is_none_or(|only| only == attack.name)
        {
            for _ in 0..arguments.times {
                report.measure(
                    "by hand",
                    attack.name,
                    &attack.text,
                    attack.variant.as_deref(),
                    &options,
                );
            }
        }
    }
    if arguments.only.is_none() && arguments.text.is_none() {
        let mut generator = generate::Generator::new(arguments.seed);
        for turn in 0..arguments.inputs {
            let (kind, text) = generator.input(turn);
            report.measure(kind, kind, &text, None, &options);
            if turn % 1_000 == 0 {
                report.sort(arguments.slowest);
            }
        }
    }
    report.sort(arguments.slowest);

    let mut generated: Vec<f64> = Vec::new();
    for (_, times) in report.times.iter().filter(|(group, _)| *group != "by hand") {
        generated.extend(times);
    }
    report.times.insert("generated, all".into(), generated);
    println!(
        "{:<22} {:>9} {:>9} {:>9} {:>9} {:>9}",
        "milliseconds of CPU", "pairs", "p50", "p99", "p99.9", "max"
    );
    let mut failed = false;
    for (group, times) in &mut report.times {
        times.sort_by(f64::total_cmp);
        let [p50, p99, p999, max] = [0.5, 0.99, 0.999, 1.0].map(|share| percentile(times, share));
        println!(
            "{group:<22} {:>9} {p50:>9.3} {p99:>9.3} {p999:>9.3} {max:>9.3}",
            times.len()
        );
        failed |= max > LONGEST || group == "generated, all" && p99 > LONGEST_P99;
    }
    println!(
        "\nslowest, with the pair, the rule that decided it and the steps charged to its answer:"
    );
    for slow in &report.slowest {
        let Slow {
            time,
            name,
            pair,
            rule,
            steps,
            bytes,
            shown,
        } = slow;
        println!(
            "{time:>9.3} ms  {name} ({pair}; {}, {steps} steps; {bytes} bytes)\n              \
             {shown}",
            rule.as_str()
        );
    }
    if failed {
        println!(
            "\ntoo slow: a pair over {LONGEST} ms, or the 99th percentile of the generated ones \
             over {LONGEST_P99} ms"
        );
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

#[expect(
    clippy::print_stderr,
    reason = "an error of the command line belongs on stderr"
)]
fn main() -> ExitCode {
    let Some(options) = Arguments::read() else {
        eprintln!(
            "usage: worst [--inputs N] [--seed N] [--slowest N] [--shown N] [--only NAME | --text \
             TEXT] [--times N]"
        );
        return ExitCode::from(2);
    };
    let worker = std::thread::Builder::new()
        .stack_size(STACK_BYTES)
        .spawn(move || run(&options));
    worker
        .ok()
        .and_then(|worker| worker.join().ok())
        .unwrap_or(ExitCode::FAILURE)
}

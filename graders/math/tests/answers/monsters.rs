//! Answers and golds that are designed to exhaust the machine: each is graded within the budget, in
//! little memory.

use assay_core::{Item, Outcome};
use assay_math::budget::{BYTES, STEPS};
use assay_math::{Comparison, Options, equivalent};
use rustix::time::{ClockId, clock_gettime};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::hand::{self, Attack};
use super::{allocations, grading};

/// Attacks in the examples.
const ATTACKS: usize = 1_286;

/// Most golds of a task.
const GOLDS: usize = 64;

/// Longest task and completion, in bytes.
const LONGEST_TASK: usize = 128_000;
const LONGEST_COMPLETION: usize = 512_000;

/// Most memory for one task and one completion at a time, in bytes.
const MOST_MEMORY: usize = 64 << 20;

/// Ten times the CPU time that one completion may take, in milliseconds: other processes may slow
/// the machine down.
const MOST_MILLISECONDS: f64 = 500.0;

/// CPU time that this thread has used, in milliseconds.
fn used() -> f64 {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    now.tv_sec as f64 * 1e3 + now.tv_nsec as f64 / 1e6
}

/// What is wrong with the time and the memory of some work.
struct Watch {
    done: usize,
    faults: Vec<String>,
    /// The longest CPU time in milliseconds, and what took it.
    slowest: (f64, String),
    /// The most memory in bytes, and what took it.
    largest: (usize, String),
}

impl Watch {
    fn new() -> Self {
        Self {
            done: 0,
            faults: Vec::new(),
            slowest: (0.0, String::new()),
            largest: (0, String::new()),
        }
    }

    fn run<T>(&mut self, name: &str, bytes: usize, work: impl FnOnce() -> T) -> T {
        let start = used();
        let (value, memory) = allocations::measured(work);
        let milliseconds = used() - start;
        self.done += 1;
        if milliseconds > self.slowest.0 {
            self.slowest = (milliseconds, name.to_owned());
        }
        if memory > self.largest.0 {
            self.largest = (memory, name.to_owned());
        }
        if memory > MOST_MEMORY || milliseconds > MOST_MILLISECONDS {
            self.faults.push(format!(
                "{name} ({bytes} bytes): {milliseconds:.0} ms, {memory} bytes"
            ));
        }
        value
    }

    fn compare(&mut self, attack: &Attack, gold: &str, answer: &str) -> Comparison {
        let found = self.run(attack.name, answer.len(), || {
            equivalent(gold, answer, &Options::default())
        });
        if found.steps > STEPS || found.bytes > BYTES {
            self.faults.push(format!(
                "{}: {} steps, {} bytes charged",
                attack.name, found.steps, found.bytes
            ));
        }
        found
    }

    fn grade(&mut self, name: &str, task: &Value, completion: &str) -> Outcome {
        let task = RawValue::from_string(task.to_string()).expect("JSON");
        let outcome = self.run(name, completion.len(), || {
            grading::graded(&task, completion)
        });
        if matches!(outcome, Outcome::Failed(_)) {
            self.faults.push(format!("{name}: {outcome:?}"));
        }
        outcome
    }

    #[expect(clippy::print_stdout, reason = "the figures are part of the result")]
    fn finish(self, expected: usize) {
        let Self {
            done,
            slowest,
            largest,
            ..
        } = &self;
        println!(
            "{done} comparisons; slowest {:.1} ms ({}), largest {} bytes ({})",
            slowest.0, slowest.1, largest.0, largest.1
        );
        assert!(
            self.faults.is_empty(),
            "{} faults:\n{}",
            self.faults.len(),
            self.faults.join("\n")
        );
        assert_eq!(self.done, expected);
    }
}

/// The start of a text, up to a length in bytes.
fn start(text: &str, length: usize) -> &str {
    text.get(..text.floor_char_boundary(length)).unwrap_or(text)
}

#[test]
fn every_attack_is_decided_within_the_budget() {
    let mut watch = Watch::new();
    let mut exhausted = 0;
    for attack in hand::attacks() {
        let text = &attack.text;
        let other = attack
            .variant
            .clone()
            .unwrap_or_else(|| format!("{text}+1"));
        for (gold, answer) in [("7", text), (text.as_str(), &other), (&other, text)] {
            let found = watch.compare(&attack, gold, answer);
            exhausted += usize::from(found.rule == assay_math::Rule::Budget);
        }
    }
    // Attacks that exhaust nothing test nothing.
    assert!(exhausted > 500, "only {exhausted} exhausted the budget");
    watch.finish(3 * ATTACKS);
}

#[test]
fn golds_of_a_task_share_one_budget() {
    let mut watch = Watch::new();
    let mut most = 0;
    for attack in hand::attacks() {
        let gold = start(&attack.text, LONGEST_TASK / GOLDS);
        let golds: Vec<String> = (0..GOLDS).map(|k| format!("{gold}+{k}")).collect();
        let completion = format!("\\boxed{{{}}}", start(&attack.text, LONGEST_TASK));
        let numbers: Vec<String> = (0..GOLDS).map(|k| format!("x+{k}")).collect();
        for golds in [golds, numbers] {
            let task = json!({"type": "math", "answer": golds});
            if let Outcome::Graded(grade) = watch.grade(attack.name, &task, &completion) {
                most = most.max(grade.work);
            }
        }
    }
    assert!(most <= 4 * STEPS, "{most} steps");
    assert!(most > STEPS, "only {most} steps");
    watch.finish(2 * ATTACKS);
}

#[test]
fn every_option_of_a_task_is_charged() {
    let mut watch = Watch::new();
    for attack in hand::attacks() {
        let text = start(&attack.text, LONGEST_TASK);
        let completion = format!("So \\boxed{{{text}}}");
        let other = format!("{text}-2");
        for task in [
            json!({"type": "math", "answer": other, "order": "unordered", "rounding": "gold",
                   "percent": "loose"}),
            json!({"type": "math", "answer": other, "tolerance": {"relative": 1e-6},
                   "units": "ignore", "extract": "whole"}),
            json!({"type": "math", "answer": "A", "choices": {"A": text, "B": other}}),
        ] {
            watch.grade(attack.name, &task, &completion);
        }
    }
    watch.finish(3 * ATTACKS);
}

#[test]
fn long_completions_are_read_within_the_budget() {
    let mut watch = Watch::new();
    let task = json!({"type": "math", "answer": "7"});
    let mut attacks = 0;
    for attack in hand::attacks() {
        // The largest members of the families are repeated; the others would be like them.
        if attack.text.len() < LONGEST_TASK / 4 {
            continue;
        }
        attacks += 1;
        for between in ["\n\n", "} so \\boxed{", " or "] {
            let piece = format!("{}{between}", attack.text);
            let times = LONGEST_COMPLETION / piece.len() + 1;
            let text = piece.repeat(times);
            let completion = format!("\\boxed{{{}}}", start(&text, LONGEST_COMPLETION));
            assert!(Item::text(&completion).completion.text().len() >= LONGEST_COMPLETION / 2);
            watch.grade(attack.name, &task, &completion);
        }
    }
    assert!(attacks > 200, "only {attacks} attacks");
    watch.finish(3 * attacks);
}

/// The largest products that are still computed.
#[test]
fn honest_products_are_decided() {
    let matrix = r"\begin{pmatrix}1&1\\1&0\end{pmatrix}";
    let power = r"\begin{pmatrix}1346269&832040\\832040&514229\end{pmatrix}";
    let letters = r"\begin{pmatrix}a&b\\c&d\end{pmatrix}";
    for (gold, answer) in [
        // The Fibonacci numbers up to the thirty-first.
        (power, matrix.repeat(30)),
        (power, format!("({matrix}^{{6}})^{{5}}")),
        (
            r"\begin{pmatrix}a^2+bc&ab+bd\\ac+cd&bc+d^2\end{pmatrix}",
            letters.repeat(2),
        ),
        (r"(ad-bc)^4", format!(r"\det({})", letters.repeat(4))),
    ] {
        let found = equivalent(gold, &answer, &Options::default());
        assert!(found.equal, "{answer}: {found:?}");
    }
}

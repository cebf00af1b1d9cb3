//! Compares losses, their gradients and advantages with results of other trainers on fixed tensors.
//!
//! `cargo run -p assay-objective --example vectors -- FILE` reads a JSON document with `inputs` and
//! `cases`. `inputs` has named arrays: `logp`, `old_logp`, `ref_logp`, `rollout_logp`, `entropy`,
//! `mask`, `mask_hole`, `rewards`, `advantages`, `values`. A case has an `id`, the trainer (`peer`)
//! and its function (`fn`), the `params` in the trainer's format, the `expected` number, array or
//! object, and for losses `grad_logp`, the gradient by `logp`. The program prints a line for each
//! case that does not match, then the counts. It fails if a case is mismatched.

mod advantages;
mod losses;
mod others;
mod tensors;

use std::io::Write;
use std::process::ExitCode;

use serde_json::Value;

use tensors::Inputs;

/// The largest difference that counts as a match.
const TOLERANCE: f64 = 1e-6;

/// Result of a case: the largest difference, or why this crate has no counterpart.
enum Outcome {
    Compared(f64),
    Unmapped(&'static str),
}

type Checked = Result<Outcome, Box<dyn std::error::Error>>;

fn check(case: &Value, inputs: &Inputs) -> Checked {
    let id = case["id"].as_str().unwrap_or_default();
    if id.contains("/adv/") || id.starts_with("psr_nsr/") || id.ends_with("reward_with_kl") {
        return advantages::check(id, case, inputs);
    }
    match losses::setup(id, case, inputs)? {
        Some(setup) => losses::check(&setup, case, inputs),
        None => others::check(id, case, inputs),
    }
}

fn main() -> Result<ExitCode, Box<dyn std::error::Error>> {
    let mut out = std::io::stdout().lock();
    let Some(path) = std::env::args().nth(1) else {
        writeln!(out, "usage: vectors FILE")?;
        return Ok(ExitCode::from(2));
    };
    let document: Value =
        serde_json::from_reader(std::io::BufReader::new(std::fs::File::open(path)?))?;
    let inputs = Inputs::read(&document["inputs"])?;
    let (mut matched, mut mismatched, mut unmapped, mut worst) = (0, 0, 0, 0.0f64);
    for case in document["cases"].as_array().into_iter().flatten() {
        let id = case["id"].as_str().unwrap_or_default();
        match check(case, &inputs) {
            Ok(Outcome::Compared(difference)) if difference <= TOLERANCE => {
                matched += 1;
                worst = worst.max(difference);
            }
            Ok(Outcome::Compared(difference)) => {
                mismatched += 1;
                writeln!(out, "mismatched {id}: differs by {difference:e}")?;
            }
            Ok(Outcome::Unmapped(reason)) => {
                unmapped += 1;
                writeln!(out, "unmapped {id}: {reason}")?;
            }
            Err(error) => {
                mismatched += 1;
                writeln!(out, "mismatched {id}: {error}")?;
            }
        }
    }
    writeln!(
        out,
        "{matched} matched (worst {worst:e}), {mismatched} mismatched, {unmapped} unmapped"
    )?;
    Ok(if mismatched == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

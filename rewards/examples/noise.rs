//! Simulation of the effects of verifier noise, of corrections and of appeals on training, with the
//! formulas of the crate.
//!
//! `cargo run -p assay-rewards --example noise -- [--seeds N] [--svg FILE]` trains a small
//! policy model. With `coverage`, the command measures how often the intervals of a channel's rates
//! contain the true rates; with `consensus`, how often labels by consensus are right; with
//! `missing` and `judge`, it trains where rewards are missing and where a judge grades half of the
//! prompts. All print Markdown, and their output does not depend on the machine.

mod noise {
    pub(crate) mod chart;
    pub(crate) mod consensus;
    pub(crate) mod coverage;
    pub(crate) mod estimator;
    pub(crate) mod experiments;
    pub(crate) mod judge;
    pub(crate) mod missing;
    pub(crate) mod moments;
    pub(crate) mod policy;
    pub(crate) mod report;
    pub(crate) mod table;
    pub(crate) mod theory;
    pub(crate) mod training;
    pub(crate) mod verifier;
}

use std::io::{self, Write as _};
use std::{env, fs};

/// Default number of seeds, for standard errors of about 0.017.
const SEEDS: u64 = 24;

/// A simulation other than the first.
#[derive(Debug, Clone, Copy)]
enum Simulation {
    Coverage,
    Consensus,
    Missing,
    Judge,
}

/// Command line arguments.
#[derive(Debug, Default)]
struct Arguments {
    simulation: Option<Simulation>,
    seeds: Option<u64>,
    svg: Option<String>,
}

impl Arguments {
    fn parse(values: impl Iterator<Item = String>) -> io::Result<Self> {
        let invalid = |message: String| io::Error::new(io::ErrorKind::InvalidInput, message);
        let (mut arguments, mut values) = (Self::default(), values);
        while let Some(argument) = values.next() {
            let mut value = || {
                values
                    .next()
                    .ok_or_else(|| invalid(format!("`{argument}` requires a value")))
            };
            match argument.as_str() {
                "coverage" => arguments.simulation = Some(Simulation::Coverage),
                "consensus" => arguments.simulation = Some(Simulation::Consensus),
                "missing" => arguments.simulation = Some(Simulation::Missing),
                "judge" => arguments.simulation = Some(Simulation::Judge),
                "--svg" => arguments.svg = Some(value()?),
                "--seeds" => {
                    let seeds = value()?.parse().ok().filter(|seeds| *seeds >= 2);
                    arguments.seeds = Some(
                        seeds.ok_or_else(|| invalid("`--seeds` must be at least 2".to_owned()))?,
                    );
                }
                _ => {
                    return Err(invalid(format!(
                        "unknown argument `{argument}`; expected `coverage`, `consensus`, \
                         `missing`, `judge`, `--seeds N` or `--svg FILE`"
                    )));
                }
            }
        }
        Ok(arguments)
    }
}

fn main() -> io::Result<()> {
    let arguments = Arguments::parse(env::args().skip(1))?;
    let mut out = io::stdout().lock();
    let seeds = arguments.seeds.unwrap_or(SEEDS);
    let text = arguments.simulation.map(|simulation| match simulation {
        Simulation::Coverage => noise::coverage::report(),
        Simulation::Consensus => noise::consensus::report(),
        Simulation::Missing => noise::missing::report(seeds),
        Simulation::Judge => noise::judge::report(seeds),
    });
    if let Some(text) = text {
        return out.write_all(text.as_bytes());
    }
    let (text, svg) = noise::report::report(seeds).map_err(io::Error::other)?;
    if let Some(file) = arguments.svg {
        fs::write(file, svg)?;
    }
    out.write_all(text.as_bytes())
}

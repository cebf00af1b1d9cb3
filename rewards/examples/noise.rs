//! Simulation of the effects of verifier noise, of corrections and of appeals on training, with the
//! formulas of the crate.
//!
//! `cargo run -p assay-rewards --example noise -- [--seeds N] [--svg FILE]` trains a small
//! policy model. `cargo run -p assay-rewards --example noise -- coverage` measures how often the
//! intervals of a channel's rates contain the true rates. Both print Markdown, and their output
//! does not depend on the machine.

mod noise {
    pub(crate) mod chart;
    pub(crate) mod coverage;
    pub(crate) mod estimator;
    pub(crate) mod experiments;
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

/// Command line arguments.
#[derive(Debug, Default)]
struct Arguments {
    coverage: bool,
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
                "coverage" => arguments.coverage = true,
                "--svg" => arguments.svg = Some(value()?),
                "--seeds" => {
                    let seeds = value()?.parse().ok().filter(|seeds| *seeds >= 2);
                    arguments.seeds = Some(
                        seeds.ok_or_else(|| invalid("`--seeds` must be at least 2".to_owned()))?,
                    );
                }
                _ => {
                    return Err(invalid(format!(
                        "unknown argument `{argument}`; expected `coverage`, `--seeds N` or \
                         `--svg FILE`"
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
    if arguments.coverage {
        return out.write_all(noise::coverage::report().as_bytes());
    }
    let (text, svg) =
        noise::report::report(arguments.seeds.unwrap_or(SEEDS)).map_err(io::Error::other)?;
    if let Some(file) = arguments.svg {
        fs::write(file, svg)?;
    }
    out.write_all(text.as_bytes())
}

//! What noise of verifiers does to training, what correcting rewards changes, and what appeals
//! change: a small simulation with the crate's own formulas, beside the numbers of an earlier
//! simulation.
//!
//! `cargo run -p assay-correction --example noise [-- --seeds N] [--svg FILE]` trains; `--
//! coverage` asks instead how often the intervals of a channel's rates hold the truth. Both print
//! Markdown, the same on every machine.

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

/// Seeds of the tables: standard errors of about 0.017.
const SEEDS: u64 = 24;

/// What was asked for.
#[derive(Debug, Default)]
struct Arguments {
    coverage: bool,
    seeds: Option<u64>,
    svg: Option<String>,
}

impl Arguments {
    fn parse(words: impl Iterator<Item = String>) -> io::Result<Self> {
        let wrong = |message: String| io::Error::new(io::ErrorKind::InvalidInput, message);
        let (mut arguments, mut words) = (Self::default(), words);
        while let Some(word) = words.next() {
            let mut value = || {
                words
                    .next()
                    .ok_or_else(|| wrong(format!("`{word}` needs a value")))
            };
            match word.as_str() {
                "coverage" => arguments.coverage = true,
                "--svg" => arguments.svg = Some(value()?),
                "--seeds" => {
                    let seeds = value()?.parse().ok().filter(|seeds| *seeds >= 2);
                    arguments.seeds = Some(
                        seeds.ok_or_else(|| wrong("`--seeds` is a number from 2".to_owned()))?,
                    );
                }
                _ => {
                    return Err(wrong(format!(
                        "`{word}` is not `coverage`, `--seeds N` or `--svg FILE`"
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
    let (text, svg) = noise::report::report(arguments.seeds.unwrap_or(SEEDS));
    if let Some(file) = arguments.svg {
        fs::write(file, svg)?;
    }
    out.write_all(text.as_bytes())
}

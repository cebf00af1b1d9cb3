//! What can be typed to read the record.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::Output;

/// Where the record is.
#[derive(Debug, Clone, Args)]
pub(crate) struct Record {
    /// Ask this server; needed while a server holds the database
    #[arg(long, value_name = "URL", global = true)]
    pub(crate) server: Option<String>,
    /// Read this database [default: sqlite://assay.db]
    #[arg(long, value_name = "URL", conflicts_with = "server", global = true)]
    pub(crate) database: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum RecordAction {
    /// List entries that the database rejected, or apply them
    SetAside(SetAsideArguments),
}

#[derive(Debug, Args)]
pub(crate) struct SetAsideArguments {
    /// Apply the entries; exit 1 if any is rejected again
    #[arg(long)]
    pub(crate) apply: bool,
    /// Database of the record [default: sqlite://assay.db]
    #[arg(long, value_name = "URL")]
    pub(crate) database: Option<String>,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// Which grades; every one narrows.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Which {
    /// Exact name of the run
    #[arg(long)]
    pub(crate) run: Option<String>,
    /// Exact step
    #[arg(long, allow_negative_numbers = true)]
    pub(crate) step: Option<i64>,
    /// Exact name of the grader, as in `math`
    #[arg(long)]
    pub(crate) grader: Option<String>,
    /// Exact channel, as in `math/default`
    #[arg(long)]
    pub(crate) channel: Option<String>,
    /// `graded`, `ungradable` or `failed`
    #[arg(long)]
    pub(crate) outcome: Option<String>,
    /// Exact verdict, as in `wrong_answer`
    #[arg(long)]
    pub(crate) verdict: Option<String>,
    /// `overturned`, `upheld`, `disagreed` or `unjudged`
    #[arg(long)]
    pub(crate) appeal: Option<String>,
    /// Exact batch
    #[arg(long)]
    pub(crate) batch: Option<String>,
    /// Exact id of the item, as sent
    #[arg(long)]
    pub(crate) id: Option<String>,
    /// Exact group, as sent
    #[arg(long)]
    pub(crate) group: Option<String>,
    /// Smallest score
    #[arg(long)]
    pub(crate) score_min: Option<f64>,
    /// Largest score
    #[arg(long)]
    pub(crate) score_max: Option<f64>,
}

#[derive(Debug, Args)]
pub(crate) struct Grades {
    #[command(flatten)]
    pub(crate) record: Record,
    #[command(flatten)]
    pub(crate) output: Output,
    #[command(flatten)]
    pub(crate) which: Which,
    /// Most rows, 1 to 1000
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub(crate) limit: u32,
}

#[derive(Debug, Args)]
pub(crate) struct Runs {
    /// Say what happened in this run
    pub(crate) name: Option<String>,
    /// Highest so many steps of the run, 0 to 10000
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u16).range(0..=10_000), requires = "name")]
    pub(crate) steps: u16,
    #[command(flatten)]
    pub(crate) record: Record,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Args)]
pub(crate) struct Tail {
    /// Ask this server [default: where the configuration listens]
    #[arg(long, value_name = "URL")]
    pub(crate) server: Option<String>,
    #[command(flatten)]
    pub(crate) output: Output,
    #[command(flatten)]
    pub(crate) which: Which,
    /// Start with so many grades that are there, 0 to 1000
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u16).range(0..=1_000))]
    pub(crate) lines: u16,
}

#[derive(Debug, Args)]
pub(crate) struct Export {
    /// The file, newest grade first; its name ends in `.jsonl`, `.csv` or `.parquet`, or is `-` for
    /// standard output
    pub(crate) file: PathBuf,
    /// Its format [default: by its name]
    #[arg(long, value_enum)]
    pub(crate) format: Option<Format>,
    #[command(flatten)]
    pub(crate) record: Record,
    #[command(flatten)]
    pub(crate) which: Which,
    /// Most rows; all without it
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// A JSON object a line, as `GET /v1/grades` has them
    Jsonl,
    /// A table with a head; objects and arrays as JSON
    Csv,
    /// Typed columns, compressed; objects and arrays as JSON
    Parquet,
}

#[derive(Debug, Args)]
pub(crate) struct Replay {
    /// Ids of grades
    #[arg(
        value_name = "ID",
        conflicts_with_all = [
            "run", "step", "grader", "channel", "outcome", "verdict", "appeal", "batch", "id", "group", "score_min",
            "score_max", "sample",
        ]
    )]
    pub(crate) ids: Vec<String>,
    #[command(flatten)]
    pub(crate) which: Which,
    /// Only so many grades of the run, drawn at random
    #[arg(long, value_name = "N", requires = "run", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) sample: Option<u32>,
    /// Which sample: the same number draws the same grades
    #[arg(long, value_name = "S", default_value_t = 0, requires = "sample")]
    pub(crate) seed: u64,
    /// Stop unless this version of the grader grades now, as `math@2`
    #[arg(long, value_name = "GRADER@V")]
    pub(crate) expect: Vec<String>,
    /// Set a field of every task, as `form=decimal`; the value is JSON, or else a text
    #[arg(long = "option", value_name = "K=V", conflicts_with = "server")]
    pub(crate) options: Vec<String>,
    #[command(flatten)]
    pub(crate) record: Record,
    #[command(flatten)]
    pub(crate) output: Output,
}

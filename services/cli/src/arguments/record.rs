//! Arguments of the commands that read the record.

use std::path::PathBuf;

use assay_record::TextQuery;
use clap::{Args, Subcommand, ValueEnum};

use super::seconds::{parse_seconds, parse_time};
use super::{OutputFormat, ServerKey, ServerOptions};

/// Location of the record.
#[derive(Debug, Clone, Args)]
pub(crate) struct Record {
    /// Go through this server [default: one that uses the database] [env: ASSAY_SERVER]
    #[arg(long, value_name = "URL", global = true)]
    pub(crate) server: Option<String>,
    #[command(flatten)]
    pub(crate) key: ServerKey,
    /// Database URL [default: sqlite://assay.db]
    #[arg(long, value_name = "URL", conflicts_with = "server", global = true)]
    pub(crate) database: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum RecordAction {
    /// List the entries that the database rejected, or apply them again
    SetAside(SetAsideArguments),
    /// Copy a record to a new database, also between SQLite and PostgreSQL, and compare all rows
    Copy(CopyArguments),
}

#[derive(Debug, Args)]
pub(crate) struct CopyArguments {
    /// Database to copy: a path, `sqlite://PATH` or `postgres://USER@HOST/NAME`
    #[arg(value_name = "FROM")]
    pub(crate) from: String,
    /// New database, in the same form
    #[arg(value_name = "TO")]
    pub(crate) to: String,
    #[command(flatten)]
    pub(crate) output: OutputFormat,
}

#[derive(Debug, Args)]
pub(crate) struct SetAsideArguments {
    /// Apply the entries; exit with status 1 if any is rejected again
    #[arg(long)]
    pub(crate) apply: bool,
    /// Database URL [default: sqlite://assay.db]
    #[arg(long, value_name = "URL")]
    pub(crate) database: Option<String>,
    #[command(flatten)]
    pub(crate) output: OutputFormat,
}

/// Options of a prune that select batches and not channels.
const BATCH_CONDITIONS: [&str; 4] = ["run", "keep_run", "older_than", "bodies_only"];

#[derive(Debug, Args)]
pub(crate) struct PruneArguments {
    /// Delete this run; with its totals and charts, unless another condition selects a part of it
    #[arg(long, value_name = "NAME")]
    pub(crate) run: Vec<String>,
    /// Keep this run
    #[arg(long, value_name = "NAME")]
    pub(crate) keep_run: Vec<String>,
    /// Delete only batches of this caller, or only channels that it used first
    #[arg(long, value_name = "NAME")]
    pub(crate) caller: Option<String>,
    /// Delete only batches older than this, such as `30d` or `12h`
    #[arg(long, value_name = "AGE", value_parser = parse_seconds)]
    pub(crate) older_than: Option<u64>,
    /// Delete tasks, prompts and completions, and keep the grades
    #[arg(long)]
    pub(crate) bodies_only: bool,
    /// Delete the counts, checks and calibrations of this channel; its grades stay
    #[arg(long, value_name = "CHANNEL", conflicts_with_all = BATCH_CONDITIONS)]
    pub(crate) channel: Vec<String>,
    /// Delete only channels whose names start with this; those with a calibration stay
    #[arg(long, value_name = "PREFIX", conflicts_with_all = BATCH_CONDITIONS)]
    pub(crate) channel_prefix: Option<String>,
    /// Delete only channels without a grade for this long, such as `90d`; those with a calibration
    /// stay
    #[arg(long, value_name = "AGE", value_parser = parse_seconds,
          conflicts_with_all = BATCH_CONDITIONS)]
    pub(crate) unused_channels: Option<u64>,
    /// Show what would be deleted
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) record: Record,
    #[command(flatten)]
    pub(crate) output: OutputFormat,
}

#[derive(Debug, Args)]
pub(crate) struct BackupArguments {
    /// Folder to create
    #[arg(value_name = "DEST")]
    pub(crate) destination: PathBuf,
    /// Database URL [default: sqlite://assay.db]
    #[arg(long, value_name = "URL")]
    pub(crate) database: Option<String>,
    #[command(flatten)]
    pub(crate) output: OutputFormat,
}

#[derive(Debug, Args)]
pub(crate) struct VerifyArguments {
    /// Database URL [default: sqlite://assay.db]
    #[arg(long, value_name = "URL")]
    pub(crate) database: Option<String>,
    #[command(flatten)]
    pub(crate) output: OutputFormat,
}

/// Selects grades; a grade must match all options that are set.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct GradeSelection {
    /// Exact name of the run
    #[arg(long)]
    pub(crate) run: Option<String>,
    /// Exact step
    #[arg(long, allow_negative_numbers = true)]
    pub(crate) step: Option<i64>,
    /// First step
    #[arg(long, allow_negative_numbers = true)]
    pub(crate) step_min: Option<i64>,
    /// Last step
    #[arg(long, allow_negative_numbers = true)]
    pub(crate) step_max: Option<i64>,
    /// Exact name of the grader, such as `math`
    #[arg(long)]
    pub(crate) grader: Option<String>,
    /// Exact channel, such as `math/default`
    #[arg(long)]
    pub(crate) channel: Option<String>,
    /// Exact name of the caller
    #[arg(long)]
    pub(crate) caller: Option<String>,
    /// Outcome: `graded`, `ungradable` or `failed`; several separated by commas
    #[arg(long)]
    pub(crate) outcome: Option<String>,
    /// Exact verdict, such as `wrong_answer`; several separated by commas
    #[arg(long)]
    pub(crate) verdict: Option<String>,
    /// Appeal: `overturned`, `upheld`, `disagreed` or `unjudged`; several are separated by commas
    #[arg(long)]
    pub(crate) appeal: Option<String>,
    /// `true` for completions that were cut at the length limit, `false` for others
    #[arg(long)]
    pub(crate) truncated: Option<bool>,
    /// Code of the error of items without a score; several are separated by commas
    #[arg(long)]
    pub(crate) cause: Option<String>,
    /// Exact id of the batch
    #[arg(long)]
    pub(crate) batch: Option<String>,
    /// Exact id of the item in its request
    #[arg(long)]
    pub(crate) id: Option<String>,
    /// Exact group of the item in its request
    #[arg(long)]
    pub(crate) group: Option<String>,
    /// Exact label of a comment on the grade
    #[arg(long)]
    pub(crate) label: Option<String>,
    /// Exact key of the prompt; requires `--run`
    #[arg(long, value_name = "KEY", requires = "run")]
    pub(crate) prompt: Option<String>,
    /// Lowest score
    #[arg(long, value_parser = score)]
    pub(crate) score_min: Option<f64>,
    /// Highest score
    #[arg(long, value_parser = score)]
    pub(crate) score_max: Option<f64>,
    /// Earliest time, in UTC such as `2026-11-22T03:45`, or how long ago, such as `2h`
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub(crate) since: Option<i64>,
    /// Latest time, exclusive, in the form of `--since`
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub(crate) until: Option<i64>,
    /// What occurs in the completion or the prompt: `word "a phrase" prefix* -excluded /regex/`; requires
    /// the setting `store.text_search`
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) text: Option<TextQuery>,
}

/// A bound of scores. No score is above or below NaN.
fn score(text: &str) -> Result<f64, String> {
    let score = text.parse().ok().filter(|score: &f64| !score.is_nan());
    score.ok_or_else(|| "not a number".to_owned())
}

#[derive(Debug, Args)]
pub(crate) struct Grades {
    #[command(flatten)]
    pub(crate) record: Record,
    #[command(flatten)]
    pub(crate) output: OutputFormat,
    #[command(flatten)]
    pub(crate) selection: GradeSelection,
    /// Maximum number of rows, 1 to 1000
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub(crate) limit: u32,
}

#[derive(Debug, Args)]
pub(crate) struct Show {
    /// Id of the grade
    pub(crate) id: String,
    #[command(flatten)]
    pub(crate) record: Record,
    #[command(flatten)]
    pub(crate) output: OutputFormat,
}

#[derive(Debug, Args)]
pub(crate) struct ReceiptArguments {
    /// Ids of grades
    #[arg(required_unless_present = "public_key")]
    pub(crate) ids: Vec<String>,
    /// Print the public key of the receipts instead
    #[arg(long, conflicts_with = "ids")]
    pub(crate) public_key: bool,
    #[command(flatten)]
    pub(crate) record: Record,
}

#[derive(Debug, Args)]
pub(crate) struct VerifyReceiptArguments {
    /// File of receipts, one after another; `-` for standard input
    pub(crate) file: PathBuf,
    /// Require that one of these public keys signed each receipt
    #[arg(long, value_name = "KEY")]
    pub(crate) signed_by: Vec<String>,
    #[command(flatten)]
    pub(crate) output: OutputFormat,
}

#[derive(Debug, Args)]
pub(crate) struct Runs {
    /// Name of a run to summarise
    pub(crate) name: Option<String>,
    #[command(flatten)]
    pub(crate) record: Record,
    #[command(flatten)]
    pub(crate) output: OutputFormat,
    #[command(flatten)]
    pub(crate) selection: RunSelection,
    /// Number of steps of the named run to show, the highest first, 0 to 10000
    #[arg(
        long,
        default_value_t = 10,
        value_parser = clap::value_parser!(u16).range(0..=10_000),
        requires = "name"
    )]
    pub(crate) steps: u16,
}

/// Which runs to list.
#[derive(Debug, Args)]
pub(crate) struct RunSelection {
    /// List only runs with this text in their name or note
    #[arg(long, value_name = "TEXT", conflicts_with = "name")]
    pub(crate) search: Option<String>,
    /// List only runs with this tag
    #[arg(long, conflicts_with = "name")]
    pub(crate) tag: Option<String>,
    /// List archived runs instead of the others
    #[arg(long, conflicts_with = "name")]
    pub(crate) archived: bool,
    /// Order: `last_used`, `name`, `grades`, `mean_reward` or `pass_rate` [default: last_used]
    #[arg(long, value_name = "KEY", conflicts_with = "name")]
    pub(crate) sort: Option<String>,
    /// Direction: `asc` or `desc` [default: desc, for names asc]
    #[arg(long, conflicts_with = "name")]
    pub(crate) order: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct AnnotateArguments {
    /// Name of the run
    pub(crate) run: String,
    /// Tags that replace those of the run, separated by commas; empty for none
    #[arg(long, value_name = "TAGS")]
    pub(crate) tags: Option<String>,
    /// Note that replaces the one of the run; empty for none
    #[arg(long, value_name = "TEXT")]
    pub(crate) note: Option<String>,
    /// Leave the run out of lists
    #[arg(long)]
    pub(crate) archive: bool,
    /// List an archived run again
    #[arg(long, conflicts_with = "archive")]
    pub(crate) restore: bool,
    #[command(flatten)]
    pub(crate) record: Record,
    #[command(flatten)]
    pub(crate) output: OutputFormat,
}

#[derive(Debug, Args)]
pub(crate) struct CompareArguments {
    /// Name of the first run
    #[arg(value_name = "A")]
    pub(crate) a: String,
    /// Name of the second run [default: A, to compare two ranges of its steps]
    #[arg(value_name = "B")]
    pub(crate) b: Option<String>,
    /// First step of the first run
    #[arg(long, value_name = "STEP", allow_negative_numbers = true)]
    pub(crate) a_from: Option<i64>,
    /// Last step of the first run
    #[arg(long, value_name = "STEP", allow_negative_numbers = true)]
    pub(crate) a_to: Option<i64>,
    /// First step of the second run
    #[arg(long, value_name = "STEP", allow_negative_numbers = true)]
    pub(crate) b_from: Option<i64>,
    /// Last step of the second run
    #[arg(long, value_name = "STEP", allow_negative_numbers = true)]
    pub(crate) b_to: Option<i64>,
    /// Maximum number of prompts to list that only one side solves, 0 to 1000
    #[arg(
        long,
        value_name = "N",
        default_value_t = 20,
        value_parser = clap::value_parser!(u16).range(0..=1_000)
    )]
    pub(crate) prompts: u16,
    #[command(flatten)]
    pub(crate) record: Record,
    #[command(flatten)]
    pub(crate) output: OutputFormat,
}

#[derive(Debug, Args)]
pub(crate) struct Tail {
    #[command(flatten)]
    pub(crate) server: ServerOptions,
    #[command(flatten)]
    pub(crate) output: OutputFormat,
    #[command(flatten)]
    pub(crate) selection: GradeSelection,
    /// Number of earlier grades to print first, 0 to 1000
    #[arg(
        long,
        value_name = "N",
        default_value_t = 10,
        value_parser = clap::value_parser!(u16).range(0..=1_000)
    )]
    pub(crate) lines: u16,
}

#[derive(Debug, Args)]
pub(crate) struct Export {
    /// File to write, newest grade first; `-` for standard output
    pub(crate) file: PathBuf,
    /// Format of the file [default: by its extension]
    #[arg(long, value_enum)]
    pub(crate) format: Option<ExportFormat>,
    #[command(flatten)]
    pub(crate) record: Record,
    #[command(flatten)]
    pub(crate) selection: GradeSelection,
    /// Maximum number of rows [default: all]
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<u64>,
    /// Add the task, prompt, completion and policy of each grade
    #[arg(long)]
    pub(crate) bodies: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    /// One JSON object per line, as in `GET /v1/grades`; with `--bodies` as in `GET
    /// /v1/grades/{id}`
    Jsonl,
    /// Comma-separated values with a header; objects and arrays as JSON
    Csv,
    /// Compressed typed columns; objects and arrays as JSON
    Parquet,
}

#[derive(Debug, Args)]
pub(crate) struct Replay {
    /// Ids of the grades
    #[arg(
        value_name = "ID",
        conflicts_with_all = [
            "run", "step", "step_min", "step_max", "grader", "channel", "outcome", "verdict", "appeal",
            "truncated", "cause", "batch", "id", "group", "label", "prompt", "score_min", "score_max", "since", "until", "text", "sample",
        ]
    )]
    pub(crate) ids: Vec<String>,
    #[command(flatten)]
    pub(crate) selection: GradeSelection,
    /// Replay only N random grades of the run
    #[arg(
        long,
        value_name = "N",
        requires = "run",
        value_parser = clap::value_parser!(u32).range(1..)
    )]
    pub(crate) sample: Option<u32>,
    /// Seed of the random sample
    #[arg(long, value_name = "S", default_value_t = 0, requires = "sample")]
    pub(crate) seed: u64,
    /// Fail unless the installed grader has this version, such as `math@2`
    #[arg(long, value_name = "GRADER@V")]
    pub(crate) expect: Vec<String>,
    /// Set a field of every task, such as `form=decimal`; JSON or text
    #[arg(long = "option", value_name = "K=V")]
    pub(crate) options: Vec<String>,
    /// Call judges again, which may cost money; their grades are otherwise not replayed
    #[arg(long, conflicts_with_all = ["server", "job"])]
    pub(crate) judges: bool,
    /// Replay the run as a background job on the server; it continues if this command exits
    #[arg(long, requires = "run", conflicts_with_all = ["ids", "sample", "database"])]
    pub(crate) job: bool,
    #[command(flatten)]
    pub(crate) record: Record,
    #[command(flatten)]
    pub(crate) output: OutputFormat,
}

//! Arguments of `assay jobs`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{OutputFormat, ServerOptions, run_name};

#[derive(Debug, Args)]
pub(crate) struct JobArguments {
    #[command(subcommand)]
    pub(crate) action: Option<JobAction>,
    #[command(flatten)]
    pub(crate) server: ServerOptions,
    #[command(flatten)]
    pub(crate) output: OutputFormat,
}

#[derive(Debug, Subcommand)]
pub(crate) enum JobAction {
    /// List the newest jobs (the default)
    List,
    /// Submit a file as a job and print its id
    Submit(SubmitJob),
    /// Show the state, counts and failing shards of a job
    Show {
        /// Id of the job
        id: String,
    },
    /// Show the progress of a job until it has ended; exit with 1 if a line could not be graded
    Watch {
        /// Id of the job
        id: String,
    },
    /// Write the results of a job, in the order of its lines
    Results {
        /// Id of the job
        id: String,
        /// File to write results to; `-` for standard output
        #[arg(short, long, value_name = "FILE", default_value = "-")]
        output: PathBuf,
        /// Wait for results until the job has ended
        #[arg(long)]
        follow: bool,
    },
    /// Cancel jobs
    Cancel {
        /// Ids of the jobs
        #[arg(required = true)]
        ids: Vec<String>,
    },
}

#[derive(Debug, Args)]
pub(crate) struct SubmitJob {
    /// Items as JSON lines, in the form of `items` in `POST /v1/grade`; `-` for standard input
    pub(crate) file: PathBuf,
    /// Template that makes items of rows with a `completion` column
    #[arg(long, value_name = "NAME|FILE|JSON")]
    pub(crate) template: Option<String>,
    /// File with a JSON object of values, to which tasks refer by name as `{"$shared": "NAME"}`
    #[arg(long, value_name = "FILE")]
    pub(crate) shared: Option<PathBuf>,
    /// Reward policy of items that name none
    #[arg(long, value_name = "NAME")]
    pub(crate) policy: Option<String>,
    /// Name of the training run to record
    #[arg(long, value_parser = run_name)]
    pub(crate) run: Option<String>,
    /// Step of the training run to record
    #[arg(long, allow_negative_numbers = true)]
    pub(crate) step: Option<i64>,
    /// Show the progress until the job has ended
    #[arg(long)]
    pub(crate) watch: bool,
}

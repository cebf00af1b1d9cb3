//! Arguments of `assay templates`.

use std::path::PathBuf;

use clap::Args;

use super::OutputFormat;

#[derive(Debug, Args)]
pub(crate) struct Templates {
    /// Template to show [default: list all]
    #[arg(value_name = "NAME|FILE|JSON")]
    pub(crate) template: Option<String>,
    /// Make a task from one row, a JSON object in this file; `-` for standard input
    #[arg(long, value_name = "FILE", requires = "template")]
    pub(crate) row: Option<PathBuf>,
    /// Make tasks from all rows of a dataset, as JSON lines
    #[arg(
        long,
        value_name = "DATASET",
        requires = "template",
        conflicts_with = "row"
    )]
    pub(crate) dataset: Option<String>,
    /// File to write the tasks of `--dataset` to; `-` for standard output
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    pub(crate) output: PathBuf,
    /// Print what completions must contain, as instructions for prompts
    #[arg(long, requires = "template", conflicts_with = "dataset")]
    pub(crate) prompt: bool,
    #[command(flatten)]
    pub(crate) format: OutputFormat,
}

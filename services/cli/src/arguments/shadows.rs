//! Arguments of `assay shadow`.

use clap::{Args, Subcommand};

use super::{OutputFormat, ServerOptions, run_name};

#[derive(Debug, Args)]
pub(crate) struct ShadowArguments {
    #[command(subcommand)]
    pub(crate) action: ShadowAction,
    #[command(flatten)]
    pub(crate) server: ServerOptions,
    #[command(flatten)]
    pub(crate) output: OutputFormat,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ShadowAction {
    /// Show the newest shadow of a run: verdicts, scores, rewards and costs
    Show(ShadowedRun),
    /// Start a shadow of a run
    Start(StartArguments),
    /// End the shadow of a run; what it found is kept
    End(ShadowedRun),
    /// Set the fields of the shadow in the tasks of the run from now on, and end it
    Promote(ShadowedRun),
    /// Set the fields of the shadow no longer
    Withdraw(ShadowedRun),
}

#[derive(Debug, Args)]
pub(crate) struct ShadowedRun {
    /// Name of the run
    #[arg(value_parser = run_name)]
    pub(crate) run: String,
}

#[derive(Debug, Args)]
pub(crate) struct StartArguments {
    #[command(flatten)]
    pub(crate) run: ShadowedRun,
    /// Field to set in every task, such as `extract=boxed`; can be given several times
    #[arg(long = "option", value_name = "FIELD=VALUE", required = true)]
    pub(crate) options: Vec<String>,
    /// Share of the grades that are graded again, above 0 and at most 1
    #[arg(long, value_name = "SHARE", default_value_t = 0.1)]
    pub(crate) share: f64,
    /// Also grade what is recorded already
    #[arg(long)]
    pub(crate) from_start: bool,
}

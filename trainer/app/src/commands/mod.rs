//! The commands, one per module.

mod bench;
mod eval;
mod init;
mod plan;
mod plot;
mod process;
mod refit;
mod reward_model;
mod score;
mod sft;
mod train;
mod update;

pub(crate) use process::CommandOutcome;
use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

use assay_base::causes::with_causes;
use assay_base::visible::VisibleWriter;
use assay_node::Config as ServiceConfig;

use crate::arguments::{Arguments, Command};

/// Maximum wait for the log to be written at exit.
const LOG_FLUSH_TIMEOUT: Duration = Duration::from_secs(1);

pub(crate) fn run(arguments: Arguments) -> ExitCode {
    if arguments.strict
        && let Err(error) = known_variables()
    {
        return failed(&error);
    }
    let ended = match arguments.command {
        Command::Init(init) => init::run(&init),
        Command::Sft(sft) => sft::run(&sft),
        Command::Train(train) => train::run(&train),
        Command::Update(update) => update::run(&update),
        Command::Plan(plan) => plan::run(&plan),
        Command::Eval(eval) => eval::run(&eval),
        Command::Score(score) => score::run(&score),
        Command::RewardModel(fit) => reward_model::run(&fit),
        Command::Refit(refit) => refit::run(&refit),
        Command::Plot(plot) => plot::run(&plot),
        Command::Bench(bench) => bench::run(&bench),
    };
    assay_node::observe::flush(LOG_FLUSH_TIMEOUT);
    match ended {
        Ok(CommandOutcome::Done) => ExitCode::SUCCESS,
        Ok(CommandOutcome::Interrupted) => ExitCode::from(130),
        Err(error) => failed(&error),
    }
}

fn failed(error: &anyhow::Error) -> ExitCode {
    // If stderr is closed, only the exit code reports the error.
    let message = with_causes(error.as_ref());
    let _ = writeln!(VisibleWriter(std::io::stderr()), "assay-trainer: {message}");
    ExitCode::from(2)
}

/// Rejects unknown `ASSAY_*` variables.
#[expect(
    clippy::disallowed_methods,
    reason = "the environment is read for `assay_node::config`"
)]
fn known_variables() -> anyhow::Result<()> {
    Ok(ServiceConfig::reject_unknown(std::env::vars_os())?)
}

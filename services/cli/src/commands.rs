//! The commands, one file each.

mod channels;
mod check;
mod doctor;
mod export;
mod grade;
mod graders;
mod grades;
mod images;
mod models;
mod policies;
mod record;
mod replay;
mod runs;
mod serve;
mod set_aside;
mod tail;
mod template;

use std::future::Future;
use std::path::Path;
use std::time::Duration;

use assay_node::Config;
use assay_node::config::Override;
use tokio::signal::unix::{SignalKind, signal};

use crate::arguments::{Arguments, Command, RecordAction};
use crate::exit::CommandStatus;

pub(crate) fn run(arguments: Arguments) -> anyhow::Result<CommandStatus> {
    let file = arguments.config.as_deref();
    if arguments.strict {
        reject_unknown_variables()?;
    }
    match arguments.command {
        Command::Serve(serve) => serve::run(file, &serve),
        Command::Grade(grade) => grade::run(file, &grade),
        Command::Check(check) => check::run(file, &check),
        Command::Graders(output) => graders::run(file, output),
        Command::Grades(grades) => grades::run(file, &grades),
        Command::Runs(runs) => runs::run(file, &runs),
        Command::Tail(tail) => tail::run(file, &tail),
        Command::Export(export) => export::run(file, &export),
        Command::Channels(channels) => channels::run(file, &channels),
        Command::Policies(policies) => policies::run(file, &policies),
        Command::Models(models) => models::run(file, models),
        Command::Replay(replay) => replay::run(file, &replay),
        Command::Record {
            action: RecordAction::SetAside(arguments),
        } => set_aside::run(file, &arguments),
        Command::Images(images) => images::run(file, &images),
        Command::Doctor(output) => doctor::run(file, output),
    }
}

/// Reads the configuration of this process. Environment variables override the file, and `settings`
/// override both.
#[expect(
    clippy::disallowed_methods,
    reason = "the environment is read for `assay_node::config`"
)]
fn configuration(file: Option<&Path>, settings: Vec<Override>) -> anyhow::Result<Config> {
    let loaded = Config::read(file, std::env::vars_os(), settings)?;
    assay_node::observe::logs(&loaded.config.log)?;
    loaded.warn();
    Ok(loaded.config)
}

/// Rejects unknown variables, for `--strict`.
#[expect(
    clippy::disallowed_methods,
    reason = "the environment is read for `assay_node::config`"
)]
fn reject_unknown_variables() -> anyhow::Result<()> {
    Ok(Config::reject_unknown(std::env::vars_os())?)
}

/// Longest wait at exit for threads that are blocked on a file of the user, such as a pipe.
const SHUTDOWN_WAIT: Duration = Duration::from_secs(1);

/// Exit codes of a process ended by a signal, as shells report them.
const INTERRUPTED: i32 = 130;
const TERMINATED: i32 = 143;

/// Runs a future to completion on a new runtime.
fn block_on<T>(future: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let result = runtime.block_on(future);
    runtime.shutdown_timeout(SHUTDOWN_WAIT);
    result
}

/// Resolves when the process receives an interrupt or terminate signal. The next signal ends the
/// process immediately.
async fn stop_signal() {
    let signals = (
        signal(SignalKind::interrupt()),
        signal(SignalKind::terminate()),
    );
    let (Ok(mut interrupt), Ok(mut terminate)) = signals else {
        // Without handlers the default action of the signals ends the process.
        return std::future::pending().await;
    };
    let mut next = async move || {
        tokio::select! {
            _ = interrupt.recv() => INTERRUPTED,
            _ = terminate.recv() => TERMINATED,
        }
    };
    next().await;
    tokio::spawn(async move { std::process::exit(next().await) });
}

//! One module a command.

mod bench;
mod eval;
mod init;
mod picture;
mod reward_model;
mod score;
mod sft;
mod train;

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Context;
use assay_core::visible::VisibleWriter;
use assay_node::Config as ServiceConfig;
use assay_problems::Split;
use assay_trainer::config::Config;
use assay_trainer::data::{Lines, Pool, Source};
use assay_trainer::rewards::{Rewards, Settings};
use candle_core::Device;
use tokio::runtime::Runtime;
use tokio::signal::unix::{SignalKind, signal};

use crate::arguments::{Arguments, Command, Service};

/// How a command ended, when it did not fail.
pub(crate) enum Ended {
    Done,
    Interrupted,
}

/// Longest wait at exit for the log to be written.
const LAST_LINES: Duration = Duration::from_secs(1);

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
        Command::Eval(eval) => eval::run(&eval),
        Command::Score(score) => score::run(&score),
        Command::RewardModel(fit) => reward_model::run(&fit),
        Command::Picture(picture) => picture::run(&picture),
        Command::Bench(bench) => bench::run(&bench),
    };
    assay_node::observe::flush_logs(LAST_LINES);
    match ended {
        Ok(Ended::Done) => ExitCode::SUCCESS,
        Ok(Ended::Interrupted) => ExitCode::from(130),
        Err(error) => failed(&error),
    }
}

fn failed(error: &anyhow::Error) -> ExitCode {
    // If stderr is closed, only the exit code reports the error.
    let _ = writeln!(VisibleWriter(std::io::stderr()), "assay-trainer: {error:#}");
    ExitCode::from(2)
}

/// Rejects unknown variables.
#[expect(
    clippy::disallowed_methods,
    reason = "the environment is read for `assay_node::config`"
)]
fn known_variables() -> anyhow::Result<()> {
    Ok(ServiceConfig::refuse_unknown(std::env::vars_os())?)
}

/// The GPU where the binary has one and the machine too, else the CPU.
fn device() -> Device {
    Device::cuda_if_available(0).unwrap_or_else(|error| {
        tracing::warn!(
            error = assay_weights::first_line(&error),
            "the GPU cannot be used; the policy runs on the CPU"
        );
        Device::Cpu
    })
}

/// Raised at the first interrupt or terminate; the second ends the process.
fn stop_flag(runtime: &Runtime) -> anyhow::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    let raised = Arc::clone(&stop);
    let _inside = runtime.enter();
    let (mut interrupt, mut terminate) = (
        signal(SignalKind::interrupt())?,
        signal(SignalKind::terminate())?,
    );
    runtime.spawn(async move {
        loop {
            tokio::select! { _ = interrupt.recv() => {}, _ = terminate.recv() => {} }
            if raised.swap(true, Ordering::Relaxed) {
                std::process::exit(130);
            }
            tracing::warn!("stopping at the end of this step; once more ends at once");
        }
    });
    Ok(stop)
}

/// Work on a thread whose stack holds the graph of a deep model, which is walked by recursion.
fn on_deep_stack<T: Send>(work: impl FnOnce() -> anyhow::Result<T> + Send) -> anyhow::Result<T> {
    const STACK: usize = 256 << 20;
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new()
            .name("trainer".to_owned())
            .stack_size(STACK);
        let running = thread
            .spawn_scoped(scope, work)
            .context("cannot start a thread")?;
        running
            .join()
            .map_err(|_| anyhow::anyhow!("the trainer panicked"))?
    })
}

/// What a run learns from and what it is examined on.
fn sources(config: &Config) -> anyhow::Result<(Box<dyn Source>, Box<dyn Source>)> {
    let data = &config.data;
    let source: Box<dyn Source> = match (&data.path, &data.problems) {
        (Some(path), _) => Box::new(Lines::read(path)?),
        (None, Some(problems)) => {
            Box::new(Pool::new(problems, Split::Train, data.seed, data.limit)?)
        }
        (None, None) => anyhow::bail!("`data` has neither `problems` nor `path`"),
    };
    let held_out: Box<dyn Source> = match (&config.evaluation.path, &data.problems) {
        (Some(path), _) => Box::new(Lines::read(path)?),
        (None, Some(problems)) => Box::new(Pool::new(
            problems,
            Split::HeldOut,
            data.seed,
            config.evaluation.prompts,
        )?),
        (None, None) if config.evaluation.every == 0 => Box::new(Lines::default()),
        (None, None) => {
            anyhow::bail!(
                "`evaluation.path` names the prompts to examine on; or set `evaluation.every = 0`"
            )
        }
    };
    Ok((source, held_out))
}

/// Two ways to the service, to learn and to examine: the second never permutes.
async fn rewards(config: &Config, service: &Service) -> anyhow::Result<(Rewards, Rewards)> {
    let shuffled = config.rewards.shuffled.then_some(config.seed);
    let timeout = Duration::from_secs(config.rewards.timeout_s);
    let learn = Settings {
        timeout,
        shuffled,
        ..Settings::default()
    };
    let examine = Settings {
        shuffled: None,
        ..learn
    };
    if !service.embedded {
        let server = service.server.as_deref().unwrap_or(&config.rewards.server);
        return Ok((
            Rewards::served(server, learn)?,
            Rewards::served(server, examine)?,
        ));
    }
    let rewards = Rewards::embedded(embedded(service)?, learn).await?;
    let examiner = rewards.with(examine);
    Ok((rewards, examiner))
}

/// The configuration of an embedded service.
#[expect(
    clippy::disallowed_methods,
    reason = "the one place the environment is read, for `assay_node::config`"
)]
fn embedded(service: &Service) -> anyhow::Result<ServiceConfig> {
    let database = service.database.clone().unwrap_or_default();
    Ok(ServiceConfig::load(
        None,
        std::env::vars_os(),
        vec![("store", "database", database.into())],
    )?)
}

/// Where warnings go: standard error, beside the progress.
#[expect(
    clippy::disallowed_methods,
    reason = "the one place the environment is read, for `assay_node::config`"
)]
fn logs() -> anyhow::Result<()> {
    let loaded = ServiceConfig::read(None, std::env::vars_os(), Vec::new())?;
    assay_node::observe::logs(&loaded.config.log)?;
    loaded.warn();
    Ok(())
}

/// `path`, which must not be there yet or be empty.
fn fresh(path: &Path) -> anyhow::Result<()> {
    let taken = std::fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_some());
    anyhow::ensure!(
        !taken,
        "`{}` is not empty; choose another directory",
        path.display()
    );
    Ok(())
}

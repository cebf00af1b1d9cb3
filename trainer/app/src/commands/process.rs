//! What commands need of the process: device, log, service, signals, folders.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Context;
use assay_node::Config as ServiceConfig;
use assay_problems::Split;
use assay_trainer::config::Config;
use assay_trainer::data::{Lines, Pool, Source};
use assay_trainer::rewards::{Rewards, Settings};
use candle_core::Device;
use tokio::runtime::Runtime;
use tokio::signal::unix::{SignalKind, signal};

use crate::arguments::Service;

/// How a command ended without an error.
pub(crate) enum CommandOutcome {
    Done,
    Interrupted,
}

/// The first GPU if the binary supports GPUs and the machine has one, else the CPU.
pub(super) fn device() -> Device {
    if !candle_core::utils::cuda_is_available() {
        return Device::Cpu;
    }
    assay_weights::open_gpu(0).unwrap_or_else(|error| {
        tracing::warn!(
            error = assay_weights::first_line(&error),
            "the GPU cannot be used; the policy runs on the CPU"
        );
        Device::Cpu
    })
}

/// Runs `work` on a thread with a large stack, because graphs of deep models are traversed
/// recursively.
pub(super) fn on_deep_stack<T: Send>(
    work: impl FnOnce() -> anyhow::Result<T> + Send,
) -> anyhow::Result<T> {
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

/// Starts logging to standard error.
#[expect(
    clippy::disallowed_methods,
    reason = "the environment is read only here, for `assay_node::config`"
)]
pub(super) fn logs() -> anyhow::Result<()> {
    let loaded = ServiceConfig::read(None, std::env::vars_os(), Vec::new())?;
    assay_node::observe::logs(&loaded.config.log)?;
    loaded.warn();
    Ok(())
}

/// The service for training and for evaluation. Results of the second are never shuffled.
pub(super) async fn rewards(
    config: &Config,
    service: &Service,
) -> anyhow::Result<(Rewards, Rewards)> {
    let shuffled = config.rewards.shuffle.then_some(config.seed);
    let timeout = Duration::from_secs(config.rewards.timeout_s);
    let training = Settings {
        timeout,
        shuffled,
        ..Settings::default()
    };
    let evaluation = Settings {
        shuffled: None,
        ..training
    };
    if !service.embedded {
        let server = service.server.as_deref().unwrap_or(&config.rewards.server);
        return Ok((
            Rewards::served(server, training)?,
            Rewards::served(server, evaluation)?,
        ));
    }
    let rewards = Rewards::embedded(embedded(service)?, training).await?;
    let for_evaluation = rewards.with(evaluation);
    Ok((rewards, for_evaluation))
}

/// The configuration of an embedded service.
#[expect(
    clippy::disallowed_methods,
    reason = "the environment is read only here, for `assay_node::config`"
)]
pub(super) fn embedded(service: &Service) -> anyhow::Result<ServiceConfig> {
    let database = service.database.clone().unwrap_or_default();
    Ok(ServiceConfig::load(
        None,
        std::env::vars_os(),
        vec![("store", "database", database.into())],
    )?)
}

/// The prompts for training and for evaluation.
pub(super) fn sources(config: &Config) -> anyhow::Result<(Box<dyn Source>, Box<dyn Source>)> {
    let data = &config.data;
    let source: Box<dyn Source> = match (&data.path, &data.problems) {
        (Some(path), _) => Box::new(Lines::read(path)?),
        (None, Some(problems)) => {
            Box::new(Pool::new(problems, Split::Train, data.seed, data.limit)?)
        }
        (None, None) => anyhow::bail!("`data` must have `problems` or `path`"),
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
            anyhow::bail!("set `evaluation.path` to a file of prompts, or `evaluation.every = 0`")
        }
    };
    Ok((source, held_out))
}

/// A flag that the first SIGINT or SIGTERM sets; the second one ends the process.
pub(super) fn stop_flag(runtime: &Runtime) -> anyhow::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    let signalled = Arc::clone(&stop);
    let _context = runtime.enter();
    let (mut interrupt, mut terminate) = (
        signal(SignalKind::interrupt())?,
        signal(SignalKind::terminate())?,
    );
    runtime.spawn(async move {
        loop {
            tokio::select! { _ = interrupt.recv() => {}, _ = terminate.recv() => {} }
            if signalled.swap(true, Ordering::Relaxed) {
                std::process::exit(130);
            }
            tracing::warn!("stopping at the end of this step; interrupt again to stop immediately");
        }
    });
    Ok(stop)
}

/// Fails unless `path` does not exist or is an empty directory.
pub(super) fn require_empty(path: &Path) -> anyhow::Result<()> {
    let has_entries = std::fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_some());
    anyhow::ensure!(
        !has_entries,
        "`{}` is not empty; choose another directory",
        path.display()
    );
    Ok(())
}

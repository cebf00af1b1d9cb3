//! `assay-trainer train`: trains on rewards of the service.

use anyhow::ensure;
use assay_core::SystemClock;
use assay_trainer::checkpoint::Checkpoints;
use assay_trainer::config::Config;
use assay_trainer::data::Source;
use assay_trainer::rewards::samples;
use assay_trainer::training::{CHECKED_PROMPTS, Run, RunOutcome};

use super::process::{CommandOutcome, device, logs, on_deep_stack, rewards, sources, stop_flag};
use crate::arguments::Train;

pub(crate) fn run(train: &Train) -> anyhow::Result<CommandOutcome> {
    logs()?;
    let config = Config::read(&train.run.config, &train.run.changes)?;
    let newest = Checkpoints::new(&train.output, config.training.keep).newest();
    ensure!(
        train.resume || newest.is_none(),
        "`{}` contains a run; continue it with `--resume`, or choose another directory",
        train.output.display()
    );
    if train.resume && newest.is_none() {
        tracing::warn!(
            "`{}` has no checkpoint; the run starts from its first step",
            train.output.display()
        );
    }
    let runtime = tokio::runtime::Runtime::new()?;
    let stop = stop_flag(&runtime)?;
    let (source, held_out) = sources(&config)?;
    let (training, evaluation) = runtime.block_on(rewards(&config, &train.service))?;
    runtime.block_on(preflight(&training, source.as_ref()))?;
    let (device, clock) = (device(), SystemClock::new());
    let run = Run {
        config: &config,
        device: &device,
        source: source.as_ref(),
        held_out: held_out.as_ref(),
        rewards: &training,
        evaluation_rewards: &evaluation,
        folder: &train.output,
        runtime: runtime.handle(),
        stop: &stop,
        clock: &clock,
    };
    let outcome = on_deep_stack(|| run.train(train.resume));
    drop(evaluation);
    runtime.block_on(training.stop());
    Ok(match outcome? {
        RunOutcome::Done => CommandOutcome::Done,
        RunOutcome::Stopped => CommandOutcome::Interrupted,
    })
}

/// Grades one prompt of each task type before the first step.
async fn preflight(
    rewards: &assay_trainer::rewards::Rewards,
    source: &dyn Source,
) -> anyhow::Result<()> {
    let count = source
        .size()
        .unwrap_or(CHECKED_PROMPTS)
        .min(CHECKED_PROMPTS);
    let items: Vec<_> = (0..count)
        .filter_map(|index| source.problem(index))
        .collect();
    let prompts = items.iter().map(|item| {
        (
            item.prompt.as_str(),
            item.task.as_ref(),
            item.solution.as_deref(),
        )
    });
    Ok(rewards.preflight(&samples(prompts)).await?)
}

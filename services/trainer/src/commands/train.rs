//! `assay-trainer train`: learning from rewards.

use anyhow::ensure;
use assay_core::SystemClock;
use assay_trainer::checkpoint::Checkpoints;
use assay_trainer::config::Config;
use assay_trainer::data::Source;
use assay_trainer::rewards::samples;
use assay_trainer::training::{self, LOOKED_AT, Run};

use super::{Ended, device, logs, on_deep_stack, rewards, sources, stop_flag};
use crate::arguments::Train;

pub(crate) fn run(train: &Train) -> anyhow::Result<Ended> {
    logs()?;
    let config = Config::read(&train.run.config, &train.run.changes)?;
    let there = Checkpoints::new(&train.output, config.training.keep).newest();
    ensure!(
        train.resume || there.is_none(),
        "`{}` holds a run; go on with it by `--resume`, or choose another folder",
        train.output.display()
    );
    if train.resume && there.is_none() {
        tracing::warn!(
            "`{}` holds no checkpoint: the run starts from its first step",
            train.output.display()
        );
    }
    let runtime = tokio::runtime::Runtime::new()?;
    let stop = stop_flag(&runtime)?;
    let (source, held_out) = sources(&config)?;
    let (learn, examine) = runtime.block_on(rewards(&config, &train.service))?;
    runtime.block_on(preflight(&learn, source.as_ref()))?;
    let (device, clock) = (device(), SystemClock::new());
    let run = Run {
        config: &config,
        device: &device,
        source: source.as_ref(),
        held_out: held_out.as_ref(),
        rewards: &learn,
        examiner: &examine,
        folder: &train.output,
        runtime: runtime.handle(),
        stop: &stop,
        clock: &clock,
    };
    let ended = on_deep_stack(|| run.train(train.resume));
    drop(examine);
    runtime.block_on(learn.stop());
    Ok(match ended? {
        training::Ended::Done => Ended::Done,
        training::Ended::Stopped => Ended::Interrupted,
    })
}

/// One prompt of each type of task is graded before the first step.
async fn preflight(
    rewards: &assay_trainer::rewards::Rewards,
    source: &dyn Source,
) -> anyhow::Result<()> {
    let count = source.size().unwrap_or(LOOKED_AT).min(LOOKED_AT);
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

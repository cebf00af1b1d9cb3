//! `assay-trainer sft`: learning from solutions.

use assay_core::SystemClock;
use assay_policy::{PolicyModel, PolicyModelOptions};
use assay_trainer::checkpoint::write_model;
use assay_trainer::config::Config;
use assay_trainer::telemetry::Telemetry;
use assay_trainer::text::Tokens;
use assay_trainer::warmup::warm_up;
use candle_core::DType;
use std::sync::atomic::Ordering;

use super::{Ended, device, fresh, logs, on_deep_stack, sources, stop_flag};
use crate::arguments::Sft;

pub(crate) fn run(sft: &Sft) -> anyhow::Result<Ended> {
    logs()?;
    let config = Config::read(&sft.run.config, &sft.run.changes)?;
    fresh(&sft.output)?;
    let runtime = tokio::runtime::Runtime::new()?;
    let stop = stop_flag(&runtime)?;
    let (source, _) = sources(&config)?;
    on_deep_stack(|| {
        let path = &config.policy.path;
        let options = PolicyModelOptions {
            lora: config.policy.lora.clone(),
            seed: config.seed,
        };
        let policy = PolicyModel::open(path, &device(), DType::F32, &options)?;
        let tokens = Tokens::read(path)?;
        let clock = SystemClock::new();
        let mut telemetry = Telemetry::open(&sft.output, None, &clock)?;
        let mut tell = |step: u64, values: &_| Ok(telemetry.write(step, values, &clock)?);
        warm_up(&config, &policy, &tokens, source.as_ref(), &stop, &mut tell)?;
        write_model(&policy, path, &sft.output)
    })?;
    Ok(if stop.load(Ordering::Relaxed) {
        Ended::Interrupted
    } else {
        Ended::Done
    })
}

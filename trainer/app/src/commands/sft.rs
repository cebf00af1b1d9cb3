//! `assay-trainer sft`: trains on solutions.

use std::sync::atomic::Ordering;

use assay_core::SystemClock;
use assay_policy_model::PolicyModel;
use assay_trainer::budget::{Demand, Phase, limit};
use assay_trainer::checkpoint::write_model;
use assay_trainer::config::Config;
use assay_trainer::telemetry::Telemetry;
use assay_trainer::text::PolicyTokenizer;
use assay_trainer::warmup::{Solutions, warm_up};
use assay_weights::Directory;
use assay_weights::config::DecoderConfig;

use super::process::{
    CommandOutcome, device, logs, on_deep_stack, require_empty, sources, stop_flag,
};
use crate::arguments::Sft;

pub(crate) fn run(sft: &Sft) -> anyhow::Result<CommandOutcome> {
    logs()?;
    let config = Config::read(&sft.run.config, &sft.run.changes)?;
    require_empty(&sft.output)?;
    let runtime = tokio::runtime::Runtime::new()?;
    let stop = stop_flag(&runtime)?;
    let (source, _) = sources(&config)?;
    on_deep_stack(|| {
        let path = &config.policy.path;
        let (device, tokenizer) = (device(), PolicyTokenizer::read(path)?);
        let model = Directory::open(path)?.config()?;
        let context = DecoderConfig::read(&model)?.max_positions;
        let solutions = Solutions::read(&tokenizer, source.as_ref(), context)?;
        let demand = Demand {
            config: &config,
            model: &model,
            device: &device,
            phase: Phase::Solutions,
            longest: solutions.longest(),
        };
        let budget = demand.fit(limit(&config, &device), None)?;
        let dtype = config.policy.dtype.tensors();
        let policy = PolicyModel::open(path, &device, dtype, &budget.options(&config))?;
        let clock = SystemClock::new();
        let mut telemetry = Telemetry::open(&sft.output, None, &clock)?;
        let mut log = |step: u64, values: &_| Ok(telemetry.write(step, values, &clock)?);
        warm_up(
            &config,
            &policy,
            &solutions,
            budget.micro_tokens,
            &stop,
            &mut log,
        )?;
        write_model(&policy, path, &sft.output)
    })?;
    Ok(if stop.load(Ordering::Relaxed) {
        CommandOutcome::Interrupted
    } else {
        CommandOutcome::Done
    })
}

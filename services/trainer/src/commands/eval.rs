//! `assay-trainer eval`: what a policy can do.

use std::io::Write;

use assay_policy::{PolicyModel, PolicyModelOptions};
use assay_trainer::config::Config;
use assay_trainer::evaluation::{Examination, examine};
use assay_trainer::text::Tokens;
use candle_core::DType;

use super::{Ended, device, logs, rewards, sources};
use crate::arguments::Eval;

pub(crate) fn run(eval: &Eval) -> anyhow::Result<Ended> {
    logs()?;
    let config = Config::read(&eval.run.config, &eval.run.changes)?;
    let runtime = tokio::runtime::Runtime::new()?;
    let (_, held_out) = sources(&config)?;
    let path = eval.model.as_ref().unwrap_or(&config.policy.path);
    let policy = PolicyModel::open(path, &device(), DType::F32, &PolicyModelOptions::default())?;
    let tokens = Tokens::read(path)?;
    let (learn, examiner) = runtime.block_on(rewards(&config, &eval.service))?;
    let examination = Examination {
        policy: &policy,
        tokens: &tokens,
        source: held_out.as_ref(),
        rewards: &examiner,
        runtime: runtime.handle(),
        config: &config,
    };
    let values = examine(&examination, 0);
    drop(examiner);
    runtime.block_on(learn.stop());
    writeln!(std::io::stdout(), "{}", serde_json::to_string(&values?)?)?;
    Ok(Ended::Done)
}

//! `assay-trainer eval`: evaluates a policy model on held-out prompts.

use std::io::Write;

use assay_policy_model::{Computation, PolicyModel};
use assay_trainer::config::Config;
use assay_trainer::evaluation::{EvaluationInputs, evaluate};
use assay_trainer::text::PolicyTokenizer;

use super::process::{CommandOutcome, device, logs, rewards, sources};
use crate::arguments::Eval;

pub(crate) fn run(eval: &Eval) -> anyhow::Result<CommandOutcome> {
    logs()?;
    let config = Config::read(&eval.run.config, &eval.run.changes)?;
    let runtime = tokio::runtime::Runtime::new()?;
    let (_, held_out) = sources(&config)?;
    let path = eval.model.as_ref().unwrap_or(&config.policy.path);
    let dtype = config.policy.dtype.tensors();
    let policy = PolicyModel::open_frozen(path, &device(), dtype, Computation::default())?;
    let tokenizer = PolicyTokenizer::read(path)?;
    let (training, evaluation) = runtime.block_on(rewards(&config, &eval.service))?;
    let inputs = EvaluationInputs {
        policy: &policy,
        tokenizer: &tokenizer,
        source: held_out.as_ref(),
        rewards: &evaluation,
        runtime: runtime.handle(),
        config: &config,
    };
    let values = evaluate(&inputs, 0);
    drop(evaluation);
    runtime.block_on(training.stop());
    writeln!(std::io::stdout(), "{}", serde_json::to_string(&values?)?)?;
    Ok(CommandOutcome::Done)
}

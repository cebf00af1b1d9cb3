//! `assay-trainer plan`: prints the memory that a run requires.

use std::io::Write;

use assay_trainer::budget::{Demand, GIB, Phase, limit};
use assay_trainer::config::Config;
use assay_trainer::text::PolicyTokenizer;
use assay_trainer::training::longest_text;
use assay_weights::Directory;
use serde_json::Value;

use super::process::{CommandOutcome, device, sources};
use crate::arguments::Plan;

pub(crate) fn run(plan: &Plan) -> anyhow::Result<CommandOutcome> {
    let config = Config::read(&plan.run.config, &plan.run.changes)?;
    let path = &config.policy.path;
    let (model, device) = (Directory::open(path)?.config()?, device());
    let longest = match plan.longest {
        Some(longest) => longest,
        None => {
            let (source, _) = sources(&config)?;
            let tokenizer = PolicyTokenizer::read(path)?;
            longest_text(&config, source.as_ref(), &tokenizer, &model)?
        }
    };
    let demand = Demand {
        config: &config,
        model: &model,
        device: &device,
        phase: if plan.sft {
            Phase::Solutions
        } else {
            Phase::Rewards
        },
        longest,
    };
    let limit = limit(&config, &device);
    let mut report = demand.fit(limit, None)?.to_json();
    report["longest_text"] = longest.into();
    report["usable_gib"] = limit.map_or(Value::Null, |bytes| (bytes as f64 / GIB).into());
    writeln!(std::io::stdout(), "{report:#}")?;
    Ok(CommandOutcome::Done)
}

//! `assay-trainer update`: one update from a file of completions.

use std::io::{Read, Write};

use anyhow::Context;
use assay_trainer::batch_file::BatchRows;
use assay_trainer::config::Config;

use super::process::{CommandOutcome, device, logs, on_deep_stack, require_empty};
use crate::arguments;

pub(crate) fn run(update: &arguments::Update) -> anyhow::Result<CommandOutcome> {
    logs()?;
    let config = Config::read(&update.run.config, &update.run.changes)?;
    require_empty(&update.output)?;
    let path = &update.batch;
    let mut text = String::new();
    let read = if path.as_os_str() == "-" {
        std::io::stdin().read_to_string(&mut text)
    } else {
        std::fs::File::open(path).and_then(|mut file| file.read_to_string(&mut text))
    };
    let name = || format!("`{}`", path.display());
    read.with_context(name)?;
    let batch = BatchRows::parse(&text, &config.objective.advantage).with_context(name)?;
    let values = on_deep_stack(|| {
        let update = assay_trainer::update::Update {
            config: &config,
            device: &device(),
            previous: update.previous.as_deref(),
            output: &update.output,
            is_stale: update.stale,
        };
        update.perform(&batch)
    })?;
    writeln!(std::io::stdout(), "{}", serde_json::to_string(&values)?)?;
    Ok(CommandOutcome::Done)
}

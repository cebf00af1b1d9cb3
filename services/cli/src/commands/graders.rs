//! `assay graders`: lists the graders of this binary.

use std::path::Path;
use std::sync::Arc;

use assay_core::{Clock, SystemClock};
use assay_node::sandboxes::Sandboxes;
use assay_wire::grades::GraderBody;

use crate::arguments::OutputFormat;
use crate::exit::CommandStatus;
use crate::process::configuration;
use crate::table;
use crate::terminal;

pub(crate) fn run(file: Option<&Path>, output: OutputFormat) -> anyhow::Result<CommandStatus> {
    let config = configuration(file, Vec::new())?;
    let sandboxes = Sandboxes::open(&config.sandbox_workers, &config.sql)?;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
    let models = assay_node::models::open(&config.reward_models, &clock)?;
    let judges = assay_node::judges::open(&config.judges, &clock)?;
    let graders = assay_node::graders::graders(
        &sandboxes,
        Arc::new(models),
        judges,
        config.sessions.state_bytes,
    );
    let bodies = graders
        .iter()
        .map(|grader| GraderBody::new(grader.spec(), grader.unavailable()));
    let mut out = terminal::stdout();
    if output.json {
        terminal::json_lines(&mut out, bodies)?;
        return Ok(CommandStatus::Done);
    }
    let rows: Vec<_> = bodies
        .map(|body| {
            let state = body.unavailable.unwrap_or_else(|| "ready".to_owned());
            [
                format!("{}@{}", body.name, body.version),
                body.lane,
                state,
                body.summary,
            ]
        })
        .collect();
    table::write(&mut out, ["GRADER", "LANE", "STATE", "SUMMARY"], &rows)?;
    Ok(CommandStatus::Done)
}

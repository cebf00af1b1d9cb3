//! `assay models`: lists, loads, unloads and benchmarks reward models, and scores inputs.

mod bench;
mod score;

use std::io::Write;
use std::path::Path;

use assay_base::truncated;
use assay_wire::reward_models::{LoadRequest, RewardModelBody, scale_name};

use crate::arguments::{ModelAction, Models};
use crate::exit::CommandStatus;
use crate::process::block_on;
use crate::table::{self, cell};
use crate::{target, terminal};

pub(crate) fn run(file: Option<&Path>, arguments: Models) -> anyhow::Result<CommandStatus> {
    let Models {
        action,
        server,
        output,
    } = arguments;
    match action.unwrap_or(ModelAction::List) {
        ModelAction::Score(score) => return score::run(file, &score, &server),
        ModelAction::Bench(bench) => return bench::run(&bench, output.json),
        ModelAction::List => {
            let client = target::client(file, &server)?;
            let known = block_on(async { Ok(client.reward_models().await?) })?;
            let mut out = terminal::stdout();
            if output.json {
                terminal::json_lines(&mut out, &known.reward_models)?;
                return Ok(CommandStatus::Done);
            }
            let rows: Vec<_> = known.reward_models.iter().map(row).collect();
            table::write(
                &mut out,
                [
                    "MODEL", "STATE", "VERSION", "HEAD", "SCALE", "DEVICE", "SCORED", "SOURCE",
                ],
                &rows,
            )?;
        }
        ModelAction::Load { name, source } => {
            let client = target::client(file, &server)?;
            let request = LoadRequest {
                source,
                ..LoadRequest::default()
            };
            let model = block_on(async { Ok(client.load_model(&name, &request).await?) })?;
            let mut out = terminal::stdout();
            if output.json {
                writeln!(out, "{}", terminal::pretty(&model)?)?;
            } else {
                writeln!(
                    out,
                    "loaded {}: version {} of {}",
                    model.name, model.version, model.source
                )?;
            }
        }
        ModelAction::Unload { name } => {
            let client = target::client(file, &server)?;
            let reply = block_on(async { Ok(client.unload_model(&name).await?) })?;
            let mut out = terminal::stdout();
            if output.json {
                writeln!(out, "{}", terminal::pretty(&reply)?)?;
            } else {
                writeln!(out, "unloaded {}", reply.unloaded)?;
            }
        }
    }
    Ok(CommandStatus::Done)
}

fn row(status: &RewardModelBody) -> [String; 8] {
    let state = match &status.problem {
        Some(problem) => format!("{}: {problem}", status.state),
        None => status.state.clone(),
    };
    let model = status.model.as_ref();
    [
        if status.default {
            format!("{} (default)", status.name)
        } else {
            status.name.clone()
        },
        state,
        cell(model.map(|model| truncated(&model.version, 12))),
        cell(model.map(|model| &model.head)),
        cell(model.map(|model| scale_name(model.scale))),
        cell(model.map(|model| &model.device)),
        status.scored.to_string(),
        cell(model.map(|model| &model.source)),
    ]
}

//! `assay replay`: grades recorded items again with this binary and compares the verdicts.

mod batches;
mod job;
pub(crate) mod matrix;
mod report;
mod sample;

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, bail, ensure};
use assay_base::did_you_mean;
use assay_review::replay::ReplayOptions;
use assay_wire::jobs::ReplayJobRequest;
use serde_json::value::RawValue;

use super::record::{Source, open, open_database};
use crate::arguments::{Replay, ServerOptions};
use crate::exit::CommandStatus;
use crate::process::block_on;
use crate::target;
use batches::Replayer;
use report::ReplayReport;

pub(crate) fn run(file: Option<&Path>, arguments: &Replay) -> anyhow::Result<CommandStatus> {
    let has_selection = !arguments.ids.is_empty() || arguments.selection.run.is_some();
    ensure!(
        has_selection,
        "no grades selected; name grades by `ID`, or a run with `--run NAME`"
    );
    let options = ReplayOptions {
        fields: fields(&arguments.options)?,
        call_judges: arguments.judges,
    };
    let server = arguments.record.server.as_deref();
    ensure!(
        arguments.job || options.fields.is_empty() || server.is_none(),
        "`--option` cannot be used with `--server` alone; add `--job`, or use `--database`"
    );
    block_on(async {
        if arguments.job {
            let server = ServerOptions {
                server: arguments.record.server.clone(),
                key: arguments.record.key.clone(),
            };
            let client = target::client(file, &server)?;
            let source = Source::Server(client.clone());
            expect(&source, &arguments.expect).await?;
            let request = ReplayJobRequest {
                options: options.fields,
            };
            return job::replay(arguments, &client, request).await;
        }
        // A server replays single grades only as they are, and calls no judge.
        let source = if arguments.options.is_empty() && !arguments.judges {
            open(file, &arguments.record).await?
        } else {
            open_database(file, &arguments.record).await?
        };
        let ended = replay(&source, arguments, &options).await;
        source.close().await;
        ended
    })
}

async fn replay(
    source: &Source,
    arguments: &Replay,
    options: &ReplayOptions,
) -> anyhow::Result<CommandStatus> {
    expect(source, &arguments.expect).await?;
    if let Source::Node(node) = source {
        node.load_models().await?;
    }
    let mut report = ReplayReport::new(arguments);
    let replayer = Replayer { source, options };
    let ended = if arguments.ids.is_empty() {
        sample::replay(source, arguments, &replayer, &mut report).await?
    } else {
        replayer.named(&arguments.ids, &mut report).await?
    };
    if ended == CommandStatus::Interrupted {
        return Ok(ended);
    }
    report.finish()
}

/// Fails unless this binary, or the server, has the expected graders.
async fn expect(source: &Source, expected: &[String]) -> anyhow::Result<()> {
    let installed: Vec<String> = match source {
        _ if expected.is_empty() => return Ok(()),
        Source::Server(client) => {
            let graders = client.graders().await?.graders;
            graders
                .into_iter()
                .map(|grader| format!("{}@{}", grader.name, grader.version))
                .collect()
        }
        Source::Node(node) => node
            .engine()
            .graders()
            .iter()
            .map(|grader| grader.spec().id().to_string())
            .collect(),
    };
    for expected in expected {
        let Some((name, _)) = expected.split_once('@') else {
            bail!("`--expect` must be a grader and its version, such as `math@1`, not `{expected}`")
        };
        let Some(found) = installed
            .iter()
            .find(|grader| grader.split('@').next() == Some(name))
        else {
            let names = installed
                .iter()
                .filter_map(|grader| grader.split('@').next());
            let similar = did_you_mean(name, names);
            bail!(
                "`--expect`: no grader `{name}`{similar}; run `assay graders` to list the graders"
            );
        };
        ensure!(
            found == expected,
            "`--expect`: expected `{expected}`, but `{found}` is installed"
        );
    }
    Ok(())
}

/// The fields of `--option`, by name.
pub(crate) fn fields(given: &[String]) -> anyhow::Result<BTreeMap<String, Box<RawValue>>> {
    let mut options = BTreeMap::new();
    for option in given {
        let (name, text) = option.split_once('=').with_context(|| {
            format!(
                "`--option` must be a field and its value, such as `form=decimal`, not `{option}`"
            )
        })?;
        let value = match RawValue::from_string(text.to_owned()) {
            Ok(json) => json,
            Err(_) => serde_json::value::to_raw_value(text)?,
        };
        let twice = options.insert(name.to_owned(), value).is_some();
        ensure!(!twice, "`--option` sets `{name}` twice");
    }
    Ok(options)
}

//! `assay replay`: grades recorded items again with this binary and compares the verdicts.

mod batches;
mod matrix;
mod sample;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use anyhow::{Context, bail, ensure};
use assay_engine::ReplayOptions;
use assay_wire::grades::{ReplayBody, ReplaySide};
use batches::Replayer;
use matrix::{Matrices, label};
use serde_json::value::RawValue;

use super::record::{Source, open};
use crate::arguments::Replay;
use crate::exit::CommandStatus;
use crate::process::block_on;
use crate::table::{self, cell};
use crate::terminal;

/// Maximum number of flips in the table. `--json` lists all.
const MAX_ROWS: usize = 40;

pub(crate) fn run(file: Option<&Path>, arguments: &Replay) -> anyhow::Result<CommandStatus> {
    let has_selection = !arguments.ids.is_empty() || arguments.selection.run.is_some();
    ensure!(
        has_selection,
        "no grades selected; name grades by `ID`, or a run with `--run NAME`"
    );
    let options = options(&arguments.options)?;
    block_on(async {
        let source = open(file, &arguments.record).await?;
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
            .map(|grader| grader.spec().id())
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
            bail!("`--expect`: no grader `{name}`; run `assay graders` to list the graders");
        };
        ensure!(
            found == expected,
            "`--expect`: expected `{expected}`, but `{found}` is installed"
        );
    }
    Ok(())
}

fn options(given: &[String]) -> anyhow::Result<ReplayOptions> {
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

/// Results of the replay.
struct ReplayReport {
    json: bool,
    /// Whether to list items that did not flip too.
    all: bool,
    rows: Vec<[String; 8]>,
    /// Number of flips that are not in `rows`.
    hidden: u64,
    matrices: Matrices,
    /// Numbers of items that cannot be graded again, by reason.
    missing: BTreeMap<String, u64>,
}

impl ReplayReport {
    fn new(arguments: &Replay) -> Self {
        Self {
            json: arguments.output.json,
            all: !arguments.ids.is_empty(),
            rows: Vec::new(),
            hidden: 0,
            matrices: Matrices::default(),
            missing: BTreeMap::new(),
        }
    }

    fn add(&mut self, replay: &ReplayBody) -> anyhow::Result<()> {
        self.matrices.add(replay);
        if !replay.flipped && !self.all {
            return Ok(());
        }
        if self.json {
            writeln!(terminal::stdout(), "{}", terminal::json(replay)?)?;
        } else if self.all || self.rows.len() < MAX_ROWS {
            self.rows.push(row(replay));
        } else {
            self.hidden += 1;
        }
        Ok(())
    }

    /// Counts an item that cannot be graded again.
    fn add_missing(&mut self, reason: String) {
        *self.missing.entry(reason).or_default() += 1;
    }

    fn finish(self) -> anyhow::Result<CommandStatus> {
        let ended = if self.matrices.flips() > 0 {
            CommandStatus::Findings
        } else {
            CommandStatus::Done
        };
        let mut out = terminal::stdout();
        if self.json {
            if !self.all {
                let summary = self.matrices.summary(&self.missing);
                writeln!(out, "{}", terminal::json(&summary)?)?;
            }
            return Ok(ended);
        }
        if self.all || !self.rows.is_empty() {
            table::write(
                &mut out,
                [
                    "GRADE", "RECORDED", "VERDICT", "SCORE", "REPLAYED", "VERDICT", "SCORE", "",
                ],
                &self.rows,
            )?;
        }
        if self.all {
            return Ok(ended);
        }
        if self.hidden > 0 {
            writeln!(
                out,
                "… and {} more flips; use `--json` to list all",
                self.hidden
            )?;
        }
        if !self.rows.is_empty() {
            writeln!(out)?;
        }
        self.matrices.write(&mut out)?;
        for (reason, items) in &self.missing {
            writeln!(out, "{items} items not graded again: {reason}")?;
        }
        Ok(ended)
    }
}

fn row(replay: &ReplayBody) -> [String; 8] {
    let (recorded, replayed): (&ReplaySide, &ReplaySide) = (&replay.recorded, &replay.replayed);
    [
        replay.grade.clone(),
        recorded.grader.clone(),
        label(recorded).to_owned(),
        cell(recorded.score),
        replayed.grader.clone(),
        label(replayed).to_owned(),
        cell(replayed.score),
        if replay.flipped { "flipped" } else { "" }.to_owned(),
    ]
}

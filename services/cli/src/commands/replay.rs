//! `assay replay`: stored items graded again with this binary.

mod batches;
mod matrix;
mod sample;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use anyhow::{Context, bail, ensure};
use assay_engine::ReplayOptions;
use assay_wire::grades::{ReplayBody, ReplaySide};
use serde_json::value::RawValue;

use super::block_on;
use super::record::{Source, open};
use crate::arguments::Replay;
use crate::exit::Ended;
use crate::table::{self, cell};
use crate::terminal;
use batches::Replayer;
use matrix::{Matrices, label};

/// Flips a table shows; with `--json` all are there.
const SHOWN: usize = 40;

pub(crate) fn run(file: Option<&Path>, arguments: &Replay) -> anyhow::Result<Ended> {
    let chosen = !arguments.ids.is_empty() || arguments.which.run.is_some();
    ensure!(
        chosen,
        "no grades are named; name them by their `ID`s, or a whole run with `--run NAME`"
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
) -> anyhow::Result<Ended> {
    expect(source, &arguments.expect).await?;
    if let Source::Node(node) = source {
        node.load_models().await?;
    }
    let mut report = Report::new(arguments);
    let replayer = Replayer { source, options };
    let ended = if arguments.ids.is_empty() {
        sample::replay(source, arguments, &replayer, &mut report).await?
    } else {
        replayer.named(&arguments.ids, &mut report).await?
    };
    if ended == Ended::Interrupted {
        return Ok(ended);
    }
    report.finish()
}

/// What this binary, or the server, must grade with.
async fn expect(source: &Source, expected: &[String]) -> anyhow::Result<()> {
    let known: Vec<String> = match source {
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
    for wanted in expected {
        let named = wanted.split_once('@').map(|(name, _)| name);
        let Some(name) = named else {
            bail!("`--expect` is a grader and its version, as `math@1`: `{wanted}`")
        };
        let Some(there) = known
            .iter()
            .find(|grader| grader.split('@').next() == Some(name))
        else {
            bail!("`--expect`: there is no grader `{name}`; `assay graders` lists them");
        };
        ensure!(
            there == wanted,
            "`--expect`: `{wanted}` was expected, and `{there}` would grade"
        );
    }
    Ok(())
}

fn options(given: &[String]) -> anyhow::Result<ReplayOptions> {
    let mut options = BTreeMap::new();
    for option in given {
        let (name, text) = option.split_once('=').with_context(|| {
            format!("`--option` is a field and its value, as `form=decimal`: `{option}`")
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

/// What became of the items.
struct Report {
    json: bool,
    /// Whether items that did not flip are told as well.
    all: bool,
    rows: Vec<[String; 8]>,
    hidden: u64,
    matrices: Matrices,
    /// Items that cannot be graded again, by the reason.
    missing: BTreeMap<String, u64>,
}

impl Report {
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
        } else if self.all || self.rows.len() < SHOWN {
            self.rows.push(row(replay));
        } else {
            self.hidden += 1;
        }
        Ok(())
    }

    /// An item that cannot be graded again; of a run some may be, by name each is wanted.
    fn miss(&mut self, reason: String) {
        *self.missing.entry(reason).or_default() += 1;
    }

    fn finish(self) -> anyhow::Result<Ended> {
        let ended = if self.matrices.flips() > 0 {
            Ended::Findings
        } else {
            Ended::Done
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
                    "GRADE", "THEN", "VERDICT", "SCORE", "NOW", "VERDICT", "SCORE", "",
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
                "… and {} flips more, which `--json` shows",
                self.hidden
            )?;
        }
        if !self.rows.is_empty() {
            writeln!(out)?;
        }
        self.matrices.write(&mut out)?;
        for (reason, items) in &self.missing {
            writeln!(out, "{items} not graded again: {reason}")?;
        }
        Ok(ended)
    }
}

fn row(replay: &ReplayBody) -> [String; 8] {
    let (then, now): (&ReplaySide, &ReplaySide) = (&replay.then, &replay.now);
    [
        replay.grade.clone(),
        then.grader.clone(),
        label(then).to_owned(),
        cell(then.score),
        now.grader.clone(),
        label(now).to_owned(),
        cell(now.score),
        if replay.flipped { "flipped" } else { "" }.to_owned(),
    ]
}

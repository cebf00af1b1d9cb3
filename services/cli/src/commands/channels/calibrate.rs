//! `assay channels calibrate`: rates from items whose truth is known, or from three verifiers that
//! looked at the same items.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;

use anyhow::{Context, bail, ensure};
use assay_api::{batch, render};
use assay_correction::channel::dawid_skene::{self, Verdicts};
use assay_engine::Batch;
use assay_node::{Config, Node};
use assay_wire::channels::CalibrationBody;
use assay_wire::grades::GraderBody;
use assay_wire::reply::ResultBody;
use assay_wire::request::{DecodedItem, decode_item};
use serde::Deserialize;

use super::super::record::Source;
use crate::table;
use crate::terminal;

/// Items graded at once.
const CHUNK: usize = 256;

/// What stands beside an item.
#[derive(Deserialize)]
struct Label {
    label: Option<bool>,
}

/// Verdicts and truths of one channel.
#[derive(Default)]
struct Found {
    labelled: [[u64; 2]; 2],
    verdicts: Vec<Verdicts>,
    unlabelled: u64,
}

/// Finds rates and keeps them.
pub(super) async fn run(
    source: &Source,
    apart: Config,
    file: &Path,
    json: bool,
) -> anyhow::Result<()> {
    let found = found(apart, file).await?;
    for calibration in &found {
        keep(source, calibration).await?;
    }
    told(&found, json)
}

/// Finds rates and keeps nothing, so that no record is needed.
pub(super) async fn try_out(apart: Config, file: &Path, json: bool) -> anyhow::Result<()> {
    told(&found(apart, file).await?, json)
}

async fn found(apart: Config, file: &Path) -> anyhow::Result<Vec<CalibrationBody>> {
    let node = Node::start(apart).await?;
    let found = find(&node, file).await;
    node.stop().await;
    found
}

fn told(found: &[CalibrationBody], json: bool) -> anyhow::Result<()> {
    if json {
        super::print(&found)
    } else {
        show(found)
    }
}

/// Grades the lines of a file and finds the rates of their channels.
async fn find(node: &Node, file: &Path) -> anyhow::Result<Vec<CalibrationBody>> {
    let graders: Vec<GraderBody> = node
        .engine()
        .graders()
        .iter()
        .map(|grader| GraderBody::new(grader.spec(), None))
        .collect();
    let mut channels: BTreeMap<(String, u32), Found> = BTreeMap::new();
    let mut skipped = 0u64;
    let mut chunk = Vec::with_capacity(CHUNK);
    let mut lines = reader(file)?.lines().enumerate();
    loop {
        let next = lines.next();
        let ended = next.is_none();
        if let Some((at, line)) = next {
            let line = line.with_context(|| format!("`{}` cannot be read", file.display()))?;
            if !line.trim().is_empty() {
                chunk.push(
                    read(&line)
                        .with_context(|| format!("line {} of `{}`", at + 1, file.display()))?,
                );
            }
        }
        if chunk.len() == CHUNK || (ended && !chunk.is_empty()) {
            let (labels, items): (Vec<_>, Vec<_>) = std::mem::take(&mut chunk).into_iter().unzip();
            for (label, result) in labels.into_iter().zip(grade(node, items).await?) {
                if !count(&graders, &mut channels, label, &result)? {
                    skipped += 1;
                }
            }
        }
        if ended {
            break;
        }
    }
    ensure!(
        !channels.is_empty(),
        "no line of `{}` got a verdict with a notion of pass",
        file.display()
    );
    if skipped > 0 {
        // The rates are correct without this note, so a closed stderr is not an error.
        let _ = writeln!(
            terminal::stderr(),
            "{skipped} items have no verdict with a notion of pass and were left out"
        );
    }
    channels
        .into_iter()
        .map(|((channel, version), found)| fit(channel, version, &found))
        .collect()
}

fn reader(file: &Path) -> anyhow::Result<BufReader<Box<dyn Read>>> {
    if file.as_os_str() == "-" {
        return Ok(BufReader::new(Box::new(std::io::stdin())));
    }
    let opened = std::fs::File::open(file)
        .with_context(|| format!("`{}` cannot be opened", file.display()))?;
    Ok(BufReader::new(Box::new(opened)))
}

fn read(line: &str) -> anyhow::Result<(Option<bool>, DecodedItem)> {
    let Label { label } = serde_json::from_str(line).context("`label` is true or false")?;
    let (item, _) = decode_item(line, "")?;
    Ok((label, item))
}

async fn grade(node: &Node, items: Vec<DecodedItem>) -> anyhow::Result<Vec<ResultBody<'static>>> {
    let items = items.into_iter().map(batch::item).collect();
    let reply = node
        .engine()
        .grade_apart(Batch::new("local", items))
        .await?;
    let bodies = reply
        .results()
        .map(|result| serde_json::to_vec(&render::result_body(&reply, result)));
    bodies
        .map(|body| Ok(serde_json::from_slice(&body?)?))
        .collect()
}

/// Counts a result; `false` when it has no verdict that could be wrong.
fn count(
    graders: &[GraderBody],
    channels: &mut BTreeMap<(String, u32), Found>,
    label: Option<bool>,
    result: &ResultBody<'_>,
) -> anyhow::Result<bool> {
    let Some(pass) = result.pass else {
        return Ok(false);
    };
    let (_, version) = result
        .grader
        .split_once('@')
        .context("a grader has a version")?;
    let found = channels
        .entry((result.channel.to_string(), version.parse()?))
        .or_default();
    match label {
        Some(label) => found.labelled[usize::from(label)][usize::from(pass)] += 1,
        None => found.unlabelled += 1,
    }
    let others = result.components.iter().map(|component| {
        let (name, _) = component.grader.split_once('@')?;
        let grader = graders.iter().find(|grader| grader.name == name)?;
        let verdict = component.verdict.as_deref()?;
        grader
            .verdicts
            .iter()
            .find(|known| known.verdict == verdict)?
            .pass
    });
    found
        .verdicts
        .push(std::iter::once(Some(pass)).chain(others).collect());
    Ok(true)
}

fn fit(channel: String, version: u32, found: &Found) -> anyhow::Result<CalibrationBody> {
    #[expect(clippy::cast_precision_loss, reason = "counts of lines")]
    let number = |count: u64| count as f64;
    let [[refused_wrong, passed_wrong], [refused_right, passed_right]] = found.labelled;
    if found.unlabelled == 0 {
        let (right, wrong) = (
            number(refused_right + passed_right),
            number(refused_wrong + passed_wrong),
        );
        ensure!(
            right > 0.0 && wrong > 0.0,
            "`{channel}` has only {} answers: both right and wrong ones are needed",
            if right > 0.0 { "right" } else { "wrong" }
        );
        return Ok(CalibrationBody {
            channel,
            version,
            method: "labels".to_owned(),
            right,
            right_refused: number(refused_right),
            wrong,
            wrong_passed: number(passed_wrong),
        });
    }
    if found.unlabelled < found.verdicts.len() as u64 {
        bail!("`{channel}` has lines with and without `label`: give all of them one, or none");
    }
    let fitted = dawid_skene::fit(&found.verdicts).with_context(|| {
        format!("`{channel}` has no labels, and its rates cannot be found without")
    })?;
    let rates = fitted
        .rates
        .first()
        .context("the first verifier is the task's")?;
    let items = number(found.verdicts.len() as u64);
    let (right, wrong) = (items * fitted.right, items * (1.0 - fitted.right));
    Ok(CalibrationBody {
        channel,
        version,
        method: "dawid_skene".to_owned(),
        right,
        right_refused: right * rates.rho1,
        wrong,
        wrong_passed: wrong * rates.rho0,
    })
}

async fn keep(source: &Source, calibration: &CalibrationBody) -> anyhow::Result<()> {
    match source {
        Source::Server(client) => client.calibrate(calibration).await.map(drop)?,
        Source::Node(node) => {
            let known = calibration
                .clone()
                .check()
                .map_err(|(_, message)| anyhow::anyhow!(message))?;
            node.engine().calibrate(known, "local").await.map(drop)?;
        }
    }
    Ok(())
}

fn show(found: &[CalibrationBody]) -> anyhow::Result<()> {
    let share = |part: f64, whole: f64| {
        assay_correction::wilson(part, whole).map_or_else(
            || "?".to_owned(),
            |known| {
                format!(
                    "{:.3} [{:.3}, {:.3}]",
                    known.value, known.interval.low, known.interval.high
                )
            },
        )
    };
    let rows: Vec<_> = found
        .iter()
        .map(|known| {
            [
                format!("{}@{}", known.channel, known.version),
                known.method.clone(),
                format!("{:.0}", known.right),
                format!("{:.0}", known.wrong),
                share(known.wrong_passed, known.wrong),
                share(known.right_refused, known.right),
            ]
        })
        .collect();
    Ok(table::write(
        &mut terminal::stdout(),
        ["CHANNEL", "BY", "RIGHT", "WRONG", "RHO0", "RHO1"],
        &rows,
    )?)
}

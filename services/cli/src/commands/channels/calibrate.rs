//! `assay channels calibrate`: error rates from labelled items, or from at least three verifiers of
//! the same items.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, anyhow, bail, ensure};
use assay_base::json_message;
use assay_engine::Batch;
use assay_mapping::{TemplateTasks, batch};
use assay_node::{Config, Node};
use assay_record::ItemGrade;
use assay_rewards::channel::dawid_skene::{self, Verdicts};
use assay_wire::channels::CalibrationBody;
use assay_wire::grades::GraderBody;
use assay_wire::request::{DecodedItem, decode_item};
use serde::Deserialize;
use serde_json::json;

use super::super::record::Source;
use crate::{table, terminal};

/// Items graded at once.
const CHUNK: usize = 256;

/// The label field of an input line.
#[derive(Deserialize)]
struct Label {
    label: Option<bool>,
}

/// Verdicts and labels of one channel.
#[derive(Default)]
struct ChannelVerdicts {
    /// Numbers of items by label (wrong, right) and verdict (fail, pass).
    labelled: [[u64; 2]; 2],
    /// Verdicts of all verifiers of each item; the first is that of the task.
    verdicts: Vec<Verdicts>,
    unlabelled: u64,
}

/// Estimates error rates and stores them.
pub(super) async fn run(
    source: &Source,
    unrecorded: Config,
    file: &Path,
    json: bool,
) -> anyhow::Result<()> {
    let calibrations = calibrate(unrecorded, file).await?;
    for calibration in &calibrations {
        store(source, calibration).await?;
    }
    print(&calibrations, json)
}

/// Estimates error rates without storing them. Needs no record.
pub(super) async fn dry_run(unrecorded: Config, file: &Path, json: bool) -> anyhow::Result<()> {
    print(&calibrate(unrecorded, file).await?, json)
}

async fn calibrate(unrecorded: Config, file: &Path) -> anyhow::Result<Vec<CalibrationBody>> {
    let node = Node::start(unrecorded).await?;
    let calibrations = grade_file(&node, file).await;
    node.stop().await;
    calibrations
}

fn print(calibrations: &[CalibrationBody], json: bool) -> anyhow::Result<()> {
    if json {
        super::print::print(&calibrations)
    } else {
        print_table(calibrations)
    }
}

/// Grades the lines of a file and estimates the error rates of their channels.
async fn grade_file(node: &Node, file: &Path) -> anyhow::Result<Vec<CalibrationBody>> {
    let graders: Vec<GraderBody> = node
        .engine()
        .graders()
        .iter()
        .map(|grader| GraderBody::new(grader.spec(), None))
        .collect();
    let mut channels: BTreeMap<(String, u32), ChannelVerdicts> = BTreeMap::new();
    let mut skipped = 0u64;
    let mut chunk = Vec::with_capacity(CHUNK);
    let templates = Arc::clone(node.templates());
    let mut tasks = TemplateTasks::new(templates, node.engine().clone(), usize::MAX);
    let mut lines = reader(file)?.lines().enumerate();
    loop {
        let next = lines.next();
        let ended = next.is_none();
        if let Some((at, line)) = next {
            let line = line.with_context(|| format!("cannot read `{}`", file.display()))?;
            if !line.trim().is_empty() {
                chunk.push(
                    read(&line, &mut tasks)
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
        "no item in `{}` has a verdict that passes or fails",
        file.display()
    );
    if skipped > 0 {
        // The rates are correct without this note, so a closed stderr is not an error.
        let _ = writeln!(
            terminal::stderr(),
            "skipped {skipped} items whose verdict neither passes nor fails"
        );
    }
    channels
        .into_iter()
        .map(|((channel, version), verdicts)| estimate(channel, version, &verdicts))
        .collect()
}

pub(super) fn reader(file: &Path) -> anyhow::Result<BufReader<Box<dyn Read>>> {
    if file.as_os_str() == "-" {
        return Ok(BufReader::new(Box::new(std::io::stdin())));
    }
    let opened =
        std::fs::File::open(file).with_context(|| format!("cannot open `{}`", file.display()))?;
    Ok(BufReader::new(Box::new(opened)))
}

fn read(line: &str, tasks: &mut TemplateTasks) -> anyhow::Result<(Option<bool>, DecodedItem)> {
    let Label { label } = serde_json::from_str(line).map_err(|error| {
        let message = json_message(&error, line.as_bytes());
        anyhow!("`label` must be true or false: {message}")
    })?;
    let (item, _) = decode_item(line, "", tasks)?;
    Ok((label, item))
}

pub(super) async fn grade(node: &Node, items: Vec<DecodedItem>) -> anyhow::Result<Vec<ItemGrade>> {
    let items = items.into_iter().map(batch::item).collect();
    let reply = node
        .engine()
        .grade_unrecorded(Batch::new("local", items))
        .await?;
    Ok(reply.grades().cloned().collect())
}

/// Counts a grade. Returns `false` if its verdict neither passes nor fails.
fn count(
    graders: &[GraderBody],
    channels: &mut BTreeMap<(String, u32), ChannelVerdicts>,
    label: Option<bool>,
    grade: &ItemGrade,
) -> anyhow::Result<bool> {
    let Some(pass) = grade.pass else {
        return Ok(false);
    };
    let counts = channels
        .entry((grade.channel.to_string(), grade.grader.version))
        .or_default();
    match label {
        Some(label) => counts.labelled[usize::from(label)][usize::from(pass)] += 1,
        None => counts.unlabelled += 1,
    }
    let others = grade.components.iter().map(|component| {
        let name = &component.grader.name;
        let grader = graders.iter().find(|grader| grader.name == *name)?;
        let verdict = component.verdict.as_deref()?;
        grader
            .verdicts
            .iter()
            .find(|known| known.verdict == verdict)?
            .pass
    });
    counts
        .verdicts
        .push(std::iter::once(Some(pass)).chain(others).collect());
    Ok(true)
}

/// Estimates the error rates of a channel from its labels, or by Dawid and Skene without labels.
fn estimate(
    channel: String,
    version: u32,
    counts: &ChannelVerdicts,
) -> anyhow::Result<CalibrationBody> {
    let number = |count: u64| count as f64;
    let [
        [refused_wrong, passed_wrong],
        [rejected_right, passed_right],
    ] = counts.labelled;
    if counts.unlabelled == 0 {
        let (right, wrong) = (
            number(rejected_right + passed_right),
            number(refused_wrong + passed_wrong),
        );
        ensure!(
            right > 0.0 && wrong > 0.0,
            "channel `{channel}` has only {} answers; add right and wrong answers",
            if right > 0.0 { "right" } else { "wrong" }
        );
        return Ok(CalibrationBody {
            channel,
            version,
            method: "labels".to_owned(),
            right,
            right_rejected: number(rejected_right),
            wrong,
            wrong_passed: number(passed_wrong),
        });
    }
    if counts.unlabelled < counts.verdicts.len() as u64 {
        bail!(
            "channel `{channel}` has lines with and without `label`; add it to all lines or to none"
        );
    }
    let fitted = dawid_skene::fit(&counts.verdicts).with_context(|| {
        format!("cannot estimate the rates of channel `{channel}` without labels")
    })?;
    let rates = fitted
        .rates
        .first()
        .context("the first verifier is the task's")?;
    let items = number(counts.verdicts.len() as u64);
    let (right, wrong) = (items * fitted.right, items * (1.0 - fitted.right));
    Ok(CalibrationBody {
        channel,
        version,
        method: "dawid_skene".to_owned(),
        right,
        right_rejected: right * rates.rho1,
        wrong,
        wrong_passed: wrong * rates.rho0,
    })
}

async fn store(source: &Source, calibration: &CalibrationBody) -> anyhow::Result<()> {
    match source {
        Source::Server(client) => client.calibrate(calibration).await.map(drop)?,
        Source::Node(node) => {
            let calibration = calibration
                .clone()
                .check()
                .map_err(|(_, message)| anyhow::anyhow!(message))?;
            let stored = node.review().calibrate(calibration, "local").await?;
            let channel = format!("{}@{}", stored.channel, stored.version);
            node.gate()
                .audit_command("channel.calibrate", &channel, json!({}))
                .await;
        }
    }
    Ok(())
}

fn print_table(calibrations: &[CalibrationBody]) -> anyhow::Result<()> {
    let share = |part: f64, whole: f64| {
        assay_rewards::interval::error_rate(part, whole).map_or_else(
            || "?".to_owned(),
            |known| {
                format!(
                    "{:.3} [{:.3}, {:.3}]",
                    known.value, known.interval.low, known.interval.high
                )
            },
        )
    };
    let rows: Vec<_> = calibrations
        .iter()
        .map(|calibration| {
            [
                format!("{}@{}", calibration.channel, calibration.version),
                calibration.method.clone(),
                format!("{:.0}", calibration.right),
                format!("{:.0}", calibration.wrong),
                share(calibration.wrong_passed, calibration.wrong),
                share(calibration.right_rejected, calibration.right),
            ]
        })
        .collect();
    Ok(table::write(
        &mut terminal::stdout(),
        ["CHANNEL", "METHOD", "RIGHT", "WRONG", "RHO0", "RHO1"],
        &rows,
    )?)
}

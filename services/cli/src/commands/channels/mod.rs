//! `assay channels`: verifier error rates, calibration and adjudication.

mod audit;
mod bias;
mod calibrate;
mod print;

use std::io::Write;
use std::path::Path;

use anyhow::{Context, bail};
use assay_mapping::render;
use assay_node::Config;
use assay_review::adjudications::DrawFilter;
use assay_rewards::channel::Comparison;
use assay_wire::channels::{
    AdjudicateRequest, ChannelReport, ChannelsBody, ComparisonBody, DifferenceBody, DrawnBody,
    EstimateBody, RateBody,
};
use serde_json::json;

use super::record::{Source, open};
use crate::arguments::{ChannelAction, Channels};
use crate::exit::CommandStatus;
use crate::process::{block_on, configuration};
use crate::{table, terminal};
use print::print;

pub(crate) fn run(file: Option<&Path>, arguments: &Channels) -> anyhow::Result<CommandStatus> {
    // Items for calibration are graded in this process without a record, so that they do not count
    // in the rates of training.
    let unrecorded = configuration(file, vec![("store", "database", String::new().into())])?;
    if let Some(ChannelAction::Calibrate {
        file,
        dry_run: true,
    }) = &arguments.action
    {
        block_on(calibrate::dry_run(unrecorded, file, arguments.output.json))?;
        return Ok(CommandStatus::Done);
    }
    if let Some(ChannelAction::Audit { judge, items }) = &arguments.action {
        let items = items.as_deref();
        block_on(audit::run(unrecorded, judge, items, arguments.output.json))?;
        return Ok(CommandStatus::Done);
    }
    block_on(async {
        let source = open(file, &arguments.record).await?;
        let done = run_action(&source, arguments, unrecorded).await;
        if let Source::Node(node) = source {
            node.stop().await;
        }
        done
    })?;
    Ok(CommandStatus::Done)
}

async fn run_action(
    source: &Source,
    arguments: &Channels,
    unrecorded: Config,
) -> anyhow::Result<()> {
    let json = arguments.output.json;
    match arguments.action.as_ref().unwrap_or(&ChannelAction::List) {
        ChannelAction::List => {
            let body = channels(source).await?;
            if json {
                Ok(terminal::json_lines(
                    &mut terminal::stdout(),
                    &body.channels,
                )?)
            } else {
                list(&body)
            }
        }
        ChannelAction::Show { channel } => {
            let body = channels(source).await?;
            let report = find_channel(&body, channel)?;
            if json { print(report) } else { show(report) }
        }
        ChannelAction::Compare { first, second } => {
            let body = compare(source, first, second).await?;
            if json {
                print(&body)
            } else {
                differences(&body)
            }
        }
        ChannelAction::Calibrate { file, .. } => {
            calibrate::run(source, unrecorded, file, json).await
        }
        ChannelAction::Audit { judge, items } => {
            audit::run(unrecorded, judge, items.as_deref(), json).await
        }
        ChannelAction::Draw {
            channel,
            judged,
            passed,
            not_passed,
        } => {
            let passes = passed.then_some(true).or(not_passed.then_some(false));
            draw(
                source,
                DrawFilter {
                    channel: channel.clone(),
                    judged: *judged,
                    passes,
                },
            )
            .await
        }
        ChannelAction::Adjudicate {
            grade, right, note, ..
        } => {
            let request = AdjudicateRequest {
                pass: *right,
                note: note.clone(),
            };
            adjudicate(source, grade, &request).await
        }
    }
}

async fn channels(source: &Source) -> anyhow::Result<ChannelsBody> {
    Ok(match source {
        Source::Server(client) => client.channels().await?,
        Source::Node(node) => {
            let ledger = node.review().channels().await?;
            ChannelsBody {
                channels: ledger.reports().map(render::channel_report).collect(),
                next: None,
            }
        }
    })
}

async fn compare(source: &Source, one: &str, other: &str) -> anyhow::Result<ComparisonBody> {
    Ok(match source {
        Source::Server(client) => client.compare(one, other).await?,
        Source::Node(node) => {
            let ledger = node.review().channels().await?;
            let known = |name: &str| {
                ledger
                    .named(name)
                    .with_context(|| format!("no counts for channel `{name}`"))
            };
            render::comparison(&Comparison::new(known(one)?, known(other)?))
        }
    })
}

/// Finds a channel by name. A name without a version means the newest version.
fn find_channel<'b>(body: &'b ChannelsBody, name: &str) -> anyhow::Result<&'b ChannelReport> {
    let full = |report: &&ChannelReport| format!("{}@{}", report.channel, report.version) == name;
    let found = body.channels.iter().find(full);
    let found = found.or_else(|| body.channels.iter().rfind(|report| report.channel == name));
    found.with_context(|| {
        let known: Vec<_> = body
            .channels
            .iter()
            .map(|report| format!("`{}`", report.channel))
            .collect();
        format!(
            "no counts for channel `{name}`; available: {}",
            known.join(", ")
        )
    })
}

fn list(body: &ChannelsBody) -> anyhow::Result<()> {
    let rows: Vec<_> = body
        .channels
        .iter()
        .map(|report| {
            [
                format!("{}@{}", report.channel, report.version),
                (report.negatives + report.positives).to_string(),
                (report.checked_negatives + report.checked_positives).to_string(),
                (report.overturned_negatives + report.overturned_positives).to_string(),
                rate(report.rho0.as_ref()),
                rate(report.rho1.as_ref()),
                estimate(report.j.as_ref()),
                warnings(report),
            ]
        })
        .collect();
    let head = [
        "CHANNEL",
        "ITEMS",
        "CHECKED",
        "OVERTURNED",
        "RHO0",
        "RHO1",
        "J",
        "NOTE",
    ];
    Ok(table::write(&mut terminal::stdout(), head, &rows)?)
}

fn rate(rate: Option<&RateBody>) -> String {
    rate.map_or_else(
        || "?".to_owned(),
        |rate| format!("{:.3} [{:.3}, {:.3}]", rate.value, rate.low, rate.high),
    )
}

fn estimate(known: Option<&EstimateBody>) -> String {
    known.map_or_else(
        || "?".to_owned(),
        |known| format!("{:.3} [{:.3}, {:.3}]", known.value, known.low, known.high),
    )
}

fn warnings(report: &ChannelReport) -> String {
    let mut notes = Vec::new();
    if report.drift.drifting {
        notes.push("drifting");
    }
    if report
        .persistence
        .share
        .is_some_and(|share| share.low > 0.5)
    {
        notes.push("persistent noise");
    }
    if report.uncorrected.is_some() {
        notes.push("not corrected");
    }
    notes.join(", ")
}

fn show(report: &ChannelReport) -> anyhow::Result<()> {
    let source = |known: Option<&RateBody>| {
        known.map_or(String::new(), |known| format!("  {}", known.source))
    };
    let mut lines = vec![
        ("channel", format!("{}@{}", report.channel, report.version)),
        (
            "not passed",
            format!("{}, {} checked", report.negatives, report.checked_negatives),
        ),
        (
            "passed",
            format!("{}, {} checked", report.positives, report.checked_positives),
        ),
        (
            "overturned",
            format!(
                "{} to pass, {} to fail",
                report.overturned_negatives, report.overturned_positives
            ),
        ),
        (
            "right",
            report
                .right
                .map_or_else(|| "?".to_owned(), |right| format!("{right:.3}")),
        ),
        (
            "rho0",
            format!(
                "{}{}",
                rate(report.rho0.as_ref()),
                source(report.rho0.as_ref())
            ),
        ),
        (
            "rho1",
            format!(
                "{}{}",
                rate(report.rho1.as_ref()),
                source(report.rho1.as_ref())
            ),
        ),
        ("J", estimate(report.j.as_ref())),
    ];
    if let Some(after) = &report.after_appeals {
        let rates = format!(
            "rho0 {:.3}, rho1 {:.3}, J {}",
            after.rho0,
            after.rho1,
            estimate(Some(&after.j))
        );
        lines.push(("after appeals", rates));
    }
    for (side, change) in [
        ("drift of negatives", report.drift.negatives),
        ("drift of positives", report.drift.positives),
    ] {
        if let Some(change) = change {
            let (before, after, p) = (change.before, change.after, change.p_value);
            lines.push((side, format!("{before:.3} to {after:.3}, p = {p:.4}")));
        }
    }
    let persistence = &report.persistence;
    let share = persistence.share.as_ref().map_or(String::new(), |share| {
        format!("; persistent share of noise {}", estimate(Some(share)))
    });
    lines.push((
        "repeated answers",
        format!(
            "{}, {} with another verdict{share}",
            persistence.repeats, persistence.flips
        ),
    ));
    lines.push((
        "correction",
        report.uncorrected.as_ref().map_or_else(
            || "available".to_owned(),
            |reason| format!("unavailable: {reason}"),
        ),
    ));
    let rows: Vec<_> = lines
        .into_iter()
        .map(|(name, value)| [name.to_owned(), value])
        .collect();
    Ok(table::write(&mut terminal::stdout(), ["", ""], &rows)?)
}

fn differences(body: &ComparisonBody) -> anyhow::Result<()> {
    let row = |name: &str, one: String, other: String, known: Option<DifferenceBody>| {
        let difference = known.map_or_else(
            || "?".to_owned(),
            |known| {
                format!(
                    "{:+.3} [{:+.3}, {:+.3}]",
                    known.value, known.low, known.high
                )
            },
        );
        let differs = known.map_or("", |known| if known.differs { "differs" } else { "" });
        [name.to_owned(), one, other, difference, differs.to_owned()]
    };
    let (one, other) = (&body.first, &body.second);
    let rows = [
        row(
            "rho0",
            rate(one.rho0.as_ref()),
            rate(other.rho0.as_ref()),
            body.rho0,
        ),
        row(
            "rho1",
            rate(one.rho1.as_ref()),
            rate(other.rho1.as_ref()),
            body.rho1,
        ),
        row(
            "J",
            estimate(one.j.as_ref()),
            estimate(other.j.as_ref()),
            body.j,
        ),
    ];
    let name = |report: &ChannelReport| format!("{}@{}", report.channel, report.version);
    let (one, other) = (name(one), name(other));
    Ok(table::write(
        &mut terminal::stdout(),
        ["", &one, &other, "DIFFERENCE", ""],
        &rows,
    )?)
}

const NOTHING_TO_DRAW: &str = "all matching grades have been drawn already";

async fn draw(source: &Source, draws: DrawFilter) -> anyhow::Result<()> {
    let drawn = match source {
        Source::Server(client) => {
            let mut query: Vec<(&str, String)> = draws
                .channel
                .iter()
                .map(|name| ("channel", name.clone()))
                .collect();
            query.extend(draws.passes.map(|passes| ("passes", passes.to_string())));
            if draws.judged {
                query.push(("judged", "true".to_owned()));
            }
            let DrawnBody { grade, .. } = client.draw(&query).await?;
            grade.as_ref().map(print)
        }
        Source::Node(node) => {
            let drawn = node.review().draw(&draws, "local").await?;
            drawn.map(|(grade, _)| print(&grade))
        }
    };
    match (drawn, &draws.channel) {
        (Some(printed), _) => printed,
        (None, Some(name)) => {
            find_channel(&channels(source).await?, name)?;
            bail!(NOTHING_TO_DRAW)
        }
        (None, None) => bail!(NOTHING_TO_DRAW),
    }
}

async fn adjudicate(
    source: &Source,
    grade: &str,
    request: &AdjudicateRequest,
) -> anyhow::Result<()> {
    let body = match source {
        Source::Server(client) => client.adjudicate(grade, request).await?,
        Source::Node(node) => {
            let note = request.note.clone();
            let adjudicated = node
                .review()
                .adjudicate(grade.parse()?, request.pass, note, "local")
                .await?;
            node.gate()
                .audit_command("grade.adjudicate", grade, json!({ "pass": request.pass }))
                .await;
            adjudicated.into()
        }
    };
    if body.weight.is_none() {
        let note = "the grade was not drawn at random, so its adjudication does not count in any \
                    error rate; use `assay channels draw` to draw one";
        // The reply also shows this as a null weight, so a closed stderr is not an error.
        let _ = writeln!(terminal::stderr(), "{note}");
    }
    print(&body)
}

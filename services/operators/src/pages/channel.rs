//! One channel: what to do next, its rates by time, by run and by policy.

use askama::Template;
use assay_base::did_you_mean;
use assay_record::channel_part::{ChannelPart, ChannelTimes, PartKey};
use assay_rewards::channel::counts::BUCKET_US;
use assay_rewards::channel::report::{Counts, Rate};
use assay_rewards::channel::{Ledger, Report};
use assay_rewards::interval::Estimate;

use crate::advice::{NextStep, next_steps};
use crate::chart::{Figure, Point, Series, Style, Svg, times};
use crate::display::{cell, count, middle, number, percent};
use crate::failure::{Failure, Result};
use crate::page::{Menu, Page, Section};
use crate::pages::channels::{ChannelRow, RateCell};
use crate::query::{Pairs, link};
use crate::record::record_of;
use crate::site::Viewer;
use crate::verifier::{Head, Tab};

/// Maximum number of spans of time in a chart.
const SPANS: i64 = 60;

/// Maximum number of runs and of policies.
const PARTS: u32 = 50;

/// A run or policy as a row.
struct PartRow {
    name: String,
    address: Option<String>,
    items: String,
    /// Items that a judge could have checked.
    checkable: String,
    /// Checked verdicts: not passed, and passed.
    checked: [String; 2],
    before: String,
    after: String,
    rho0: Option<RateCell>,
    rho1: Option<RateCell>,
    j: Option<RateCell>,
}

/// Runs or policies.
struct PartTable {
    title: &'static str,
    head: &'static str,
    rows: Vec<PartRow>,
    /// Whether others are left out.
    is_cut: bool,
}

#[derive(Template)]
#[template(path = "channel.html")]
pub(crate) struct Channel {
    menu: Menu,
    head: Head,
    row: ChannelRow,
    steps: Vec<NextStep>,
    facts: Vec<(&'static str, String)>,
    charts: Vec<Figure>,
    /// How long a column of the charts is.
    span: String,
    tables: Vec<PartTable>,
}

pub(crate) async fn page(
    Viewer { review, menu, .. }: Viewer,
    pairs: Pairs,
) -> Result<Page<Channel>> {
    pairs.reject_unknown(&["name"])?;
    let name = pairs.get("name").ok_or_else(|| {
        let message = "missing parameter `name`, the name of a channel, such as `math/default`";
        Failure::parameter("name", message)
    })?;
    let ledger = review.channels().await?;
    let report = ledger.named(name).ok_or_else(|| unknown(name, &ledger))?;
    let record = record_of(&review)?;
    let (channel, version) = (report.channel.as_str(), report.version);
    let (times, runs, policies) = futures::try_join!(
        record.channel_times(channel, version, SPANS),
        record.channel_parts(channel, version, PartKey::Run, PARTS),
        record.channel_parts(channel, version, PartKey::Policy, PARTS),
    )?;
    let menu = menu.at(Section::Verifier);
    let width_us = times.width.saturating_mul(BUCKET_US);
    Ok(Page(Channel {
        head: Head::new(&menu, Tab::Channels),
        menu,
        steps: next_steps(&review, &ledger, report),
        facts: facts(report),
        charts: charts(times),
        span: span(width_us),
        tables: [(PartKey::Run, runs), (PartKey::Policy, policies)]
            .map(|(key, parts)| PartTable::new(channel, key, parts))
            .into(),
        row: ChannelRow::from(report),
    }))
}

fn unknown(name: &str, ledger: &Ledger) -> Failure {
    let known = ledger.reports().map(|report| report.channel.as_str());
    let similar = did_you_mean(name, known);
    let listed = if similar.is_empty() {
        "; the page of channels lists them"
    } else {
        ""
    };
    Failure::not_found(format!("no channel named `{name}`{similar}{listed}"))
}

/// The name of a length of time.
fn span(us: i64) -> String {
    const MINUTE: i64 = 60_000_000;
    let (length, name) = match us / MINUTE {
        minutes @ 0..60 => (minutes, "minute"),
        minutes @ 60..1_440 => (minutes / 60, "hour"),
        minutes => (minutes / 1_440, "day"),
    };
    match length {
        1 => format!("one {name}"),
        length => format!("{length} {name}s"),
    }
}

/// The pass rates before and after appeals.
fn pass_rates(graded: &Counts) -> [u64; 2] {
    let after = (graded.positives + graded.overturned_negatives)
        .saturating_sub(graded.overturned_positives);
    [graded.positives, after]
}

fn items(graded: &Counts) -> u64 {
    graded.negatives + graded.positives
}

fn facts(report: &Report) -> Vec<(&'static str, String)> {
    let graded = &report.graded;
    let items = items(graded);
    let [before, after] = pass_rates(graded);
    let checkable = items.saturating_sub(graded.unjudged);
    let of_all = |part: u64| format!("{} ({})", count(part), percent(part, items));
    let [negatives, positives] = report.checks.map(count);
    let mut facts = vec![
        ("items", count(items)),
        ("a judge could check", of_all(checkable)),
        (
            "checked by judges or operators",
            format!("{negatives} not passed, {positives} passed"),
        ),
        ("passed before appeals", percent(before, items)),
        ("passed after appeals", percent(after, items)),
    ];
    if let Some(after) = &report.after {
        facts.push(("J after appeals", interval(&after.j)));
    }
    facts.push((
        "same answer, different verdict",
        format!(
            "{} of {}",
            count(report.persistence.flips),
            count(report.persistence.repeats)
        ),
    ));
    facts
}

fn interval(estimate: &Estimate) -> String {
    let (low, high) = (estimate.interval.low, estimate.interval.high);
    format!(
        "{} ({} to {})",
        number(estimate.value),
        number(low),
        number(high)
    )
}

fn charts(times: ChannelTimes) -> Vec<Figure> {
    let reports: Vec<(i64, Report)> = times
        .spans
        .into_iter()
        .filter_map(|(start, counts)| Some((start, Ledger::of_part(counts)?)))
        .collect();
    let starts: Vec<i64> = reports.iter().map(|(start, _)| *start).collect();
    let line = |name, colour, point: &dyn Fn(&Report) -> Option<Point>| Series {
        name,
        colour,
        points: reports.iter().map(|(_, report)| point(report)).collect(),
    };
    let estimated = |estimate: Estimate| Point {
        value: estimate.value,
        range: Some((estimate.interval.low, estimate.interval.high)),
    };
    let rate = |rate: Option<Rate>| rate.map(|rate| estimated(rate.estimate));
    let share = |part: u64, report: &Report| {
        let items = items(&report.graded);
        (items > 0).then(|| Point {
            value: part as f64 / items as f64,
            range: None,
        })
    };
    let chart = |title, about, series: &[Series], format_value: &dyn Fn(f64) -> String| Figure {
        title,
        about,
        svg: times_of(title, times.width, &starts, series, format_value),
        parts: match series {
            [_] => Vec::new(),
            several => several
                .iter()
                .map(|line| (line.name.to_owned(), Style::plain(line.colour)))
                .collect(),
        },
    };
    let percentage = |share: f64| format!("{:.0} %", 100.0 * share);
    let mut charts = vec![
        chart(
            "False positives",
            "share of wrong answers that pass, before appeals",
            &[line("false positives", 0, &|report| rate(report.rho0))],
            &number,
        ),
        chart(
            "False negatives",
            "share of right answers that do not pass, before appeals",
            &[line("false negatives", 0, &|report| rate(report.rho1))],
            &number,
        ),
        chart(
            "J",
            "1 - false positives - false negatives, before appeals",
            &[line("J", 0, &|report| report.j.map(estimated))],
            &number,
        ),
        chart(
            "Passed",
            "share of items, before and after appeals",
            &[
                line("before appeals", 0, &|report| {
                    share(pass_rates(&report.graded)[0], report)
                }),
                line("after appeals", 1, &|report| {
                    share(pass_rates(&report.graded)[1], report)
                }),
            ],
            &percentage,
        ),
        chart(
            "Coverage",
            "share of items that a judge could check, and that were checked",
            &[
                line("a judge could check", 0, &|report| {
                    let graded = &report.graded;
                    share(items(graded).saturating_sub(graded.unjudged), report)
                }),
                line("checked", 1, &|report| {
                    // Judges and operators may have checked the same items.
                    let checks: u64 = report.checks.iter().sum();
                    share(checks.min(items(&report.graded)), report)
                }),
            ],
            &percentage,
        ),
    ];
    charts.retain(|chart| !chart.svg.is_empty());
    charts
}

fn times_of(
    title: &str,
    width: i64,
    starts: &[i64],
    series: &[Series],
    format_value: &dyn Fn(f64) -> String,
) -> Svg {
    times(title, (BUCKET_US, width), starts, series, format_value)
}

impl PartTable {
    fn new(channel: &str, key: PartKey, parts: Vec<ChannelPart>) -> Self {
        let (title, head) = match key {
            PartKey::Run => ("By run", "Run"),
            PartKey::Policy => ("By policy", "Policy"),
        };
        Self {
            title,
            head,
            is_cut: parts.len() >= PARTS as usize,
            rows: parts
                .into_iter()
                .filter_map(|part| PartRow::new(channel, key, part))
                .collect(),
        }
    }
}

impl PartRow {
    fn new(channel: &str, key: PartKey, part: ChannelPart) -> Option<Self> {
        let report = Ledger::of_part(part.counts)?;
        let graded = &report.graded;
        let items = items(graded);
        let [before, after] = pass_rates(graded);
        let name = part.name.as_deref();
        Some(Self {
            name: match (key, name) {
                (PartKey::Run, Some(name)) => middle(name),
                (PartKey::Policy, Some(name)) => cell(name),
                (_, None) => "without a run".to_owned(),
            },
            address: name.filter(|_| key == PartKey::Run).map(|run| {
                let fields = [("run", Some(run)), ("channel", Some(channel))];
                link("/ui/grades", &fields)
            }),
            items: count(items),
            checkable: percent(items.saturating_sub(graded.unjudged), items),
            checked: report.checks.map(count),
            before: percent(before, items),
            after: percent(after, items),
            rho0: report.rho0.as_ref().map(RateCell::of_rate),
            rho1: report.rho1.as_ref().map(RateCell::of_rate),
            j: report.j.map(|j| RateCell::of(&j, (-1.0, 1.0))),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lengths_of_time() {
        let minutes = |minutes: i64| span(minutes * 60_000_000);
        assert_eq!(
            [10, 60, 360, 1_440, 10_080].map(minutes),
            ["10 minutes", "one hour", "6 hours", "one day", "7 days"]
        );
    }
}

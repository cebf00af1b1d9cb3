//! The list of channels with their error rates.

use askama::Template;
use assay_rewards::channel::drift::Change;
use assay_rewards::channel::report::{Rate, Source};
use assay_rewards::channel::{Ledger, Report};
use assay_rewards::interval::Estimate;

use crate::advice::{NextStep, next_steps};
use crate::chart::{Svg, interval};
use crate::display::{cell, count, number, percent};
use crate::failure::Result;
use crate::page::{Menu, Page, Section};
use crate::query::{Pairs, link};
use crate::site::Viewer;
use crate::verifier::{Head, Tab};

/// Channels per page.
const PAGE: usize = 100;

/// An estimate with its interval, as a drawing and as text.
pub(crate) struct RateCell {
    pub(crate) svg: Svg,
    pub(crate) value: String,
    pub(crate) range: String,
    pub(crate) source: &'static str,
}

impl RateCell {
    pub(crate) fn of_rate(rate: &Rate) -> Self {
        let source = match rate.source {
            Source::Measured => "measured",
            Source::Calibrated => "calibrated",
            Source::Declared => "declared",
        };
        Self {
            source,
            ..Self::of(&rate.estimate, (0.0, 1.0))
        }
    }

    pub(crate) fn of(estimate: &Estimate, scale: (f64, f64)) -> Self {
        let (low, high) = (estimate.interval.low, estimate.interval.high);
        Self {
            svg: interval(low, estimate.value, high, scale),
            value: number(estimate.value),
            range: format!("{} to {}", number(low), number(high)),
            source: "",
        }
    }
}

/// A channel as a row.
pub(crate) struct ChannelRow {
    pub(crate) name: String,
    /// The name without a version, as a parameter of the queue.
    pub(crate) channel: String,
    /// Its page.
    pub(crate) page: String,
    pub(crate) grades: String,
    pub(crate) queue: String,
    pub(crate) items: String,
    /// Items that no judge could have checked, if there are any and judges checked others.
    pub(crate) unjudged: Option<String>,
    pub(crate) passed: String,
    pub(crate) overturned: String,
    pub(crate) checked: [String; 2],
    pub(crate) rho0: Option<RateCell>,
    pub(crate) rho1: Option<RateCell>,
    pub(crate) j: Option<RateCell>,
    pub(crate) drift: Vec<String>,
    pub(crate) drifting: bool,
    pub(crate) flips: String,
    pub(crate) uncorrected: Option<String>,
    /// The rates after appeals, if judges overturn verdicts.
    pub(crate) after: Option<String>,
    /// What to do next, if that is shown.
    pub(crate) next: Option<NextStep>,
}

impl From<&Report> for ChannelRow {
    fn from(report: &Report) -> Self {
        let graded = &report.graded;
        let items = graded.negatives + graded.positives;
        let describe = |side: &str, change: Option<Change>| {
            let Change {
                before,
                after,
                p_value,
            } = change?;
            Some(format!(
                "{side}: {} → {} (p {})",
                number(before),
                number(after),
                number(p_value)
            ))
        };
        let drift = [
            describe("not passed", report.drift.negatives),
            describe("passed", report.drift.positives),
        ];
        let channel = Some(report.channel.as_str());
        let full_name = format!("{}@{}", report.channel, report.version);
        Self {
            next: None,
            name: cell(&full_name),
            channel: report.channel.clone(),
            page: link("/ui/channel", &[("name", Some(&*full_name))]),
            grades: link("/ui/grades", &[("channel", channel)]),
            queue: link("/ui/queue", &[("channel", channel)]),
            items: count(items),
            unjudged: (graded.unjudged > 0 && report.checks != [0, 0])
                .then(|| count(graded.unjudged)),
            passed: percent(graded.positives, items),
            overturned: count(graded.overturned_negatives + graded.overturned_positives),
            checked: report.checks.map(count),
            rho0: report.rho0.as_ref().map(RateCell::of_rate),
            rho1: report.rho1.as_ref().map(RateCell::of_rate),
            j: report.j.map(|j| RateCell::of(&j, (-1.0, 1.0))),
            drift: drift.into_iter().flatten().collect(),
            drifting: report.drift.drifting,
            flips: format!(
                "{} of {}",
                count(report.persistence.flips),
                count(report.persistence.repeats)
            ),
            uncorrected: report
                .uncorrected
                .as_ref()
                .map(|reason| reason.to_string().replace('`', "")),
            after: report.after.as_ref().map(|after| {
                let (rates, j) = (after.rates, after.j);
                format!(
                    "After appeals: false positives {}, false negatives {}, J {} ({} to {}).",
                    number(rates.rho0),
                    number(rates.rho1),
                    number(j.value),
                    number(j.interval.low),
                    number(j.interval.high)
                )
            }),
        }
    }
}

#[derive(Template)]
#[template(path = "channels.html")]
pub(crate) struct Channels {
    menu: Menu,
    head: Head,
    channels: Vec<ChannelRow>,
    first: Option<&'static str>,
    next: Option<String>,
}

pub(crate) async fn page(
    Viewer { review, menu, .. }: Viewer,
    pairs: Pairs,
) -> Result<Page<Channels>> {
    pairs.reject_unknown(&["page"])?;
    let page: usize = pairs.parse("page", "a number")?.unwrap_or(1).max(1);
    let ledger = review.channels().await?;
    let mut rest = ledger
        .reports()
        .skip((page - 1).saturating_mul(PAGE))
        .peekable();
    let row = |report| ChannelRow {
        next: next_steps(&review, &ledger, report).into_iter().next(),
        ..ChannelRow::from(report)
    };
    let channels = rest.by_ref().take(PAGE).map(row).collect();
    let next = rest.peek().map(|_| (page + 1).to_string());
    let menu = menu.at(Section::Verifier);
    Ok(Page(Channels {
        head: Head::new(&menu, Tab::Channels),
        menu,
        channels,
        first: (page > 1).then_some("/ui/channels"),
        next: next.map(|next| link("/ui/channels", &[("page", Some(&next))])),
    }))
}

/// The reports with the most items, at most `limit`, by name and version.
pub(crate) fn most_used(ledger: &Ledger, limit: usize) -> Vec<&Report> {
    let mut reports: Vec<&Report> = ledger.reports().collect();
    if reports.len() > limit {
        reports.sort_by_key(|report| {
            std::cmp::Reverse(report.graded.negatives + report.graded.positives)
        });
        reports.truncate(limit);
        reports.sort_by_key(|report| (report.channel.as_str(), report.version));
    }
    reports
}

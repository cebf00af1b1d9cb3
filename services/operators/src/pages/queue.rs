//! The adjudication queue. Grades are drawn at random, so that adjudications are representative of
//! their channel.

use askama::Template;
use assay_core::GradeId;
use assay_review::Review;
use assay_review::adjudications::DrawFilter;
use assay_rewards::channel::Ledger;
use axum::extract::Path;
use axum::response::Redirect;

use crate::display::cell;
use crate::failure::{Failure, Result};
use crate::grade::{AdjudicationView, FactValue, Part, View, read};
use crate::page::{Menu, Page, Section};
use crate::pages::channels::{ChannelRow, most_used};
use crate::query::{Pairs, grade_id, link};
use crate::record::record_of;
use crate::site::Viewer;

/// Maximum number of recent adjudications listed.
const MAX_RECENT: u32 = 20;

/// Maximum number of channels to choose from.
const MAX_CHOICES: usize = 256;

/// A recent adjudication and its grade.
struct RecentAdjudication {
    address: String,
    channel: String,
    graded: &'static str,
    agrees: bool,
    adjudication: AdjudicationView,
}

#[derive(Template)]
#[template(path = "queue.html")]
pub(crate) struct Queue {
    menu: Menu,
    channels: Vec<ChannelRow>,
    chosen: String,
    passes: String,
    judged: bool,
    empty: bool,
    recent: Vec<RecentAdjudication>,
}

#[derive(Template)]
#[template(path = "drawn.html")]
pub(crate) struct Drawn {
    menu: Menu,
    view: View,
    channel: Option<ChannelRow>,
    /// Empty, because the grade was not opened from a list.
    filter: String,
    /// The filter of the queue, as a query and as form fields.
    queue_query: String,
    choices: Vec<(String, String)>,
    back: String,
}

/// The queue: the form to draw a grade, and recent adjudications.
pub(crate) async fn page(Viewer { review, menu, .. }: Viewer, pairs: Pairs) -> Result<Page<Queue>> {
    pairs.reject_unknown(&["channel", "passes", "judged", "empty"])?;
    let draws = draws(&pairs)?;
    let ledger = review.channels().await?;
    let adjudications = record_of(&review)?.last_adjudications(MAX_RECENT).await?;
    let recent = adjudications.iter().map(|adjudication| RecentAdjudication {
        address: format!("/ui/grades/{}", adjudication.grade),
        channel: cell(&format!(
            "{}@{}",
            adjudication.channel, adjudication.version
        )),
        graded: if adjudication.graded_pass {
            "passed"
        } else {
            "not passed"
        },
        agrees: adjudication.graded_pass == adjudication.pass,
        adjudication: AdjudicationView::from(adjudication),
    });
    Ok(Page(Queue {
        menu: menu.at(Section::Queue),
        channels: most_used(&ledger, MAX_CHOICES)
            .into_iter()
            .map(ChannelRow::from)
            .collect(),
        passes: draws
            .passes
            .map(|passes| passes.to_string())
            .unwrap_or_default(),
        judged: draws.judged,
        chosen: draws.channel.unwrap_or_default(),
        empty: pairs.get("empty").is_some(),
        recent: recent.collect(),
    }))
}

/// Draws a grade and redirects to it.
pub(crate) async fn draw(Viewer { review, .. }: Viewer, form: String) -> Result<Redirect> {
    next(&review, &draws(&Pairs::read(&form))?).await
}

/// The page of a drawn grade.
pub(crate) async fn drawn(
    Viewer { review, menu, .. }: Viewer,
    Path(id): Path<String>,
    pairs: Pairs,
) -> Result<Page<Drawn>> {
    let id: GradeId = grade_id(&id)?;
    let draws = draws(&pairs)?;
    let (stored, view) = read(&review, id).await?;
    let ledger: std::sync::Arc<Ledger> = review.channels().await?;
    let channel = ledger.named(&format!(
        "{}@{}",
        stored.grade.channel, stored.grade.grader.version
    ));
    let queue_query = address("", &draws).trim_start_matches('?').to_owned();
    Ok(Page(Drawn {
        menu: menu.at(Section::Queue),
        view,
        channel: channel.map(ChannelRow::from),
        filter: String::new(),
        back: address("/ui/queue", &draws),
        choices: form_urlencoded::parse(queue_query.as_bytes())
            .into_owned()
            .collect(),
        // Not empty, because an empty value would redirect back to the grade.
        queue_query: if queue_query.is_empty() {
            "channel=".to_owned()
        } else {
            queue_query
        },
    }))
}

/// Draws the next grade and redirects to it, or to the queue if there is none.
pub(crate) async fn next(review: &Review, draws: &DrawFilter) -> Result<Redirect> {
    let address = match review.draw(draws).await? {
        Some((stored, _)) => address(&format!("/ui/queue/{}", stored.grade.grade), draws),
        None => {
            let queue = address("/ui/queue", draws);
            let separator = if queue.contains('?') { '&' } else { '?' };
            format!("{queue}{separator}empty=1")
        }
    };
    Ok(Redirect::to(&address))
}

/// The filter of the queue.
pub(crate) fn draws(pairs: &Pairs) -> Result<DrawFilter> {
    let flag = |name: &str| match pairs.get(name) {
        None => Ok(None),
        Some("true") => Ok(Some(true)),
        Some("false") => Ok(Some(false)),
        Some(other) => {
            let message = format!("`{name}` must be `true` or `false`, not `{other}`");
            Err(Failure::parameter(name, message))
        }
    };
    Ok(DrawFilter {
        channel: pairs.get("channel").map(str::to_owned),
        passes: flag("passes")?,
        judged: flag("judged")?.unwrap_or(false),
    })
}

fn address(path: &str, draws: &DrawFilter) -> String {
    let passes = draws.passes.map(|passes| passes.to_string());
    let judged = draws.judged.then_some("true");
    link(
        path,
        &[
            ("channel", draws.channel.as_deref()),
            ("passes", passes.as_deref()),
            ("judged", judged),
        ],
    )
}

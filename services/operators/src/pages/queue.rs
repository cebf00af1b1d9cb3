//! The adjudication queue. Grades are drawn at random, so that adjudications are representative of
//! their channel. A drawn grade is assigned to the operator who drew it, until it is adjudicated.

use askama::Template;
use assay_access::{Caller, Gate};
use assay_core::GradeId;
use assay_record::Record;
use assay_record::event::Assignment;
use assay_review::Review;
use assay_review::adjudications::DrawFilter;
use assay_rewards::channel::Ledger;
use axum::extract::Path;
use axum::response::Redirect;
use serde_json::json;

use crate::contradicted::side;
use crate::display::{cell, time};
use crate::failure::{Failure, Result};
use crate::grade::{AdjudicationView, FactValue, Part, View, read};
use crate::page::{Menu, Page, Section};
use crate::pages::channels::{ChannelRow, most_used};
use crate::query::{Pairs, grade_id, link};
use crate::record::record_of;
use crate::row::Badge;
use crate::site::Viewer;
use crate::verifier::{Head, Tab};

/// Parameters of the queue.
const FIELDS: &[&str] = &["channel", "passes", "judged", "assigned", "empty"];

/// Maximum number of recent adjudications listed.
const MAX_RECENT: u32 = 20;

/// Maximum number of assigned grades listed.
const MAX_ASSIGNED: u32 = 25;

/// Maximum number of operators to choose from.
const MAX_OPERATORS: usize = 256;

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

/// A drawn grade that is not adjudicated yet.
struct AssignedRow {
    address: String,
    time: String,
    channel: String,
    item: String,
    badge: Badge,
    /// Empty if any operator may take it.
    operator: String,
}

impl AssignedRow {
    /// The rows of those whose grades are still in the record.
    async fn list(record: &Record, assigned: &[Assignment]) -> Result<Vec<Self>> {
        let mut rows = Vec::with_capacity(assigned.len());
        for assignment in assigned {
            let Some(stored) = record.grade(assignment.grade).await? else {
                continue;
            };
            rows.push(Self {
                address: format!("/ui/queue/{}", assignment.grade),
                time: time(assignment.time_us),
                channel: cell(&stored.grade.channel),
                item: cell(stored.grade.id.as_deref().unwrap_or("–")),
                badge: Badge::of(&stored.grade),
                operator: cell(&assignment.caller),
            });
        }
        Ok(rows)
    }
}

/// To whom a drawn grade is assigned, and to whom it can be.
struct Assignees {
    current: String,
    operators: Vec<String>,
}

#[derive(Template)]
#[template(path = "queue.html")]
pub(crate) struct Queue {
    menu: Menu,
    head: Head,
    /// Whether only the grades of the viewer are listed.
    mine: bool,
    /// The same page with those of all operators, or of the viewer.
    others: String,
    assigned: Vec<AssignedRow>,
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
    head: Head,
    view: View,
    /// `None` if it was not drawn, or is adjudicated.
    assignees: Option<Assignees>,
    channel: Option<ChannelRow>,
    /// Empty, because the grade was not opened from a list.
    filter: String,
    /// The filter of the queue, as a query and as form fields.
    queue_query: String,
    choices: Vec<(String, String)>,
    back: String,
}

/// The queue: the form to draw a grade, and recent adjudications.
pub(crate) async fn page(
    Viewer {
        review,
        caller,
        menu,
        ..
    }: Viewer,
    pairs: Pairs,
) -> Result<Page<Queue>> {
    pairs.reject_unknown(FIELDS)?;
    let draws = draws(&pairs)?;
    let mine = match pairs.get("assigned") {
        None | Some("mine") => true,
        Some("all") => false,
        Some(other) => {
            let message = format!("`assigned` must be `mine` or `all`, not `{other}`");
            return Err(Failure::parameter("assigned", message));
        }
    };
    let ledger = review.channels().await?;
    let record = record_of(&review)?;
    let assigned = record
        .assignments(mine.then_some(caller.name()), MAX_ASSIGNED)
        .await?;
    let adjudications = record.last_adjudications(MAX_RECENT).await?;
    let recent = adjudications.iter().map(|adjudication| RecentAdjudication {
        address: format!("/ui/grades/{}", adjudication.grade),
        channel: cell(&format!(
            "{}@{}",
            adjudication.channel, adjudication.version
        )),
        graded: side(adjudication.graded_pass),
        agrees: adjudication.graded_pass == adjudication.pass,
        adjudication: AdjudicationView::from(adjudication),
    });
    let menu = menu.at(Section::Verifier);
    Ok(Page(Queue {
        head: Head::new(&menu, Tab::Queue),
        menu,
        mine,
        others: pairs.changed(
            "/ui/queue",
            FIELDS,
            &[("assigned", mine.then_some("all")), ("empty", None)],
        ),
        assigned: AssignedRow::list(record, &assigned).await?,
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
pub(crate) async fn draw(Viewer { review, caller, .. }: Viewer, form: String) -> Result<Redirect> {
    next(&review, &draws(&Pairs::read(&form))?, &caller).await
}

/// Assigns a drawn grade to another operator, and shows the queue.
pub(crate) async fn assign(
    viewer: Viewer,
    Path(id): Path<String>,
    form: String,
) -> Result<Redirect> {
    let id: GradeId = grade_id(&id)?;
    let form = Pairs::read(&form);
    let Viewer {
        review,
        caller,
        gate,
        ..
    } = &viewer;
    let operator = form.get("operator").unwrap_or_default();
    let known = operators(gate, caller).await?;
    if !operator.is_empty() && known.iter().all(|known| known != operator) {
        let message = format!("no key of an operator is named `{operator}`");
        return Err(Failure::parameter("operator", message));
    }
    review.assign(id, operator, caller.name()).await?;
    let details = json!({ "operator": operator });
    viewer.audit("grade.assign", &id.to_string(), details).await;
    Ok(Redirect::to(&address("/ui/queue", &draws(&form)?)))
}

/// The names of those who may adjudicate: the viewer, and the valid keys with the role for it.
async fn operators(gate: &Gate, caller: &Caller) -> Result<Vec<String>> {
    let now_us = gate.clock().unix_us();
    let keys = match gate.store() {
        Some(store) => store.keys().await?,
        None => Vec::new(),
    };
    let keys = keys.into_iter().filter(|key| {
        key.role >= Section::Verifier.role()
            && key.revoked_us.is_none()
            && key.expires_us.is_none_or(|expires_us| expires_us > now_us)
    });
    let mut names: Vec<String> = keys.map(|key| key.name).take(MAX_OPERATORS).collect();
    names.push(caller.name().to_owned());
    names.sort();
    names.dedup();
    Ok(names)
}

/// The page of a drawn grade.
pub(crate) async fn drawn(
    Viewer {
        review,
        caller,
        gate,
        menu,
        ..
    }: Viewer,
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
    let assignees = match record_of(&review)?.assignment(id).await? {
        Some(Assignment {
            caller: current, ..
        }) => Some(Assignees {
            current,
            operators: operators(&gate, &caller).await?,
        }),
        None => None,
    };
    let queue_query = address("", &draws).trim_start_matches('?').to_owned();
    let menu = menu.at(Section::Verifier);
    Ok(Page(Drawn {
        head: Head::new(&menu, Tab::Queue),
        menu,
        view,
        assignees,
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
pub(crate) async fn next(review: &Review, draws: &DrawFilter, caller: &Caller) -> Result<Redirect> {
    let address = match review.draw(draws, caller.name()).await? {
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

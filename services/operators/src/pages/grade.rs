//! A grade in full, with forms to replay and adjudicate it.

use askama::Template;
use assay_access::metered;
use assay_core::GradeId;
use assay_record::ItemGrade;
use assay_review::adjudications::DrawFilter;
use assay_review::replay::Replay;
use axum::extract::Path;
use axum::response::Redirect;
use serde_json::json;

use crate::display::{MAX_NOTE_BYTES, cell, optional_number};
use crate::failure::{Failure, Result};
use crate::grade::{CommentView, Fact, FactValue, Group, Part, Place, View, address, read};
use crate::page::{Menu, Page, Section};
use crate::pages::queue;
use crate::query::{Listing, Pairs, grade_id};
use crate::record::record_of;
use crate::row::Badge;
use crate::site::Viewer;

/// One side of a replay.
struct ReplayRow {
    badge: Badge,
    grader: String,
    score: String,
}

/// The result of a replay.
struct ReplayResult {
    flipped: bool,
    recorded: ReplayRow,
    replayed: ReplayRow,
    evidence: Vec<Fact>,
}

#[derive(Template)]
#[template(path = "grade.html")]
pub(crate) struct GradePage {
    menu: Menu,
    view: View,
    place: Place,
    group: Option<Group>,
    comments: Vec<CommentView>,
    replay: Option<ReplayResult>,
    /// Query of the list from which the grade was opened, with `?`; empty without a filter.
    filter: String,
    /// Query of the queue that follows the adjudication; empty on the page of a grade.
    queue_query: String,
}

pub(crate) async fn page(
    viewer: Viewer,
    Path(id): Path<String>,
    pairs: Pairs,
) -> Result<Page<GradePage>> {
    show(viewer, grade_id(&id)?, &pairs, None).await
}

/// Grades the item again and shows the page with the result.
pub(crate) async fn replay(
    viewer: Viewer,
    Path(id): Path<String>,
    pairs: Pairs,
) -> Result<Page<GradePage>> {
    let id = grade_id(&id)?;
    let Viewer { caller, gate, .. } = &viewer;
    let charge = caller.charge(1, 0, gate.clock())?;
    let replay = metered(caller.share(), charge, viewer.review.replay(id)).await?;
    show(viewer, id, &pairs, Some(ReplayResult::from(&replay))).await
}

/// Records an adjudication and redirects to the next grade of the queue, or back to the grade.
pub(crate) async fn adjudicate(
    viewer: Viewer,
    Path(id): Path<String>,
    pairs: Pairs,
    form: String,
) -> Result<Redirect> {
    let id = grade_id(&id)?;
    let form = Pairs::read(&form);
    let pass = match form.get("decision") {
        Some("right") => true,
        Some("wrong") => false,
        _ => {
            let message = "`decision` must be `right` or `wrong`";
            return Err(Failure::parameter("decision", message));
        }
    };
    let note = form.get("note").map(str::to_owned);
    if note
        .as_ref()
        .is_some_and(|note| note.len() > MAX_NOTE_BYTES)
    {
        let message = format!("the note is longer than {MAX_NOTE_BYTES} bytes; shorten it");
        return Err(Failure::parameter("note", message));
    }
    let Viewer { review, caller, .. } = &viewer;
    review.adjudicate(id, pass, note, caller.name()).await?;
    viewer
        .audit("grade.adjudicate", &id.to_string(), json!({ "pass": pass }))
        .await;
    match form.get("then") {
        Some(then) => {
            let draws: DrawFilter = queue::draws(&Pairs::read(then))?;
            queue::next(review, &draws, caller).await
        }
        None => Ok(Redirect::to(&format!(
            "{}#adjudications",
            address(id, &pairs)
        ))),
    }
}

async fn show(
    Viewer {
        review,
        caller,
        menu,
        ..
    }: Viewer,
    id: GradeId,
    pairs: &Pairs,
    replay: Option<ReplayResult>,
) -> Result<Page<GradePage>> {
    let (stored, view) = read(&review, id).await?;
    let record = record_of(&review)?;
    let comments = record.comments(id).await?;
    let comments = comments.iter();
    Ok(Page(GradePage {
        menu: menu.at(Section::Grades),
        view,
        place: Place::find(&review, pairs, id).await,
        group: Group::read(record, &stored, pairs).await?,
        comments: comments
            .map(|comment| CommentView::new(comment, caller.name()))
            .collect(),
        filter: Listing::link_within("", pairs),
        replay,
        queue_query: String::new(),
    }))
}

impl From<&Replay> for ReplayResult {
    fn from(replay: &Replay) -> Self {
        let side = |grade: &ItemGrade| ReplayRow {
            badge: Badge::of(grade),
            grader: cell(&grade.grader.to_string()),
            score: optional_number(grade.score),
        };
        let replayed = &replay.replayed;
        let evidence = replayed.evidence.as_ref();
        let evidence = evidence
            .map(|evidence| Fact::all(&evidence.facts()))
            .unwrap_or_default();
        let fault = replayed.error.as_ref();
        let fault = fault.map(|fault| Fact::one("message", &fault.message));
        Self {
            flipped: replay.flipped(),
            recorded: side(&replay.recorded),
            replayed: side(&replay.replayed),
            evidence: evidence.into_iter().chain(fault).collect(),
        }
    }
}

//! Why did this completion get what it got, and is that right?

use askama::Template;
use assay_core::GradeId;
use assay_engine::{Draws, Engine, Replay};
use axum::extract::{Path, State};
use axum::response::Redirect;

use crate::failure::{Failure, Result};
use crate::grade::{Fact, Told, View, read};
use crate::page::{Page, Place};
use crate::pages::queue;
use crate::query::Pairs;
use crate::routes::store;
use crate::row::Badge;
use crate::show::{LONGEST_NOTE, cell, maybe};

/// Who adjudicates, as long as the service knows no names.
const CALLER: &str = "local";

/// One side of a replay.
struct Side {
    badge: Badge,
    grader: String,
    score: String,
}

/// A grade made again.
struct Again {
    flipped: bool,
    then: Side,
    now: Side,
    evidence: Vec<Fact>,
}

#[derive(Template)]
#[template(path = "grade.html")]
pub(crate) struct GradePage {
    place: Place,
    view: View,
    again: Option<Again>,
    /// Where the form goes on to; nothing on the page of the grade itself.
    then: String,
}

pub(crate) async fn page(
    State(engine): State<Engine>,
    Path(id): Path<String>,
) -> Result<Page<GradePage>> {
    show(&engine, parse(&id)?, None).await
}

/// Grades it again and shows the page with what that gave.
pub(crate) async fn replay(
    State(engine): State<Engine>,
    Path(id): Path<String>,
) -> Result<Page<GradePage>> {
    let id = parse(&id)?;
    let replay = engine.replay(id).await?;
    show(&engine, id, Some(Again::from(&replay))).await
}

/// Keeps what the operator said, and goes on: to the next grade of the queue, or back to this one.
pub(crate) async fn adjudicate(
    State(engine): State<Engine>,
    Path(id): Path<String>,
    form: String,
) -> Result<Redirect> {
    let id = parse(&id)?;
    let form = Pairs::read(&form);
    let pass = match form.get("word") {
        Some("right") => true,
        Some("wrong") => false,
        _ => {
            return Err(Failure::parameter(
                "`word` is `right` or `wrong`: what is true of the completion",
            ));
        }
    };
    let note = form.get("note").map(str::to_owned);
    if note.as_ref().is_some_and(|note| note.len() > LONGEST_NOTE) {
        return Err(Failure::parameter(format!(
            "the note is longer than {LONGEST_NOTE} bytes; shorten it"
        )));
    }
    engine.adjudicate(id, pass, note, CALLER).await?;
    match form.get("then") {
        Some(then) => {
            let draws: Draws = queue::draws(&Pairs::read(then))?;
            queue::next(&engine, &draws).await
        }
        None => Ok(Redirect::to(&format!("/ui/grades/{id}#words"))),
    }
}

async fn show(engine: &Engine, id: GradeId, again: Option<Again>) -> Result<Page<GradePage>> {
    let (_, view) = read(store(engine)?.as_ref(), id).await?;
    Ok(Page(GradePage {
        place: Place::Grades,
        view,
        again,
        then: String::new(),
    }))
}

/// The id of a grade, from the path.
pub(crate) fn parse(id: &str) -> Result<GradeId> {
    id.parse()
        .map_err(|error| Failure::parameter(format!("{error}")))
}

impl From<&Replay> for Again {
    fn from(replay: &Replay) -> Self {
        let side = |side: &assay_engine::Side| Side {
            badge: Badge::new(
                &side.outcome,
                side.verdict.as_deref(),
                side.score.map(|score| score > 0.0),
            ),
            grader: cell(&side.grader),
            score: maybe(side.score),
        };
        let grade = replay.outcome.grade();
        let evidence = grade
            .map(|grade| Fact::all(grade.evidence.as_map()))
            .unwrap_or_default();
        let fault = replay
            .outcome
            .fault()
            .map(|fault| Fact::one("message", &fault.message));
        Self {
            flipped: replay.flipped(),
            then: side(&replay.then),
            now: side(&replay.now),
            evidence: evidence.into_iter().chain(fault).collect(),
        }
    }
}

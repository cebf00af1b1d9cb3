//! Which verdict shall somebody look at next? Grades are drawn by lot, so that what is said of them
//! holds for their channel.

use askama::Template;
use assay_core::GradeId;
use assay_correction::channel::Ledger;
use assay_engine::{Draws, Engine};
use axum::extract::{Path, RawQuery, State};
use axum::response::Redirect;

use crate::failure::{Failure, Result};
use crate::grade::{Told, View, Word, read};
use crate::page::{Page, Place};
use crate::pages::channels::ChannelRow;
use crate::pages::grade::parse;
use crate::query::{Pairs, link};
use crate::routes::store;
use crate::show::cell;

/// Words of operators that are listed.
const WORDS: u32 = 20;

/// Something an operator said, with its grade.
struct Said {
    address: String,
    channel: String,
    graded: &'static str,
    agrees: bool,
    word: Word,
}

#[derive(Template)]
#[template(path = "queue.html")]
pub(crate) struct Queue {
    place: Place,
    channels: Vec<ChannelRow>,
    chosen: String,
    passes: String,
    judged: bool,
    empty: bool,
    said: Vec<Said>,
}

#[derive(Template)]
#[template(path = "drawn.html")]
pub(crate) struct Drawn {
    place: Place,
    view: View,
    channel: Option<ChannelRow>,
    /// The queue this grade came from: as a query, and as fields of a form.
    then: String,
    choices: Vec<(String, String)>,
    back: String,
}

/// The queue: what to draw from, and what was said last.
pub(crate) async fn page(
    State(engine): State<Engine>,
    RawQuery(query): RawQuery,
) -> Result<Page<Queue>> {
    let pairs = Pairs::read(query.as_deref().unwrap_or_default());
    pairs.known(&["channel", "passes", "judged", "empty"])?;
    let draws = draws(&pairs)?;
    let ledger = engine.channels().await?;
    let words = store(&engine)?.last_adjudications(WORDS).await?;
    let said = words.iter().map(|word| Said {
        address: format!("/ui/grades/{}", word.grade),
        channel: cell(&format!("{}@{}", word.channel, word.version)),
        graded: if word.graded_pass {
            "passed"
        } else {
            "refused"
        },
        agrees: word.graded_pass == word.pass,
        word: Word::from(word),
    });
    Ok(Page(Queue {
        place: Place::Queue,
        channels: ledger.reports().map(ChannelRow::from).collect(),
        passes: draws
            .passes
            .map(|passes| passes.to_string())
            .unwrap_or_default(),
        judged: draws.judged,
        chosen: draws.channel.unwrap_or_default(),
        empty: pairs.get("empty").is_some(),
        said: said.collect(),
    }))
}

/// Draws a grade and goes to it.
pub(crate) async fn draw(State(engine): State<Engine>, form: String) -> Result<Redirect> {
    next(&engine, &draws(&Pairs::read(&form))?).await
}

/// A grade that was drawn.
pub(crate) async fn drawn(
    State(engine): State<Engine>,
    Path(id): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Page<Drawn>> {
    let id: GradeId = parse(&id)?;
    let pairs = Pairs::read(query.as_deref().unwrap_or_default());
    let draws = draws(&pairs)?;
    let (record, view) = read(store(&engine)?.as_ref(), id).await?;
    let ledger: std::sync::Arc<Ledger> = engine.channels().await?;
    let channel = ledger.named(&format!("{}@{}", record.channel, record.grader_version));
    let then = address("", &draws).trim_start_matches('?').to_owned();
    Ok(Page(Drawn {
        place: Place::Queue,
        view,
        channel: channel.map(ChannelRow::from),
        back: address("/ui/queue", &draws),
        // Never empty: the form goes back to the grade otherwise.
        choices: form_urlencoded::parse(then.as_bytes())
            .into_owned()
            .collect(),
        then: if then.is_empty() {
            "channel=".to_owned()
        } else {
            then
        },
    }))
}

/// Draws the next grade and goes to it, or to the queue where there is none left.
pub(crate) async fn next(engine: &Engine, draws: &Draws) -> Result<Redirect> {
    let address = match engine.draw(draws).await? {
        Some((grade, _)) => address(&format!("/ui/queue/{}", grade.grade), draws),
        None => {
            let queue = address("/ui/queue", draws);
            let and = if queue.contains('?') { '&' } else { '?' };
            format!("{queue}{and}empty=1")
        }
    };
    Ok(Redirect::to(&address))
}

/// What to draw from.
pub(crate) fn draws(pairs: &Pairs) -> Result<Draws> {
    let flag = |name: &str| match pairs.get(name) {
        None => Ok(None),
        Some("true") => Ok(Some(true)),
        Some("false") => Ok(Some(false)),
        Some(other) => Err(Failure::parameter(format!(
            "`{name}` is `true` or `false`, not `{other}`"
        ))),
    };
    Ok(Draws {
        channel: pairs.get("channel").map(str::to_owned),
        passes: flag("passes")?,
        judged: flag("judged")?.unwrap_or(false),
    })
}

fn address(path: &str, draws: &Draws) -> String {
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

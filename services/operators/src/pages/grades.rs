//! Which grades are there? The URL is the filter, so a link shows somebody else the same rows.

use askama::Template;
use assay_engine::Engine;
use axum::extract::{RawQuery, State};

use crate::failure::Result;
use crate::page::{Page, Place};
use crate::query::{Listing, Pairs};
use crate::routes::store;
use crate::row::Row;

/// Rows of a page.
const ROWS: u32 = 50;

/// A field of the filter, as the form shows it.
struct Field {
    name: &'static str,
    hint: &'static str,
    value: String,
    /// What may be chosen; a text where there is nothing.
    choices: Vec<String>,
}

#[derive(Template)]
#[template(path = "grades.html")]
pub(crate) struct Grades {
    place: Place,
    fields: Vec<Field>,
    filtered: bool,
    rows: Vec<Row>,
    first: Option<String>,
    next: Option<String>,
}

pub(crate) async fn page(
    State(engine): State<Engine>,
    RawQuery(query): RawQuery,
) -> Result<Page<Grades>> {
    let pairs = Pairs::read(query.as_deref().unwrap_or_default());
    let listing = Listing::read(&pairs)?;
    let page = store(&engine)?
        .grades(&listing.filter, listing.before, ROWS)
        .await?;
    let fields = fields(&engine, &pairs);
    Ok(Page(Grades {
        place: Place::Grades,
        filtered: fields.iter().any(|field| !field.value.is_empty()),
        fields,
        rows: page.grades.iter().map(Row::from).collect(),
        first: listing.before.map(|_| Listing::link(&pairs, None)),
        next: page.next.map(|next| Listing::link(&pairs, Some(next))),
    }))
}

fn fields(engine: &Engine, pairs: &Pairs) -> Vec<Field> {
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    let graders: Vec<String> = engine
        .graders()
        .iter()
        .map(|grader| grader.spec().name.to_owned())
        .collect();
    let mut verdicts: Vec<String> = engine
        .graders()
        .iter()
        .flat_map(|grader| grader.spec().verdicts)
        .map(|verdict| verdict.verdict.to_string())
        .collect();
    verdicts.sort();
    verdicts.dedup();
    [
        ("run", "exact name", Vec::new()),
        ("step", "number", Vec::new()),
        ("grader", "", graders),
        ("channel", "math/default", Vec::new()),
        ("outcome", "", words(&["graded", "ungradable", "failed"])),
        ("verdict", "", verdicts),
        (
            "appeal",
            "",
            words(&["overturned", "upheld", "disagreed", "unjudged"]),
        ),
        ("id", "of the item", Vec::new()),
        ("group", "as sent", Vec::new()),
        ("batch", "id of the batch", Vec::new()),
        ("score_min", "0", Vec::new()),
        ("score_max", "1", Vec::new()),
        ("since", "2026-11-22T03:45", Vec::new()),
        ("until", "2026-11-22T04:00", Vec::new()),
    ]
    .into_iter()
    .map(|(name, hint, mut choices)| {
        let value = pairs.get(name).unwrap_or_default().to_owned();
        // A word that no grader of this node knows may still be in the record.
        if !choices.is_empty() && !value.is_empty() && !choices.contains(&value) {
            choices.push(value.clone());
        }
        Field {
            name,
            hint,
            value,
            choices,
        }
    })
    .collect()
}

//! The list of grades. The filter is in the URL, so a link shows the same rows.

use askama::Template;
use assay_engine::Engine;
use axum::extract::RawQuery;

use crate::failure::Result;
use crate::page::{Page, Section};
use crate::query::{Listing, Pairs};
use crate::record::store;
use crate::row::Row;
use crate::site::Viewer;

/// Rows per page.
const ROWS: u32 = 50;

/// A field of the filter form.
struct Field {
    name: &'static str,
    hint: &'static str,
    value: String,
    /// The options of a selection; empty for a text field.
    choices: Vec<String>,
}

#[derive(Template)]
#[template(path = "grades.html")]
pub(crate) struct Grades {
    section: Section,
    fields: Vec<Field>,
    filtered: bool,
    rows: Vec<Row>,
    first: Option<String>,
    next: Option<String>,
}

pub(crate) async fn page(
    Viewer { engine, .. }: Viewer,
    RawQuery(query): RawQuery,
) -> Result<Page<Grades>> {
    let pairs = Pairs::read(query.as_deref().unwrap_or_default());
    let listing = Listing::read(&pairs)?;
    let page = store(&engine)?
        .grades(&listing.filter, listing.before, ROWS)
        .await?;
    let fields = fields(&engine, &pairs);
    Ok(Page(Grades {
        section: Section::Grades,
        filtered: fields.iter().any(|field| !field.value.is_empty()),
        fields,
        rows: page.grades.iter().map(Row::from).collect(),
        first: listing.before.map(|_| Listing::link(&pairs, None)),
        next: page.next.map(|next| Listing::link(&pairs, Some(next))),
    }))
}

fn fields(engine: &Engine, pairs: &Pairs) -> Vec<Field> {
    let choices = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
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
        ("outcome", "", choices(&["graded", "ungradable", "failed"])),
        ("verdict", "", verdicts),
        (
            "appeal",
            "",
            choices(&["overturned", "upheld", "disagreed", "unjudged"]),
        ),
        ("id", "id of the item", Vec::new()),
        ("group", "exact name", Vec::new()),
        ("batch", "id of the batch", Vec::new()),
        ("score_min", "0", Vec::new()),
        ("score_max", "1", Vec::new()),
        ("since", "2026-11-22T03:45", Vec::new()),
        ("until", "2026-11-22T04:00", Vec::new()),
    ]
    .into_iter()
    .map(|(name, hint, mut choices)| {
        let value = pairs.get(name).unwrap_or_default().to_owned();
        // The record may contain graders and verdicts that this node does not have.
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

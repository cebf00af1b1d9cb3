//! The list of grades. The filter is in the URL, so a link shows the same rows.

use askama::Template;
use assay_access::redact;
use assay_record::Record;
use assay_review::Review;
use assay_review::filter::{APPEALS, OUTCOMES};
use http::StatusCode;

use crate::bar::Bar;
use crate::display::text;
use crate::facets::{Facets, facets};
use crate::failure::Result;
use crate::grade::address;
use crate::page::{Menu, Page, Section};
use crate::query::{Listing, Pairs};
use crate::record::record_of;
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
    /// Whether its value is why the filter is rejected.
    invalid: bool,
}

#[derive(Template)]
#[template(path = "grades.html")]
pub(crate) struct Grades {
    menu: Menu,
    bar: Bar,
    fields: Vec<Field>,
    /// Why the filter is rejected.
    problem: Option<String>,
    filtered: bool,
    facets: Facets,
    rows: Vec<Row>,
    first: Option<String>,
    next: Option<String>,
}

pub(crate) async fn page(
    Viewer { review, menu, .. }: Viewer,
    pairs: Pairs,
) -> Result<(StatusCode, Page<Grades>)> {
    let menu = menu.at(Section::Grades);
    match list(&review, &pairs, menu.clone()).await {
        Ok(page) => Ok((StatusCode::OK, Page(page))),
        // The form keeps what was entered.
        Err(failure) if failure.parameter.is_some() => {
            let invalid = failure.parameter.as_deref();
            let page = Grades {
                bar: Bar::new(&menu, "/ui/grades", &pairs, invalid),
                menu,
                fields: fields(&review, &pairs, invalid),
                problem: Some(text(&redact(&failure.message))),
                filtered: true,
                facets: Facets::default(),
                rows: Vec::new(),
                first: None,
                next: None,
            };
            Ok((failure.status, Page(page)))
        }
        Err(failure) => Err(failure),
    }
}

async fn list(review: &Review, pairs: &Pairs, menu: Menu) -> Result<Grades> {
    let record = record_of(review)?;
    let listing = Listing::read(pairs)?;
    review.check_filter(&listing.filter).await?;
    let page = record.grades(&listing.filter, listing.before, ROWS).await?;
    let mut rows = Row::list(record, &page.grades).await?;
    for (row, stored) in rows.iter_mut().zip(&page.grades) {
        row.address = address(stored.grade.grade, pairs);
    }
    let fields = fields(review, pairs, None);
    let bar = Bar::new(&menu, "/ui/grades", pairs, None);
    Ok(Grades {
        menu,
        filtered: bar.filled || fields.iter().any(|field| !field.value.is_empty()),
        bar,
        fields,
        problem: None,
        rows,
        facets: facets(record, &listing.filter, pairs).await?,
        first: listing.before.map(|_| Listing::link(pairs, None)),
        next: page.next.map(|next| Listing::link(pairs, Some(next))),
    })
}

/// The fields of the form with the values of `pairs`, of which one may be invalid.
fn fields(review: &Review, pairs: &Pairs, invalid: Option<&str>) -> Vec<Field> {
    let choices = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let graders: Vec<String> = review
        .engine()
        .graders()
        .iter()
        .map(|grader| grader.spec().name.to_owned())
        .collect();
    let searches = (review.engine().record()).is_some_and(Record::searches_texts);
    let mut verdicts: Vec<String> = review.verdicts(None).map(str::to_owned).collect();
    verdicts.sort();
    verdicts.dedup();
    [
        ("text", "word \"a phrase\" pre* /regex/", Vec::new()),
        ("step", "number", Vec::new()),
        ("grader", "", graders),
        ("channel", "math/default", Vec::new()),
        ("outcome", "", choices(OUTCOMES)),
        ("verdict", "", verdicts),
        ("appeal", "", choices(APPEALS)),
        ("truncated", "", choices(&["true", "false"])),
        ("cause", "grader_unavailable", Vec::new()),
        ("id", "id of the item", Vec::new()),
        ("group", "exact name", Vec::new()),
        ("label", "label of a comment", Vec::new()),
        ("prompt_key", "key; needs run", Vec::new()),
        ("batch", "id of the batch", Vec::new()),
        ("score_min", "0", Vec::new()),
        ("score_max", "1", Vec::new()),
        ("since", "2026-11-22T03:45", Vec::new()),
        ("until", "2026-11-22T04:00", Vec::new()),
    ]
    .into_iter()
    .filter(|(name, ..)| *name != "text" || searches || pairs.get(name).is_some())
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
            invalid: invalid == Some(name),
        }
    })
    .collect()
}

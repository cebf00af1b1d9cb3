//! Two runs, or two ranges of steps of one run, compared. The URL contains all parameters.

use std::collections::{BTreeMap, BTreeSet};

use askama::Template;
use assay_access::redact;
use assay_record::chart::Sums;
use assay_review::Review;
use assay_review::comparison::{RunRange, compare};
use http::StatusCode;

use crate::bar::Bar;
use crate::changes::Changes;
use crate::chart::{self, Line, Svg, lines};
use crate::display::{number, text};
use crate::failure::{Failure, Result};
use crate::page::{Menu, Page, Section};
use crate::query::{Field, Pairs, link};
use crate::record::record_of;
use crate::site::Viewer;

/// Maximum number of prompts listed.
const MAX_PROMPTS: u32 = 30;

/// The rewards of a run by the first step of each column; `None` for grades without a step.
type Rewards = BTreeMap<Option<i64>, Sums>;

/// The fields of the form: parameters and their labels.
const FIELDS: [(&str, &str); 6] = [
    ("a", "run A"),
    ("a_from", "A from step"),
    ("a_to", "A to step"),
    ("b", "run B"),
    ("b_from", "B from step"),
    ("b_to", "B to step"),
];

#[derive(Template)]
#[template(path = "compare.html")]
pub(crate) struct Compare {
    menu: Menu,
    bar: Bar,
    problem: Option<String>,
    /// Whether the other run is to be chosen.
    incomplete: bool,
    chart: Svg,
    changes: Option<Changes>,
}

/// The address of a comparison.
pub(crate) fn address(a: &RunRange, b: &RunRange) -> String {
    let step = |step: Option<i64>| step.map(|step| step.to_string());
    let steps = [a.from, a.to, b.from, b.to].map(step);
    let [a_from, a_to, b_from, b_to] = &steps;
    let pairs = [
        ("a", Some(&*a.run)),
        ("a_from", a_from.as_deref()),
        ("a_to", a_to.as_deref()),
        ("b", Some(&*b.run)),
        ("b_from", b_from.as_deref()),
        ("b_to", b_to.as_deref()),
    ];
    link("/ui/compare", &pairs)
}

pub(crate) async fn page(
    Viewer { review, menu, .. }: Viewer,
    pairs: Pairs,
) -> Result<(StatusCode, Page<Compare>)> {
    let menu = menu.at(Section::Runs);
    let (status, problem, chart, changes) = match compared(&review, &pairs).await {
        Ok((chart, changes)) => (StatusCode::OK, None, chart, Some(changes)),
        // The page of a run links to a comparison of it, without the other run.
        Err(_) if is_incomplete(&pairs) => (StatusCode::OK, None, Svg::new(), None),
        // The form keeps what was entered.
        Err(failure) if failure.parameter.is_some() => {
            let problem = text(&redact(&failure.message));
            (
                failure.status,
                Some((failure.parameter, problem)),
                Svg::new(),
                None,
            )
        }
        Err(failure) => return Err(failure),
    };
    let invalid = problem
        .as_ref()
        .and_then(|(parameter, _)| parameter.as_deref());
    let bar = Bar {
        button: "Compare",
        ..Bar::with(&menu, "/ui/compare", fields(&pairs, invalid))
    };
    let page = Compare {
        menu,
        bar,
        problem: problem.map(|(_, problem)| problem),
        incomplete: is_incomplete(&pairs),
        chart,
        changes,
    };
    Ok((status, Page(page)))
}

/// Whether only the second run is given.
fn is_incomplete(pairs: &Pairs) -> bool {
    chosen(pairs, "a").is_none() && chosen(pairs, "b").is_some()
}

fn fields(pairs: &Pairs, invalid: Option<&str>) -> Vec<Field> {
    FIELDS
        .map(|field| Field::new(field, chosen(pairs, field.0), invalid))
        .into()
}

/// The value of a parameter. The list of runs sends both runs as `run`, the newest first; A is the
/// older one.
fn chosen<'p>(pairs: &'p Pairs, parameter: &str) -> Option<&'p str> {
    let of_list = match parameter {
        "a" => pairs.all("run").nth(1),
        "b" => pairs.all("run").next(),
        _ => None,
    };
    pairs.get(parameter).or(of_list)
}

async fn compared(review: &Review, pairs: &Pairs) -> Result<(Svg, Changes)> {
    pairs.reject_unknown(&["run", "a", "a_from", "a_to", "b", "b_from", "b_to"])?;
    if pairs.all("run").count() > 2 {
        let message = "cannot compare more than two runs; choose two";
        return Err(Failure::parameter("b", message));
    }
    let record = record_of(review)?;
    let range = async |run: &'static str, from, to| {
        let name = chosen(pairs, run).ok_or_else(|| {
            Failure::parameter(run, format!("name two runs to compare: `{run}` is missing"))
        })?;
        if record.run(name).await?.is_none() {
            let message = review.unknown_run(name).await?;
            return Err(Failure::parameter(run, message));
        }
        Ok(RunRange {
            run: name.to_owned(),
            from: pairs.parse(from, "a whole number")?,
            to: pairs.parse(to, "a whole number")?,
        })
    };
    let a = range("a", "a_from", "a_to").await?;
    let b = range("b", "b_from", "b_to").await?;
    let comparison = compare(record, &a, &b, MAX_PROMPTS).await?;
    let chart = if a.run == b.run {
        Svg::new()
    } else {
        let mut last = None;
        for run in [&a.run, &b.run] {
            last = last.max(record.run(run).await?.and_then(|run| run.last_step));
        }
        let width = chart::width(last);
        let a = record.run_rewards(&a.run, width).await?;
        let b = record.run_rewards(&b.run, width).await?;
        rewards(&a, &b, width)
    };
    Ok((chart, Changes::of(&comparison)))
}

/// The mean rewards of both runs by step.
fn rewards(a: &Rewards, b: &Rewards, width: i64) -> Svg {
    let steps: BTreeSet<i64> = a.keys().chain(b.keys()).flatten().copied().collect();
    let steps: Vec<i64> = steps.into_iter().collect();
    let values = |run: &Rewards| {
        let mean = |step: &i64| run.get(&Some(*step))?.mean();
        steps.iter().map(mean).collect()
    };
    let both = [("A", 0, a), ("B", 1, b)].map(|(name, colour, run)| Line {
        name,
        colour,
        values: values(run),
    });
    lines("mean rewards by step", width, &steps, &both, number)
}

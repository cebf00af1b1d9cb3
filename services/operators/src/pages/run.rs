//! A run: totals, charts by step, recent steps, and causes of missing scores.

use askama::Template;
use assay_record::RunSummary;
use assay_record::chart::{Counted, Number, Steps, Sums, Topic};
use assay_review::Review;
use assay_review::comparison::{RunRange, compare};
use axum::response::{IntoResponse, Redirect, Response};
use http::StatusCode;

use crate::bar::Bar;
use crate::changes::Changes;
use crate::chart::{self, Figure, Line, Style, Svg, VerdictStyles, band, heat, lines, shares};
use crate::display::{bytes, cell, count, optional_number, percent, span, time};
use crate::failure::{Failure, Result};
use crate::page::{Menu, Page, Section};
use crate::pages;
use crate::pages::run_notes::{self, Fields, Invalid, RunNotes};
use crate::pages::runs::address;
use crate::query::{Pairs, link};
use crate::record::record_of;
use crate::site::Viewer;

/// Maximum number of listed prompts that only one side solves.
const MAX_PROMPTS: u32 = 10;

/// Number of recent steps in the table below the charts.
const MAX_STEPS: usize = 20;

/// A step, or a bucket of steps, in the table.
struct StepRow {
    step: String,
    address: Option<String>,
    grades: String,
    reward: String,
    deviation: String,
    passed: String,
    ungradable: String,
    failed: String,
    grade_time: String,
    queue_time: String,
    cached: String,
}

#[derive(Template)]
#[template(path = "run.html")]
pub(crate) struct Run {
    menu: Menu,
    bar: Bar,
    name: String,
    notes: RunNotes,
    /// The page of its shadow.
    shadow: String,
    facts: Vec<(&'static str, String)>,
    charts: Vec<Figure>,
    width: i64,
    /// The chosen steps against those before them.
    changes: Option<(Window, Changes)>,
    steps: Vec<StepRow>,
    causes: Vec<(String, String)>,
}

/// The steps that are compared with as many before them.
struct Window {
    from: i64,
    to: i64,
    /// The steps before.
    before: String,
    address: String,
}

pub(crate) async fn page(viewer: Viewer, pairs: Pairs) -> Result<Page<Run>> {
    show(viewer, &pairs, None).await
}

/// Changes what is noted about a run, and shows its page; if something is invalid, with what was
/// entered.
pub(crate) async fn annotate(viewer: Viewer, form: String) -> Result<Response> {
    let form = Pairs::read(&form);
    let name = form
        .get("name")
        .ok_or_else(|| Failure::parameter("name", "missing field `name`, the name of a run"))?;
    let address = address(name);
    let Some(entered) = run_notes::annotate(&viewer, name, &form).await? else {
        return Ok(Redirect::to(&format!("{address}#run-notes")).into_response());
    };
    let (_, query) = address.split_once('?').unwrap_or_default();
    let page = show(viewer, &Pairs::read(query), Some(entered)).await?;
    Ok((StatusCode::BAD_REQUEST, page).into_response())
}

async fn show(
    Viewer { review, menu, .. }: Viewer,
    pairs: &Pairs,
    entered: Option<(Fields, Invalid)>,
) -> Result<Page<Run>> {
    pairs.reject_unknown(&["name", "from", "to"])?;
    let name = pairs
        .get("name")
        .ok_or_else(|| Failure::parameter("name", "missing parameter `name`, the name of a run"))?;
    let record = record_of(&review)?;
    let Some(summary) = record.run(name).await? else {
        return Err(Failure::not_found(review.unknown_run(name).await?));
    };
    let width = chart::width(summary.last_step);
    let steps = record.run_steps(name, width).await?;
    let mut all = Counted::default();
    steps.values().for_each(|counted| all.add(counted));
    let menu = menu.at(Section::Runs).about(Some(name));
    let window = window(pairs, &summary, &steps)?;
    let changes = match window {
        Some((before, after)) => {
            let comparison = compare(record, &before, &after, MAX_PROMPTS).await?;
            Some((Window::of(&before, &after), Changes::of(&comparison)))
        }
        None => None,
    };
    Ok(Page(Run {
        bar: Bar::new(&menu, "/ui/run", pairs, None),
        notes: RunNotes::new(&summary, &menu, entered),
        menu,
        changes,
        shadow: pages::shadow::address(name),
        name: crate::display::name(name),
        facts: facts(&summary, &all),
        charts: charts(name, &steps, &all, width, &verdict_styles(&review)),
        width,
        steps: steps
            .iter()
            .rev()
            .take(MAX_STEPS)
            .map(|(step, counted)| row(name, *step, width, counted))
            .collect(),
        causes: causes(&all),
    }))
}

/// The steps to compare, and as many before them: those of the query, or those after the clearest
/// fall of the reward, or the last tenth. `None` if there are no steps before.
fn window(pairs: &Pairs, run: &RunSummary, steps: &Steps) -> Result<Option<(RunRange, RunRange)>> {
    let (from, to) = (
        pairs.parse("from", "a whole number")?,
        pairs.parse("to", "a whole number")?,
    );
    let first = steps.keys().flatten().next().copied();
    let Some((first, last)) = first.zip(run.last_step) else {
        return Ok(None);
    };
    let tenth = (last.saturating_sub(first) / 10).max(1);
    let (from, to): (i64, i64) = match (from, to) {
        (Some(from), to) => (from, to.unwrap_or(last)),
        (None, Some(to)) => (to.saturating_sub(tenth - 1), to),
        (None, None) => {
            let from = clearest_fall(steps, tenth).unwrap_or(last - tenth + 1);
            (from, from.saturating_add(tenth - 1).min(last))
        }
    };
    if from > to {
        let message = format!("`from` must be at most `to`, {to}, not {from}");
        return Err(Failure::parameter("from", message));
    }
    let width = to.saturating_sub(from).saturating_add(1);
    let range = |from, to| RunRange {
        run: run.run.clone(),
        from: Some(from),
        to: Some(to),
    };
    let before = range(from.saturating_sub(width), from.saturating_sub(1));
    Ok((from > first).then(|| (before, range(from, to))))
}

/// The step from which the mean reward of `width` steps is below that of the steps before by the
/// most standard errors, if by at least three.
fn clearest_fall(steps: &Steps, width: i64) -> Option<i64> {
    const MIN_ERRORS: f64 = 3.0;
    let rewards = |from: i64| {
        let mut sums = Sums::default();
        let range = steps.range(Some(from)..Some(from.saturating_add(width)));
        range.for_each(|(_, counted)| sums.add(&counted.sums(Number::Reward)));
        sums
    };
    let errors = |step: i64| {
        let (before, after) = (rewards(step.saturating_sub(width)), rewards(step));
        let fall = before.mean()? - after.mean()?;
        let error = before.standard_error()?.hypot(after.standard_error()?);
        (error > 0.0).then(|| (step, fall / error))
    };
    let falls = steps.keys().flatten().filter_map(|step| errors(*step));
    let clearest = falls.max_by(|(_, x), (_, y)| x.total_cmp(y));
    clearest
        .filter(|(_, errors)| *errors >= MIN_ERRORS)
        .map(|(step, _)| step)
}

impl Window {
    fn of(before: &RunRange, after: &RunRange) -> Self {
        let bound = |step: Option<i64>| step.unwrap_or_default();
        Self {
            from: bound(after.from),
            to: bound(after.to),
            before: format!("{} to {}", bound(before.from), bound(before.to)),
            address: pages::compare::address(before, after),
        }
    }
}

fn facts(run: &RunSummary, all: &Counted) -> Vec<(&'static str, String)> {
    let hits: u64 = all.values_of(Topic::Cache).map(|(_, grades)| grades).sum();
    vec![
        ("grades", count(run.grades)),
        (
            "last step",
            run.last_step
                .map_or_else(|| "–".to_owned(), |step| step.to_string()),
        ),
        ("passed after appeals", percent(run.passed, run.graded)),
        ("mean score", optional_number(run.mean_score)),
        (
            "mean reward",
            optional_number(all.sums(Number::Reward).mean()),
        ),
        ("ungradable", count(run.ungradable)),
        ("failed", count(run.failed)),
        ("from the cache", percent(hits, run.grades)),
        ("first grade", time(run.first_us)),
        ("last grade", time(run.last_us)),
    ]
}

/// The styles of the verdicts of this node.
fn verdict_styles(review: &Review) -> VerdictStyles {
    let graders = review.engine().graders().iter();
    let verdicts = graders.flat_map(|grader| grader.spec().verdicts);
    VerdictStyles::new(verdicts.map(|spec| (spec.verdict.as_str(), spec.pass == Some(true))))
}

/// The grades of the steps that start at `step`.
fn grades_of(run: &str, step: i64, width: i64) -> String {
    let first = step.to_string();
    let last = step.saturating_add(width - 1).to_string();
    let steps = if width == 1 {
        [("step", Some(&*first)), ("step_max", None)]
    } else {
        [("step_min", Some(&*first)), ("step_max", Some(&*last))]
    };
    let [from, to] = steps;
    link("/ui/grades", &[("run", Some(run)), from, to])
}

fn charts(
    run: &str,
    steps: &Steps,
    all: &Counted,
    width: i64,
    verdicts: &VerdictStyles,
) -> Vec<Figure> {
    let numbered: Vec<(i64, &Counted)> = steps
        .iter()
        .filter_map(|(step, counted)| Some(((*step)?, counted)))
        .collect();
    let rewards: Vec<_> = numbered
        .iter()
        .filter_map(|(step, counted)| {
            let sums = counted.sums(Number::Reward);
            Some((*step, (sums.mean()?, sums.standard_error()?, sums.count)))
        })
        .collect();
    let histograms: Vec<_> = numbered
        .iter()
        .map(|(step, counted)| {
            let bins = counted.bins(Number::Reward);
            (
                *step,
                bins.map(|(bin, sums)| (Number::Reward.bin_start(bin), sums.count))
                    .collect(),
            )
        })
        .collect();
    let chart = |title, about, svg, parts| Figure {
        title,
        about,
        svg,
        parts,
    };
    let mut charts = vec![
        chart(
            "Reward",
            "mean ± one standard error; a column opens its grades",
            band("reward by step", width, &rewards, |step| {
                grades_of(run, step, width)
            }),
            Vec::new(),
        ),
        chart(
            "Rewards",
            "histogram of each step",
            heat("rewards by step", width, 0.1, &histograms),
            Vec::new(),
        ),
        share_chart(
            "Outcomes",
            "share of items",
            &parts(Topic::Outcome, all, verdicts),
            Topic::Outcome,
            &numbered,
            width,
        ),
        share_chart(
            "Verdicts",
            "share of graded items",
            &parts(Topic::Verdict, all, verdicts),
            Topic::Verdict,
            &numbered,
            width,
        ),
        share_chart(
            "Causes",
            "causes of missing scores",
            &parts(Topic::Cause, all, verdicts),
            Topic::Cause,
            &numbered,
            width,
        ),
        share_chart(
            "Graders",
            "share of items",
            &parts(Topic::Grader, all, verdicts),
            Topic::Grader,
            &numbered,
            width,
        ),
        times(
            "Grading",
            "grading time of an item",
            Number::GradeUs,
            &numbered,
            width,
        ),
        times(
            "Waiting",
            "time of an item in the queue",
            Number::QueueUs,
            &numbered,
            width,
        ),
        cached(&numbered, width),
        lengths(&numbered, width),
    ];
    charts.retain(|chart| !chart.svg.is_empty());
    charts
}

/// The labels of a topic with their styles, most frequent first.
fn parts(topic: Topic, all: &Counted, verdicts: &VerdictStyles) -> Vec<(String, Style)> {
    let mut names: Vec<(&str, u64)> = all.values_of(topic).collect();
    names.sort_by_key(|(name, grades)| (std::cmp::Reverse(*grades), *name));
    let style = |rank: usize, name: &str| match topic {
        Topic::Outcome => Style::of_outcome(name),
        Topic::Verdict => verdicts.of(name),
        _ => Style::of_part(rank),
    };
    names
        .into_iter()
        .enumerate()
        .map(|(rank, (name, _))| (name.to_owned(), style(rank, name)))
        .collect()
}

/// A chart of the shares of the labels of a topic.
fn share_chart(
    title: &'static str,
    about: &'static str,
    parts: &[(String, Style)],
    topic: Topic,
    steps: &[(i64, &Counted)],
    width: i64,
) -> Figure {
    let column = |(step, counted): &(i64, &Counted)| {
        let of = |name: &str| counted.grades_of(topic, name);
        (*step, parts.iter().map(|(name, _)| of(name)).collect())
    };
    let columns: Vec<_> = steps.iter().map(column).collect();
    let svg = if parts.is_empty() {
        Svg::new()
    } else {
        shares(title, width, &columns, parts)
    };
    Figure {
        title,
        about,
        svg,
        parts: parts
            .iter()
            .map(|(name, style)| (cell(name), *style))
            .collect(),
    }
}

fn times(
    title: &'static str,
    about: &'static str,
    number: Number,
    steps: &[(i64, &Counted)],
    width: i64,
) -> Figure {
    let at = |share: f64| {
        steps
            .iter()
            .map(|(_, counted)| counted.quantile(number, share))
            .collect()
    };
    let two = [
        Line {
            name: "median",
            colour: 0,
            values: at(0.5),
        },
        Line {
            name: "95 %",
            colour: 1,
            values: at(0.95),
        },
    ];
    let first: Vec<i64> = steps.iter().map(|(step, _)| *step).collect();
    Figure {
        title,
        about,
        svg: lines(title, width, &first, &two, span),
        parts: named(&two),
    }
}

fn cached(steps: &[(i64, &Counted)], width: i64) -> Figure {
    let share = |(_, counted): &(i64, &Counted)| {
        let hits: u64 = counted
            .values_of(Topic::Cache)
            .map(|(_, grades)| grades)
            .sum();
        (counted.grades() > 0).then(|| hits as f64 / counted.grades() as f64)
    };
    let one = [Line {
        name: "hits",
        colour: 0,
        values: steps.iter().map(share).collect(),
    }];
    let first: Vec<i64> = steps.iter().map(|(step, _)| *step).collect();
    let svg = lines("cache", width, &first, &one, |share| {
        format!("{:.1} %", 100.0 * share)
    });
    Figure {
        title: "Cache",
        about: "share of outcomes from the cache",
        svg,
        parts: Vec::new(),
    }
}

fn lengths(steps: &[(i64, &Counted)], width: i64) -> Figure {
    let mean = |number| {
        steps
            .iter()
            .map(|(_, counted)| counted.sums(number).mean())
            .collect()
    };
    let two = [
        Line {
            name: "passed",
            colour: 2,
            values: mean(Number::PassedBytes),
        },
        Line {
            name: "other",
            colour: 3,
            values: mean(Number::OtherBytes),
        },
    ];
    let first: Vec<i64> = steps.iter().map(|(step, _)| *step).collect();
    let svg = lines("length", width, &first, &two, bytes);
    Figure {
        title: "Length",
        about: "mean length of passing and of other completions",
        svg,
        parts: named(&two),
    }
}

fn named(lines: &[Line]) -> Vec<(String, Style)> {
    lines
        .iter()
        .map(|line| (line.name.to_owned(), Style::plain(line.colour)))
        .collect()
}

fn row(run: &str, step: Option<i64>, width: i64, counted: &Counted) -> StepRow {
    let of = |topic, name: &str| counted.grades_of(topic, name);
    let (grades, graded, passed) = (
        counted.grades(),
        of(Topic::Outcome, "graded"),
        of(Topic::Pass, "pass"),
    );
    let rewards = counted.sums(Number::Reward);
    let at = |number| {
        counted
            .quantile(number, 0.95)
            .map_or_else(|| "–".to_owned(), span)
    };
    let shown = match step {
        None => "none".to_owned(),
        Some(step) if width == 1 => step.to_string(),
        Some(step) => format!("{step} to {}", step + width - 1),
    };
    StepRow {
        address: step.map(|step| grades_of(run, step, width)),
        step: shown,
        grades: count(grades),
        reward: optional_number(rewards.mean()),
        deviation: optional_number(rewards.deviation()),
        passed: percent(passed, graded),
        ungradable: count(of(Topic::Outcome, "ungradable")),
        failed: count(of(Topic::Outcome, "failed")),
        grade_time: at(Number::GradeUs),
        queue_time: at(Number::QueueUs),
        cached: percent(of(Topic::Cache, "hit"), grades),
    }
}

fn causes(all: &Counted) -> Vec<(String, String)> {
    let mut causes: Vec<(&str, u64)> = all.values_of(Topic::Cause).collect();
    causes.sort_by_key(|(_, grades)| std::cmp::Reverse(*grades));
    causes
        .into_iter()
        .map(|(cause, grades)| (cell(cause), count(grades)))
        .collect()
}

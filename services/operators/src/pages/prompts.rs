//! The prompts of a run: how often each was visited, how many rollouts passed, and which prompts
//! are never solved, always solved, lost, gained or noisy. The URL contains all parameters.

use askama::Template;
use assay_access::redact;
use assay_record::prompt_list::{
    PromptCounts, PromptFilter, PromptOrder, PromptStatus, PromptSummary,
};
use assay_review::{Review, prompt_list};
use http::StatusCode;

use crate::bar::Bar;
use crate::display::{cell, count, optional_number, percent, short, text};
use crate::failure::{Failure, Result};
use crate::page::{Menu, Page, Section};
use crate::query::{Pairs, link};
use crate::record::record_of;
use crate::site::Viewer;

/// Rows per page.
const ROWS: u32 = 50;

const PARAMETERS: [&str; 6] = ["run", "status", "step_min", "step_max", "order", "offset"];

/// A choice among statuses or orders.
struct Choice {
    name: &'static str,
    /// Number of prompts; empty for an order.
    prompts: String,
    /// What the status means; empty for an order.
    about: &'static str,
    address: String,
    chosen: bool,
}

struct PromptRow {
    key: String,
    /// The grades of the prompt.
    address: String,
    visits: String,
    passed: String,
    rollouts: String,
    reward: String,
    first: String,
    last: String,
    /// Whether the first and the last visit solve it.
    solved: String,
    wrong: Option<WrongRow>,
}

/// The most frequent wrong answer of a prompt.
struct WrongRow {
    answer: String,
    gold: String,
    grades: String,
    /// One of the grades.
    address: Option<String>,
}

#[derive(Template)]
#[template(path = "prompts.html")]
pub(crate) struct Prompts {
    menu: Menu,
    run: Option<(String, String)>,
    bar: Bar,
    problem: Option<String>,
    statuses: Vec<Choice>,
    orders: Vec<Choice>,
    rows: Vec<PromptRow>,
    first: Option<String>,
    next: Option<String>,
}

pub(crate) async fn page(
    Viewer { review, menu, .. }: Viewer,
    pairs: Pairs,
) -> Result<(StatusCode, Page<Prompts>)> {
    let menu = menu.at(Section::Runs);
    match list(&review, &pairs, menu.clone()).await {
        Ok(page) => Ok((StatusCode::OK, Page(page))),
        // The form keeps what was entered.
        Err(failure) if failure.parameter.is_some() => {
            let page = Prompts {
                problem: Some(text(&redact(&failure.message))),
                ..Prompts::empty(&pairs, menu, failure.parameter.as_deref())
            };
            Ok((failure.status, Page(page)))
        }
        Err(failure) => Err(failure),
    }
}

async fn list(review: &Review, pairs: &Pairs, menu: Menu) -> Result<Prompts> {
    pairs.reject_unknown(&PARAMETERS)?;
    let record = record_of(review)?;
    let run = pairs
        .get("run")
        .ok_or_else(|| Failure::parameter("run", "name a run: the parameter `run` is missing"))?;
    if record.run(run).await?.is_none() {
        return Err(Failure::parameter("run", review.unknown_run(run).await?));
    }
    let filter = PromptFilter {
        step_min: pairs.parse("step_min", "a whole number")?,
        step_max: pairs.parse("step_max", "a whole number")?,
        status: prompt_list::status(pairs.get("status"))?,
    };
    let order = prompt_list::order(pairs.get("order"))?;
    let offset: u32 = pairs.parse("offset", "a number")?.unwrap_or(0);
    let counts = record.prompt_counts(run, &filter).await?;
    let mut prompts = record
        .prompt_list(run, &filter, order, offset, ROWS + 1)
        .await?;
    let more = prompts.len() > ROWS as usize;
    prompts.truncate(ROWS as usize);
    let next = offset.saturating_add(ROWS).to_string();
    Ok(Prompts {
        run: Some((
            crate::display::name(run),
            link("/ui/run", &[("name", Some(run))]),
        )),
        statuses: statuses(pairs, &filter, &counts),
        orders: orders(pairs, order),
        rows: prompts
            .iter()
            .map(|prompt| row(run, &filter, prompt))
            .collect(),
        first: (offset > 0).then(|| changed(pairs, &[("offset", None)])),
        next: more.then(|| changed(pairs, &[("offset", Some(&next))])),
        ..Prompts::empty(pairs, menu, None)
    })
}

impl Prompts {
    /// The page without a list.
    fn empty(pairs: &Pairs, menu: Menu, invalid: Option<&str>) -> Self {
        let bar = Bar::new(&menu, "/ui/prompts", pairs, invalid);
        Self {
            menu,
            run: None,
            bar: bar.keeping(pairs, &["status", "order"]),
            problem: None,
            statuses: Vec::new(),
            orders: Vec::new(),
            rows: Vec::new(),
            first: None,
            next: None,
        }
    }
}

/// A link to the list with other values of some parameters.
fn changed(pairs: &Pairs, changed: &[(&str, Option<&str>)]) -> String {
    pairs.changed("/ui/prompts", &PARAMETERS, changed)
}

fn statuses(pairs: &Pairs, filter: &PromptFilter, counts: &PromptCounts) -> Vec<Choice> {
    let all = PromptStatus::ALL.iter().copied().map(Some);
    let choice = |status: Option<PromptStatus>| {
        let (name, about) = status.map_or(("all", "prompts with a visit"), described);
        Choice {
            name,
            prompts: count(counts.of(status)),
            about,
            address: changed(
                pairs,
                &[("status", status.map(PromptStatus::name)), ("offset", None)],
            ),
            chosen: filter.status == status,
        }
    };
    // Answers are not counted by step.
    let has_steps = filter.step_min.or(filter.step_max).is_some();
    let all = all.filter(|status| !has_steps || *status != Some(PromptStatus::GoldSuspect));
    [None].into_iter().chain(all).map(choice).collect()
}

/// A status in words.
fn described(status: PromptStatus) -> (&'static str, &'static str) {
    match status {
        PromptStatus::NeverSolved => ("never solved", "no rollout passed"),
        PromptStatus::AlwaysSolved => ("always solved", "all rollouts passed"),
        PromptStatus::Lost => ("lost", "solved by an earlier visit, not by the last one"),
        PromptStatus::Gained => (
            "gained",
            "solved by the last visit, but not by every earlier one",
        ),
        PromptStatus::Noisy => (
            "noisy",
            "solved by some visits and not by others; the first and the last visit agree",
        ),
        PromptStatus::GoldSuspect => (
            "gold suspect",
            "at least half of the rollouts agree on one wrong answer and few pass; in simulations \
             with 2 % wrong golds, 0.2 to 0.5 of the suspects have a wrong gold",
        ),
    }
}

fn orders(pairs: &Pairs, chosen: PromptOrder) -> Vec<Choice> {
    let choice = |order: &PromptOrder| Choice {
        name: match order {
            PromptOrder::Visits => "most visits",
            PromptOrder::LowestRate => "lowest pass rate",
            PromptOrder::HighestRate => "highest pass rate",
            PromptOrder::LastStep => "latest step",
            PromptOrder::Key => "key",
        },
        prompts: String::new(),
        about: "",
        address: changed(pairs, &[("order", Some(order.name())), ("offset", None)]),
        chosen: *order == chosen,
    };
    PromptOrder::ALL.iter().map(choice).collect()
}

fn row(run: &str, filter: &PromptFilter, prompt: &PromptSummary) -> PromptRow {
    let step = |step: Option<i64>| step.map(|step| step.to_string());
    let shown = |number: Option<i64>| step(number).unwrap_or_else(|| "–".to_owned());
    let (min, max) = (step(filter.step_min), step(filter.step_max));
    let grades = [
        ("run", Some(run)),
        ("step_min", min.as_deref()),
        ("step_max", max.as_deref()),
        ("prompt_key", Some(&*prompt.prompt_key)),
    ];
    let solved = |solved| if solved { "yes" } else { "no" };
    let wrong = prompt.wrong_answer.as_ref().map(|wrong| WrongRow {
        answer: short(&wrong.answer),
        gold: short(wrong.gold.as_deref().unwrap_or_default()),
        grades: count(wrong.grades),
        address: (wrong.example).map(|grade| format!("/ui/grades/{grade}")),
    });
    PromptRow {
        key: cell(&prompt.prompt_key),
        address: link("/ui/grades", &grades),
        visits: count(prompt.visits),
        passed: percent(prompt.passes, prompt.judged),
        rollouts: count(prompt.judged),
        reward: optional_number(prompt.mean_reward),
        first: shown(prompt.first_step),
        last: shown(prompt.last_step),
        solved: format!(
            "{} → {}",
            solved(prompt.solved_first),
            solved(prompt.solved_last)
        ),
        wrong,
    }
}

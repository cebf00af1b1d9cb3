//! The list of runs. The filter and the order are in its URL, so a link shows the same rows.

use askama::Template;
use assay_record::run_list::{Direction, RunFilter, RunKey, RunOrder};
use assay_record::{Record, RunSummary};
use assay_review::run_list;

use crate::display::{cell, count, middle, name, optional_number, percent, sentence, time};
use crate::failure::Result;
use crate::page::{Menu, Page, Section};
use crate::query::{Pairs, link};
use crate::record::record_of;
use crate::site::Viewer;
use crate::trend::Lines;

/// Rows per page.
const ROWS: u32 = 50;

const PARAMETERS: [&str; 6] = ["search", "tag", "archived", "sort", "order", "offset"];

/// A tag with the list of its runs.
pub(crate) struct Tag {
    pub(crate) name: String,
    pub(crate) address: String,
}

/// A run as a row.
pub(crate) struct RunRow {
    /// The name with its ends.
    pub(crate) name: String,
    pub(crate) whole_name: String,
    /// The name as the record has it.
    pub(crate) recorded: String,
    pub(crate) address: String,
    pub(crate) tags: Vec<Tag>,
    pub(crate) note: String,
    pub(crate) lines: Lines,
    pub(crate) step: String,
    pub(crate) grades: String,
    pub(crate) reward: String,
    pub(crate) passed: String,
    pub(crate) failed: String,
    pub(crate) failing: bool,
    pub(crate) last: String,
}

impl RunRow {
    /// The rows of a list.
    pub(crate) async fn list(record: &Record, runs: &[RunSummary]) -> Result<Vec<Self>> {
        let mut rows = Vec::with_capacity(runs.len());
        for run in runs {
            rows.push(Self::new(run, Lines::read(record, run).await?));
        }
        Ok(rows)
    }

    fn new(run: &RunSummary, lines: Lines) -> Self {
        Self {
            name: middle(&run.run),
            whole_name: name(&run.run),
            recorded: run.run.clone(),
            address: address(&run.run),
            tags: run.tags.iter().map(|tag| Tag::new(tag)).collect(),
            note: sentence(&run.note),
            lines,
            step: run
                .last_step
                .map_or_else(|| "–".to_owned(), |step| step.to_string()),
            grades: count(run.grades),
            reward: optional_number(run.mean_reward),
            passed: percent(run.passed, run.graded),
            failed: count(run.failed),
            failing: run.failed > 0,
            last: time(run.last_us),
        }
    }
}

impl Tag {
    pub(crate) fn new(tag: &str) -> Self {
        Self {
            name: cell(tag),
            address: link("/ui/runs", &[("tag", Some(tag))]),
        }
    }
}

/// The page of a run.
pub(crate) fn address(run: &str) -> String {
    link("/ui/run", &[("name", Some(run))])
}

/// The head of a column, which sorts by it if it has an address.
pub(crate) struct Head {
    pub(crate) name: &'static str,
    /// Class of the style sheet.
    pub(crate) class: &'static str,
    /// What the column has, if its name does not say it.
    pub(crate) about: &'static str,
    pub(crate) address: Option<String>,
    /// Value of `aria-sort`; empty if the list is not sorted by the column.
    pub(crate) sorted: &'static str,
}

/// The columns of lists of runs: name, class, explanation, and the key by which they sort.
const COLUMNS: [(&str, &str, &str, Option<RunKey>); 9] = [
    ("Run", "", "", Some(RunKey::Name)),
    ("Tags and note", "", "", None),
    ("Step", "number", "highest step", None),
    ("Grades", "number", "", Some(RunKey::Grades)),
    ("Reward", "number", "mean reward", Some(RunKey::MeanReward)),
    ("By step", "", "mean reward by step", None),
    (
        "Change",
        "number",
        "mean reward of the last tenth of the steps, compared with as many steps before",
        None,
    ),
    ("Passed", "number", "after appeals", Some(RunKey::PassRate)),
    ("Failed", "number", "", None),
];

/// The column after those above, which is the default order.
const LAST: (&str, &str, &str, Option<RunKey>) = ("Last grade", "", "", Some(RunKey::LastUsed));

/// The heads of the columns of a list of runs; without links on a page with another order.
pub(crate) fn heads(sorted: Option<(&Pairs, RunOrder)>) -> Vec<Head> {
    let head = |(name, class, about, key): (_, _, _, Option<RunKey>)| {
        let mut head = Head {
            name,
            class,
            about,
            address: None,
            sorted: "",
        };
        if let (Some((pairs, order)), Some(key)) = (sorted, key) {
            let is_current = order.key == key;
            let direction = if is_current {
                order.direction.reversed()
            } else {
                key.direction()
            };
            let changes = [
                ("sort", Some(key.name())),
                (
                    "order",
                    (direction != key.direction()).then(|| direction.name()),
                ),
                ("offset", None),
            ];
            head.address = Some(pairs.changed("/ui/runs", &PARAMETERS, &changes));
            head.sorted = match order.direction {
                _ if !is_current => "",
                Direction::Ascending => "ascending",
                Direction::Descending => "descending",
            };
        }
        head
    };
    COLUMNS.into_iter().chain([LAST]).map(head).collect()
}

#[derive(Template)]
#[template(path = "runs.html")]
pub(crate) struct Runs {
    menu: Menu,
    search: String,
    /// Other parameters, which the form keeps.
    kept: Vec<(&'static str, String)>,
    filtered: bool,
    /// The tag of the filter, and the list of runs with any tags.
    tag: Option<Tag>,
    archived: bool,
    /// The list of the archived runs, or of the other ones.
    others: String,
    heads: Vec<Head>,
    runs: Vec<RunRow>,
    /// Whether runs can be chosen.
    selectable: bool,
    first: Option<String>,
    next: Option<String>,
}

pub(crate) async fn page(Viewer { review, menu, .. }: Viewer, pairs: Pairs) -> Result<Page<Runs>> {
    pairs.reject_unknown(&PARAMETERS)?;
    let archived = pairs.parse("archived", "`true` or `false`")?;
    let filter = run_list::filter(pairs.get("search"), pairs.get("tag"), archived)?;
    let order = run_list::order(pairs.get("sort"), pairs.get("order"))?;
    let offset: u32 = pairs.parse("offset", "a number")?.unwrap_or(0);
    let record = record_of(&review)?;
    let mut runs = record.run_list(&filter, order, offset, ROWS + 1).await?;
    let more = runs.len() > ROWS as usize;
    runs.truncate(ROWS as usize);
    let changed =
        |changes: &[(&str, Option<&str>)]| pairs.changed("/ui/runs", &PARAMETERS, changes);
    let next = offset.saturating_add(ROWS).to_string();
    let archived = filter.archived == Some(true);
    let kept = ["tag", "archived", "sort", "order"];
    Ok(Page(Runs {
        menu: menu.at(Section::Runs),
        search: filter.search.clone().unwrap_or_default(),
        kept: kept
            .into_iter()
            .filter_map(|name| Some((name, pairs.get(name)?.to_owned())))
            .collect(),
        filtered: is_filtered(&filter),
        tag: filter.tag.as_deref().map(|tag| Tag {
            name: cell(tag),
            address: changed(&[("tag", None), ("offset", None)]),
        }),
        archived,
        others: changed(&[
            ("archived", (!archived).then_some("true")),
            ("offset", None),
        ]),
        heads: heads(Some((&pairs, order))),
        runs: RunRow::list(record, &runs).await?,
        selectable: true,
        first: (offset > 0).then(|| changed(&[("offset", None)])),
        next: more.then(|| changed(&[("offset", Some(&next))])),
    }))
}

fn is_filtered(filter: &RunFilter) -> bool {
    filter.search.is_some() || filter.tag.is_some() || filter.archived == Some(true)
}

//! What items cost by run, caller and grader, and the slowest grades. The URL contains the filter.

use askama::Template;
use assay_record::StoredGrade;
use assay_record::cost::{CostFilter, CostKey, CostRow};

use crate::bar::Bar;
use crate::display::{bytes, cell, count, middle, span};
use crate::failure::Result;
use crate::page::{Menu, Page, Section};
use crate::query::{Field, Pairs};
use crate::record::record_of;
use crate::row::Badge;
use crate::site::Viewer;

/// Maximum number of runs, callers and graders listed.
const ROWS: u32 = 20;

/// Number of slowest grades listed.
const SLOWEST: u32 = 50;

/// The parameters. Costs have no steps, which only the links to other pages use.
const PARAMETERS: [&str; 5] = ["run", "step_min", "step_max", "caller", "grader"];

/// The costs by a property.
struct CostTable {
    title: &'static str,
    head: &'static str,
    rows: Vec<Row>,
}

struct Row {
    name: String,
    /// The page with only these costs.
    address: Option<String>,
    grades: String,
    cpu: String,
    share: String,
    grading: String,
    mean: String,
    queue: String,
    bytes: String,
}

/// A slow grade.
struct SlowRow {
    address: String,
    grading: String,
    queue: String,
    run: String,
    step: String,
    grader: String,
    item: String,
    prompt: String,
    badge: Badge,
}

#[derive(Template)]
#[template(path = "cost.html")]
pub(crate) struct CostPage {
    menu: Menu,
    bar: Bar,
    /// Whether the address has steps.
    has_steps: bool,
    tables: Vec<CostTable>,
    slowest: Vec<SlowRow>,
}

pub(crate) async fn page(
    Viewer { review, menu, .. }: Viewer,
    pairs: Pairs,
) -> Result<Page<CostPage>> {
    pairs.reject_unknown(&PARAMETERS)?;
    pairs.parse::<i64>("step_min", "a whole number")?;
    pairs.parse::<i64>("step_max", "a whole number")?;
    let text = |name: &str| pairs.get(name).map(str::to_owned);
    let filter = CostFilter {
        run: text("run"),
        caller: text("caller"),
        grader: text("grader"),
    };
    let record = record_of(&review)?;
    let mut tables = Vec::new();
    for (key, title, head) in [
        (CostKey::Grader, "By grader", "Grader"),
        (CostKey::Run, "By run", "Run"),
        (CostKey::Caller, "By caller", "Caller"),
    ] {
        let costs = record.costs(key, &filter, ROWS).await?;
        let all: u64 = costs.iter().map(|row| row.cost.grade_us).sum();
        let rows = costs.iter().map(|row| Row::of(row, key, all, &pairs));
        tables.push(CostTable {
            title,
            head,
            rows: rows.collect(),
        });
    }
    let slowest = record.slowest(&filter, SLOWEST).await?;
    let menu = menu.at(Section::Cost);
    let field = |name| Field::new((name, name), pairs.get(name), None);
    Ok(Page(CostPage {
        bar: Bar::new(&menu, "/ui/cost", &pairs, None).and(["caller", "grader"].map(field)),
        has_steps: menu.focus().from.or(menu.focus().to).is_some(),
        menu,
        tables,
        slowest: slowest.iter().map(SlowRow::from).collect(),
    }))
}

impl Row {
    fn of(row: &CostRow, key: CostKey, all: u64, pairs: &Pairs) -> Self {
        let cost = &row.cost;
        let name = row.name.as_deref();
        let filtered =
            |name: &str| pairs.changed("/ui/cost", &PARAMETERS, &[(key.name(), Some(name))]);
        Self {
            name: name.map_or_else(|| "without a run".to_owned(), middle),
            address: name.map(filtered),
            grades: count(cost.grades),
            cpu: span(cost.cpu_us as f64),
            share: crate::display::percent(cost.grade_us, all),
            grading: span(cost.grade_us as f64),
            mean: span(cost.grade_us as f64 / cost.grades.max(1) as f64),
            queue: span(cost.queue_us as f64),
            bytes: bytes(cost.bytes as f64),
        }
    }
}

impl From<&StoredGrade> for SlowRow {
    fn from(StoredGrade { source, grade }: &StoredGrade) -> Self {
        let shown = |text: Option<&str>| text.map_or_else(|| "–".to_owned(), cell);
        Self {
            address: format!("/ui/grades/{}", grade.grade),
            grading: span(grade.grade_us as f64),
            queue: span(grade.queue_us as f64),
            run: source.run.as_deref().map_or_else(|| "–".to_owned(), middle),
            step: source
                .step
                .map_or_else(|| "–".to_owned(), |step| step.to_string()),
            grader: cell(&grade.grader.name),
            item: shown(grade.id.as_deref()),
            prompt: shown(grade.prompt_key.as_deref()),
            badge: Badge::of(grade),
        }
    }
}

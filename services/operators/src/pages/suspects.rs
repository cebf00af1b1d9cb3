//! Signs of reward hacking in a run, from sums over all of its steps: changes that training alone
//! does not explain, and clusters of grades with the same sign. They are reasons to inspect grades,
//! not verdicts.

use askama::Template;
use assay_record::answers::{Cluster, ClusterKind};
use assay_record::chart::{Counted, Number, Steps, Sums};
use assay_record::facts::SIGNS;
use assay_rewards::detectors::{Finding, StepSums, detect};

use crate::bar::Bar;
use crate::display::{bytes, cell, count, number, optional_number, short};
use crate::failure::{Failure, Result};
use crate::missing::Missing;
use crate::page::{Menu, Page, Section};
use crate::query::{Pairs, link};
use crate::record::record_of;
use crate::site::Viewer;

/// Maximum number of clusters of a kind.
const ROWS: u32 = 25;

/// Ratio of the mean lengths from which a change is marked.
const MAX_LENGTH_RATIO: f64 = 1.5;

/// Maximum number of steps, or buckets of steps, that detectors read.
const MAX_STEPS: i64 = 600;

/// Grades with the same sign.
struct ClusterRow {
    /// The answer or text; empty if the sign has none.
    value: String,
    /// What the sign means.
    about: &'static str,
    /// Number of expected answers; empty if there are none.
    golds: String,
    grades: String,
    reward: String,
    first_step: String,
    last_step: String,
    /// The grades that are linked, with their names.
    examples: Vec<(&'static str, String)>,
}

#[derive(Template)]
#[template(path = "suspects.html")]
pub(crate) struct Suspects {
    menu: Menu,
    bar: Bar,
    /// Names that the field of the run suggests.
    runs: Vec<String>,
    /// Whether the page has only some of the steps.
    has_steps: bool,
    width: i64,
    repeated: Vec<ClusterRow>,
    signs: Vec<ClusterRow>,
    lengths: Vec<(&'static str, String, String, String, bool)>,
    onsets: Vec<Onset>,
    missing: Missing,
}

/// A change over the steps of a run that training alone does not explain.
struct Onset {
    detector: &'static str,
    step: i64,
    /// The run from this step on, compared with the steps before.
    address: String,
    /// The series that changed, with their means before and after.
    evidence: Vec<String>,
}

pub(crate) async fn page(
    Viewer { review, menu, .. }: Viewer,
    pairs: Pairs,
) -> Result<Page<Suspects>> {
    pairs.reject_unknown(&["run", "step_min", "step_max"])?;
    pairs.parse::<i64>("step_min", "a whole number")?;
    pairs.parse::<i64>("step_max", "a whole number")?;
    let record = record_of(&review)?;
    let runs: Vec<String> = record
        .runs(50)
        .await?
        .into_iter()
        .map(|run| run.run)
        .collect();
    let run = pairs
        .get("run")
        .map(str::to_owned)
        .or_else(|| runs.first().cloned());
    let summary = match &run {
        Some(run) => record.run(run).await?,
        None => None,
    };
    if let Some(run) = run.as_ref().filter(|_| summary.is_none()) {
        return Err(Failure::not_found(review.unknown_run(run).await?));
    }
    let menu = menu.at(Section::Suspects).about(run.as_deref());
    let (mut width, mut steps, mut clusters) = (1, Steps::new(), Vec::new());
    if let Some(summary) = &summary {
        let last = summary.last_step.unwrap_or(0);
        // A power of two, for which the record has sums.
        while last / width > MAX_STEPS {
            width *= 2;
        }
        steps = record.run_signals(&summary.run, width).await?;
        clusters = record.clusters(&summary.run, ROWS).await?;
    }
    let focus = menu.focus();
    let has_steps = focus.from.or(focus.to).is_some();
    if has_steps {
        let end = |step: i64| step.saturating_add(width - 1);
        steps.retain(|step, _| focus.overlaps(*step, step.map(end)));
        clusters.retain(|cluster| focus.overlaps(cluster.first_step, cluster.last_step));
    }
    let is_answer = |cluster: &&Cluster| matches!(cluster.kind, ClusterKind::Answer { .. });
    Ok(Page(Suspects {
        bar: Bar::new(&menu, "/ui/suspects", &pairs, None).suggesting("suggested-runs"),
        menu,
        has_steps,
        width,
        repeated: clusters
            .iter()
            .filter(is_answer)
            .map(ClusterRow::from)
            .collect(),
        signs: clusters
            .iter()
            .filter(|cluster| !is_answer(cluster))
            .map(ClusterRow::from)
            .collect(),
        lengths: lengths(&steps),
        missing: Missing::of(&steps, run.as_deref().unwrap_or_default()),
        onsets: onsets(&steps, run.as_deref().unwrap_or_default()),
        runs,
    }))
}

impl From<&Cluster> for ClusterRow {
    fn from(cluster: &Cluster) -> Self {
        let step = |step: Option<i64>| step.map_or_else(|| "–".to_owned(), |step| step.to_string());
        let (about, golds) = match &cluster.kind {
            ClusterKind::Answer { golds } => ("", count(*golds)),
            ClusterKind::Sign => {
                let mut signs = SIGNS.iter();
                let known = signs.find(|(text, _)| *text == cluster.value);
                (known.map_or("", |(_, about)| *about), String::new())
            }
            ClusterKind::Literals => ("contains the inputs of its tests", String::new()),
        };
        let [first, last] = cluster.examples;
        let mut examples = vec![("first", first)];
        if last != first {
            examples.push(("last", last));
        }
        let linked = |(name, grade): (&'static str, Option<_>)| {
            grade.map(|grade| (name, format!("/ui/grades/{grade}")))
        };
        Self {
            value: match cluster.kind {
                ClusterKind::Answer { .. } => short(&cluster.value),
                _ => cell(&cluster.value),
            },
            about,
            golds,
            grades: count(cluster.grades),
            reward: optional_number(cluster.mean_reward),
            first_step: step(cluster.first_step),
            last_step: step(cluster.last_step),
            examples: examples.into_iter().filter_map(linked).collect(),
        }
    }
}

/// What the detectors find in the sums by step.
fn onsets(steps: &Steps, run: &str) -> Vec<Onset> {
    let sums: Vec<StepSums> = steps
        .iter()
        .filter_map(|(step, counted)| Some(counted.step_sums((*step)?)))
        .collect();
    let onset = |finding: Finding| {
        let step = finding.onset.to_string();
        let evidence = finding.evidence.iter().map(|(series, change)| {
            let (before, after) = (number(change.before), number(change.after));
            format!("{series} {before} → {after}")
        });
        Onset {
            detector: finding.detector.name(),
            step: finding.onset,
            address: link("/ui/run", &[("name", Some(run)), ("from", Some(&step))]),
            evidence: evidence.collect(),
        }
    };
    detect(&sums).into_iter().map(onset).collect()
}

/// Mean lengths of completions in the first and the last tenth of the steps.
fn lengths(steps: &Steps) -> Vec<(&'static str, String, String, String, bool)> {
    let numbered: Vec<_> = steps
        .iter()
        .filter(|(step, _)| step.is_some())
        .map(|(_, counted)| counted)
        .collect();
    let tenth = numbered.len().div_ceil(10);
    let mean = |part: &[&Counted], number| {
        let mut sums = Sums::default();
        part.iter()
            .for_each(|counted| sums.add(&counted.sums(number)));
        sums.mean()
    };
    let sides = [
        ("passed", Number::PassedBytes),
        ("not passed", Number::OtherBytes),
    ];
    let row = |(side, number): (&'static str, Number)| {
        let first = mean(numbered.get(..tenth)?, number)?;
        let last = mean(numbered.get(numbered.len() - tenth..)?, number)?;
        let ratio = last / first.max(1.0);
        let is_marked = !(1.0 / MAX_LENGTH_RATIO..=MAX_LENGTH_RATIO).contains(&ratio);
        Some((
            side,
            bytes(first),
            bytes(last),
            format!("{ratio:.2} ×"),
            is_marked,
        ))
    };
    sides.into_iter().filter_map(row).collect()
}

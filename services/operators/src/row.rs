//! Rows of lists of grades.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use assay_core::{GradeId, Hash};
use assay_record::{Appeal, ItemGrade, Record, StoredGrade};
use assay_review::explanation;
use serde_json::Value;

use crate::display::{cell, count, middle, optional_number, sentence, short, time};
use crate::failure::Result;
use crate::query::link;

/// Graders whose evidence lacks the expected value if the completion has no answer. Their tasks are
/// small; those of others, such as programs with their tests, are not read for a list.
const EXPECTED_IN_TASK: [&str; 2] = ["math", "tools"];

/// A coloured label of a verdict or outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Badge {
    pub(crate) text: String,
    /// Class of the style sheet: `pass`, `not_passed`, `other`, `ungradable` or `failed`.
    pub(crate) class: &'static str,
}

impl Badge {
    pub(crate) fn new(outcome: &str, verdict: Option<&str>, pass: Option<bool>) -> Self {
        let class = match (outcome, pass) {
            ("graded", Some(true)) => "pass",
            ("graded", Some(false)) => "not_passed",
            ("graded", None) => "other",
            ("ungradable", _) => "ungradable",
            _ => "failed",
        };
        Self {
            text: cell(verdict.unwrap_or(outcome)),
            class,
        }
    }

    /// The badge of a grade.
    pub(crate) fn of(grade: &ItemGrade) -> Self {
        Self::new(&grade.outcome, grade.verdict.as_deref(), grade.pass)
    }
}

/// A grade in a list.
pub(crate) struct Row {
    pub(crate) address: String,
    pub(crate) time: String,
    pub(crate) run: Option<(String, String)>,
    pub(crate) step: Option<i64>,
    pub(crate) channel: String,
    pub(crate) item: String,
    pub(crate) badge: Badge,
    /// The expected value, the actual one, and why the verdict or error was returned; empty if the
    /// evidence does not have them.
    pub(crate) expected: String,
    pub(crate) got: String,
    pub(crate) cause: String,
    pub(crate) score: String,
    pub(crate) reward: String,
    pub(crate) appeal: Option<&'static str>,
    /// What an operator decided.
    pub(crate) adjudicated: Option<&'static str>,
    /// The number of comments; `None` without any.
    pub(crate) comments: Option<String>,
}

impl Row {
    /// The rows of a list, with what operators decided and commented.
    pub(crate) async fn list(record: &Record, grades: &[StoredGrade]) -> Result<Vec<Self>> {
        let ids: Vec<GradeId> = grades.iter().map(|stored| stored.grade.grade).collect();
        let adjudicated = record.adjudicated(&ids).await?;
        let commented = record.commented(&ids).await?;
        let mut tasks: HashMap<Hash, Value> = HashMap::new();
        let mut rows = Vec::with_capacity(grades.len());
        for stored in grades {
            let mut row = Self::from(stored);
            if row.expected.is_empty() && has_expected_in_task(&stored.grade) {
                let task = match tasks.entry(stored.source.task_hash) {
                    Entry::Occupied(read) => read.into_mut(),
                    Entry::Vacant(place) => {
                        let body = record.body(*place.key()).await?;
                        let task = body.and_then(|body| serde_json::from_slice(&body.content).ok());
                        place.insert(task.unwrap_or_default())
                    }
                };
                row.compare(stored, task);
            }
            let decision = adjudicated.get(&stored.grade.grade);
            row.adjudicated = decision.map(|pass| if *pass { "right" } else { "wrong" });
            row.comments = commented.get(&stored.grade.grade).map(|n| match n {
                1 => "1 comment".to_owned(),
                n => format!("{} comments", count(*n)),
            });
            rows.push(row);
        }
        Ok(rows)
    }

    /// Fills in what is compared.
    fn compare(&mut self, StoredGrade { grade, .. }: &StoredGrade, task: &Value) {
        let evidence = grade.evidence.as_ref();
        let evidence = evidence.map_or(Value::Null, |facts| Value::Object(facts.facts()));
        let compared = explanation::comparisons(task, &evidence).into_iter().next();
        let (expected, got) = match compared {
            Some(compared) => (compared.expected, compared.got),
            None => (String::new(), explanation::extracted(&evidence)),
        };
        self.expected = short(&expected);
        self.got = short(&got);
        self.cause = sentence(&explanation::cause(grade, &evidence, task));
    }
}

fn has_expected_in_task(grade: &ItemGrade) -> bool {
    grade.pass == Some(false) && EXPECTED_IN_TASK.contains(&&*grade.grader.name)
}

impl From<&StoredGrade> for Row {
    fn from(stored: &StoredGrade) -> Self {
        let StoredGrade { source, grade } = stored;
        let run = source
            .run
            .as_deref()
            .map(|run| (middle(run), link("/ui/run", &[("name", Some(run))])));
        let mut row = Self {
            address: format!("/ui/grades/{}", grade.grade),
            time: time(grade.time_us),
            run,
            step: source.step,
            channel: cell(&grade.channel),
            item: cell(grade.id.as_deref().unwrap_or("–")),
            badge: Badge::of(grade),
            expected: String::new(),
            got: String::new(),
            cause: String::new(),
            score: optional_number(grade.score),
            reward: optional_number(grade.reward),
            appeal: grade.appeal.as_ref().map(Appeal::as_str),
            adjudicated: None,
            comments: None,
        };
        row.compare(stored, &Value::Null);
        row
    }
}

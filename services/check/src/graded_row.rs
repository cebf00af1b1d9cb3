//! A row with its graded probes, from which findings are made.

use std::borrow::Cow;

use assay_core::{Evidence, Fault};
use assay_record::ItemGrade;
use serde_json::Value;

use crate::probes::Purpose;
use crate::row::RowLocation;
use crate::sketch::Sketch;
use crate::subject::{Subject, TaskProblem};

/// Maximum length of an excerpt of a completion or of evidence in a finding, in characters.
const EXCERPT_LENGTH: usize = 120;

/// A row and its graded probes.
#[derive(Debug)]
pub(crate) struct GradedRow {
    pub(crate) location: RowLocation,
    pub(crate) key: String,
    pub(crate) subject: Result<Subject, TaskProblem>,
    pub(crate) probes: Vec<ProbeResult>,
    pub(crate) sketch: Sketch,
}

impl GradedRow {
    /// The fault of the task, if it is ungradable.
    pub(crate) fn fault(&self) -> Option<&Fault> {
        self.probes.iter().find_map(|probe| match &probe.result {
            Err(NotGraded::Task(fault)) => Some(fault),
            _ => None,
        })
    }

    /// The type of the task.
    pub(crate) fn kind(&self) -> Option<&str> {
        self.subject
            .as_ref()
            .ok()
            .map(|subject| subject.task.kind.as_str())
    }

    /// The probes that were graded, with their grades.
    pub(crate) fn graded(&self) -> impl Iterator<Item = (&ProbeResult, &ProbeGrade)> {
        self.probes
            .iter()
            .filter_map(|probe| Some((probe, probe.result.as_ref().ok()?)))
    }
}

/// The result of one probe.
#[derive(Debug)]
pub(crate) struct ProbeResult {
    pub(crate) purpose: Purpose,
    /// Excerpt of the completion.
    pub(crate) excerpt: String,
    pub(crate) result: Result<ProbeGrade, NotGraded>,
}

/// The grade of a probe.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ProbeGrade {
    pub(crate) verdict: Cow<'static, str>,
    pub(crate) pass: bool,
    pub(crate) score: f64,
    pub(crate) work: u64,
    /// Reason for a grade that does not pass, if the evidence has one.
    pub(crate) reason: Option<String>,
    /// Normal form of a gold, which is the same for equal answers, if the grader has one.
    pub(crate) normal_form: Option<String>,
}

/// Why a probe has no grade.
#[derive(Debug, Clone)]
pub(crate) enum NotGraded {
    /// The task is at fault.
    Task(Fault),
    /// The service is at fault.
    Service(Fault),
}

impl ProbeResult {
    pub(crate) fn new(purpose: Purpose, completion: &str, grade: &ItemGrade) -> Self {
        let result = match (&grade.error, &grade.evidence) {
            (None, evidence) => {
                let facts = evidence.as_ref().map(Evidence::facts);
                let facts = facts.as_ref();
                let text = |name: &str| facts?.get(name)?.as_str().map(str::to_owned);
                let passed = grade.pass == Some(true);
                Ok(ProbeGrade {
                    verdict: grade.verdict.clone().unwrap_or_default(),
                    pass: passed,
                    score: grade.score.unwrap_or(0.0),
                    work: grade.work,
                    reason: facts.filter(|_| !passed).and_then(reason),
                    normal_form: match purpose {
                        Purpose::Gold { .. } => text("answer_normal").or_else(|| text("extracted")),
                        _ => None,
                    },
                })
            }
            (Some(fault), _) if grade.outcome == "ungradable" => {
                Err(NotGraded::Task(fault.clone()))
            }
            (Some(fault), _) => Err(NotGraded::Service(fault.clone())),
        };
        Self {
            purpose,
            excerpt: excerpt(completion),
            result,
        }
    }
}

/// JSON pointers to the reason in the evidence of graders.
const REASONS: &[&str] = &[
    "/message",
    "/reason",
    "/difference/what",
    "/first_failure/message",
    "/violation/reason",
    "/rule",
];

fn reason(evidence: &serde_json::Map<String, Value>) -> Option<String> {
    let reason = REASONS.iter().find_map(|pointer| {
        let mut steps = pointer.split('/').skip(1);
        let first = evidence.get(steps.next()?)?;
        steps
            .try_fold(first, |value, step| value.get(step))?
            .as_str()
    });
    reason.map(excerpt)
}

/// The start of a text on one line, at most [`EXCERPT_LENGTH`] characters.
pub(crate) fn excerpt(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(EXCERPT_LENGTH) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

//! A row after its probes were graded: all that findings are made of.

use assay_core::{Fault, Outcome};
use assay_engine::ItemResult;
use serde_json::Value;

use crate::findings::Sketch;
use crate::probes::Purpose;
use crate::row::Place;
use crate::subject::{NotMade, Subject};

/// Longest text of a completion or of evidence in a finding, in characters.
const SHOWN: usize = 120;

/// A row, and what became of its probes.
#[derive(Debug)]
pub(crate) struct Examined {
    pub(crate) place: Place,
    pub(crate) key: String,
    pub(crate) made: Result<Subject, NotMade>,
    pub(crate) answers: Vec<Answer>,
    pub(crate) sketch: Sketch,
}

impl Examined {
    /// Why the task cannot be graded, where the task is at fault.
    pub(crate) fn fault(&self) -> Option<&Fault> {
        self.answers.iter().find_map(|answer| match &answer.result {
            Err(NotGraded::Task(fault)) => Some(fault),
            _ => None,
        })
    }

    /// The grader's name.
    pub(crate) fn kind(&self) -> Option<&str> {
        self.made
            .as_ref()
            .ok()
            .map(|subject| subject.task.kind.as_str())
    }

    /// Answers that were graded, with what for.
    pub(crate) fn graded(&self) -> impl Iterator<Item = (&Answer, &Graded)> {
        self.answers
            .iter()
            .filter_map(|answer| Some((answer, answer.result.as_ref().ok()?)))
    }
}

/// One probe and what became of it.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) purpose: Purpose,
    /// The completion, cut to what a finding shows.
    pub(crate) shown: String,
    pub(crate) result: Result<Graded, NotGraded>,
}

/// What a grade said.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Graded {
    pub(crate) verdict: &'static str,
    pub(crate) pass: bool,
    pub(crate) score: f64,
    pub(crate) work: u64,
    /// Why, where the evidence says it in a sentence.
    pub(crate) why: Option<String>,
    /// The answer in a form that is the same for equal answers, where the grader has one.
    pub(crate) normal: Option<String>,
}

/// Why there is no grade.
#[derive(Debug, Clone)]
pub(crate) enum NotGraded {
    /// The task is at fault.
    Task(Fault),
    /// We are.
    Ours(Fault),
}

impl Answer {
    pub(crate) fn new(purpose: Purpose, completion: &str, result: &ItemResult) -> Self {
        let graded = match &result.outcome {
            Outcome::Graded(grade) => {
                let evidence = grade.evidence.as_map();
                let text = |name: &str| evidence.get(name)?.as_str().map(str::to_owned);
                Ok(Graded {
                    verdict: grade.verdict.as_str(),
                    pass: result.pass == Some(true),
                    score: grade.score.get(),
                    work: grade.work,
                    why: if result.pass == Some(true) {
                        None
                    } else {
                        why(evidence)
                    },
                    normal: match purpose {
                        Purpose::Gold { .. } => text("answer_normal").or_else(|| text("extracted")),
                        _ => None,
                    },
                })
            }
            Outcome::Ungradable(fault) => Err(NotGraded::Task(fault.clone())),
            Outcome::Failed(fault) => Err(NotGraded::Ours(fault.clone())),
        };
        Self {
            purpose,
            shown: shown(completion),
            result: graded,
        }
    }
}

/// What graders call their reasons.
const REASONS: &[&str] = &[
    "/message",
    "/reason",
    "/difference/what",
    "/first_failure/message",
    "/violation/reason",
    "/rule",
];

fn why(evidence: &serde_json::Map<String, Value>) -> Option<String> {
    let reason = REASONS.iter().find_map(|pointer| {
        let mut steps = pointer.split('/').skip(1);
        let first = evidence.get(steps.next()?)?;
        steps
            .try_fold(first, |value, step| value.get(step))?
            .as_str()
    });
    reason.map(shown)
}

/// A text in one line, cut to what a finding shows.
pub(crate) fn shown(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

//! A row with its graded probes, from which findings are made.

use std::borrow::Cow;
use std::collections::BTreeMap;

use assay_core::{Completion, Evidence, Fault};
use assay_record::ItemGrade;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub(crate) use crate::excerpt::excerpt;
use crate::own_rules::OwnFinding;
use crate::probes::{self, Purpose};
use crate::row::RowLocation;
use crate::sketch::Sketch;
use crate::subject::{Subject, TaskProblem};

/// Why a row is unchecked if its task has no gold that can be written as a completion.
const NO_RIGHT_COMPLETION: &str = "no completion is known that should pass";

/// A row and its graded probes.
#[derive(Debug)]
pub(crate) struct GradedRow {
    pub(crate) location: RowLocation,
    pub(crate) key: String,
    /// Whether the row has a column for its id without a value.
    pub(crate) lacks_id: bool,
    /// What the rules of the team found in it.
    pub(crate) own_findings: Vec<OwnFinding>,
    /// The names of codes that the row ignores.
    pub(crate) ignored: Vec<String>,
    pub(crate) subject: Result<Subject, TaskProblem>,
    pub(crate) probes: Vec<ProbeResult>,
    pub(crate) sketch: Sketch,
}

/// Why a row is unchecked if the task asks for generated databases that cannot be built.
pub(crate) const NO_GENERATED_DATABASE: &str =
    "the grader cannot generate databases for its schema";

/// Part of the fault message of the `sql` grader about such a task.
const NOT_GENERATED: &str = "cannot build a generated variant";

/// Whether a fault is one of the generator of databases, and not of the data.
pub(crate) fn is_of_generator(fault: &Fault) -> bool {
    fault.message.contains(NOT_GENERATED)
}

impl GradedRow {
    /// The fault of the task, if it is ungradable.
    pub(crate) fn fault(&self) -> Option<&Fault> {
        self.probes
            .iter()
            .find_map(|probe| match (&probe.result, probe.purpose) {
                // Comparisons have a task of their own.
                (_, Purpose::Difference(_)) => None,
                (Err(NotGraded::Task(fault)), _) => Some(fault),
                _ => None,
            })
    }

    /// Why the row is unchecked: no completion that should pass was tried. `None` if it is checked
    /// or has no gradable task.
    pub(crate) fn unchecked(&self) -> Option<&'static str> {
        if let Some(reason) = probes::why_unprobed(self.kind()?) {
            return Some(reason);
        }
        if self.fault().is_some_and(is_of_generator) {
            return Some(NO_GENERATED_DATABASE);
        }
        let is_right = |purpose| {
            matches!(
                purpose,
                Purpose::Gold { .. } | Purpose::Solution | Purpose::Prepare
            )
        };
        let has_right = self.probes.iter().any(|probe| is_right(probe.purpose));
        (!has_right && self.fault().is_none()).then_some(NO_RIGHT_COMPLETION)
    }

    /// Whether each gold, in one of its forms, and the solution passed, each time; `None` if none
    /// was graded.
    pub(crate) fn right_passed(&self) -> Option<bool> {
        // How often a form was graded before, and whether a gold passed each time.
        let mut times: BTreeMap<(usize, usize), usize> = BTreeMap::new();
        let mut golds: BTreeMap<(usize, usize), bool> = BTreeMap::new();
        let mut solution = None;
        for probe in &self.probes {
            let passed = probe.result.as_ref().is_ok_and(|graded| graded.pass);
            match probe.purpose {
                Purpose::Gold { gold, form } => {
                    let time = times.entry((gold, form)).or_default();
                    *golds.entry((gold, *time)).or_default() |= passed;
                    *time += 1;
                }
                Purpose::Solution => solution = Some(solution.unwrap_or(true) && passed),
                _ => {}
            }
        }
        let is_graded = !golds.is_empty() || solution.is_some();
        is_graded.then(|| golds.into_values().all(|passed| passed) && solution.unwrap_or(true))
    }

    /// The changes of a right program that pass.
    pub(crate) fn undetected(&self) -> impl Iterator<Item = usize> {
        let passed = self.graded().filter(|(_, grade)| grade.pass);
        passed.filter_map(|(probe, _)| match probe.purpose {
            Purpose::Mutation(at) => Some(at),
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
    /// Excerpt of the completion; empty for wrong completions but the refusal.
    pub(crate) excerpt: String,
    pub(crate) result: ProbeOutcome,
    /// Hash of the probe, by which its result is kept; `None` if it is not kept.
    pub(crate) hash: Option<u64>,
}

/// The grade of a probe, or why it has none.
pub(crate) type ProbeOutcome = Result<ProbeGrade, NotGraded>;

/// The grade of a probe.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct ProbeGrade {
    pub(crate) verdict: Cow<'static, str>,
    pub(crate) pass: bool,
    pub(crate) score: f64,
    pub(crate) work: u64,
    /// Reason for a grade that does not pass, if the evidence has one.
    pub(crate) reason: Option<String>,
    /// The test that a comparison of programs proposes.
    pub(crate) new_test: Option<String>,
    /// Normal form of a gold or rollout, which is the same for equal answers, if the grader has
    /// one.
    pub(crate) normal_form: Option<String>,
}

/// Why a probe has no grade.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum NotGraded {
    /// The task is at fault.
    Task(Fault),
    /// The service is at fault.
    Service(Fault),
}

impl ProbeResult {
    /// The result of a probe from its grade, whose result may be kept under `hash`.
    pub(crate) fn new(
        purpose: Purpose,
        completion: &Completion,
        grade: &ItemGrade,
        hash: Option<u64>,
    ) -> Self {
        let result = outcome(purpose, grade);
        let is_final = match &result {
            Ok(_) => grade.deterministic,
            Err(NotGraded::Task(fault)) => !fault.retryable,
            Err(NotGraded::Service(_)) => false,
        };
        let hash = hash.filter(|_| is_final);
        Self::from_outcome(purpose, completion, result, hash)
    }

    /// The result of a probe from its outcome.
    pub(crate) fn from_outcome(
        purpose: Purpose,
        completion: &Completion,
        result: ProbeOutcome,
        hash: Option<u64>,
    ) -> Self {
        let excerpt = if is_shown(purpose) {
            excerpt(&completion.text())
        } else {
            String::new()
        };
        Self {
            purpose,
            excerpt,
            result,
            hash,
        }
    }
}

/// Whether findings show the evidence and the completion of a probe. Most probes are others.
fn is_shown(purpose: Purpose) -> bool {
    matches!(
        purpose,
        Purpose::Gold { .. }
            | Purpose::Variant(_)
            | Purpose::Solution
            | Purpose::Refusal
            | Purpose::Rollout
            | Purpose::Difference(_)
    )
}

fn outcome(purpose: Purpose, grade: &ItemGrade) -> ProbeOutcome {
    match (&grade.error, &grade.evidence) {
        (None, evidence) => {
            let evidence = evidence.as_ref().filter(|_| is_shown(purpose));
            let facts = evidence.map(Evidence::facts);
            let facts = facts.as_ref();
            let text = |name: &str| facts?.get(name)?.as_str().map(str::to_owned);
            let passed = grade.pass == Some(true);
            Ok(ProbeGrade {
                verdict: grade.verdict.clone().unwrap_or_default(),
                pass: passed,
                score: grade.score.unwrap_or(0.0),
                work: grade.work,
                reason: facts.filter(|_| !passed).and_then(reason),
                new_test: match purpose {
                    Purpose::Difference(_) if !passed => facts.and_then(new_test),
                    _ => None,
                },
                normal_form: match purpose {
                    Purpose::Gold { .. } | Purpose::Rollout => {
                        text("answer_normal").or_else(|| text("extracted"))
                    }
                    _ => None,
                },
            })
        }
        (Some(fault), _) if grade.outcome == "ungradable" => Err(NotGraded::Task(fault.clone())),
        (Some(fault), _) => Err(NotGraded::Service(fault.clone())),
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

/// The test in the message of a comparison of programs.
fn new_test(evidence: &serde_json::Map<String, Value>) -> Option<String> {
    let message = evidence.get("first_failure")?.get("message")?.as_str()?;
    let (_, test) = message.rsplit_once(probes::NEW_TEST)?;
    Some(test.lines().next()?.trim_end().to_owned())
}

//! Grades the criteria of an item, stage by stage, and combines the results.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use assay_core::grader::grade_each;
use assay_core::{
    BoxFuture, Component, ErrorCode, Fault, Grade, GradeContext, Item, Lane, Measure, Nested,
    Outcome, Prepared,
};
use futures::future::join_all;

use crate::combine::{Combined, CriterionResult, combine};
use crate::evidence;
use crate::offload::Offload;
use crate::task::{Criterion, OnFailure, Rules};

/// A criterion ready to grade.
pub(crate) struct PreparedCriterion {
    pub(crate) criterion: Criterion,
    pub(crate) nested: Nested,
}

/// A rubric ready to grade.
pub(crate) struct PreparedRubric {
    pub(crate) criteria: Vec<PreparedCriterion>,
    pub(crate) rules: Rules,
    pub(crate) offload: Arc<Offload>,
}

impl Prepared for PreparedRubric {
    fn grade<'a>(
        &'a self,
        items: &'a [&'a Item],
        cx: &'a GradeContext,
    ) -> BoxFuture<'a, Vec<Outcome>> {
        grade_each(items, |item| self.grade_one(item, cx))
    }

    fn bytes(&self) -> usize {
        let criteria = self.criteria.iter().map(|criterion| {
            size_of::<PreparedCriterion>()
                + criterion.criterion.name.len()
                + criterion.nested.prepared.bytes()
        });
        size_of::<Self>() + criteria.sum::<usize>()
    }

    /// The lane of the criterion that waits longest.
    fn lane(&self, own: Lane) -> Lane {
        let rank = |lane: &Lane| match lane {
            Lane::Cpu => 0,
            Lane::Sandbox => 1,
            Lane::Device => 2,
            Lane::Remote => 3,
        };
        let lanes = self
            .criteria
            .iter()
            .map(|criterion| criterion.nested.lane());
        lanes.max_by_key(rank).unwrap_or(own)
    }

    fn retries_itself(&self) -> bool {
        let mut criteria = self.criteria.iter();
        criteria.any(|criterion| criterion.nested.prepared.retries_itself())
    }
}

impl PreparedRubric {
    async fn grade_one(&self, item: &Item, cx: &GradeContext) -> Outcome {
        let mut outcomes: Vec<Option<Outcome>> = vec![None; self.criteria.len()];
        let stages: BTreeSet<u8> = self
            .criteria
            .iter()
            .map(|criterion| criterion.criterion.stage)
            .collect();
        for stage in stages {
            let indices: Vec<usize> = (0..self.criteria.len())
                .filter(|at| self.criteria[*at].criterion.stage == stage)
                .collect();
            for (at, outcome) in indices.iter().zip(self.grade_all(&indices, item, cx).await) {
                outcomes[*at] = Some(outcome);
            }
            if let Some(outcome) = self.without_score(&outcomes) {
                return outcome;
            }
            if !indices
                .iter()
                .all(|at| self.opens(*at, outcomes[*at].as_ref()))
            {
                break;
            }
        }
        self.outcome(outcomes)
    }

    /// Grades criteria: one after the other if all of them compute, which is then done on a worker
    /// thread, and otherwise at the same time.
    async fn grade_all(&self, indices: &[usize], item: &Item, cx: &GradeContext) -> Vec<Outcome> {
        let criteria = indices.iter().map(|at| &self.criteria[*at].nested);
        if self.lane(Lane::Cpu) == Lane::Cpu {
            let mut outcomes = Vec::with_capacity(indices.len());
            for nested in criteria {
                outcomes.push(nested.grade(item, cx).await);
            }
            return outcomes;
        }
        let graded = criteria.map(|nested| async move {
            if nested.lane() == Lane::Cpu {
                self.offload.grade(nested, item, cx).await
            } else {
                nested.grade(item, cx).await
            }
        });
        join_all(graded).await
    }

    /// The outcome of the rubric if a criterion could not be graded and the rubric does not say how
    /// to go on.
    fn without_score(&self, outcomes: &[Option<Outcome>]) -> Option<Outcome> {
        self.criteria
            .iter()
            .zip(outcomes)
            .find_map(|(criterion, outcome)| {
                let of_criterion = |fault: &Fault| Fault {
                    message: format!(
                        "criterion `{}`: {}",
                        criterion.criterion.name, fault.message
                    ),
                    ..fault.clone()
                };
                match outcome.as_ref()? {
                    Outcome::Graded(_) => None,
                    // The task is at fault, whatever the rubric says about failures.
                    Outcome::Ungradable(fault) => Some(Outcome::Ungradable(of_criterion(fault))),
                    Outcome::Failed(fault) => (self.rules.on_failure == OnFailure::Fail)
                        .then(|| Outcome::Failed(of_criterion(fault))),
                }
            })
    }

    /// Whether a criterion of a stage lets the next stage be graded. One that is left out does.
    fn opens(&self, at: usize, outcome: Option<&Outcome>) -> bool {
        !self.criteria[at].criterion.gate || !self.result(at, outcome).closes()
    }

    fn result(&self, at: usize, outcome: Option<&Outcome>) -> CriterionResult {
        let PreparedCriterion { criterion, nested } = &self.criteria[at];
        let grade = match outcome {
            None => return CriterionResult::NotReached,
            Some(Outcome::Graded(grade)) => grade,
            Some(_) => {
                let counts = self.rules.on_failure == OnFailure::Unmet;
                return CriterionResult::Failed { counts };
            }
        };
        let score = grade.score.get();
        let met = match (criterion.met_from, nested.spec.pass(grade.verdict.as_str())) {
            (Some(met_from), _) => score >= met_from,
            (None, Some(pass)) => pass,
            (None, None) => score >= 0.5,
        };
        let value = if criterion.binary {
            f64::from(met)
        } else {
            score
        };
        CriterionResult::Graded { value, met }
    }

    fn outcome(&self, outcomes: Vec<Option<Outcome>>) -> Outcome {
        let results: Vec<(&Criterion, CriterionResult)> = outcomes
            .iter()
            .enumerate()
            .map(|(at, outcome)| {
                (
                    &self.criteria[at].criterion,
                    self.result(at, outcome.as_ref()),
                )
            })
            .collect();
        let Some(combined) = combine(&self.rules, &results) else {
            let first = outcomes.iter().flatten().find_map(Outcome::fault);
            let reason = first.map_or_else(String::new, |fault| format!(": {}", fault.message));
            let message = format!("too few criteria could be graded{reason}");
            let code = first.map_or(ErrorCode::JudgeFailed, |fault| fault.code);
            return Outcome::Failed(Fault::transient(code, message));
        };
        Outcome::Graded(self.to_grade(combined, &results, outcomes))
    }

    fn to_grade(
        &self,
        combined: Combined,
        results: &[(&Criterion, CriterionResult)],
        outcomes: Vec<Option<Outcome>>,
    ) -> Grade {
        let grades = || outcomes.iter().flatten().filter_map(Outcome::grade);
        let mut grade = Grade::new(combined.verdict, combined.score)
            .with_evidence(evidence::of(results, &outcomes))
            .with_work(
                grades()
                    .map(|grade| grade.work)
                    .fold(0, u64::saturating_add),
            );
        grade.deterministic = self
            .criteria
            .iter()
            .all(|criterion| criterion.nested.spec.deterministic)
            && outcomes
                .iter()
                .flatten()
                .all(|outcome| outcome.grade().is_some())
            && grades().all(|grade| grade.deterministic);
        grade.measures = measures(&combined, results, grades());
        let components = self.criteria.iter().zip(outcomes);
        grade.components = components
            .filter_map(|(criterion, outcome)| {
                Some(Component {
                    name: criterion.criterion.name.clone(),
                    grader: criterion.nested.spec.id(),
                    outcome: outcome?,
                })
            })
            .collect();
        grade
    }
}

/// Counts of criteria, and the sums of what their judges used.
fn measures<'g>(
    combined: &Combined,
    results: &[(&Criterion, CriterionResult)],
    grades: impl Iterator<Item = &'g Grade>,
) -> BTreeMap<&'static str, Measure> {
    const SUMMED: [&str; 3] = ["judge_calls", "judge_tokens", "judge_cost"];
    let count = |of: fn(CriterionResult) -> bool| {
        results.iter().filter(|(_, result)| of(*result)).count() as f64
    };
    let mut numbers = BTreeMap::from([
        ("criteria_met", count(CriterionResult::is_met)),
        ("criteria_graded", count(CriterionResult::is_graded)),
        ("points_share", combined.unlimited),
    ]);
    for grade in grades {
        for name in SUMMED {
            if let Some(number) = grade.measures.get(name) {
                *numbers.entry(name).or_default() += number.get();
            }
        }
    }
    let numbers = numbers.into_iter();
    numbers
        .filter_map(|(name, number)| Some((name, Measure::new(number).ok()?)))
        .collect()
}

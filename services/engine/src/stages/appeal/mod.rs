//! Sends a share of the verdicts to a second verifier, if the policy says so. Both
//! verdicts are recorded. The second one replaces the first if the policy permits it and its
//! precision is known to be high enough.

pub(crate) mod template;

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use assay_core::clock::thread_time;
use assay_core::{Hash, Task};
use assay_record::{Appeal, ItemGrade};
use assay_rewards::appeal::{Appeals, probability, select, uniform_draw};

use super::context::BatchContext;
use super::grade::grade;
use super::plan::{Plan, plan};
use super::tasks::{self, Received};
use crate::allowance::Charge;
use crate::state::EngineState;
use crate::{Batch, BatchItem, metrics};

/// Why an item is not judged by the task that graded it.
const SAME_TASK: &str =
    "the judge's task is the item's own task, so both verdicts would be the same; use another task";

/// Number of items that are judged together if the budget is a time. The budget is checked between
/// them.
const JUDGE_CHUNK: usize = 16;

/// Bytes of the tasks of judges from which on no more items are judged together.
const JUDGE_BYTES: usize = 16 << 20;

/// The verdicts of one side that one rule may send to its judge, as indices in the wave.
struct Candidates<'p> {
    rule: &'p Appeals,
    /// Hash of its policy, and the rule's index in it.
    rule_of: (Option<Hash>, usize),
    passes: bool,
    indices: Vec<usize>,
}

/// Adds the appeals to the grades of a wave.
pub(super) async fn appeal(
    state: &Arc<EngineState>,
    plan: &Plan,
    charge: Option<&dyn Charge>,
    wave: &mut [ItemGrade],
) {
    if plan.context.appeals {
        let judges = Judges {
            state,
            plan,
            charge,
        };
        for candidates in candidates(plan, wave) {
            judges.appeal(&candidates, wave).await;
        }
    }
}

/// Candidates by rule and side, in the order in which rules first apply.
fn candidates<'p>(plan: &'p Plan, wave: &[ItemGrade]) -> Vec<Candidates<'p>> {
    let mut all: Vec<Candidates<'p>> = Vec::new();
    for (index, grade) in wave.iter().enumerate() {
        let Some(passes) = grade.pass else { continue };
        let position = grade.position as usize;
        let policy = plan.policy(position);
        let channel = &plan.context.channel(position).name;
        let Some((number, rule)) = policy
            .rules()
            .appeals
            .iter()
            .enumerate()
            .find(|(_, rule)| rule.covers(channel))
        else {
            continue;
        };
        if rule.rate(passes) <= 0.0 {
            continue;
        }
        let rule_of = (policy.hash(), number);
        match all
            .iter_mut()
            .find(|existing| existing.rule_of == rule_of && existing.passes == passes)
        {
            Some(existing) => existing.indices.push(index),
            None => all.push(Candidates {
                rule,
                rule_of,
                passes,
                indices: vec![index],
            }),
        }
    }
    all
}

/// Grades items of a batch again with the tasks of judges.
struct Judges<'a> {
    state: &'a Arc<EngineState>,
    /// The batch.
    plan: &'a Plan,
    charge: Option<&'a dyn Charge>,
}

impl Judges<'_> {
    /// Sends the selected candidates to their judge and stores the appeals.
    async fn appeal(&self, candidates: &Candidates<'_>, wave: &mut [ItemGrade]) {
        let plan = self.plan;
        let Candidates {
            rule,
            rule_of,
            passes,
            indices,
        } = candidates;
        let draws: Vec<f64> = indices
            .iter()
            .map(|index| draw_of(plan, wave[*index].position as usize, rule_of.1))
            .collect();
        let rate = rule.rate(*passes);
        let requested = select(&draws, rate, None).len();
        // A batch with a budget is one wave, so the whole budget is available here.
        let budget = rule.budget(*passes);
        let selected: Vec<usize> = select(&draws, rate, budget.items)
            .into_iter()
            .map(|selected| indices[selected])
            .collect();
        let micros = budget
            .seconds
            .map(|seconds| Duration::from_secs_f64(seconds.min(1e9)).as_micros());
        let chunk_size = if micros.is_some() {
            JUDGE_CHUNK
        } else {
            selected.len().max(1)
        };

        let (mut judged, mut spent) = (Vec::with_capacity(selected.len()), 0u64);
        let mut rest = &selected[..];
        while !rest.is_empty() && micros.is_none_or(|micros| u128::from(spent) < micros) {
            let results = self
                .judge(rule, &rest[..rest.len().min(chunk_size)], wave)
                .await;
            spent += results.iter().map(|result| result.micros).sum::<u64>();
            let (done, later) = rest.split_at(results.len());
            judged.extend(done.iter().copied().zip(results));
            rest = later;
        }
        let probability = probability(rate, requested, judged.len(), indices.len());
        for (index, result) in judged {
            let grade = &mut wave[index];
            let appeal = appeal_of(plan, rule, *passes, probability, grade, result);
            metrics::appealed(grade.grader.name.clone(), *passes, &appeal);
            grade.score_after_appeal = score_after(&appeal, grade.score);
            grade.appeal = Some(appeal);
        }
    }

    /// Grades the first items at these indices with the judge's task, at least one; returns their
    /// results in the same order.
    async fn judge(
        &self,
        rule: &Appeals,
        indices: &[usize],
        wave: &[ItemGrade],
    ) -> Vec<JudgeResult> {
        let name = rule
            .judge
            .get("type")
            .and_then(serde_json::Value::as_str)
            .unwrap_or_default();
        let judge_name = self
            .state
            .graders
            .by_name(name)
            .map_or_else(|| name.to_owned(), |grader| grader.spec().id().to_string());
        let not_judged = |reason: String| JudgeResult {
            judge: judge_name.clone(),
            grade: Err(reason),
            micros: 0,
        };
        let (mut rendered, mut bytes) = (Vec::with_capacity(indices.len()), 0);
        for index in indices {
            if bytes >= JUDGE_BYTES {
                break;
            }
            let task = judge_task(self.plan, rule, &wave[*index]);
            bytes += task.as_ref().map_or(0, |item| item.task.body.get().len());
            rendered.push(task);
        }
        let (mut to_judge, mut judges): (Vec<BatchItem>, Vec<String>) = Default::default();
        let mut results: Vec<Option<JudgeResult>> = Vec::with_capacity(rendered.len());
        for item in self.check(rendered).await {
            results.push(match item {
                Ok(item) => {
                    judges.push(judge_of(self.state, &item.task));
                    to_judge.push(item);
                    None
                }
                Err(reason) => Some(not_judged(reason)),
            });
        }
        let mut graded = self.grade(to_judge).await.into_iter().zip(judges);
        results
            .into_iter()
            .map(|result| {
                result.unwrap_or_else(|| match graded.next() {
                    Some((grade, judge)) => judge_result(judge, grade),
                    None => not_judged("the node is shutting down".to_owned()),
                })
            })
            .collect()
    }

    /// Checks the tasks of these items on a worker thread, and charges the caller for it.
    async fn check(&self, items: Vec<Result<BatchItem, String>>) -> Vec<Result<BatchItem, String>> {
        let count = items.len();
        let checked = {
            let state = Arc::clone(self.state);
            move || {
                let check = |item: BatchItem| match tasks::check_one(&state, &item.task) {
                    Ok(()) => Ok(item),
                    Err(error) => Err(error.to_string()),
                };
                let check_all = || items.into_iter().map(|item| item.and_then(check)).collect();
                thread_time(state.clock.as_ref(), check_all)
            }
        };
        let Some((checked, time)) = self
            .state
            .workers
            .run(&self.plan.batch.share, checked)
            .await
        else {
            return vec![Err("the node is shutting down".to_owned()); count];
        };
        self.spend(time);
        checked
    }

    /// Grades items whose tasks are checked, and charges the caller for it.
    async fn grade(&self, items: Vec<BatchItem>) -> Vec<ItemGrade> {
        if items.is_empty() {
            return Vec::new();
        }
        let judged = &self.plan.batch;
        let batch = Batch {
            share: Arc::clone(&judged.share),
            run: judged.run.clone(),
            ..Batch::new(&judged.caller, items)
        };
        let tasks = match tasks::find(self.state, &batch) {
            Ok(tasks) => tasks,
            Err(error) => {
                tracing::warn!(%error, "the engine rejected the tasks of a judge");
                return Vec::new();
            }
        };
        let (id, use_cache) = (self.plan.id, self.plan.use_cache);
        let received = Received::now(self.state.clock.as_ref());
        let context = BatchContext::default();
        let plan = plan(self.state, id, batch, tasks, context, received, use_cache);
        let mut grading = grade(self.state, &plan);
        let graded = grading.next(true).await.unwrap_or_default();
        self.spend(grading.charge());
        graded
    }

    fn spend(&self, time: Duration) {
        if let Some(charge) = self.charge {
            charge.spend(time);
        }
    }
}

/// The score of an item after its appeal; `None` if the judge has no verdict.
fn score_after(appeal: &Appeal, score: Option<f64>) -> Option<f64> {
    appeal.pass?;
    if appeal.overturned {
        appeal.score
    } else {
        score
    }
}

/// The number in [0, 1) by which an item is selected: from its id, or without one from its content
/// and its position.
fn draw_of(plan: &Plan, position: usize, rule: usize) -> f64 {
    let batch = &plan.batch;
    let item = &batch.items[position];
    let name = match &item.id {
        Some(id) => id.as_bytes().to_vec(),
        None => [
            &position.to_le_bytes()[..],
            item.completion_hash().as_bytes(),
            item.task.hash().as_bytes(),
        ]
        .concat(),
    };
    let policy = plan
        .policy(position)
        .hash()
        .unwrap_or_else(|| Hash::of(b""));
    // Rules of one policy select independently.
    let rule = Hash::of_parts(&[policy.as_bytes(), &rule.to_le_bytes()]);
    uniform_draw(&rule, batch.run.as_deref(), batch.step, &name)
}

/// The result of judging one item.
struct JudgeResult {
    judge: String,
    /// Its grade, whose verdict is a pass or a fail; or why there is none.
    grade: Result<ItemGrade, String>,
    micros: u64,
}

/// The item with which the judge grades a graded item, or why there is none.
fn judge_task(plan: &Plan, rule: &Appeals, grade: &ItemGrade) -> Result<BatchItem, String> {
    let item = &plan.batch.items[grade.position as usize];
    let evidence = grade.evidence.as_ref().ok_or("the item has no verdict")?;
    let variables = template::TemplateVariables {
        item: &item.item,
        task: &item.task,
        channel: &grade.channel,
        evidence,
    };
    let task = template::render(&rule.judge, &variables)?;
    if task.hash() == item.task.hash() {
        return Err(SAME_TASK.to_owned());
    }
    Ok(BatchItem::new(item.item.clone(), task))
}

/// The name under which verdicts of a judge are counted: its grader with its version and, if the
/// grader has several judges, the name of the judge.
fn judge_of(state: &EngineState, task: &Task) -> String {
    let Some(grader) = state.graders.by_name(task.kind.as_str()) else {
        return task.kind.to_string();
    };
    let id = grader.spec().id();
    match grader.family(task) {
        Some(family) => format!("{}/{family}@{}", id.name, id.version),
        None => id.to_string(),
    }
}

fn judge_result(judge: String, grade: ItemGrade) -> JudgeResult {
    JudgeResult {
        judge,
        micros: grade.grade_us,
        grade: match (&grade.error, grade.pass) {
            (None, Some(_)) => Ok(grade),
            (None, None) => Err(format!(
                "the verdict of `{}` is neither a pass nor a fail, so it cannot be a judge",
                grade.grader.name
            )),
            (Some(error), _) => Err(error.message.clone()),
        },
    }
}

/// The appeal to record. Decides whether the judge's verdict replaces the grader's.
fn appeal_of(
    plan: &Plan,
    rule: &Appeals,
    passes: bool,
    probability: f64,
    grade: &ItemGrade,
    result: JudgeResult,
) -> Appeal {
    let mut appeal = Appeal {
        judge: result.judge,
        sensitivity: rule.sensitivity,
        specificity: rule.specificity,
        probability,
        verdict: None,
        pass: None,
        agreed: false,
        score: None,
        binding: false,
        overturned: false,
        reason: None,
    };
    let judged = match result.grade {
        Ok(grade) => grade,
        Err(reason) => {
            return Appeal {
                reason: Some(reason),
                ..appeal
            };
        }
    };
    appeal.verdict = judged.verdict.map(Cow::into_owned);
    appeal.pass = judged.pass;
    appeal.agreed = judged.pass == Some(passes);
    appeal.score = judged.score;
    if !rule.overturn {
        return appeal;
    }
    let report = &plan.context.channel(grade.position as usize).report;
    match report.precision(&appeal.judge, rule.sensitivity, rule.specificity, passes) {
        Some(precision) if precision >= rule.precision => {
            appeal.binding = true;
            appeal.overturned = !appeal.agreed;
        }
        Some(precision) => {
            let required = rule.precision;
            appeal.reason = Some(format!(
                "an overturned verdict would be correct with probability {precision:.3}, below the \
                 required {required}"
            ));
        }
        None => {
            appeal.reason =
                Some("the precision of overturned verdicts is not known yet".to_owned());
        }
    }
    appeal
}
